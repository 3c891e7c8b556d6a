// Reads any bytes as a saved slot, as they are and with the digests made to fit, checks the
// promises of cache/slot_file.h, and restores what was taken into a slot.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/check.h"
#include "blob_seal.h"
#include "cache/slot_file.h"
#include "engine/testing/fake.h"
#include "env/clock.h"
#include "serve/scheduler.h"

namespace holdfast {
namespace {

// The kind of server whose slots are in the corpus.
struct Server {
  engine::FakeText text;
  engine::FakeEngine engine{{.kind = engine::FakeKind::kHybrid, .slots = 1}};
  env::SteadyClock clock;
  serve::Scheduler scheduler{engine, text, {}, clock};
};

void check_error(const Error& error) {
  CHECK(error.code == ErrorCode::kInvalidArgument || error.code == ErrorCode::kNotFound);
  CHECK(!error.message.empty() && error.message.size() < 200);
}

// SLOTFILE-2
void check_state(const cache::SlotState& state, const cache::SlotLimits& limits) {
  CHECK(state.space == limits.space);
  CHECK(0 < state.length() && state.length() <= limits.tokens_max);
  CHECK(0 <= state.exact && state.exact <= state.length());
  CHECK(state.keys.empty() || state.keys.size() == state.tokens.size());
  for (const Token token : state.tokens) CHECK(0 <= token && token < limits.vocabulary);
  TokenPos covered = 0;
  for (const BlockUse& use : state.rows) {
    CHECK(use.range.begin == covered && !use.range.empty());
    covered = use.range.end;
  }
  CHECK(covered == state.length() || (covered == 0 && state.snapshot != nullptr));
  CHECK(state.snapshot == nullptr || state.snapshot->position() == state.length());
}

void restore(Server& server, cache::SlotState state) {
  std::optional<Result<serve::SlotBrought>> answer;
  const serve::SlotAsk ask{SlotId{0}, state.space, nullptr};
  server.scheduler.slot_commands().restore(
      ask, std::make_shared<const cache::SlotState>(std::move(state)),
      [&](Result<serve::SlotBrought> given) { answer.emplace(given); });
  server.scheduler.run_round();
  CHECK(answer.has_value());
  CHECK(server.scheduler.check().empty() && server.engine.check().empty());
}

void check_bytes(Server& server, std::span<const std::byte> file) {
  const cache::SlotLimits limits = server.scheduler.slot_commands().limits({});
  tier::MemorySource source(file);
  auto read = cache::read_slot_bytes(source, cache::slot_owner(""), limits);
  if (!read) return check_error(read.error());
  CHECK(read->bytes == file.size());
  check_state(read->state, limits);
  restore(server, std::move(read->state));
}

}  // namespace
}  // namespace holdfast

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static holdfast::Server server;
  const auto bytes = std::as_bytes(std::span(data, size));
  std::vector<std::byte> file(bytes.begin(), bytes.end());
  holdfast::check_bytes(server, file);
  holdfast::seal_archive(file);
  holdfast::check_bytes(server, file);
  return 0;
}
