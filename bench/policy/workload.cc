#include "policy/workload.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <unordered_map>

namespace holdfast::policy {

const char* outputs_name(Outputs outputs) { return outputs == Outputs::kKeep ? "keep" : "strip"; }

namespace {

// A block with more continuations than this is shared by conversations.
constexpr int kContinuationsMax = 4;

// How many different ids stand behind each id.
std::vector<int> continuations(const Trace& trace) {
  std::vector<int> count(static_cast<std::size_t>(trace.ids), 0);
  std::vector<bool> seen(static_cast<std::size_t>(trace.ids), false);
  for (const TraceRequest& request : trace.requests) {
    for (std::size_t i = 0; i < request.blocks.size(); ++i) {
      const auto id = static_cast<std::size_t>(request.blocks[i]);
      if (seen[id]) continue;
      seen[id] = true;
      if (i > 0) ++count[static_cast<std::size_t>(request.blocks[i - 1])];
    }
  }
  return count;
}

// Goes through the requests from the last to the first, so that followers are known.
class Maker {
 public:
  Maker(const Trace& trace, Outputs outputs) : trace_(trace), continuations_(continuations(trace)) {
    workload_.outputs = outputs;
    workload_.block_tokens = trace.block_tokens;
    workload_.requests.resize(trace.requests.size());
    latest_.assign(static_cast<std::size_t>(trace.ids), kNone);
    followers_.assign(trace.requests.size(), kNone);
    next_id_ = trace.ids;
  }

  Workload make() && {
    for (std::size_t i = trace_.requests.size(); i-- > 0;) make_request(i);
    workload_.ids = next_id_;
    return std::move(workload_);
  }

 private:
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);

  void make_request(std::size_t index) {
    const TraceRequest& from = trace_.requests[index];
    Request& to = workload_.requests[index];
    to.time_ms = from.time_ms;
    to.input = from.input;
    to.output = from.output;
    to.system_end = from.system_end;
    to.tool_call = from.tool_call;
    followers_[index] = follower_of(from);
    const Request* follower =
        followers_[index] == kNone ? nullptr : &workload_.requests[followers_[index]];
    const auto whole = static_cast<std::size_t>(from.input / trace_.block_tokens);
    to.prompt.assign(from.blocks.begin(), from.blocks.begin() + static_cast<std::ptrdiff_t>(whole));
    if (from.input % trace_.block_tokens != 0) to.prompt.push_back(tail_of(from, whole, follower));
    answer(to, follower);
    for (std::size_t i = 0; i < whole; ++i) {
      latest_[static_cast<std::size_t>(from.blocks[i])] = index;
    }
  }

  // The next request that begins with all whole blocks of this one and is longer.
  [[nodiscard]] std::size_t follower_of(const TraceRequest& request) const {
    const auto whole = static_cast<std::size_t>(request.input / trace_.block_tokens);
    if (whole == 0) return kNone;
    const auto last = static_cast<std::size_t>(request.blocks[whole - 1]);
    if (continuations_[last] > kContinuationsMax) return kNone;
    std::size_t next = latest_[last];
    while (next != kNone && trace_.requests[next].input <= request.input) next = followers_[next];
    return next;
  }

  BlockId tail_of(const TraceRequest& request, std::size_t whole, const Request* follower) {
    const bool named = request.blocks.size() > whole;
    BlockId id = named ? request.blocks[whole] : kUnnamed;
    if (follower != nullptr) {
      id = follower->prompt[whole];
    } else if (named && tails_.contains(id)) {
      id = tails_.at(id);
    }
    if (named) tails_[request.blocks[whole]] = id;
    return id == kUnnamed ? next_id_++ : id;
  }

  void answer(Request& request, const Request* follower) {
    if (request.output == 0) return;
    const TokenPos first = request.input / trace_.block_tokens;
    const TokenPos last = (request.total() - 1) / trace_.block_tokens;
    const bool kept = workload_.outputs == Outputs::kKeep && follower != nullptr &&
                      follower->input >= request.total();
    for (TokenPos block = first; block <= last; ++block) {
      request.answer.push_back(kept ? follower->prompt[static_cast<std::size_t>(block)]
                                    : next_id_++);
    }
  }

  static constexpr BlockId kUnnamed = -1;

  const Trace& trace_;
  const std::vector<int> continuations_;
  Workload workload_;
  std::vector<std::size_t> latest_;             // by id: the earliest later request that has it
  std::vector<std::size_t> followers_;          // by request
  std::unordered_map<BlockId, BlockId> tails_;  // a partial block's id: the block it begins
  BlockId next_id_ = 0;
};

}  // namespace

TokenPos Workload::common(const Request& a, const Request& b, TokenPos from, TokenPos limit) const {
  limit = std::min({limit, a.total(), b.total()});
  TokenPos at = from;
  while (at < limit) {
    if (id_at(a, at) != id_at(b, at)) return at;
    TokenPos next = (at / block_tokens + 1) * block_tokens;
    if (at < a.input) next = std::min(next, a.input);
    if (at < b.input) next = std::min(next, b.input);
    at = next;
  }
  return std::min(at, limit);
}

void Workload::write_tokens(const Request& request, Tokens& into) const {
  into.resize(static_cast<std::size_t>(request.total()));
  for (TokenPos at = 0; at < request.total();) {
    TokenPos end = std::min((at / block_tokens + 1) * block_tokens, request.total());
    if (at < request.input) end = std::min(end, request.input);
    std::iota(into.begin() + at, into.begin() + end, token_at(request, at));
    at = end;
  }
}

Workload make_workload(const Trace& trace, Outputs outputs) { return Maker(trace, outputs).make(); }

}  // namespace holdfast::policy
