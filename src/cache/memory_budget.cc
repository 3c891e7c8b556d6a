#include "cache/memory_budget.h"

namespace holdfast::cache {

std::vector<std::string> MemoryBudget::check() const {
  std::vector<std::string> violations;
  if (tree_.bytes().resident + promised_ > total_)
    violations.emplace_back("BUDGET-1: more is held than the budget allows");
  if (peak_ > total_) violations.emplace_back("BUDGET-2: more was held than the budget allows");
  return violations;
}

}  // namespace holdfast::cache
