#include "cli/server_recording.h"

#include <chrono>
#include <utility>

#include "env/clock.h"
#include "env/log.h"
#include "state/parts.h"

namespace holdfast::cli {

Result<std::unique_ptr<ServerRecording>> ServerRecording::open(const ServeOptions& options,
                                                               const std::string& build) {
  if (options.log.record.empty()) return std::unique_ptr<ServerRecording>();
  auto target = record::make_recording_file(options.log.record);
  if (!target) return target.error();
  record::RecorderOptions recording;
  recording.private_form = options.log.record_private;
  recording.build = build;
  recording.unix_ms = env::SteadyClock().unix_ms();
  return std::unique_ptr<ServerRecording>(
      new ServerRecording(std::move(*target), options.log.record, std::move(recording)));
}

ServerRecording::ServerRecording(std::unique_ptr<record::RecordingTarget> target, std::string path,
                                 record::RecorderOptions options)
    : path_(std::move(path)), file_(std::move(target)), recorder_(file_, options) {
  recorder_.on_stopped = [this](const std::string& why) {
    env::Log::warn("the recording to " + path_ + " has ended; the server goes on. " + why);
  };
  env::Log::info(options.private_form ? "recording to " + path_ + ", without tokens and texts"
                                      : "recording to " + path_ + ": it will hold all prompts");
}

void ServerRecording::finish() {
  const bool until_now = recorder_.recording();
  recorder_.finish();
  file_.finish();
  if (const auto failure = file_.failure(); failure && until_now) {
    env::Log::warn("the end of the recording is missing: " + failure->message);
  }
  env::Log::info("recorded " + path_,
                 {{"requests", recorder_.requests()}, {"size", human_bytes(file_.written())}});
}

}  // namespace holdfast::cli
