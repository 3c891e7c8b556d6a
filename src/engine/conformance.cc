#include "engine/conformance.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <optional>
#include <utility>

#include "engine/row_distance.h"

namespace holdfast::engine {

namespace {

using Row = std::vector<float>;

// Tokens before the first row that is compared, and how many slots in a row have states of
// different length: cheap to compute, and no two neighbours hold the same.
constexpr TokenPos kHistory = 4;
constexpr TokenPos kLengths = 4;

// This many more tokens in a batch take about as long as one step of one token.
constexpr double kTokensPerStep = 8.0;

// Up to here every number of slots and of tokens is formed; beyond, the powers of two and the most.
constexpr int kEachUpTo = 8;

std::vector<int> sizes_up_to(int most) {
  std::vector<int> sizes;
  for (int n = 1; n < most; n = n < kEachUpTo ? n + 1 : n * 2) sizes.push_back(n);
  sizes.push_back(most);
  return sizes;
}

std::string counted(int count, const std::string& noun) {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

// What came of one kind. An Error of the engine is a finding like any other.
struct Outcome {
  double distance = 0.0;
  double allowed = 0.0;
  std::string finding;
  bool bits = false;  // the same bits are asked for, and `allowed` is nothing
};

enum class Mode { kList, kCompute };

class Check {
 public:
  Check(Engine& engine, const ConformanceOptions& options, Mode mode = Mode::kCompute)
      : engine_(engine),
        options_(options),
        lists_(mode == Mode::kList),
        slots_(options.together ? engine.slot_count() : 1),
        // What a very small context has room for.
        rows_(std::min(options.drafts ? engine.decode_tokens_max() : 1,
                       engine.context_tokens() - kHistory - kLengths)),
        began_(now_ms()) {
    // Any tokens will do; those of a text are no better than others. A generator of our own,
    // so that every machine and library forms the same batches.
    std::uint32_t random = 2463534242U;
    const auto vocabulary = static_cast<std::uint32_t>(engine.logits_count());
    for (TokenPos i = 0; i < std::max(stream_end(), longest_chunk()) + 1; ++i) {
      random ^= random << 13U;
      random ^= random >> 17U;
      random ^= random << 5U;
      stream_.push_back(static_cast<Token>(random % vocabulary));
    }
  }

  ConformanceReport run() {
    beginning();
    if (rows_ > 0) {
      plain_kinds();
      most_together();
      restored_kinds();
      taken_back_kinds();
      together_kinds();
      chunk_kinds();
    }
    if (!lists_) {
      for (int i = 0; i < engine_.slot_count(); ++i) engine_.clear(SlotId{i});
    }
    report_.ms = elapsed();
    return std::move(report_);
  }

 private:
  // --- time, and what is done with a kind -----------------------------------------

  [[nodiscard]] double now_ms() const {
    if (options_.now_ms) return options_.now_ms();
    const auto since = std::chrono::steady_clock::now().time_since_epoch();
    return std::chrono::duration<double, std::milli>(since).count();
  }
  [[nodiscard]] double elapsed() const { return now_ms() - began_; }

  enum class Formed { kBasis, kAlways, kTogether, kDrafted, kBoth };

  // `batches` is what it costs, in steps of one token, and all that it is of no use without. What
  // others are compared with (kBasis) is computed although it passed before.
  template <typename Function>
  void kind(std::string name, Formed formed, double batches, Function check) {
    CheckedKind& out = report_.kinds.emplace_back();
    out.name = std::move(name);
    out.together = formed == Formed::kTogether || formed == Formed::kBoth;
    out.drafted = formed == Formed::kDrafted || formed == Formed::kBoth;
    const bool basis = formed == Formed::kBasis;
    const bool first = report_.kinds.size() == 1;
    if (!basis && options_.known.contains(out.name)) {
      out.verdict = CheckVerdict::kKnown;
      return;
    }
    const bool asked =
        first || options_.must.contains(out.name) || (basis && !options_.must.empty());
    const bool late = !asked && elapsed() + batches * batch_ms_ > options_.ms_max;
    if (late && basis) over_ = true;
    if (lists_ || over_ || late) return;
    const double before = now_ms();
    batches_ = 0.0;
    Outcome outcome = check();
    if (batches_ > 0.0) batch_ms_ = (now_ms() - before) / batches_;
    if (over_ && interrupted_) return;
    out.distance = outcome.distance;
    out.allowed = outcome.allowed;
    out.finding = std::move(outcome.finding);
    const bool failed = !out.finding.empty();
    out.verdict = failed ? CheckVerdict::kFailed : CheckVerdict::kPassed;
  }

  // --- doing -----------------------------------------------------------------------

  [[nodiscard]] TokenPos stream_end() const { return kHistory + kLengths - 1 + rows_; }
  [[nodiscard]] TokenPos longest_chunk() const {
    return std::min({options_.chunk, engine_.chunk_tokens_max(), engine_.context_tokens() - 1});
  }
  [[nodiscard]] TokenSpan tokens(TokenPos begin, TokenPos end) const {
    return TokenSpan(stream_).subspan(static_cast<std::size_t>(begin),
                                      static_cast<std::size_t>(end - begin));
  }
  [[nodiscard]] Row row_of(SlotId slot, TokenPos row = 0) {
    const auto logits = engine_.logits(slot, row);
    return {logits.begin(), logits.end()};
  }

  // Reads tokens in pieces of these lengths into the slot, which is emptied first. The row of the
  // last one; nothing after an Error, which is noted.
  std::optional<Row> read(SlotId slot, TokenSpan all, const std::vector<TokenPos>& pieces) {
    engine_.clear(slot);
    for (TokenPos piece : pieces) {
      while (piece > 0) {
        const TokenPos count = std::min(piece, engine_.chunk_tokens_max());
        if (!read_on(slot, all.first(static_cast<std::size_t>(count)))) return std::nullopt;
        all = all.subspan(static_cast<std::size_t>(count));
        piece -= count;
      }
    }
    return row_of(slot);
  }
  bool read_on(SlotId slot, TokenSpan chunk) {
    batches_ += 1.0 + static_cast<double>(chunk.size()) / kTokensPerStep;
    return nobody_waits() && done(engine_.prefill(slot, chunk, LogitsOf::kLastToken));
  }
  bool step(std::span<const DecodeStep> steps) {
    const auto rows = steps.size() * steps.front().tokens.size();
    batches_ += 1.0 + static_cast<double>(rows) / kTokensPerStep;
    return nobody_waits() && done(engine_.decode(steps));
  }
  std::optional<Row> decode_one(SlotId slot, TokenSpan token) {
    const DecodeStep one{slot, token};
    if (!step({&one, 1})) return std::nullopt;
    return row_of(slot);
  }

  bool nobody_waits() {
    interrupted_ = interrupted_ || (options_.wanted && options_.wanted());
    if (interrupted_) over_ = true;
    return !interrupted_;
  }

  template <typename T>
  bool done(const Result<T>& result) {
    if (!result.ok()) error_ = result.error().message;
    return result.ok();
  }

  // --- comparing -------------------------------------------------------------------

  // As far as any way of computing the same tokens may be off.
  [[nodiscard]] double farthest() const { return report_.effect / 2.0; }
  [[nodiscard]] double bound() const {
    const double least = report_.effect * kLeastOfEffect;
    return std::min(std::max(kRoundings * report_.rounding, least), farthest());
  }

  [[nodiscard]] Outcome failed() { return {0.0, 0.0, std::exchange(error_, {})}; }

  static void compare(Outcome& outcome, const Row& row, const Row& right, const std::string& what) {
    const double distance = row_distance(row, right);
    outcome.distance = std::max(outcome.distance, distance);
    const bool good = outcome.bits ? same_row(row, right) : distance <= outcome.allowed;
    if ((good && std::isfinite(distance)) || !outcome.finding.empty()) return;
    if (std::isinf(distance)) {
      outcome.finding = what + " has a value that is no number";
    } else if (outcome.bits) {
      outcome.finding = what + " differs from the plain way by " + distance_text(distance) +
                        " of its size, and should have the same bits";
    } else {
      outcome.finding = what + " is " + distance_text(distance) +
                        " of its size away from the plain way; " + distance_text(outcome.allowed) +
                        " would be rounding";
    }
  }

  // --- slots that begin together ---------------------------------------------------

  // The first slot begins with another token than the rest: how far that is says what is near. Only
  // two batches, because this is all that a large model has time for before it serves.
  void beginning() {
    const bool several = slots_ > 1;
    const std::string name =
        several ? counted(slots_, "slot") + " beginning together" : "a slot beginning";
    kind(name, several ? Formed::kTogether : Formed::kAlways, 2.0, [&] {
      const auto alone = read(SlotId{0}, tokens(0, 1), {1});
      if (!alone) return failed();
      engine_.clear(SlotId{0});
      std::vector<DecodeStep> steps;
      for (int i = 0; i < slots_; ++i) {
        const TokenPos first = several && i == 0 ? 1 : 0;
        steps.push_back({SlotId{i}, tokens(first, first + 1)});
      }
      if (!step(steps)) return failed();
      const double apart = several ? row_distance(row_of(SlotId{0}), *alone) : 1.0;
      Outcome outcome{0.0, apart / 2.0, {}};
      if (std::isinf(apart)) outcome.finding = "slot 0 has a value that is no number";
      for (int i = several ? 1 : 0; i < slots_; ++i) {
        compare(outcome, row_of(SlotId{i}), *alone, "slot " + std::to_string(i));
      }
      for (int i = 0; i < slots_; ++i) engine_.clear(SlotId{i});
      return outcome;
    });
  }

  // --- the plain way, and how far it varies ----------------------------------------

  void plain_kinds() {
    const double plain = 1.0 + stream_end() - kHistory;
    constexpr double kAgain = 2.0;
    constexpr double kOtherwise = 7.0;
    kind("one slot, token by token", Formed::kBasis, plain + kAgain + kOtherwise,
         [&] { return compute_plain(); });
    if (plain_.empty()) over_ = true;
    kind("the same again in another slot", Formed::kBasis, kAgain, [&] { return repeat(); });
    kind("one slot, in other batches", Formed::kBasis, kOtherwise, [&] { return measure(); });
    if (report_.effect == 0.0) over_ = true;
  }

  Outcome compute_plain() {
    const SlotId slot{0};
    auto row = read(slot, tokens(0, kHistory), {kHistory});
    std::vector<Row> rows;
    for (TokenPos at = kHistory; row; ++at) {
      if (!same_row(*row, *row)) error_ = "a row has a value that is no number";
      rows.push_back(std::move(*row));
      if (!error_.empty() || at == stream_end()) break;
      if (at < kHistory + kLengths) {
        auto saved = engine_.save(slot, SaveScope::kWhole);
        if (!done(saved)) break;
        saved_.push_back(std::move(*saved));
      }
      row = decode_one(slot, tokens(at, at + 1));
    }
    engine_.clear(slot);
    if (error_.empty()) plain_ = std::move(rows);
    return failed();
  }

  // The row after the token at this place of the stream.
  [[nodiscard]] const Row& plain(TokenPos at) const {
    return plain_[static_cast<std::size_t>(at - kHistory + 1)];
  }

  Outcome repeat() {
    const SlotId slot{engine_.slot_count() - 1};
    const auto first = read(slot, tokens(0, kHistory), {kHistory});
    const auto next = first ? decode_one(slot, tokens(kHistory, kHistory + 1)) : std::nullopt;
    if (!next) return failed();
    engine_.clear(slot);
    report_.repeats = same_row(*first, plain(kHistory - 1)) && same_row(*next, plain(kHistory));
    Outcome outcome{.bits = true};
    if (!options_.repeats) return {};  // measure() looks at how far it is
    compare(outcome, *first, plain(kHistory - 1), "a chunk");
    compare(outcome, *next, plain(kHistory), "a step");
    return outcome;
  }

  Outcome measure() {
    const SlotId slot{0};
    const TokenPos end = stream_end();
    const TokenSpan all = tokens(0, end);
    double rounding = 0.0;
    for (const auto& pieces :
         std::vector<std::vector<TokenPos>>{{end}, {1, end - 1}, {end - 1, 1}}) {
      const auto row = read(slot, all, pieces);
      if (!row) return failed();
      rounding = std::max(rounding, row_distance(*row, plain(end - 1)));
    }
    double effect = 1.0;
    for (const TokenPos left_out : {kHistory - 1, kHistory}) {
      Tokens short_one(stream_.begin(), stream_.begin() + left_out + 2);
      short_one.erase(short_one.begin() + left_out);
      const auto row = read(slot, short_one, {length_of(short_one)});
      if (!row) return failed();
      const double distance = row_distance(*row, plain(left_out + 1));
      if (!std::isfinite(distance)) return {distance, 0.0, "a row has a value that is no number"};
      effect = std::min(effect, distance);
    }
    engine_.clear(slot);
    report_.rounding = rounding;
    report_.effect = effect;
    Outcome outcome{rounding, farthest(), {}};
    if (!(rounding <= outcome.allowed)) {
      outcome.finding = "the same tokens in other batches are " + distance_text(rounding) +
                        " of a row's size apart; a token left out makes " + distance_text(effect);
    }
    return outcome;
  }

  // --- slots together, and several tokens each -------------------------------------

  // Slot i is brought to one of the states of the plain way.
  [[nodiscard]] static TokenPos length_in(int slot) { return kHistory + slot % kLengths; }
  bool bring(SlotId slot) {
    return done(engine_.load(slot, saved_[static_cast<std::size_t>(slot.value % kLengths)]));
  }

  Outcome step_of(const std::vector<int>& slots, TokenPos rows) {
    std::vector<DecodeStep> steps;
    for (const int slot : slots) {
      if (!bring(SlotId{slot})) return failed();
      const TokenPos at = length_in(slot);
      steps.push_back({SlotId{slot}, tokens(at, at + rows)});
    }
    if (!step(steps)) return failed();
    Outcome outcome{0.0, bound(), {}};
    for (const int slot : slots) {
      for (TokenPos row = 0; row < rows; ++row) {
        compare(outcome, row_of(SlotId{slot}, row), plain(length_in(slot) + row),
                "token " + std::to_string(row) + " of slot " + std::to_string(slot));
      }
    }
    for (const int slot : slots) engine_.clear(SlotId{slot});
    return outcome;
  }

  void step_kind(const std::vector<int>& slots, TokenPos rows, const std::string& where = "") {
    const bool several = slots.size() > 1;
    const Formed formed = several    ? rows > 1 ? Formed::kBoth : Formed::kTogether
                          : rows > 1 ? Formed::kDrafted
                                     : Formed::kAlways;
    const std::string name = counted(static_cast<int>(slots.size()), "slot") + where + ", " +
                             counted(rows, "token") + (several ? " each" : "");
    const auto all = static_cast<double>(slots.size() * static_cast<std::size_t>(rows));
    kind(name, formed, 1.0 + all / kTokensPerStep, [&] { return step_of(slots, rows); });
  }

  // The first ones, or the last ones.
  [[nodiscard]] std::vector<int> neighbours(int count) const {
    std::vector<int> slots;
    const int from = count % 2 == 0 ? 0 : engine_.slot_count() - count;
    for (int i = 0; i < count; ++i) slots.push_back(from + i);
    return slots;
  }

  void most_together() {
    step_kind(neighbours(slots_), 1);
    if (rows_ > 1) step_kind(neighbours(slots_), rows_);
  }

  void together_kinds() {
    for (const int count : sizes_up_to(slots_)) {
      for (const int rows : sizes_up_to(rows_)) {
        const bool before = count == slots_ && (rows == 1 || rows == rows_);
        if (!before) step_kind(neighbours(count), rows);
      }
    }
    if (slots_ < 3) return;
    std::vector<int> others;
    for (int i = 0; i < slots_; i += 2) others.push_back(i);
    step_kind(others, 1, " with gaps between them");
  }

  // --- states that come back -------------------------------------------------------

  // The same bits, where the engine promises that and keeps it.
  [[nodiscard]] Outcome restored_outcome() const {
    const bool bits = options_.repeats && report_.repeats;
    return {0.0, bits ? 0.0 : bound(), {}, bits};
  }
  [[nodiscard]] bool has(PartKind part) const { return engine_.shape().find(part) != nullptr; }
  [[nodiscard]] bool has_snapshot() const {
    return has(PartKind::kSnapshot) || has(PartKind::kWindow);
  }

  // The slot now holds the stream up to `at`; its next row has to be the plain one.
  Outcome goes_on(SlotId slot, TokenPos at) {
    const auto row = decode_one(slot, tokens(at, at + 1));
    if (!row) return failed();
    engine_.clear(slot);
    Outcome outcome = restored_outcome();
    compare(outcome, *row, plain(at), "the token after it");
    return outcome;
  }

  void restored_kinds() {
    const SlotId slot{engine_.slot_count() - 1};
    kind("a state restored whole", Formed::kAlways, 1.0,
         [&] { return bring(slot) ? goes_on(slot, length_in(slot.value)) : failed(); });
    kind("a state restored from its parts", Formed::kAlways, 1.0, [&] { return from_parts(slot); });
    kind("a slot taken back to a state that it had", Formed::kAlways, 1.0,
         [&] { return in_place(slot); });
  }

  Outcome from_parts(SlotId slot) {
    const SlotId source{0};
    const TokenPos length = kHistory + 1;
    if (!done(engine_.load(source, saved_[1]))) return failed();
    std::vector<ExtentRows> rows;
    if (has(PartKind::kExtent)) {
      const std::vector<TokenRange> blocks{{0, 2}, {2, length}};
      auto copied = engine_.save_rows(source, blocks);
      if (!done(copied)) return failed();
      rows = std::move(*copied);
    }
    const std::vector<RowsView> views(rows.begin(), rows.end());
    RestorePoint point;
    point.tokens = tokens(0, length);
    point.rows = views;
    std::optional<SavedState> snapshot;
    if (has_snapshot()) {
      auto saved = engine_.save(source, SaveScope::kSnapshot);
      if (!done(saved)) return failed();
      snapshot = std::move(*saved);
      point.snapshot = *snapshot;
    }
    engine_.clear(source);
    return done(engine_.restore(slot, point)) ? goes_on(slot, length) : failed();
  }

  // From the longest state to a shorter one, over the rows that are there.
  Outcome in_place(SlotId slot) {
    const TokenPos length = kHistory + 1;
    std::optional<SavedState> snapshot;
    if (has_snapshot()) {
      if (!done(engine_.load(slot, saved_[1]))) return failed();
      auto saved = engine_.save(slot, SaveScope::kSnapshot);
      if (!done(saved)) return failed();
      snapshot = std::move(*saved);
    }
    if (!done(engine_.load(slot, saved_[kLengths - 1]))) return failed();
    if (snapshot) {
      if (!done(engine_.load(slot, *snapshot))) return failed();
    } else if (engine_.cut(slot, length) == CutAnswer::kRefused) {
      error_ = "the engine refused to cut its rows";
      return failed();
    }
    return goes_on(slot, length);
  }

  // --- tokens that are taken back --------------------------------------------------

  // The slot's next tokens, the last `wrong` of them others than the stream's.
  [[nodiscard]] Tokens guessed(TokenPos at, TokenPos wrong, int variant) const {
    const TokenSpan right = tokens(at, at + rows_);
    Tokens guess(right.begin(), right.end());
    const auto vocabulary = static_cast<Token>(engine_.logits_count());
    for (std::size_t i = guess.size() - static_cast<std::size_t>(wrong); i < guess.size(); ++i) {
      guess[i] = (guess[i] + 1 + variant) % vocabulary;
    }
    return guess;
  }

  // Of each slot's step the last tokens are taken back; then all go on together.
  std::optional<std::vector<Row>> step_and_back(const std::vector<int>& slots,
                                                const std::vector<TokenPos>& wrong, int variant) {
    std::vector<Tokens> guesses;
    std::vector<DecodeStep> steps;
    for (std::size_t i = 0; i < slots.size(); ++i) {
      if (!bring(SlotId{slots[i]})) return std::nullopt;
      guesses.push_back(guessed(length_in(slots[i]), wrong[i], variant));
    }
    for (std::size_t i = 0; i < slots.size(); ++i) steps.push_back({SlotId{slots[i]}, guesses[i]});
    if (!step(steps)) return std::nullopt;
    steps.clear();
    for (std::size_t i = 0; i < slots.size(); ++i) {
      const TokenPos at = length_in(slots[i]) + rows_ - wrong[i];
      if (engine_.cut(SlotId{slots[i]}, at) == CutAnswer::kRefused) {
        error_ = "the engine refused to take back what it says it can";
        return std::nullopt;
      }
      steps.push_back({SlotId{slots[i]}, tokens(at, at + 1)});
    }
    if (!step(steps)) return std::nullopt;
    std::vector<Row> rows;
    for (const int slot : slots) rows.push_back(row_of(SlotId{slot}));
    for (const int slot : slots) engine_.clear(SlotId{slot});
    return rows;
  }

  Outcome taken_back(const std::vector<int>& slots, const std::vector<TokenPos>& wrong) {
    const auto rows = step_and_back(slots, wrong, 0);
    const auto others = rows ? step_and_back(slots, wrong, 1) : std::nullopt;
    if (!others) return failed();
    Outcome outcome{0.0, bound(), {}};
    Outcome trace = restored_outcome();
    for (std::size_t i = 0; i < slots.size(); ++i) {
      const TokenPos at = length_in(slots[i]) + rows_ - wrong[i];
      const std::string slot = "slot " + std::to_string(slots[i]);
      compare(outcome, (*rows)[i], plain(at), "the token after it in " + slot);
      compare(trace, (*others)[i], (*rows)[i], "with another draft, the token after it in " + slot);
    }
    return outcome.finding.empty() ? Outcome{outcome.distance, outcome.allowed, trace.finding}
                                   : outcome;
  }

  void taken_back_kinds() {
    if (rows_ < 2) return;
    const int alone = 0;
    for (const int wrong : sizes_up_to(rows_ - 1)) {
      if (!engine_.can_take_back(wrong)) break;
      kind(counted(wrong, "token") + " of " + std::to_string(rows_) + " taken back",
           Formed::kDrafted, 4.0, [&] { return taken_back({alone}, {wrong}); });
    }
    if (slots_ < 2 || !engine_.can_take_back(1)) return;
    std::vector<TokenPos> wrong;
    for (int i = 0; i < slots_; ++i) {
      TokenPos count = 1 + i % (rows_ - 1);
      while (!engine_.can_take_back(count)) --count;
      wrong.push_back(count);
    }
    kind("tokens of " + counted(slots_, "slot") + " taken back", Formed::kBoth, 4.0,
         [&] { return taken_back(neighbours(slots_), wrong); });
  }

  // --- chunks ----------------------------------------------------------------------

  // Each size against smaller pieces, and those in turn against such as the plain way has been
  // compared with. Long chunks are computed by other kernels, whose rounding is not the one that
  // was measured.
  void chunk_kinds() {
    constexpr TokenPos kPlainPiece = 8;
    constexpr TokenPos kTile = 64;
    if (longest_chunk() > kPlainPiece) chunk_kind(std::min(kTile, longest_chunk()), kPlainPiece);
    if (longest_chunk() > kTile) chunk_kind(longest_chunk(), kTile);
    if (slots_ > 1 && longest_chunk() > kHistory + kLengths) long_slot_kind();
  }

  void chunk_kind(TokenPos chunk, TokenPos piece) {
    const double cost = 1.0 + chunk / piece + 2.0 * chunk / kTokensPerStep;
    kind("a chunk of " + counted(chunk, "token"), Formed::kAlways, cost, [&] {
      const TokenSpan all = tokens(0, chunk);
      std::vector<TokenPos> pieces(static_cast<std::size_t>(chunk / piece), piece);
      if (chunk % piece > 0) pieces.push_back(chunk % piece);
      const auto parts = read(SlotId{0}, all, pieces);
      const auto whole = parts ? read(SlotId{0}, all, {chunk}) : std::nullopt;
      if (!whole) return failed();
      engine_.clear(SlotId{0});
      Outcome outcome{0.0, farthest(), {}};
      compare(outcome, *whole, *parts, "its last token");
      return outcome;
    });
  }

  // One slot is long and the others are short.
  void long_slot_kind() {
    const TokenPos length = longest_chunk();
    kind(counted(slots_, "slot") + ", one of them long", Formed::kTogether,
         3.0 + 2.0 * length / kTokensPerStep, [&] {
           const SlotId slot{0};
           const TokenSpan next = tokens(length, length + 1);
           const auto before = read(slot, tokens(0, length), {length});
           const auto alone = before ? decode_one(slot, next) : std::nullopt;
           if (!alone || !read(slot, tokens(0, length), {length})) return failed();
           std::vector<DecodeStep> steps{{slot, next}};
           for (int i = 1; i < slots_; ++i) {
             if (!bring(SlotId{i})) return failed();
             steps.push_back({SlotId{i}, tokens(length_in(i), length_in(i) + 1)});
           }
           if (!step(steps)) return failed();
           Outcome outcome{0.0, bound(), {}};
           compare(outcome, row_of(slot), *alone, "the long slot");
           for (int i = 1; i < slots_; ++i) {
             compare(outcome, row_of(SlotId{i}), plain(length_in(i)), "slot " + std::to_string(i));
           }
           for (int i = 0; i < slots_; ++i) engine_.clear(SlotId{i});
           return outcome;
         });
  }

  Engine& engine_;
  const ConformanceOptions& options_;
  const bool lists_;     // the kinds, and computes nothing
  const int slots_;      // that may be in one step
  const TokenPos rows_;  // that a slot may have in one step
  const double began_;
  Tokens stream_;
  std::vector<Row> plain_;         // after the tokens from kHistory - 1 on
  std::vector<SavedState> saved_;  // after kHistory tokens, and one more each
  double batches_ = 0.0;           // of the kind at hand
  double batch_ms_ = 0.0;          // as the latest kind had it
  bool over_ = false;              // what is needed for the rest is not there
  bool interrupted_ = false;       // because somebody waits
  std::string error_;
  ConformanceReport report_;
};

}  // namespace

const char* check_verdict_name(CheckVerdict verdict) {
  switch (verdict) {
    case CheckVerdict::kPassed: return "passed";
    case CheckVerdict::kKnown: return "passed before";
    case CheckVerdict::kFailed: return "failed";
    case CheckVerdict::kLeftOut: return "left out";
  }
  return "";
}

std::size_t ConformanceReport::count(CheckVerdict verdict) const {
  return static_cast<std::size_t>(std::ranges::count(kinds, verdict, &CheckedKind::verdict));
}

const CheckedKind* ConformanceReport::first_failure() const {
  const auto found = std::ranges::find(kinds, CheckVerdict::kFailed, &CheckedKind::verdict);
  return found == kinds.end() ? nullptr : &*found;
}

bool ConformanceReport::passed() const { return first_failure() == nullptr; }
bool ConformanceReport::complete() const { return count(CheckVerdict::kLeftOut) == 0; }

bool ConformanceReport::passed_with(bool together, bool drafts) const {
  return std::ranges::none_of(kinds, [&](const CheckedKind& kind) {
    const bool formed = (together || !kind.together) && (drafts || !kind.drafted);
    return formed && kind.verdict == CheckVerdict::kFailed;
  });
}

std::set<std::string> ConformanceReport::good() const {
  std::set<std::string> names;
  for (const CheckedKind& kind : kinds) {
    const bool good = kind.verdict == CheckVerdict::kPassed || kind.verdict == CheckVerdict::kKnown;
    if (good) names.insert(kind.name);
  }
  return names;
}

std::vector<std::string> conformance_kinds(Engine& engine, const ConformanceOptions& options) {
  std::vector<std::string> names;
  for (CheckedKind& kind : Check(engine, options, Mode::kList).run().kinds) {
    names.push_back(std::move(kind.name));
  }
  return names;
}

ConformanceReport check_conformance(Engine& engine, const ConformanceOptions& options) {
  return Check(engine, options).run();
}

}  // namespace holdfast::engine
