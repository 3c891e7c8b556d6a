#include "cli/server_recording.h"

#include <chrono>
#include <utility>

#include "env/clock.h"
#include "env/log.h"
#include "state/parts.h"

namespace holdfast {

Result<std::unique_ptr<ServerRecording>> ServerRecording::open(const ServeOptions& options,
                                                               const std::string& build) {
  if (options.record.empty()) return std::unique_ptr<ServerRecording>();
  auto target = make_recording_file(options.record);
  if (!target) return target.error();
  RecorderOptions recording;
  recording.private_form = options.record_private;
  recording.build = build;
  recording.unix_ms = SteadyClock().unix_ms();
  return std::unique_ptr<ServerRecording>(
      new ServerRecording(std::move(*target), options.record, std::move(recording)));
}

ServerRecording::ServerRecording(std::unique_ptr<RecordingTarget> target, std::string path,
                                 RecorderOptions options)
    : path_(std::move(path)), file_(std::move(target)), recorder_(file_, options) {
  recorder_.on_stopped = [this](const std::string& why) {
    Log::warn("the recording to " + path_ + " has ended; the server goes on. " + why);
  };
  Log::info(options.private_form ? "recording to " + path_ + ", without tokens and texts"
                                 : "recording to " + path_ + ": it will hold all prompts");
}

void ServerRecording::finish() {
  const bool until_now = recorder_.recording();
  recorder_.finish();
  file_.finish();
  if (const auto failure = file_.failure(); failure && until_now) {
    Log::warn("the end of the recording is missing: " + failure->message);
  }
  Log::info("recorded " + path_,
            {{"requests", recorder_.requests()}, {"size", human_bytes(file_.written())}});
}

}  // namespace holdfast
