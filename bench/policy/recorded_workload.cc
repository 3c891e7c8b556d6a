#include "policy/recorded_workload.h"

#include <algorithm>
#include <fstream>
#include <map>
#include <utility>

#include "cli/options.h"
#include "plan/placement.h"
#include "record/recorded_requests.h"
#include "record/recording_frames.h"

namespace holdfast::policy {

namespace {

// Dense ids for tokens. Requests of different spaces share none.
class TokenIds {
 public:
  BlockId of(SpaceKey space, Token token) {
    return ids_.emplace(std::pair(space, token), static_cast<BlockId>(ids_.size())).first->second;
  }
  [[nodiscard]] BlockId count() const { return static_cast<BlockId>(ids_.size()); }

 private:
  std::map<std::pair<SpaceKey, Token>, BlockId> ids_;
};

Request request_of(const record::RecordedRequest& recorded, TokenIds& ids) {
  Request request;
  request.time_ms = recorded.began_ms;
  request.input = length_of(recorded.prompt);
  request.output = length_of(recorded.answer);
  for (const Token token : recorded.prompt) {
    request.prompt.push_back(ids.of(recorded.space, token));
  }
  for (const Token token : recorded.answer) {
    request.answer.push_back(ids.of(recorded.space, token));
  }
  request.system_end = plan::system_end(recorded.spans);
  request.tool_call = recorded.called_tool;
  request.messages = recorded.spans;
  request.cuts = recorded.cuts;
  return request;
}

// What attention costs cannot be seen in a state: each token counts alike.
ModelShape shape_of(const StateShape& recorded) {
  ModelShape shape;
  shape.name = "recorded";
  shape.row_bytes = recorded.bytes_per_token();
  shape.state_bytes = recorded.bytes_per_snapshot();
  constexpr ByteCount kBlock = 16;
  const ByteCount rows = std::max<ByteCount>(shape.row_bytes, 1);
  const ByteCount a_state_fits = (shape.state_bytes + rows * kBlock - 1) / (rows * kBlock) * kBlock;
  shape.vllm_block = static_cast<TokenPos>(std::max(a_state_fits, kBlock));
  return shape;
}

}  // namespace

bool is_recording(const std::string& path) {
  const std::string magic = record::recording_magic();
  std::ifstream file(path, std::ios::binary);
  std::string begin(magic.size(), '\0');
  file.read(begin.data(), static_cast<std::streamsize>(begin.size()));
  return file.gcount() == static_cast<std::streamsize>(begin.size()) && begin == magic;
}

Result<RecordedWorkload> recorded_workload(const std::string& path) {
  const auto bytes = cli::read_file(path);
  if (!bytes) return bytes.error();
  auto recorded = record::recorded_requests(*bytes);
  if (!recorded) return invalid_argument("--trace", path + ": " + recorded.error().message);
  if (recorded->requests.empty()) {
    return invalid_argument("--trace", path + ": no request ended in this recording.");
  }
  RecordedWorkload made;
  TokenIds ids;
  for (const record::RecordedRequest& request : recorded->requests) {
    made.workload.requests.push_back(request_of(request, ids));
  }
  made.workload.ids = ids.count();
  const cache::CacheOptions& options = recorded->header.options;
  made.workload.merged_chunk = options.has_exact_prompts() ? 0 : options.merged_chunk;
  made.model = shape_of(recorded->header.shape);
  made.budget = options.memory.budget;
  return made;
}

}  // namespace holdfast::policy
