#include "record/private_names.h"

namespace holdfast::record {

SpaceKey PrivateNames::number_of(SpaceKey space) {
  return {0, spaces_.emplace(space, spaces_.size() + 1).first->second};
}

cache::Receipt PrivateNames::without_names(const cache::Receipt& receipt, std::uint64_t number) {
  cache::Receipt bare = receipt;
  bare.id = "r" + std::to_string(number);
  bare.response.clear();
  bare.session.clear();
  bare.advice.clear();
  if (!receipt.tenant.empty()) {
    const auto tenant = tenants_.emplace(receipt.tenant, tenants_.size() + 1).first->second;
    bare.tenant = "t" + std::to_string(tenant);
  }
  if (!receipt.waited_for.empty()) {
    const auto other = running_.find(receipt.waited_for);
    bare.waited_for = other == running_.end() ? "r" : "r" + std::to_string(other->second);
  }
  if (bare.difference) {
    bare.difference->known.clear();
    bare.difference->sent.clear();
  }
  return bare;
}

}  // namespace holdfast::record
