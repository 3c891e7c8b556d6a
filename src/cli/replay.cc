#include "cli/replay.h"

#include "cli/replay_recording.h"

namespace holdfast {

int replay_main(std::span<const std::string> args, const Environment& env) {
  return replay_recording_main(args, env);
}

}  // namespace holdfast
