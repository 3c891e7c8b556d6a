#include "record/replay_requests.h"

#include <utility>

namespace holdfast::record {

cache::Prompt LiveRequest::view() const {
  return {prompt.space,
          prompt.tokens,
          exact_prompts ? TokenSpan(keys) : TokenSpan(prompt.tokens),
          prompt.cuts,
          prompt.spans,
          prompt.yes,
          prompt.header_end,
          {},
          end,
          prompt.request,
          one_off,
          ahead};
}

bool ReplayRequests::add(CacheEvent&& prompt) {
  live_tokens_ += prompt.tokens.size();
  if (requests_.contains(prompt.request) || live_tokens_ > tokens_max_) return false;
  auto request = std::make_unique<LiveRequest>();
  request->prompt = std::move(prompt);
  request->exact_prompts = cache_.header().options.has_exact_prompts();
  request->keys = cache_.keys_for(request->prompt.tokens, request->prompt.cuts);
  if (request->prompt.yes) {
    const cache::Prompt seen = request->view();
    request->end = cache::EndKey::of(seen.space, seen.keys);
  }
  const std::uint64_t number = request->prompt.request;
  requests_.emplace(number, std::move(request));
  return true;
}

LiveRequest* ReplayRequests::find(std::uint64_t number) {
  const auto found = requests_.find(number);
  return found == requests_.end() ? nullptr : found->second.get();
}

void ReplayRequests::forget(std::uint64_t number) {
  const auto found = requests_.find(number);
  live_tokens_ -= found->second->prompt.tokens.size();
  requests_.erase(found);
}

}  // namespace holdfast::record
