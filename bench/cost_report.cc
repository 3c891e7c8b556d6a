#include "cost_report.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace holdfast::bench {

namespace {

std::string number(double value) {
  char text[40];
  const bool whole = std::abs(value) >= 1000 || value == std::floor(value);
  std::snprintf(text, sizeof text, whole ? "%.0f" : "%.4g", value);
  return text;
}

// Names and conditions are our own words: nothing in them needs escaping.
std::string json_of(const Measurement& measurement) {
  std::string text =
      R"({"what":")" + measurement.what + R"(","under":")" + measurement.under + "\"";
  for (const Figure& figure : measurement.figures) {
    text += ",\"" + figure.name + "\":" + number(figure.value);
  }
  if (!measurement.judged.empty()) {
    text += R"(,"judged":")" + measurement.judged + R"(","goal":)" + number(measurement.goal);
  }
  return text + "}";
}

const Figure* judged_figure(const Measurement& measurement) {
  const auto found = std::ranges::find(measurement.figures, measurement.judged, &Figure::name);
  return found == measurement.figures.end() ? nullptr : &*found;
}

bool goal_met(const Measurement& measurement) {
  const Figure* figure = judged_figure(measurement);
  return figure == nullptr || figure->value <= measurement.goal;
}

}  // namespace

double Samples::at(double share) const {
  std::vector<double> sorted = values_;
  std::ranges::sort(sorted);
  const auto rank = std::ceil(share * static_cast<double>(sorted.size()));
  return sorted[static_cast<std::size_t>(std::max(rank, 1.0)) - 1];
}

Figures percentiles(const std::string& name, const Samples& samples) {
  return {{name + "_p50", samples.median()},
          {name + "_p99", samples.at(0.99)},
          {name + "_max", samples.at(1)}};
}

Figures spread(const std::string& name, const Samples& samples) {
  return {{name, samples.median()}, {name + "_min", samples.at(0)}, {name + "_max", samples.at(1)}};
}

void Report::add(const Measurement& measurement) {
  std::printf("%s\n", json_of(measurement).c_str());
  std::fflush(stdout);
  all_.push_back(measurement);
}

void Report::print_table() const {
  for (const Measurement& measurement : all_) {
    std::fprintf(stderr, "\n%s: %s\n", measurement.what.c_str(), measurement.under.c_str());
    for (const Figure& figure : measurement.figures) {
      std::fprintf(stderr, "  %-30s %12s", figure.name.c_str(), number(figure.value).c_str());
      if (figure.name == measurement.judged) {
        std::fprintf(stderr, "   goal %s: %s", number(measurement.goal).c_str(),
                     goal_met(measurement) ? "met" : "MISSED");
      }
      std::fprintf(stderr, "\n");
    }
  }
}

bool Report::goals_met() const { return std::ranges::all_of(all_, goal_met); }

}  // namespace holdfast::bench
