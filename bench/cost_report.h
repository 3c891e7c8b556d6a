// What the measuring program prints: a JSON object for each measurement on stdout,
// as soon as it is there, and at the end a table of all on stderr.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace holdfast::bench {

// Values of one quantity, each measured in the same way.
class Samples {
 public:
  void add(double value) { values_.push_back(value); }
  [[nodiscard]] bool empty() const { return values_.empty(); }
  [[nodiscard]] std::size_t size() const { return values_.size(); }
  // REQUIRES: not empty. `share` 0.5 is the median, 1 the largest.
  [[nodiscard]] double at(double share) const;
  [[nodiscard]] double median() const { return at(0.5); }

 private:
  std::vector<double> values_;
};

struct Figure {
  std::string name;  // with its unit: match_us_p99
  double value = 0;
};
using Figures = std::vector<Figure>;

// name_p50, name_p99 and name_max.
[[nodiscard]] Figures percentiles(const std::string& name, const Samples& samples);
// name (the median), name_min and name_max.
[[nodiscard]] Figures spread(const std::string& name, const Samples& samples);

struct Measurement {
  std::string what;   // "match and plan"
  std::string under;  // "100000 nodes, prompts of 100000 tokens"
  Figures figures;
  // The figure that has a goal, and the most that it may be.
  std::string judged;
  double goal = 0;
};

class Report {
 public:
  void add(const Measurement& measurement);
  void print_table() const;
  // Whether every figure that has a goal keeps it.
  [[nodiscard]] bool goals_met() const;

 private:
  std::vector<Measurement> all_;
};

}  // namespace holdfast::bench
