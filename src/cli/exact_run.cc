#include "cli/exact_run.h"

#include <algorithm>
#include <chrono>
#include <future>
#include <thread>
#include <utility>

#include "env/log.h"

namespace holdfast::cli {
namespace {

using Json = nlohmann::json;
using SteadyClock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kGlance{20};
constexpr int kFailuresMax = 20;

Error other_choices() { return {ErrorCode::kEngine, "the servers gave other choices", ""}; }

}  // namespace

// --- clients ----------------------------------------------------------------------

bool ExactRun::stopped() const { return broken_off_ || NotedSignals::any(); }

bool ExactRun::take_ticket() { return !stopped() && given_++ < tickets_; }

// Restarts divide the requests into equal parts.
void ExactRun::run_clients(const std::string& what, int requests, int restarts,
                           const std::function<void()>& client) {
  given_ = 0;
  tickets_ = requests;
  std::atomic<int> working = load_.clients;
  env::ProgressLine bar(env::Log::logger(), what);
  std::vector<std::jthread> threads;
  for (int i = 0; i < load_.clients; ++i) {
    threads.emplace_back([&] {
      client();
      --working;
    });
  }
  for (int made = 0; working > 0;) {
    std::this_thread::sleep_for(kGlance);
    const int given = std::min<int>(given_, requests);
    bar.update(static_cast<double>(given) / requests);
    const int due = std::min(restarts, (restarts + 1) * given / requests);
    for (; made < due && !stopped(); ++made) restart();
  }
  threads.clear();
  if (NotedSignals::any()) broken_off_ = true;
}

void ExactRun::restart() {
  if (auto again = desk_.restart(); !again) {
    broken_off_ = true;
    return note_failure("restart", again.error());
  }
  ++restarts_;
}

void ExactRun::note_failure(const std::string& where, const Error& error) {
  book_.note_failure(where + ": " + error.message);
  const bool hopeless =
      error.code == ErrorCode::kUnavailable || error.code == ErrorCode::kUnsupported;
  if (hopeless || ++failures_ >= kFailuresMax) broken_off_ = true;
}

void ExactRun::pause() const {
  const auto until = SteadyClock::now() + std::chrono::duration<double>(load_.pause_s);
  while (!stopped() && SteadyClock::now() < until) std::this_thread::sleep_for(kGlance);
}

// --- made-up talks ----------------------------------------------------------------

void ExactRun::talks(std::uint64_t seed, int requests) {
  std::atomic<std::uint64_t> next = 0;
  run_clients("asking both servers", requests, load_.restarts, [&] {
    while (!stopped() && given_ < tickets_) talk(seed, next++);
  });
}

void ExactRun::talk(std::uint64_t seed, std::uint64_t number) {
  ScriptedTalk talk(make_script(seed, number, desk_.context()));
  int count = 0;
  for (const TalkStep& step : talk.steps()) {
    const std::string where =
        "talk " + std::to_string(number) + ", step " + std::to_string(++count);
    if (!take_step(talk, step, where)) return;
    pause();
  }
}

std::vector<ExactAnswers> ExactRun::ask_at_once(const std::vector<Json>& requests, int patience_ms,
                                                const std::string& where) {
  std::vector<std::future<Result<ExactAnswers>>> under_way;
  for (const Json& request : requests) {
    if (!take_ticket()) break;
    under_way.push_back(std::async(std::launch::async,
                                   [=, this] { return desk_.ask_running(request, patience_ms); }));
  }
  std::vector<ExactAnswers> all;
  for (auto& one : under_way) {
    auto answers = one.get();
    if (!answers) {
      note_failure(where, answers.error());
    } else {
      all.push_back(std::move(*answers));
    }
  }
  return all;
}

bool ExactRun::take_step(ScriptedTalk& talk, const TalkStep& step, const std::string& where) {
  const std::vector<Json> requests = talk.ask(step);
  const std::vector<ExactAnswers> running = ask_at_once(requests, step.patience_ms, where);
  if (running.size() < requests.size()) return false;
  ExactAnswers here;
  ExactAnswers there;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const auto cold = desk_.ask_cold(requests[i]);
    if (!cold || cold->size() != running[i].size()) {
      note_failure(where, cold ? other_choices() : cold.error());
      return false;
    }
    here.insert(here.end(), running[i].begin(), running[i].end());
    there.insert(there.end(), cold->begin(), cold->end());
  }
  const std::vector<std::string> reuse = talk.reuse_of(here, step);
  for (std::size_t i = 0; i < here.size(); ++i)
    book_.note({reuse[i], name_of(step.move), where, here[i], there[i]});
  talk.take(here, step);
  return here.front().prompt_tokens < desk_.context() / 2;
}

// --- frozen requests --------------------------------------------------------------

Result<void> ExactRun::ask_frozen(const FrozenRequest& request, ExactAnswers& cold,
                                  const std::string& occasion) {
  const auto running = desk_.ask_running(request.body);
  if (!running) return running.error();
  if (cold.empty()) {
    auto answers = desk_.ask_cold(request.body);
    if (!answers) return answers.error();
    cold = std::move(*answers);
  }
  if (cold.size() != running->size()) return other_choices();
  for (std::size_t choice = 0; choice < cold.size(); ++choice) {
    const ExactAnswer& answer = (*running)[choice];
    const std::string reuse = answer.prewarmed > 0 ? "pre-warmed" : source_of(answer);
    book_.note({reuse, occasion, request.where, answer, cold[choice], request.needle});
  }
  return {};
}

void ExactRun::frozen(const std::vector<FrozenRequest>& requests, const std::string& occasion) {
  cold_answers_.resize(requests.size());
  std::atomic<std::size_t> next = 0;
  run_clients("asking both servers, " + occasion, static_cast<int>(requests.size()), 0, [&] {
    while (take_ticket()) {
      const std::size_t i = next++;
      auto asked = ask_frozen(requests[i], cold_answers_[i], occasion);
      if (!asked) note_failure(requests[i].where, asked.error());
      pause();
    }
  });
}

}  // namespace holdfast::cli
