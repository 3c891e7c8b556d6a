#include "cli/server_disk.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "cli/folder_budget.h"
#include "env/log.h"
#include "state/parts.h"
#include "tier/answer_key.h"

namespace holdfast::cli {

namespace {

constexpr ByteCount kMebibyte = 1 << 20;
// A full volume troubles everybody on the machine.
constexpr ByteCount kLeftFree = 1024 * kMebibyte;
// In a second, while requests are at work.
constexpr ByteCount kBusyBytesOnGpu = 256 * kMebibyte;

// What a stop leaves out, for the log.
std::vector<std::string> lines_about(const cache::Flushed& flushed) {
  std::vector<std::string> lines;
  const cache::GivenUp& given_up = flushed.given_up;
  if (flushed.interrupted) {
    lines.push_back("cut short: up to " + human_bytes(flushed.waiting_bytes) +
                    " of states were not written to disk");
  }
  if (given_up.paths > 0) {
    lines.push_back("up to " + human_bytes(given_up.bytes) + " of states, of " +
                    std::to_string(given_up.paths) +
                    " conversations, could not be written to disk: " + given_up.why);
  }
  if (flushed.lost > 0) {
    lines.push_back(std::to_string(flushed.lost) +
                    " parts of states had left memory before they were written to disk");
  }
  return lines;
}

}  // namespace

std::unique_ptr<ServerDisk> ServerDisk::open(const ServeOptions& options, bool on_gpu,
                                             const env::Clock& clock) {
  if (options.reuse.dir.empty() || options.reuse.dir == "off") return nullptr;
  if (options.reuse.ram_mib == 0) {
    env::Log::info("no states on disk: they pass through memory, and --cache-ram is 0");
    return nullptr;
  }
  tier::DiskOptions disk;
  disk.budget = folder_budget(options.reuse.dir, options.reuse.disk_mib);
  disk.free_min = kLeftFree;
  if (disk.budget == 0 && options.reuse.disk_mib == 0) return nullptr;
  if (disk.budget == 0) {
    env::Log::warn("no states on disk: there is hardly any room in " + options.reuse.dir +
                   " (choose a folder with --cache-dir, or --cache-dir off)");
    return nullptr;
  }
  auto known = std::make_shared<tier::StoredDepths>();
  disk.stored_depths = known;
  auto folder = tier::LastingFolder::open(options.reuse.dir, std::move(disk), clock.unix_ms());
  if (!folder) {
    env::Log::warn("no states on disk: " + folder.error().message +
                   " (choose a folder with --cache-dir, or --cache-dir off)");
    return nullptr;
  }
  if ((*folder)->role() == tier::StoreRole::kReader) {
    known = nullptr;  // another server writes, and this one does not see what
    env::Log::warn(
        "another server writes to " + options.reuse.dir +
        "; this one only reads there. Give it a --cache-dir of its own to keep its states");
  }
  cache::DiskTierOptions below;
  below.rest = std::chrono::milliseconds(options.reuse.rest_ms);
  if (on_gpu) below.busy_bytes_per_s = kBusyBytesOnGpu;
  return std::unique_ptr<ServerDisk>(
      new ServerDisk(options.reuse.dir, std::move(*folder), std::move(known), below, clock));
}

ServerDisk::ServerDisk(std::string folder, std::unique_ptr<tier::LastingFolder> store,
                       std::shared_ptr<tier::StoredDepths> known, cache::DiskTierOptions options,
                       const env::Clock& clock)
    : folder_(std::move(folder)),
      store_(std::move(store)),
      clock_(clock),
      tier_(*store_, std::move(known), clock, options) {
  responses_ = std::make_unique<KeptResponses>(*store_, tier_, clock_);
  store_->on_renewed = [this] {
    env::Log::warn(folder_ + " had gone and was created again; answers are not affected");
    if (answers_ != nullptr) answers_->begin_in(store_->files());
    responses_->renew();
    if (answer_key_) keep_answer_key();
  };
  tier_.on.cleared = [this]() -> Result<void> {
    auto answers = clear_answers();
    auto responses = responses_->clear();
    return answers ? responses : answers;
  };
  tier_.on.trouble = [this](const std::string& what) {
    if (what.empty()) {
      env::Log::info("states are written to " + folder_ + " again");
    } else {
      env::Log::warn("a state could not be written to " + folder_ + ": " + what +
                     "; answers are not affected, and it is tried again later");
    }
  };
}

void ServerDisk::describe(const std::string& model, const cache::Fingerprint& facts) {
  tier_.on.space = [this, model, settings = facts.describe(),
                    own = facts.space("")](SpaceKey space) {
    const tier::SpaceNote note{model, settings, space != own};
    if (auto noted = store_->store().describe_space(space, note); !noted) {
      env::Log::debug("no note on a space: " + noted.error().message);
    }
  };
  tier::DiskStore& store = store_->store();
  survey_ = cache::survey_folder(store.inventory().space_totals(), store.space_notes(),
                                 {model, facts.describe(), false});
  // A reader does not see what the other server adds, and says nothing of it.
  holds_foreign_ = !survey_.makers.empty() && store_->role() == tier::StoreRole::kWriter;
  tier_.set_foreign(cache::ForeignStates(std::move(survey_.makers)));
}

void ServerDisk::announce() const {
  env::Log::info("cache on disk: " + summary());
  for (const std::string& line : cache::rest_lines(survey_))
    env::Log::info("cache on disk: " + line);
}

void ServerDisk::remember_answers(cache::TokenHistory& history, Token vocabulary) {
  tier::AnswerLog::read(store_->files(), [&](tier::RememberedAnswer answer) {
    static_cast<void>(history.recall(std::move(answer), vocabulary));
  });
  if (store_->role() == tier::StoreRole::kReader) return;
  answers_ = std::make_unique<cache::AnswerKeeper>(store_->files(), history, clock_);
  answers_->on_trouble = [this](const std::string& what) {
    if (what.empty()) {
      env::Log::info("answers are written to " + folder_ + " again");
    } else {
      env::Log::warn("an answer could not be written to " + folder_ + ": " + what +
                     "; it is tried again later. Until then a restart would forget it");
    }
  };
  answers_->on_missed = [this] { tier_.count_missed_answer(); };
  answers_->begin();
  history.on_remembered = [this](const tier::RememberedAnswer& answer) {
    tier_.ask([this, answer] { answers_->keep(answer); });
  };
}

Result<void> ServerDisk::clear_answers() {
  if (answers_ != nullptr) return answers_->clear();
  const auto erased = tier::AnswerLog::erase(store_->files());  // of a life that kept some
  if (!erased) return erased.error();
  return {};
}

tier::Secret ServerDisk::answer_key() {
  const auto kept = tier::read_answer_key(store_->files());
  if (!kept) {
    env::Log::warn(kept.error().message +
                   "; answers of earlier servers are found by their text alone");
  }
  answer_key_ = kept && *kept ? **kept : tier::random_secret();
  const bool absent = kept && !*kept;
  if (absent && store_->role() == tier::StoreRole::kWriter) keep_answer_key();
  return *answer_key_;
}

void ServerDisk::keep_answer_key() {
  if (const auto kept = tier::write_answer_key(store_->files(), *answer_key_); !kept) {
    env::Log::warn(kept.error().message +
                   "; after a restart answers are found by their text alone");
  }
}

std::string ServerDisk::summary() const {
  const cache::DiskTierStatus status = tier_.status();
  std::string text = human_bytes(status.store.bytes()) + " of at most " +
                     human_bytes(status.budget) + " in " + folder_;
  if (!survey_.rest.empty()) text += ", of it " + human_bytes(survey_.usable) + " usable here";
  if (status.store.index_rebuilds > 0) text += ", its index was rebuilt";
  return text;
}

void ServerDisk::finish(const std::function<bool()>& interrupted) {
  if (answers_ != nullptr) tier_.ask([this] { answers_->finish(); });
  tier_.ask([this] { responses_->finish(); });
  const ByteCount all = std::max<ByteCount>(tier_.status().bytes_waiting, 1);
  env::ProgressLine bar(env::Log::logger(), "writing states to disk");
  const cache::Flushed flushed = tier_.flush([&](ByteCount left) {
    bar.update(1.0F - static_cast<float>(std::min(left, all)) / static_cast<float>(all));
    return !interrupted();
  });
  flushed.interrupted ? bar.abandon() : bar.finish();
  for (const std::string& line : lines_about(flushed)) env::Log::warn(line);
  tier_.stop();
}

}  // namespace holdfast::cli
