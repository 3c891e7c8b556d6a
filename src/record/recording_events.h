// What a recording says: a header, then events in the order in which they happened.
//
//   header   the cache's options, the engine's shape: what a replay builds the cache from
//   calls    of StateCache, with their arguments, what the clock said inside each, and what the
//            engine, companion and tier below answered
//   receipts what a replay has to reproduce
//
// EventEncoder and EventDecoder are each other's inverse, except for the token ids of private
// recordings (sequence_book.h). The decoder may be given any bytes. Events that it accepts are
// within the limits below and refer only to things that exist.
//
// docs/formats/recording.md is the contract.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cache/state_cache.h"
#include "record/sequence_book.h"

namespace holdfast::record {

// More than any server has, so that a hostile file cannot ask for more than a machine can give.
inline constexpr int kRecordedSlotsMax = 1024;
inline constexpr TokenPos kRecordedContextMax = TokenPos{1} << 26U;
inline constexpr ByteCount kRecordedStateMax = ByteCount{1}
                                               << 32U;           // bytes of one block or snapshot
inline constexpr std::uint64_t kRecordedTokensMax = 16U << 20U;  // that a writer remembers

struct RecordingHeader {
  bool private_form = false;
  std::string build;  // of the program
  std::int64_t unix_ms = 0;
  cache::CacheOptions options;
  StateShape shape;
  int slots = 1;
  TokenPos context_tokens = 0;
  TokenPos chunk_tokens_max = 0;
  std::string companion;  // its name; empty: there is none
  engine::CompanionShape companion_shape;
  bool lower = false;  // there is a tier below memory
};

enum class EventKind : std::uint8_t {
  kOpened = 1,
  kPrompt,
  kPlan,
  kWait,
  kAskBelow,
  kGoOn,
  kBegin,
  kBeforeChunk,
  kPrefilled,
  kDecoded,
  kEmptied,
  kEnd,
  kCalledTool,
  kSpeed,
  kCopyOut,
  kBringIn,
  kErase,
  kKeepIdle,
  kClear,
  kReceipt,
  kDropped,
  kForget,
  kDone,
  kDistrust,
  kPostponed,      // as kPrefilled, but the checkpoint there is taken later
  kCopyPostponed,  // part of that checkpoint is copied, or all of it
  kOneOff,         // the request, which begins next, is one (plan/one_offs.h)
  kClearSpace,     // as kClear, of one space
  kAhead,          // the prompt, which begins next, is read ahead (serve/prewarmer.h)
  kDrop,           // what only one conversation needs goes
  kForgetSlot,     // as kErase, and what its conversation has for itself goes
};
inline constexpr auto kEventKindLast = EventKind::kForgetSlot;
[[nodiscard]] const char* event_kind_name(EventKind kind);

enum class AnswerKind : std::uint8_t {
  kCanTruncate,
  kTruncate,
  kSave,  // size
  kLoad,
  kSaveRows,  // sizes
  kRestore,
  kNormalize,
  kFollow,         // held, from memory, why not more
  kCompanionSave,  // sizes of the rows, then of the place
  kDeepest,        // position
  kBytesPerMs,     // real
  kIntact,
  kCanSampleKept,
  kLogits,   // how many
  kForeign,  // position, made by, flags
};
inline constexpr auto kAnswerKindLast = AnswerKind::kForeign;
[[nodiscard]] const char* answer_kind_name(AnswerKind kind);

struct Answer {
  AnswerKind kind = AnswerKind::kCanTruncate;
  bool yes = false;  // it was done, or it is true
  std::vector<std::uint64_t> numbers = {};
  double real = 0.0;
  std::string text = {};
  std::string more_text = {};
};

// States that came up from the tier below, without their bytes.
struct BroughtOutline {
  struct Block {
    TokenRange range;
    ByteCount bytes = 0;
    ByteCount companion = 0;
  };
  struct Use {
    std::size_t block = 0;
    TokenRange range;
  };
  std::vector<Block> blocks;
  std::vector<Use> uses;
  TokenPos place = 0;  // 0: no snapshot
  ByteCount place_bytes = 0;
  ByteCount place_companion = 0;
  ByteCount logits = 0;  // bytes
  std::uint16_t marks = 0;
  ByteCount bytes = 0;
  bool all = false;
};

// What memory holds, to compare a replay with its recording.
struct MemoryDigest {
  ByteCount resident = 0;
  std::uint64_t snapshots = 0;
  std::uint64_t nodes = 0;
  std::uint64_t tokens = 0;
  std::uint64_t declined = 0;
  std::uint64_t evicted_snapshots = 0;
  std::uint64_t evicted_rows = 0;
  ByteCount evicted_bytes = 0;
  std::uint64_t quarantined = 0;

  [[nodiscard]] static MemoryDigest of(const cache::CacheStatus& status);
  bool operator==(const MemoryDigest&) const = default;
};

enum class DoneReason : std::uint8_t {
  kServerStopped,
  kTooManyTokens,  // of a private recording: more than the writer remembers
};

// One event. Which fields it has follows from its kind; comments name the kinds.
struct CacheEvent {
  EventKind kind = EventKind::kOpened;
  std::uint64_t request = 0;  // Prompt, Plan, Begin, Receipt, Dropped, OneOff, Ahead
  int slot = 0;               // all kinds that name a slot
  // Plan: tokens kept. Wait: the position waited for. Prefilled, Postponed: the slot's new length.
  // End: the slot's length in the engine. Speed: tokens. BringIn: SlotState::exact. Receipt: tokens
  // of the answer.
  TokenPos position = 0;
  bool yes = false;       // Wait: it waits. Prompt: reuse. Prefilled, Postponed: with logits
  ByteCount bytes = 0;    // CopyPostponed: the most that is copied
  tree::NodeId node;      // Drop
  std::uint64_t run = 0;  // Wait, CalledTool
  plan::StartSource source = plan::StartSource::kNothing;  // Plan
  double ms = 0.0;                                         // Speed; Receipt: of the answer
  std::vector<int> slots;                                  // Plan: idle ones
  // Prompt, Decoded, BringIn
  Tokens tokens;
  SpaceKey space;
  std::vector<TokenPos> cuts;
  std::vector<MessageSpan> spans;         // Prompt
  std::optional<TokenPos> header_end;     // Prompt
  std::optional<tier::StoreMatch> found;  // GoOn: what lies below
  std::optional<BroughtOutline> came;     // GoOn
  // Receipt
  cache::Receipt receipt;
  cache::RequestEnd end = cache::RequestEnd::kStopToken;  // Receipt, Dropped
  MemoryDigest digest;                                    // Receipt
  std::string known_text;                                 // Receipt; private: empty
  std::string sent_text;
  DoneReason done = DoneReason::kServerStopped;

  // What the world answered inside the call.
  std::vector<std::int64_t> clock_ns;  // each since the reading before it, even of an earlier call
  std::vector<Answer> answers;
};

[[nodiscard]] std::string encode_header(const RecordingHeader& header);
[[nodiscard]] Result<RecordingHeader> decode_header(std::string_view payload);

// Marks as bits, and back.
[[nodiscard]] std::uint16_t bits_of(Hints hints);
[[nodiscard]] Hints hints_of(std::uint16_t bits);

class EventEncoder {
 public:
  explicit EventEncoder(bool private_form) : private_(private_form) {}

  void encode(RecordWriter& out, const CacheEvent& event);
  // How many new tokens it remembers.
  [[nodiscard]] std::uint64_t tokens() const { return book_.tokens(); }

 private:
  void put_tokens(RecordWriter& out, SequenceWriter::Cursor& cursor, TokenSpan tokens);

  const bool private_;
  SequenceWriter book_;
  std::map<std::uint64_t, SequenceWriter::Cursor> prompts_;  // their ends
  std::map<int, SequenceWriter::Cursor> slots_;
};

class EventDecoder {
 public:
  explicit EventDecoder(const RecordingHeader& header) : header_(header) {}

  // The next event of a frame. Nothing: the bytes are not an event, or not one of this recording.
  [[nodiscard]] std::optional<CacheEvent> decode(RecordReader& in);

 private:
  bool read_tokens(RecordReader& in, SequenceReader::Cursor& cursor, CacheEvent& event);
  [[nodiscard]] int read_slot(RecordReader& in) const;
  void read_prompt(RecordReader& in, CacheEvent& event);
  void read_fields(RecordReader& in, CacheEvent& event);

  const RecordingHeader header_;
  SequenceReader book_;
  std::map<std::uint64_t, SequenceReader::Cursor> prompts_;
  std::map<int, SequenceReader::Cursor> slots_;
  std::int64_t total_ns_ = 0;  // of the clock
};

}  // namespace holdfast::record
