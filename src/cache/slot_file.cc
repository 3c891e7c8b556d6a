#include "cache/slot_file.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <optional>
#include <span>
#include <vector>

#include "base/check.h"
#include "tier/blob_archive.h"
#include "tier/path_name.h"
#include "tier/sha256.h"

namespace holdfast::cache {

namespace {

constexpr std::size_t kNameBytesMax = 200;  // with what is put around it, below the system's 255
// As in the cache folder, so that the blobs are the same there and here.
constexpr TokenPos kBlobTokens = 256;

// Names that no client can give.
constexpr const char* kLockName = ".holdfast-slots.lock";
constexpr std::string_view kPartEnding = ".part";
std::string part_name(const std::string& name) { return "." + name + std::string(kPartEnding); }

Error unfit(std::string why) { return {ErrorCode::kInvalidArgument, std::move(why), {}}; }
Error unknown_file() {
  return {ErrorCode::kNotFound, "this API key and cache_salt have saved no file of that name", {}};
}

// --- the note ------------------------------------------------------------------------------
//
//   "HFSLOT1\n" | owner 16 | space 16 | exact 4 | T 4 | K 4 | T tokens | K keys, none or T
//
// Numbers are little endian, as is the machine.

constexpr std::string_view kNoteMagic = "HFSLOT1\n";
static_assert(sizeof(Token) == 4 && sizeof(TokenPos) == 4);

struct SlotNote {
  SlotOwner owner{};
  std::array<std::byte, 16> space{};
  std::int32_t exact = 0;
  Tokens tokens;
  Tokens keys;
};

void append(std::vector<std::byte>& out, std::span<const std::byte> bytes) {
  out.insert(out.end(), bytes.begin(), bytes.end());
}
void append_count(std::vector<std::byte>& out, std::int32_t count) {
  append(out, std::as_bytes(std::span(&count, 1)));
}

std::vector<std::byte> note_bytes(const SlotState& state, const SlotOwner& owner) {
  std::vector<std::byte> out;
  append(out, std::as_bytes(std::span(kNoteMagic)));
  append(out, owner);
  append(out, tier::space_bytes(state.space));
  append_count(out, state.exact);
  append_count(out, state.length());
  append_count(out, length_of(state.keys));
  append(out, std::as_bytes(std::span(state.tokens)));
  append(out, std::as_bytes(std::span(state.keys)));
  return out;
}

// Takes bytes from the front; once there are too few, nothing more.
class NoteReader {
 public:
  explicit NoteReader(std::span<const std::byte> bytes) : bytes_(bytes) {}

  void take(std::span<std::byte> out) {
    ok_ = ok_ && out.size() <= bytes_.size();
    if (!ok_ || out.empty()) return;
    std::memcpy(out.data(), bytes_.data(), out.size());
    bytes_ = bytes_.subspan(out.size());
  }
  std::int32_t number() {
    std::int32_t value = 0;
    take(std::as_writable_bytes(std::span(&value, 1)));
    return value;
  }
  void take_tokens(Tokens& out, std::int32_t count) {
    ok_ = ok_ && count >= 0 && static_cast<std::size_t>(count) <= bytes_.size() / sizeof(Token);
    if (!ok_) return;
    out.resize(static_cast<std::size_t>(count));
    take(std::as_writable_bytes(std::span(out)));
  }
  [[nodiscard]] bool used_up() const { return ok_ && bytes_.empty(); }

 private:
  std::span<const std::byte> bytes_;
  bool ok_ = true;
};

std::optional<SlotNote> read_note(std::span<const std::byte> bytes) {
  NoteReader reader(bytes);
  SlotNote note;
  std::array<char, kNoteMagic.size()> magic{};
  reader.take(std::as_writable_bytes(std::span(magic)));
  reader.take(note.owner);
  reader.take(note.space);
  note.exact = reader.number();
  const std::int32_t tokens = reader.number();
  const std::int32_t keys = reader.number();
  reader.take_tokens(note.tokens, tokens);
  reader.take_tokens(note.keys, keys);
  const bool known = std::string_view(magic.data(), magic.size()) == kNoteMagic;
  if (!known || !reader.used_up() || (keys != 0 && keys != tokens)) return std::nullopt;
  return note;
}

// --- writing -------------------------------------------------------------------------------

// Whether a save may take this name.
Result<void> may_take(tier::FileSystem& files, const std::string& name, const SlotOwner& owner) {
  auto there = tier::uninterrupted([&] { return files.open(name); });
  if (there.error == ENOENT) return {};
  if (!there.ok()) return unfit("something that is no saved slot has that name");
  tier::FileSource source(*there.value);
  const auto reader = tier::BlobArchiveReader::open(source);
  const auto note = reader ? read_note(reader->note()) : std::nullopt;
  if (!note) return unfit("a file that is no saved slot has that name");
  if (note->owner != owner) return unfit("that name is taken");
  return {};
}

tier::RowsBlob rows_blob(const SlotState& state, const tier::PathNamer& names, TokenRange range) {
  tier::RowsBlob blob;
  blob.path = tier::BlobPath::of_rows(state.space, names, state.filed_under(), range);
  for (const BlockUse& use : state.rows) {
    const TokenRange used = intersection(use.range, range);
    if (!used.empty()) blob.rows.push_back({use.block, used});
  }
  blob.saves = static_cast<std::uint64_t>(range.length());
  return blob;
}

Result<void> add(tier::BlobArchiveWriter& writer, const Result<tier::EncodedBlob>& encoded) {
  if (!encoded) return Error{ErrorCode::kIo, encoded.error().message, {}};
  return writer.add(encoded->pieces());
}

Result<void> add_blobs(tier::BlobArchiveWriter& writer, const SlotState& state,
                       std::int64_t now_ms) {
  tier::PathNamer names(state.space);
  names.append(state.filed_under());
  const TokenPos covered = state.rows.empty() ? 0 : state.length();
  for (TokenPos at = 0; at < covered; at += kBlobTokens) {
    const TokenRange range{at, std::min(at + kBlobTokens, covered)};
    const tier::RowsBlob blob = rows_blob(state, names, range);
    if (auto added = add(writer, tier::encode(blob, now_ms)); !added) return added;
  }
  if (state.snapshot == nullptr) return {};
  tier::PlaceBlob place;
  place.path = tier::BlobPath::of_place(state.space, names, state.filed_under(), state.length());
  place.snapshot = state.snapshot;
  if (state.length() > state.exact) place.marks = Hint::kOffGrid;
  place.saves = static_cast<std::uint64_t>(state.length());
  return add(writer, tier::encode(place, now_ms));
}

Result<ByteCount> write_archive(tier::OpenFile& file, const SlotState& state,
                                const SlotOwner& owner, std::int64_t now_ms) {
  const std::vector<std::byte> note = note_bytes(state, owner);
  if (note.size() > tier::kArchiveNoteBytesMax)
    return unfit("its tokens are more than a file holds");
  auto writer = tier::BlobArchiveWriter::begin(file, note);
  if (!writer) return writer.error();
  if (auto added = add_blobs(*writer, state, now_ms); !added) return added.error();
  if (auto finished = writer->finish(); !finished) return finished.error();
  return writer->bytes();
}

// What a process that was killed has left. REQUIRES: the lock.
void remove_leavings(tier::FileSystem& files) {
  const auto all = files.list("");
  if (!all.ok()) return;
  for (const tier::FolderEntry& entry : all.value) {
    const bool part = entry.name.starts_with('.') && entry.name.ends_with(kPartEnding);
    if (part && entry.kind == tier::FolderEntry::Kind::kFile) (void)files.remove(entry.name);
  }
}

Result<ByteCount> write_part(tier::FileSystem& files, const std::string& part,
                             const SlotState& state, const SlotOwner& owner, std::int64_t now_ms) {
  auto file = tier::uninterrupted([&] { return files.create(part); });
  if (!file.ok()) return tier::io_error("the file cannot be made", file.error);
  return write_archive(*file.value, state, owner, now_ms);
}

// --- reading -------------------------------------------------------------------------------

Result<void> fits(const SlotNote& note, const SlotLimits& limits) {
  if (note.space != tier::space_bytes(limits.space))
    return unfit("it is of another model, or of a server with other settings");
  const TokenPos length = length_of(note.tokens);
  if (length == 0) return unfit("it holds no token");
  if (length > limits.tokens_max) {
    return unfit("it holds " + std::to_string(length) + " tokens and the context " +
                 std::to_string(limits.tokens_max));
  }
  const auto known = [&](Token token) { return 0 <= token && token < limits.vocabulary; };
  if (!std::ranges::all_of(note.tokens, known)) return unfit("it holds what is no token");
  if (note.exact < 0 || note.exact > length) return unfit("its note is wrong");
  return {};
}

bool same_path(const tier::BlobPath& a, const tier::BlobPath& b) {
  return a.space == b.space && a.range == b.range && a.anchor == b.anchor && a.tokens == b.tokens;
}

// Puts a state together from its blobs, in their order.
class StateReader {
 public:
  StateReader(SlotNote note, SpaceKey space) : names_(space) {
    state_.space = space;
    state_.tokens = std::move(note.tokens);
    state_.keys = std::move(note.keys);
    state_.exact = note.exact;
    names_.append(state_.filed_under());
  }

  // Whether the blob is the next part.
  bool take(tier::Blob blob) {
    if (state_.snapshot != nullptr) return false;
    if (auto* rows = std::get_if<tier::RowsBlob>(&blob.content)) return take(*rows);
    auto& place = std::get<tier::PlaceBlob>(blob.content);
    const auto expected =
        tier::BlobPath::of_place(state_.space, names_, state_.filed_under(), state_.length());
    if (place.snapshot == nullptr || !same_path(place.path, expected)) return false;
    state_.snapshot = std::move(place.snapshot);
    return true;
  }
  // Whether rows, where there are any, reach the end; which parts a model needs the engine knows.
  [[nodiscard]] bool whole() const {
    return covered_ == state_.length() || (covered_ == 0 && state_.snapshot != nullptr);
  }
  [[nodiscard]] SlotState& state() { return state_; }

 private:
  bool take(tier::RowsBlob& rows) {
    const TokenRange range = rows.path.range;
    if (range.begin != covered_ || range.empty() || range.end > state_.length()) return false;
    const auto expected =
        tier::BlobPath::of_rows(state_.space, names_, state_.filed_under(), range);
    if (!same_path(rows.path, expected)) return false;
    for (BlockUse& use : rows.rows) state_.rows.push_back(std::move(use));
    covered_ = range.end;
    return true;
  }

  SlotState state_;
  tier::PathNamer names_;
  TokenPos covered_ = 0;
};

// Where it came from is known to be at fault, or not.
Error as_unfit(const Error& error) {
  const bool of_the_file =
      error.code == ErrorCode::kInvalidArgument || error.code == ErrorCode::kUnsupported;
  return of_the_file ? unfit(error.message) : error;
}

Result<SlotState> read_state(tier::BlobArchiveReader& archive, SlotNote note, SpaceKey space) {
  StateReader reader(std::move(note), space);
  for (;;) {
    auto next = archive.next();
    if (!next) return as_unfit(next.error());
    if (!next->has_value()) break;
    auto blob = tier::read_blob(**next, tier::Verify::kPartsAndDigest);
    if (!blob) return as_unfit(blob.error());
    if (!reader.take(std::move(*blob))) return unfit("its parts do not belong together");
  }
  if (!reader.whole()) return unfit("parts of it are missing");
  return std::move(reader.state());
}

}  // namespace

namespace {

Result<ByteCount> save_locked(tier::FileSystem& files, const std::string& name,
                              const SlotState& state, const SlotOwner& owner, std::int64_t now_ms) {
  if (auto taken = may_take(files, name, owner); !taken) return taken.error();
  remove_leavings(files);
  const std::string part = part_name(name);
  auto written = write_part(files, part, state, owner, now_ms);
  if (written) {
    const int renamed = tier::uninterrupted([&] { return files.rename(part, name); });
    if (renamed != 0) written = tier::io_error("the file cannot be renamed", renamed);
  }
  if (!written) {
    (void)files.remove(part);
    return written;
  }
  if (const int synced = tier::uninterrupted([&] { return files.sync_folder(""); }); synced != 0)
    return tier::io_error("the folder cannot be synced", synced);
  return written;
}

Result<SlotFile> read_whole(tier::ByteSource& source, const SlotOwner& owner,
                            const SlotLimits& limits) {
  auto archive = tier::BlobArchiveReader::open(source);
  if (!archive) return as_unfit(archive.error());
  auto note = read_note(archive->note());
  if (!note) return unfit("it is no saved slot");
  if (note->owner != owner) return unknown_file();
  if (auto fit = fits(*note, limits); !fit) return fit.error();
  if (!archive->announced()) return unfit("it is cut off");
  if (source.size() > limits.bytes_max)
    return unfit("it is larger than any state of this model could be");
  auto state = read_state(*archive, std::move(*note), limits.space);
  if (!state) return state.error();
  return SlotFile{std::move(*state), source.size()};
}

Error no_memory() { return {ErrorCode::kUnavailable, "there is not enough memory for it", {}}; }

}  // namespace

SlotOwner slot_owner(std::string_view tenant) {
  constexpr std::string_view kPurpose = "holdfast slot owner ";
  const tier::Sha256Digest digest = tier::Sha256()
                                        .add(std::as_bytes(std::span(kPurpose)))
                                        .add(std::as_bytes(std::span(tenant)))
                                        .digest();
  SlotOwner owner{};
  std::copy_n(digest.begin(), owner.size(), owner.begin());
  return owner;
}

const char* bad_slot_file_name(std::string_view name) {
  if (name.empty()) return "must not be empty";
  if (name.size() > kNameBytesMax) return "must have at most 200 bytes";
  if (name.starts_with('.')) return "must not begin with a dot";
  const auto refused = [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte < 0x20 || byte == 0x7F || c == '/' || c == '\\';
  };
  if (std::ranges::any_of(name, refused)) {
    return "must be a plain file name: no slashes, backslashes or control characters";
  }
  return nullptr;
}

Result<ByteCount> write_slot_file(tier::FileSystem& files, const std::string& name,
                                  const SlotState& state, const SlotOwner& owner,
                                  std::int64_t now_ms) {
  CHECK(bad_slot_file_name(name) == nullptr && state.length() > 0);
  const auto lock = tier::uninterrupted([&] { return files.lock(kLockName); });
  if (lock.error == EWOULDBLOCK)
    return Error{ErrorCode::kUnavailable, "another server is saving in the same folder", {}};
  if (!lock.ok()) return tier::io_error("the folder cannot be locked", lock.error);
  try {
    return save_locked(files, name, state, owner, now_ms);
  } catch (const std::bad_alloc&) {  // what was begun goes with the next save
    return no_memory();
  }
}

Result<SlotFile> read_slot_file(tier::FileSystem& files, const std::string& name,
                                const SlotOwner& owner, const SlotLimits& limits) {
  CHECK(bad_slot_file_name(name) == nullptr);
  auto file = tier::uninterrupted([&] { return files.open(name); });
  if (file.error == ENOENT) return unknown_file();
  if (file.error == ELOOP || file.error == EINVAL) return unfit("it is no plain file");
  if (!file.ok()) return tier::io_error("the file cannot be opened", file.error);
  tier::FileSource source(*file.value);
  return read_slot_bytes(source, owner, limits);
}

Result<SlotFile> read_slot_bytes(tier::ByteSource& source, const SlotOwner& owner,
                                 const SlotLimits& limits) {
  try {
    return read_whole(source, owner, limits);
  } catch (const std::bad_alloc&) {
    return no_memory();
  }
}

}  // namespace holdfast::cache
