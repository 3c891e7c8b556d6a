// Companions that are wrong in every way that one can be, around a sound one, and one
// that knows the answers. None of them may change an answer (H5).
#pragma once

#include <algorithm>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "engine/companion.h"

namespace holdfast {

// Does what the other does.
class Forwarding : public engine::Companion {
 public:
  explicit Forwarding(engine::Companion& inner) : inner_(inner) {}
  [[nodiscard]] std::string_view name() const noexcept override { return inner_.name(); }
  [[nodiscard]] engine::CompanionShape shape() const noexcept override { return inner_.shape(); }
  [[nodiscard]] engine::Followed follow(SlotId slot,
                                        const engine::CompanionPoint& point) noexcept override {
    return inner_.follow(slot, point);
  }
  void advance(SlotId slot, TokenSpan kept, TokenPos first_row) noexcept override {
    inner_.advance(slot, kept, first_row);
  }
  void draft(std::span<engine::DraftWish> wishes) noexcept override { inner_.draft(wishes); }
  [[nodiscard]] engine::CompanionSaved save(SlotId slot, std::span<const TokenRange> blocks,
                                            TokenPos length) noexcept override {
    return inner_.save(slot, blocks, length);
  }

 protected:
  engine::Companion& inner_;
};

// Never gets back what belongs to one place: an MTP head's hidden row.
class Placeless final : public Forwarding {
 public:
  using Forwarding::Forwarding;
  [[nodiscard]] engine::Followed follow(SlotId slot,
                                        const engine::CompanionPoint& point) noexcept override {
    engine::CompanionPoint less = point;
    less.place = {};
    return inner_.follow(slot, less);
  }
};

// Remembers every draft, with the token that it was to follow.
class Recording final : public Forwarding {
 public:
  struct Draft {
    Token next;
    Tokens tokens;
  };
  using Forwarding::Forwarding;
  void draft(std::span<engine::DraftWish> wishes) noexcept override {
    inner_.draft(wishes);
    for (const engine::DraftWish& wish : wishes) drafts.push_back({wish.next, wish.draft});
  }
  std::vector<Draft> drafts;
};

enum class Oddity {
  kToldOneLess,     // advance() hears of all tokens but the last,
  kToldOneMore,     // of one that never was,
  kToldOthers,      // of other tokens,
  kToldNothing,     // of none at all
  kNeverFollows,    // it is not told where the primary went
  kForgets,         // follow() is answered, and nothing held
  kBoasts,          // follow() claims more than there is
  kDraftsNonsense,  // tokens of no vocabulary, and wrong ones
  kDraftsTooMuch,
  kDraftsNothing,
  kSavesNothing,
  kSavesTooFew,    // fewer parts than were asked for
  kSavesTooMany,   // and more
  kSavesShort,     // bytes are missing at the end, checksums fit
  kSavesLong,      // more bytes than it said it would need
  kSavesForeign,   // something else of the right size, checksums fit
  kSavesDamaged,   // checksums do not fit
  kReadsShort,     // what comes back from memory is short,
  kReadsDamaged,   // damaged,
  kReadsElsewhere  // or of another place
};

inline constexpr std::array kOddities = {
    std::pair{Oddity::kToldOneLess, "told one less"},
    std::pair{Oddity::kToldOneMore, "told one more"},
    std::pair{Oddity::kToldOthers, "told others"},
    std::pair{Oddity::kToldNothing, "told nothing"},
    std::pair{Oddity::kNeverFollows, "never follows"},
    std::pair{Oddity::kForgets, "forgets"},
    std::pair{Oddity::kBoasts, "boasts"},
    std::pair{Oddity::kDraftsNonsense, "drafts nonsense"},
    std::pair{Oddity::kDraftsTooMuch, "drafts too much"},
    std::pair{Oddity::kDraftsNothing, "drafts nothing"},
    std::pair{Oddity::kSavesNothing, "saves nothing"},
    std::pair{Oddity::kSavesTooFew, "saves too few"},
    std::pair{Oddity::kSavesTooMany, "saves too many"},
    std::pair{Oddity::kSavesShort, "saves short"},
    std::pair{Oddity::kSavesLong, "saves long"},
    std::pair{Oddity::kSavesForeign, "saves foreign"},
    std::pair{Oddity::kSavesDamaged, "saves damaged"},
    std::pair{Oddity::kReadsShort, "reads short"},
    std::pair{Oddity::kReadsDamaged, "reads damaged"},
    std::pair{Oddity::kReadsElsewhere, "reads elsewhere"},
};

// Odd in one way, one time in `every`.
class Odd final : public Forwarding {
 public:
  Odd(engine::Companion& inner, Oddity oddity, unsigned every, unsigned seed)
      : Forwarding(inner), oddity_(oddity), every_(every), random_(seed) {}

  [[nodiscard]] engine::Followed follow(SlotId slot,
                                        const engine::CompanionPoint& point) noexcept override {
    if (!now_is_odd()) return inner_.follow(slot, point);
    switch (oddity_) {
      case Oddity::kNeverFollows: return {};
      case Oddity::kForgets: (void)inner_.follow(slot, point); return {};
      case Oddity::kBoasts: {
        const engine::Followed followed = inner_.follow(slot, point);
        return {.held = followed.held + 1000, .from_memory = 1 << 30};
      }
      case Oddity::kReadsShort:
      case Oddity::kReadsDamaged:
      case Oddity::kReadsElsewhere: return follow_with_bad_bytes(slot, point);
      default: return inner_.follow(slot, point);
    }
  }

  void advance(SlotId slot, TokenSpan kept, TokenPos first_row) noexcept override {
    Tokens told(kept.begin(), kept.end());
    if (now_is_odd()) {
      if (oddity_ == Oddity::kToldOneLess && !told.empty()) told.pop_back();
      if (oddity_ == Oddity::kToldOneMore) told.push_back(1);
      if (oddity_ == Oddity::kToldNothing) told.clear();
      if (oddity_ == Oddity::kToldOthers) {
        for (Token& token : told) token = (token + 1) % 100;
      }
    }
    inner_.advance(slot, told, first_row);
  }

  void draft(std::span<engine::DraftWish> wishes) noexcept override {
    inner_.draft(wishes);
    if (!now_is_odd()) return;
    for (engine::DraftWish& wish : wishes) {
      if (oddity_ == Oddity::kDraftsNothing) wish.draft.clear();
      if (oddity_ == Oddity::kDraftsTooMuch) wish.draft.resize(5000, 1);
      if (oddity_ == Oddity::kDraftsNonsense) {
        constexpr std::array<Token, 5> kTokens{-1, 1 << 30, 3, 100, 200};
        wish.draft.resize(static_cast<std::size_t>(wish.most), 7);
        for (Token& token : wish.draft) token = kTokens[random_() % kTokens.size()];
      }
    }
  }

  [[nodiscard]] engine::CompanionSaved save(SlotId slot, std::span<const TokenRange> blocks,
                                            TokenPos length) noexcept override {
    engine::CompanionSaved saved = inner_.save(slot, blocks, length);
    if (!now_is_odd()) return saved;
    switch (oddity_) {
      case Oddity::kSavesNothing: return {.rows = std::vector<CheckedBytes>(blocks.size())};
      case Oddity::kSavesTooFew: saved.rows.resize(saved.rows.size() / 2); break;
      case Oddity::kSavesTooMany: saved.rows.resize(saved.rows.size() + 2); break;
      case Oddity::kSavesShort:
        change_all(
            saved, [](StateBytes& b) { b.resize(b.size() / 2); }, true);
        break;
      case Oddity::kSavesLong:
        change_all(
            saved, [](StateBytes& b) { b.resize(b.size() + 64); }, true);
        break;
      case Oddity::kSavesForeign: change_all(saved, scramble, true); break;
      case Oddity::kSavesDamaged: change_all(saved, scramble, false); break;
      default: break;
    }
    return saved;
  }

 private:
  static void scramble(StateBytes& bytes) {
    for (std::size_t i = 0; i < bytes.size(); i += 7) bytes[i] ^= std::byte{0x15};
  }
  template <typename Change>
  static void change_all(engine::CompanionSaved& saved, Change change, bool fix_checksum) {
    const auto one = [&](CheckedBytes& kept) {
      if (kept.empty()) return;
      change(kept.bytes);
      if (fix_checksum) kept = CheckedBytes::of(std::move(kept.bytes));
    };
    for (CheckedBytes& rows : saved.rows) one(rows);
    one(saved.place);
  }

  [[nodiscard]] engine::Followed follow_with_bad_bytes(
      SlotId slot, const engine::CompanionPoint& point) noexcept {
    engine::CompanionPoint bad = point;
    std::vector<engine::RowsView> rows(point.rows.begin(), point.rows.end());
    StateBytes scrambled;
    if (!rows.empty()) {
      engine::RowsView& one = rows[rows.size() / 2];
      if (oddity_ == Oddity::kReadsShort) one.bytes = one.bytes.first(one.bytes.size() / 2);
      if (oddity_ == Oddity::kReadsDamaged) {
        scrambled.assign(one.bytes.begin(), one.bytes.end());
        scramble(scrambled);
        one.bytes = scrambled;
      }
      if (oddity_ == Oddity::kReadsElsewhere) {
        one.begin += 1, one.end += 1, one.block_begin += 1, one.block_end += 1;
      }
    }
    if (oddity_ == Oddity::kReadsShort && bad.place.bytes.size() > 4) {
      bad.place.bytes = bad.place.bytes.first(bad.place.bytes.size() - 4);
    }
    if (oddity_ == Oddity::kReadsDamaged) ++bad.place.checksum;
    bad.rows = rows;
    return inner_.follow(slot, bad);
  }

  [[nodiscard]] bool now_is_odd() { return random_() % every_ == 0; }

  const Oddity oddity_;
  const unsigned every_;
  std::mt19937 random_;
};

// Follows by the tokens alone, looks for them in what it was taught, and drafts what
// came next there; each token is right with the chance `truth`.
class Knowing final : public engine::Companion {
 public:
  Knowing(int slots, double truth, unsigned seed)
      : truth_(truth), random_(seed), held_(static_cast<std::size_t>(slots)) {}

  void teach(const Tokens& prompt, const Tokens& answer) {
    texts_.push_back(prompt);
    texts_.back().insert(texts_.back().end(), answer.begin(), answer.end());
  }

  [[nodiscard]] std::string_view name() const noexcept override { return "knowing"; }
  [[nodiscard]] engine::CompanionShape shape() const noexcept override { return {}; }
  [[nodiscard]] engine::Followed follow(SlotId slot,
                                        const engine::CompanionPoint& point) noexcept override {
    held(slot).assign(point.tokens.begin(), point.tokens.end());
    return {.held = length_of(point.tokens)};
  }
  void advance(SlotId slot, TokenSpan kept, TokenPos) noexcept override {
    held(slot).insert(held(slot).end(), kept.begin(), kept.end());
  }
  void draft(std::span<engine::DraftWish> wishes) noexcept override {
    for (engine::DraftWish& wish : wishes) wish.draft = continuation(wish);
  }
  [[nodiscard]] engine::CompanionSaved save(SlotId, std::span<const TokenRange>,
                                            TokenPos) noexcept override {
    return {};
  }

 private:
  Tokens& held(SlotId slot) { return held_[static_cast<std::size_t>(slot.value)]; }
  [[nodiscard]] bool errs() { return std::uniform_real_distribution<>()(random_) >= truth_; }
  [[nodiscard]] Tokens continuation(const engine::DraftWish& wish) {
    Tokens so_far = held(wish.slot);
    so_far.push_back(wish.next);
    Tokens draft;
    for (const Tokens& text : texts_) {
      if (common_prefix(text, so_far) < length_of(so_far)) continue;
      const TokenSpan rest = TokenSpan(text).subspan(so_far.size());
      draft.assign(rest.begin(),
                   rest.begin() + std::min<std::ptrdiff_t>(std::ssize(rest), wish.most));
    }
    for (Token& token : draft) {
      if (errs()) token = static_cast<Token>(random_() % 200);
    }
    if (errs() && !draft.empty()) draft.resize(1 + random_() % draft.size());
    return draft;
  }

  const double truth_;
  std::mt19937 random_;
  std::vector<Tokens> held_;
  std::vector<Tokens> texts_;
};

}  // namespace holdfast
