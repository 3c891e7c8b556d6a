// ServerRecording: the recording that a running server makes (record/recorder.h).
#pragma once

#include <memory>
#include <string>

#include "cli/options.h"
#include "record/recorder.h"
#include "record/recording_file.h"

namespace holdfast::cli {

class ServerRecording {
 public:
  // Makes the file. Null where no recording is wanted; an Error says why there cannot be one.
  [[nodiscard]] static Result<std::unique_ptr<ServerRecording>> open(const ServeOptions& options,
                                                                     const std::string& build);

  [[nodiscard]] cache::CacheJournal& journal() { return recorder_; }
  // Writes what is left and says in the log what there is. REQUIRES: no request is at work.
  void finish();

 private:
  ServerRecording(std::unique_ptr<record::RecordingTarget> target, std::string path,
                  record::RecorderOptions options);

  const std::string path_;
  record::RecordingFile file_;
  record::CacheRecorder recorder_;
};

}  // namespace holdfast::cli
