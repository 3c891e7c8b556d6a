#include "cache/room_for.h"

#include <algorithm>

#include "plan/placement.h"

namespace holdfast::cache {

namespace {

constexpr ByteCount kMebibyte = ByteCount{1} << 20U;
// More than any machine has: --cache-ram -1.
constexpr ByteCount kUnlimited = ByteCount{1} << 50U;
// Kept wherever there is room: after the system block, before the answer and after it.
constexpr std::uint64_t kAlways = 3;
// Of them the prompt's end is among the places that PLACE-4 counts.
constexpr std::uint64_t kBesidesNearEnd = 2;

ByteCount snapshot_of(const RoomInput& input, TokenPos tokens) {
  ByteCount bytes = input.shape.bytes_per_snapshot();
  if (const Part* window = input.shape.find(PartKind::kWindow)) {
    bytes += window->bytes_per_token * static_cast<ByteCount>(std::min(tokens, window->window));
  }
  return bytes > 0 ? bytes + input.companion.bytes_per_place : 0;
}

ByteCount rows_of(const RoomInput& input, TokenPos tokens) {
  const Part* const extent = input.shape.find(PartKind::kExtent);
  if (extent == nullptr || extent->bytes_per_token == 0) return 0;
  return static_cast<ByteCount>(tokens) *
         (extent->bytes_per_token + input.companion.bytes_per_token);
}

std::string grouped(std::uint64_t number) {
  std::string digits = std::to_string(number);
  for (std::size_t at = digits.size(); at > 3;) digits.insert(at -= 3, ",");
  return digits;
}

std::string mebibytes(ByteCount bytes) {
  return std::to_string((bytes + kMebibyte - 1) / kMebibyte);
}

std::string parts_in_words(const RoomFor& room) {
  const std::string snapshots =
      std::to_string(room.snapshots) + " snapshots of " + human_bytes(room.snapshot_bytes);
  const std::string rows = "rows " + human_bytes(room.row_bytes);
  if (room.snapshot_bytes == 0) return rows;
  return room.row_bytes == 0 ? snapshots : rows + ", " + snapshots;
}

std::string memory_in_words(const RoomFor& room) {
  if (room.memory >= kUnlimited) return "memory for states has no limit";
  return "memory for states (" + human_bytes(room.memory) + ") holds about " +
         grouped(room.in_memory()) + " of them";
}

}  // namespace

RoomFor room_for(const RoomInput& input) {
  RoomFor room{
      .tokens = std::min(input.context, kUsualTokens), .memory = input.memory, .disk = input.disk};
  room.row_bytes = rows_of(input, room.tokens);
  room.snapshot_bytes = snapshot_of(input, room.tokens);
  if (room.snapshot_bytes == 0) return room;
  const plan::NearEnd near = plan::near_end_within(room.tokens, input.step, room.snapshot_bytes,
                                                   {input.memory, input.memory});
  const std::uint64_t promised = plan::near_end_places(room.tokens, near);
  room.snapshots = std::max(promised + kBesidesNearEnd, kAlways);
  room.snapshots_least = kAlways;
  return room;
}

std::string room_in_words(const RoomFor& room) {
  if (room.memory == 0 || room.bytes() == 0) return {};
  std::string text = "a conversation of " + grouped(static_cast<std::uint64_t>(room.tokens)) +
                     " tokens takes about " + human_bytes(room.bytes()) + " (" +
                     parts_in_words(room) + "); " + memory_in_words(room);
  if (room.disk > 0) {
    text += ", the disk (" + human_bytes(room.disk) + ") about " + grouped(room.on_disk());
  }
  return text;
}

std::vector<std::string> room_warnings(const RoomFor& room) {
  std::vector<std::string> warnings;
  if (room.memory == 0 || room.bytes() == 0) return warnings;
  const std::string one =
      "one conversation of " + grouped(static_cast<std::uint64_t>(room.tokens)) + " tokens";
  if (room.in_memory() == 0) {
    warnings.push_back("memory for states is too small for " + one +
                       ": one whose slot is taken by another is read again. Give --cache-ram " +
                       mebibytes(room.bytes_least()) + " or more");
  }
  if (room.disk > 0 && room.on_disk() == 0) {
    warnings.push_back("the room on disk is too small for " + one +
                       ": after a restart it is read again. Give --cache-disk " +
                       mebibytes(room.bytes_least()) +
                       " or more, or a --cache-dir on a larger volume");
  }
  return warnings;
}

}  // namespace holdfast::cache
