#include "policy/llama_server.h"

#include <algorithm>
#include <deque>
#include <vector>

namespace holdfast::policy {

namespace {

constexpr double kSlotSimilarity = 0.1;  // of the prompt, at least, to prefer a slot
constexpr double kKeepsSlot = 0.5;       // of a slot; below it goes to the list first
constexpr double kEntryKept = 0.25;      // of an entry, at least
constexpr TokenPos kBeforeEnd = 4;       // tokens between the last checkpoint and the end

struct Held {
  Prefix end;
  std::vector<TokenPos> checkpoints;  // ascending
  std::uint64_t used = 0;
};

class Llama final : public Policy {
 public:
  Llama(const PolicySetup& setup, const LlamaOptions& options)
      : setup_(setup), options_(options), slots_(static_cast<std::size_t>(options.slots)) {}

  Served serve(const Turn& turn) override {
    served_ = {};
    const Path& path = *turn.path;
    const Request& request = *turn.request;
    Held& slot = choose_slot(path, request.input);
    const auto kept = static_cast<double>(common(path, request, slot.end));
    if (slot.end.position > 0 && kept / slot.end.position < kKeepsSlot) {
      put_away(slot);
      fetch(slot, path, request);
    }
    const TokenPos start = resume(slot, path, request);
    served_.reused = start;
    read(slot, path, request, start);
    slot.used = ++now_;
    make_room();
    return served_;
  }

  [[nodiscard]] ByteCount held() const override {
    ByteCount sum = 0;
    for (const Held& slot : slots_) sum += weight(slot);
    for (const Held& entry : list_) sum += weight(entry);
    return sum;
  }

 private:
  [[nodiscard]] ByteCount weight(const Held& held) const {
    if (held.end.position == 0) return 0;
    return setup_.shape.rows(held.end.position) +
           setup_.shape.state_bytes * (1 + held.checkpoints.size());
  }

  [[nodiscard]] static TokenPos common(const Path& path, const Request& request, Prefix end) {
    return std::min(path.common(end), request.input);
  }

  Held& choose_slot(const Path& path, TokenPos input) {
    Held* best = nullptr;
    TokenPos most = 0;
    for (Held& slot : slots_) {
      const TokenPos here = std::min(path.common(slot.end), input);
      if (here > most && static_cast<double>(here) / input > kSlotSimilarity) {
        most = here;
        best = &slot;
      }
    }
    return best != nullptr ? *best : *std::ranges::min_element(slots_, {}, &Held::used);
  }

  void put_away(const Held& slot) {
    const auto contains = [&](const Held& outer, const Held& inner) {
      return prefix_of(outer.end, inner.end.position) == inner.end;
    };
    if (std::ranges::any_of(list_, [&](const Held& entry) { return contains(entry, slot); }))
      return;
    std::erase_if(list_, [&](const Held& entry) { return contains(slot, entry); });
    list_.push_back(slot);
    served_.written += weight(slot);
  }

  [[nodiscard]] Prefix prefix_of(Prefix whole, TokenPos length) const {
    if (length > whole.position) return {};
    return {setup_.trie->holder(whole.node, length), length};
  }

  void fetch(Held& slot, const Path& path, const Request& request) {
    double kept = static_cast<double>(common(path, request, slot.end)) / slot.end.position;
    double similar = static_cast<double>(common(path, request, slot.end)) / request.input;
    auto best = list_.end();
    for (auto entry = list_.begin(); entry != list_.end(); ++entry) {
      const auto here = static_cast<double>(common(path, request, entry->end));
      const double entry_kept = here / entry->end.position;
      const double entry_similar = here / request.input;
      if (entry_kept < kEntryKept || entry_kept <= kept || entry_similar <= similar) continue;
      kept = entry_kept;
      similar = entry_similar;
      best = entry;
    }
    if (best == list_.end()) return;
    slot = std::move(*best);
    list_.erase(best);
  }

  // Cuts the slot to what the prompt can go on from. Returns how much that is.
  TokenPos resume(Held& slot, const Path& path, const Request& request) const {
    const TokenPos agreed = std::min(common(path, request, slot.end), request.input - 1);
    TokenPos start = agreed;
    if (setup_.shape.has_state() && agreed < slot.end.position) {
      const auto above = std::ranges::upper_bound(slot.checkpoints, agreed);
      start = above == slot.checkpoints.begin() ? 0 : *std::prev(above);
    }
    std::erase_if(slot.checkpoints, [&](TokenPos at) { return at > start; });
    return start;
  }

  void read(Held& slot, const Path& path, const Request& request, TokenPos start) {
    slot.end = path.prefix(request.total());
    served_.written += setup_.shape.rows(request.total() - start);
    if (!setup_.shape.has_state()) return;
    TokenPos last = slot.checkpoints.empty() ? 0 : slot.checkpoints.back();
    const auto checkpoint = [&](TokenPos at) {
      if (at <= start || at <= last) return;
      if (slot.checkpoints.size() >= options_.checkpoints_max) {
        slot.checkpoints.erase(slot.checkpoints.begin());
      }
      slot.checkpoints.push_back(at);
      last = at;
      ++served_.states;
      served_.written += setup_.shape.state_bytes;
    };
    const TokenPos end = request.input - kBeforeEnd;
    for (TokenPos at = std::max(last, start) + options_.checkpoint_every;
         at < end - options_.ubatch; at += options_.checkpoint_every) {
      checkpoint(at);
    }
    checkpoint(end - options_.ubatch);
    checkpoint(end);
  }

  void make_room() {
    while (held() > setup_.budget && !list_.empty()) {
      list_.pop_front();
      ++served_.evicted;
    }
    for (Held& slot : slots_) {
      while (held() > setup_.budget && !slot.checkpoints.empty()) {
        slot.checkpoints.erase(slot.checkpoints.begin());
        ++served_.evicted;
      }
      if (held() > setup_.budget) slot = {};
    }
  }

  const PolicySetup setup_;
  const LlamaOptions options_;
  std::vector<Held> slots_;
  std::deque<Held> list_;
  std::uint64_t now_ = 0;
  Served served_;
};

}  // namespace

PolicyPtr make_llama(const PolicySetup& setup, const LlamaOptions& options) {
  return std::make_unique<Llama>(setup, options);
}

}  // namespace holdfast::policy
