#include "tier/space_notes.h"

#include <optional>
#include <string>

namespace holdfast::tier {

namespace {

constexpr std::string_view kNoteEnding = ".json";

std::string note_path(SpaceKey space) {
  return "spaces/" + hex_of(space) + std::string(kNoteEnding);
}

std::optional<SpaceKey> space_of(const FolderEntry& entry) {
  const std::string_view name = entry.name;
  if (entry.kind != FolderEntry::Kind::kFile || !name.ends_with(kNoteEnding)) return std::nullopt;
  return space_from_hex(name.substr(0, name.size() - kNoteEnding.size()));
}

// One byte more than a note may have, so that a longer file is not taken for its front.
std::optional<SpaceNote> read_note(FileSystem& files, SpaceKey space) {
  const auto text = read_text(files, note_path(space), kNoteBytesMax + 1);
  return text ? parse_note(*text) : std::nullopt;
}

}  // namespace

// A folder from before there were notes has none.
std::vector<FolderEntry> SpaceNotes::list() {
  const auto listed = uninterrupted([&] { return files_.list("spaces"); });
  if (!listed.ok() && listed.error != ENOENT)
    stats_.note_failure(io_error("spaces cannot be listed", listed.error).message);
  return listed.value;
}

std::map<SpaceKey, SpaceNote> SpaceNotes::all() {
  std::map<SpaceKey, SpaceNote> notes;
  for (const FolderEntry& entry : list()) {
    const auto space = space_of(entry);
    if (!space || notes.size() >= kNotesMax) continue;
    if (auto note = read_note(files_, *space)) notes.emplace(*space, std::move(*note));
  }
  return notes;
}

Result<void> SpaceNotes::describe(SpaceKey space, const SpaceNote& note, const UsedSpaces& used) {
  const std::string text = note_text(note);
  const auto wanted = parse_note(text);  // as it will be read: cut, and made valid
  if (!wanted) return Error{ErrorCode::kInvalidArgument, "a note on a space says nothing", {}};
  if (const auto found = described_.find(space);
      found != described_.end() && found->second == *wanted)
    return {};
  if (read_note(files_, space) != wanted) {
    if (list().size() >= kNotesMax && tidy(used) == 0) return {};
    if (auto written = write(space, *wanted); !written) {
      stats_.note_failure(written.error().message);
      return written;
    }
  }
  described_[space] = *wanted;
  return {};
}

// As a blob: whole, synced and under its name, or not there.
Result<void> SpaceNotes::write(SpaceKey space, const SpaceNote& note) {
  const std::string text = note_text(note);
  const std::string temporary = "tmp/" + hex_of(space);
  const std::span<const std::byte> piece = std::as_bytes(std::span(text));
  int error = uninterrupted([&] { return files_.make_folder("spaces"); });
  if (error == 0) error = uninterrupted([&] { return files_.sync_folder(""); });
  if (error != 0 && error != EEXIST) return io_error("the folder spaces cannot be made", error);
  static_cast<void>(uninterrupted([&] { return files_.remove(temporary); }));
  error = write_file(files_, temporary, Pieces(&piece, 1));
  if (error != 0) return io_error("a note on a space cannot be written", error);
  error = uninterrupted([&] { return files_.rename(temporary, note_path(space)); });
  if (error != 0) static_cast<void>(uninterrupted([&] { return files_.remove(temporary); }));
  if (error == 0) error = uninterrupted([&] { return files_.sync_folder("spaces"); });
  if (error != 0) return io_error("a note on a space cannot be kept", error);
  return {};
}

std::uint64_t SpaceNotes::tidy(const UsedSpaces& used) {
  const std::set<SpaceKey> spaces = used();
  std::uint64_t removed = 0;
  for (const FolderEntry& entry : list()) {
    const auto space = space_of(entry);
    if (space && spaces.contains(*space) && read_note(files_, *space)) continue;
    const int error = uninterrupted([&] { return files_.remove("spaces/" + entry.name); });
    if (error == 0) ++removed;
    if (error == 0 && space) described_.erase(*space);
  }
  return removed;
}

}  // namespace holdfast::tier
