#include "record/recorded_requests.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "record/recording_frames.h"

namespace holdfast::record {

namespace {

// Prompts of more tokens than this in all would not fit a machine's memory; later requests are left
// out.
constexpr std::uint64_t kTokensMax = std::uint64_t{1} << 30U;

class Collector {
 public:
  explicit Collector(RecordedRequests& out) : out_(out) {}

  // False: enough.
  bool take(CacheEvent& event) {
    switch (event.kind) {
      case EventKind::kPrompt: return add(event);
      case EventKind::kBegin: begin(event); break;
      case EventKind::kDecoded:
        if (const auto at = slots_.find(event.slot); at != slots_.end()) {
          Tokens& answer = open_[at->second].answer;
          answer.insert(answer.end(), event.tokens.begin(), event.tokens.end());
        }
        break;
      // What was decoded is computed again from the prompt's beginning on.
      case EventKind::kEmptied: skip_prompt(event); break;
      case EventKind::kEnd: slots_.erase(event.slot); break;
      case EventKind::kCalledTool:
        if (const auto at = ended_.find(event.slot); at != ended_.end()) {
          out_.requests[at->second].called_tool = true;
        }
        break;
      case EventKind::kReceipt: end(event); break;
      case EventKind::kDropped: open_.erase(event.request); break;
      default: break;
    }
    return true;
  }

  void finish() {
    for (RecordedRequest& request : out_.requests) {
      const auto rereads = reread_.find(request.number);
      if (rereads == reread_.end()) continue;
      // The prompt comes first in what was read again.
      Tokens& answer = request.answer;
      const auto all = std::min(answer.size(), request.prompt.size());
      answer.erase(answer.begin(), answer.begin() + static_cast<std::ptrdiff_t>(all));
    }
    std::ranges::stable_sort(out_.requests, {}, &RecordedRequest::began_ms);
  }

 private:
  bool add(CacheEvent& event) {
    tokens_ += event.tokens.size();
    if (tokens_ > kTokensMax) return false;
    RecordedRequest& request = open_[event.request];
    request.number = event.request;
    request.space = event.space;
    request.prompt = std::move(event.tokens);
    request.cuts = std::move(event.cuts);
    request.spans = std::move(event.spans);
    request.reuse = event.yes;
    return true;
  }

  void begin(const CacheEvent& event) {
    if (open_.contains(event.request)) slots_[event.slot] = event.request;
  }

  void skip_prompt(const CacheEvent& event) {
    const auto at = slots_.find(event.slot);
    if (at == slots_.end()) return;
    open_[at->second].answer.clear();
    reread_[at->second] = true;
  }

  void end(const CacheEvent& event) {
    const auto found = open_.find(event.request);
    if (found == open_.end()) return;
    RecordedRequest request = std::move(found->second);
    open_.erase(found);
    const cache::Receipt& receipt = event.receipt;
    const double queued = std::isfinite(receipt.queued_ms) ? receipt.queued_ms : 0.0;
    request.began_ms = receipt.unix_ms;
    request.arrived_ms = receipt.unix_ms - std::llround(std::clamp(queued, 0.0, 1e12));
    request.prompt_ms = receipt.prompt_ms;
    request.answer_tokens = event.position;
    request.answer_ms = event.ms;
    request.end = event.end;
    ended_[receipt.slot] = out_.requests.size();
    out_.requests.push_back(std::move(request));
  }

  RecordedRequests& out_;
  std::map<std::uint64_t, RecordedRequest> open_;
  std::map<int, std::uint64_t> slots_;    // who is at work there
  std::map<int, std::size_t> ended_;      // who ended there last
  std::map<std::uint64_t, bool> reread_;  // their slots were emptied meanwhile
  std::uint64_t tokens_ = 0;
};

}  // namespace

Result<RecordedRequests> recorded_requests(std::string_view file) {
  FrameReader frames(file);
  if (auto opened = frames.open(); !opened) return opened.error();
  const auto first = frames.next();
  if (!first) return Error{ErrorCode::kInvalidArgument, "The recording has no header.", ""};
  auto header = decode_header(*first);
  if (!header) return header.error();
  RecordedRequests out;
  out.header = std::move(*header);
  EventDecoder decoder(out.header);
  Collector collector(out);
  bool more = true;
  for (auto payload = frames.next(); payload && more; payload = frames.next()) {
    RecordReader in(*payload);
    while (more && !in.at_end()) {
      auto event = decoder.decode(in);
      if (event && event->kind == EventKind::kDone) out.whole = true;
      more = event && event->kind != EventKind::kDone && collector.take(*event);
    }
  }
  collector.finish();
  return out;
}

}  // namespace holdfast::record
