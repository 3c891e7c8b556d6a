// ServerDisk: the cache folder of a running server, with the thread that reads and writes it.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "cache/answer_keeper.h"
#include "cache/disk_tier.h"
#include "cache/fingerprint.h"
#include "cache/folder_survey.h"
#include "cache/token_history.h"
#include "cli/kept_responses.h"
#include "cli/options.h"
#include "env/clock.h"
#include "tier/lasting_folder.h"
#include "tier/secret.h"

namespace holdfast::cli {

class ServerDisk {
 public:
  // Null where there is to be none, or where the folder cannot be used; the log says why. A
  // server without it is slower after a restart, and no less right.
  // REQUIRES: the clock outlives it.
  // `on_gpu`: the processor has little to do, and writing holds nobody up.
  [[nodiscard]] static std::unique_ptr<ServerDisk> open(const ServeOptions& options, bool on_gpu,
                                                        const env::Clock& clock);

  [[nodiscard]] cache::DiskTier& tier() { return tier_; }
  // Spaces of these facts are noted in the folder, for `holdfast cache ls`, and what other facts
  // have left there is told from them.
  // REQUIRES: before the tier is started.
  void describe(const std::string& model, const cache::Fingerprint& facts);
  // There are states of this model that another engine or other settings have made.
  [[nodiscard]] bool holds_foreign() const { return holds_foreign_; }
  // Gives the history the answers of earlier lives, and keeps those to come.
  // REQUIRES: before the tier is started; the history outlives its thread.
  void remember_answers(cache::TokenHistory& history, Token vocabulary);
  // Holds the responses of earlier lives, and those to come are kept. Not to be changed after this
  // is destroyed.
  [[nodiscard]] std::shared_ptr<api::ResponseStore> responses() const {
    return responses_->store();
  }
  // What ids of answers are signed with: the folder's key, which is made where there is none.
  // REQUIRES: before the tier is started.
  [[nodiscard]] tier::Secret answer_key();
  // Says in the log what there is, how much of it can be used here, and what made the rest.
  void announce() const;
  // Writes what waits to be written, with a progress line; `interrupted` ends that early.
  void finish(const std::function<bool()>& interrupted);

 private:
  ServerDisk(std::string folder, std::unique_ptr<tier::LastingFolder> store,
             std::shared_ptr<tier::StoredDepths> known, cache::DiskTierOptions options,
             const env::Clock& clock);
  [[nodiscard]] std::string summary() const;
  void keep_answer_key();
  [[nodiscard]] Result<void> clear_answers();

  const std::string folder_;
  std::unique_ptr<tier::LastingFolder> store_;
  const env::Clock& clock_;
  std::unique_ptr<cache::AnswerKeeper> answers_;  // its thread's; null: none are kept
  std::unique_ptr<KeptResponses> responses_;
  std::optional<tier::Secret> answer_key_;  // nothing: nobody has asked for it
  cache::FolderSurvey survey_;              // of when the server started
  bool holds_foreign_ = false;
  cache::DiskTier tier_;
};

}  // namespace holdfast::cli
