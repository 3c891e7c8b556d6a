// SchemaSteps: where a walk through a schema is, and what it has cost.
#pragma once

#include <string>
#include <vector>

#include "engine/llama/schema_meter.h"

namespace holdfast::llama {

// Ends in schema_meter.cc.
struct SchemaFault {
  ErrorCode code = ErrorCode::kInvalidArgument;
  std::string message;
};

class SchemaSteps {
 public:
  explicit SchemaSteps(SchemaBudget& budget) : budget_(budget) {}

  void spend(std::size_t steps) {
    if (steps > budget_.steps_left) {
      throw SchemaFault{ErrorCode::kTooLarge,
                        "it takes more than " + std::to_string(budget_.limit) +
                            " steps to convert" + where() +
                            ". Give it fewer optional properties, alternatives or references."};
    }
    budget_.steps_left -= steps;
  }

  [[noreturn]] void fail(const std::string& what) const {
    throw SchemaFault{ErrorCode::kInvalidArgument, what + where() + "."};
  }

  // The path, for as long as the object lives.
  class Inside {
   public:
    Inside(SchemaSteps& steps, std::string name) : steps_(steps) {
      if (steps_.path_.size() >= kDepthMax) steps_.fail("schemas are nested too deep");
      steps_.path_.push_back(std::move(name));
    }
    ~Inside() { steps_.path_.pop_back(); }
    Inside(const Inside&) = delete;
    Inside& operator=(const Inside&) = delete;

   private:
    SchemaSteps& steps_;
  };

  [[nodiscard]] std::size_t depth() const { return path_.size(); }

 private:
  // The library recurses as deep; every level takes up to a kilobyte there.
  static constexpr std::size_t kDepthMax = 400;

  [[nodiscard]] std::string where() const {
    constexpr std::size_t kPathBytesMax = 200;
    std::string path;
    for (const std::string& name : path_) path += "/" + name;
    if (path.size() > kPathBytesMax) path = path.substr(0, kPathBytesMax) + "...";
    return path.empty() ? "" : " (at " + path + ")";
  }

  SchemaBudget& budget_;
  std::vector<std::string> path_;
};

}  // namespace holdfast::llama
