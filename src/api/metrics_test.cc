#include "api/metrics.h"

#include <gtest/gtest.h>

#include <charconv>
#include <cmath>
#include <limits>
#include <map>
#include <regex>
#include <set>
#include <sstream>

namespace holdfast::api {
namespace {

// A strict reader of the text format: every family is HELP, TYPE, samples, and
// comes once; every sample is of the family above it.
class MetricsReader {
 public:
  explicit MetricsReader(const std::string& text) {
    EXPECT_TRUE(text.ends_with('\n'));
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) read(line);
    close_family();
  }

  [[nodiscard]] double value(const std::string& sample) const {
    const auto found = values_.find(sample);
    EXPECT_NE(found, values_.end()) << sample;
    return found == values_.end() ? NAN : found->second;
  }
  [[nodiscard]] const std::map<std::string, std::string>& types() const { return types_; }

 private:
  void read(const std::string& line) {
    static const std::regex help(R"(# HELP ([a-zA-Z_:][a-zA-Z0-9_:]*) (\S.*))");
    static const std::regex type(R"(# TYPE ([a-zA-Z_:][a-zA-Z0-9_:]*) (counter|gauge|histogram))");
    static const std::regex sample(
        R"(([a-zA-Z_:][a-zA-Z0-9_:]*)(\{[a-zA-Z_][a-zA-Z0-9_]*="[^"\\]*"(?:,[a-zA-Z_][a-zA-Z0-9_]*="[^"\\]*")*\})? (\S+))");
    std::smatch match;
    if (std::regex_match(line, match, help)) {
      close_family();
      family_ = match[1];
      typed_ = false;
      EXPECT_TRUE(helped_.insert(family_).second) << line;
    } else if (std::regex_match(line, match, type)) {
      EXPECT_EQ(match[1], family_);
      typed_ = types_.emplace(family_, match[2]).second;
      EXPECT_TRUE(typed_) << line;
    } else if (std::regex_match(line, match, sample)) {
      EXPECT_TRUE(typed_ && of_family(match[1])) << line;
      take(match[1].str() + match[2].str(), match[3]);
    } else {
      ADD_FAILURE() << "no line of the format: " << line;
    }
  }

  [[nodiscard]] bool of_family(const std::string& name) const {
    if (types_.at(family_) != "histogram") return name == family_;
    return name == family_ + "_bucket" || name == family_ + "_sum" || name == family_ + "_count";
  }

  void take(const std::string& name, const std::string& text) {
    double value = NAN;
    const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
    EXPECT_TRUE(problem == std::errc() && end == text.data() + text.size()) << name << ' ' << text;
    EXPECT_TRUE(std::isfinite(value) && value >= 0.0) << name << ' ' << text;
    EXPECT_TRUE(values_.emplace(name, value).second) << name << " twice";
    ++samples_;
  }

  void close_family() {
    EXPECT_TRUE(family_.empty() || samples_ > 0) << family_ << " has no sample";
    samples_ = 0;
  }

  std::string family_;
  bool typed_ = false;
  int samples_ = 0;
  std::set<std::string> helped_;
  std::map<std::string, std::string> types_;
  std::map<std::string, double> values_;
};

TEST(Metrics, AFreshServerIsWellFormed) {
  const MetricsReader metrics(metrics_text({}, {}));
  EXPECT_EQ(metrics.value("llamacpp:prompt_tokens_seconds"), 0.0);
  EXPECT_GT(metrics.types().size(), 30U);
}

TEST(Metrics, CountersAndOnlyTheyEndInTotal) {
  const MetricsReader metrics(metrics_text({}, {}));
  for (const auto& [name, type] : metrics.types()) {
    if (name == "llamacpp:n_tokens_max") continue;  // a counter by llama-server's word
    EXPECT_EQ(type == "counter", name.ends_with("_total")) << name;
    EXPECT_TRUE(name.starts_with("llamacpp:") || name.starts_with("holdfast_")) << name;
  }
}

TEST(Metrics, ShowTheirNumbers) {
  serve::SchedulerStatus server;
  server.slots = {{.busy = true}, {.busy = false}, {.busy = true}};
  server.queued = 5;
  server.prompt_tokens = 3000;
  server.prompt_seconds = 1.5;
  server.predicted_tokens = 10;
  server.predicted_seconds = 0.5;
  cache::CacheStatus cache;
  cache.budget = ByteCount{64} << 30U;
  cache.snapshots = 123456789;
  cache.restored_memory_tokens = 7;
  cache.saved_seconds = 0.1;
  const MetricsReader metrics(metrics_text(server, cache));
  EXPECT_EQ(metrics.value("llamacpp:requests_processing"), 2.0);
  EXPECT_EQ(metrics.value("llamacpp:requests_deferred"), 5.0);
  EXPECT_EQ(metrics.value("llamacpp:prompt_tokens_seconds"), 2000.0);
  EXPECT_EQ(metrics.value("llamacpp:predicted_tokens_seconds"), 20.0);
  EXPECT_EQ(metrics.value("holdfast_cache_budget_bytes"), 68719476736.0);
  EXPECT_EQ(metrics.value("holdfast_cache_resident_bytes{kind=\"snapshots\"}"), 123456789.0);
  EXPECT_EQ(metrics.value("holdfast_cache_restored_tokens_total{source=\"memory\"}"), 7.0);
  EXPECT_EQ(metrics.value("holdfast_cache_saved_seconds_total"), 0.1);
}

TEST(Metrics, AnswersThatWereNotWrittenAreCounted) {
  cache::CacheStatus cache;
  cache.lower.emplace().answers_missed = 3;
  EXPECT_EQ(MetricsReader(metrics_text({}, cache)).value("holdfast_disk_answers_missed_total"),
            3.0);
}

TEST(Metrics, GapsAreAHistogram) {
  serve::SchedulerStatus server;
  for (const double seconds : {0.004, 0.01, 0.2, 0.25, 60.0}) server.gaps_of_work.note(seconds);
  const MetricsReader metrics(metrics_text(server, {}));
  const auto bucket = [&](const std::string& bound) {
    return metrics.value("holdfast_step_gap_seconds_bucket{between=\"work\",le=\"" + bound + "\"}");
  };
  EXPECT_EQ(bucket("0.005"), 1.0);
  EXPECT_EQ(bucket("0.01"), 2.0);
  EXPECT_EQ(bucket("0.1"), 2.0);
  EXPECT_EQ(bucket("0.25"), 4.0);
  EXPECT_EQ(bucket("10"), 4.0);
  EXPECT_EQ(bucket("+Inf"), 5.0);
  EXPECT_EQ(metrics.value("holdfast_step_gap_seconds_count{between=\"work\"}"), 5.0);
  EXPECT_NEAR(metrics.value("holdfast_step_gap_seconds_sum{between=\"work\"}"), 60.464, 1e-9);
  EXPECT_EQ(metrics.value("holdfast_step_gap_seconds_count{between=\"nothing\"}"), 0.0);
  EXPECT_EQ(metrics.value("holdfast_step_gap_longest_seconds{between=\"work\"}"), 60.0);
}

TEST(Metrics, TellHowTheEngineStands) {
  serve::SchedulerStatus server;
  server.proofs = {.equal = 3, .different = 1, .unmade = 2, .seconds = 0.5};
  server.disproved = "it is off";
  engine::EngineStanding engine;
  engine.setting = {"zen4", false, true, false};
  engine.given_up = "without extra buffer types";
  engine.check = "passed in part";
  engine.kinds = 29;
  engine.unchecked = 4;
  engine.check_ms = 250.0;
  const MetricsReader metrics(metrics_text(server, {}, engine));
  EXPECT_EQ(metrics.value("holdfast_engine_info{variant=\"zen4\",buffers=\"plain\",slots="
                          "\"together\",drafts=\"off\",check=\"passed in part\"}"),
            1.0);
  EXPECT_EQ(metrics.value("holdfast_engine_gave_up"), 1.0);
  EXPECT_EQ(metrics.value("holdfast_engine_check_kinds{known=\"right\"}"), 25.0);
  EXPECT_EQ(metrics.value("holdfast_engine_check_seconds"), 0.25);
  EXPECT_EQ(metrics.value("holdfast_proofs_total{result=\"different\"}"), 1.0);
  EXPECT_EQ(metrics.value("holdfast_cache_disproved"), 1.0);
}

TEST(Metrics, NumbersThatAreNoneAreZero) {
  cache::CacheStatus cache;
  cache.saved_seconds = std::numeric_limits<double>::quiet_NaN();
  cache.restore_seconds = std::numeric_limits<double>::infinity();
  EXPECT_EQ(MetricsReader(metrics_text({}, cache)).value("holdfast_cache_saved_seconds_total"),
            0.0);
}

}  // namespace
}  // namespace holdfast::api
