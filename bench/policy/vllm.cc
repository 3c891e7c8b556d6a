#include "policy/vllm.h"

#include <list>
#include <unordered_map>

namespace holdfast::policy {

namespace {

enum class Kind : std::uint8_t { kRows, kState };

struct Item {
  std::uint64_t prefix = 0;
  Kind kind = Kind::kRows;
};

class Vllm final : public Policy {
 public:
  explicit Vllm(const PolicySetup& setup)
      : setup_(setup), block_(setup.shape.has_state() ? setup.shape.vllm_block : 16) {}

  Served serve(const Turn& turn) override {
    served_ = {};
    const Request& request = *turn.request;
    const Path& path = *turn.path;
    const TokenPos limit = (request.input - 1) / block_ * block_;
    TokenPos rows = 0;
    TokenPos hit = 0;
    while (rows < limit && rows_.contains(path.prefix(rows + block_).key())) {
      rows += block_;
      if (states_.contains(path.prefix(rows).key())) hit = rows;
    }
    served_.reused = setup_.shape.has_state() ? hit : rows;
    if (setup_.shape.has_state()) {
      if (hit > 0) use(path.prefix(hit), Kind::kState);
      for (const TokenPos place : {rows, limit, request.total() / block_ * block_}) {
        if (place > hit) use(path.prefix(place), Kind::kState);
      }
    }
    // Freed from the end on, so the end is the older part.
    for (TokenPos at = request.total() / block_ * block_; at > 0; at -= block_) {
      use(path.prefix(at), Kind::kRows);
    }
    make_room();
    return served_;
  }

  [[nodiscard]] ByteCount held() const override { return held_; }

 private:
  using Order = std::list<Item>;  // oldest first
  using Index = std::unordered_map<std::uint64_t, Order::iterator>;

  [[nodiscard]] ByteCount weight(Kind kind) const {
    return kind == Kind::kRows ? setup_.shape.rows(block_) : setup_.shape.state_bytes;
  }
  [[nodiscard]] Index& index(Kind kind) { return kind == Kind::kRows ? rows_ : states_; }

  void use(Prefix prefix, Kind kind) {
    const auto [entry, added] = index(kind).try_emplace(prefix.key());
    if (!added) {
      order_.splice(order_.end(), order_, entry->second);
      return;
    }
    entry->second = order_.insert(order_.end(), {prefix.key(), kind});
    held_ += weight(kind);
    served_.written += weight(kind);
    served_.states += kind == Kind::kState ? 1 : 0;
  }

  void make_room() {
    while (held_ > setup_.budget) {
      const Item oldest = order_.front();
      order_.pop_front();
      index(oldest.kind).erase(oldest.prefix);
      held_ -= weight(oldest.kind);
      ++served_.evicted;
    }
  }

  const PolicySetup setup_;
  const TokenPos block_;
  Order order_;
  Index rows_;
  Index states_;
  ByteCount held_ = 0;
  Served served_;
};

}  // namespace

PolicyPtr make_vllm(const PolicySetup& setup) { return std::make_unique<Vllm>(setup); }

}  // namespace holdfast::policy
