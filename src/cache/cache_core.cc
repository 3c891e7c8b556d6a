#include "cache/cache_core.h"

namespace holdfast::cache {

namespace {

// Of memory's budget, logits of prompts' ends may take this part.
constexpr ByteCount kEndsPart = 32;

}  // namespace

CacheCore::CacheCore(const CacheWorld& world, CacheOptions given, CacheJournal* its_journal)
    : engine(*world.engine),
      options(std::move(given)),
      clock(*world.clock),
      companion(world.companion),
      lower(world.lower),
      journal(its_journal),
      memory(engine, options.memory, companion, journal),
      ends(memory, options.memory.budget / kEndsPart),
      slots(engine, options.has_exact_prompts()) {
  totals.exact = options.exact;
  totals.state = engine.shape().describe();
  totals.fingerprint = options.fingerprint;
}

TokenPos CacheCore::storable_length(const LiveSlot& slot) const {
  if (!options.has_exact_prompts() || slot.exact == slot.length()) return slot.length();
  return memory.tree().needs().snapshot ? 0 : slot.exact;
}

ByteCount CacheCore::unsaved_bytes(const LiveSlot& slot) const {
  const TokenPos storable = storable_length(slot);
  if (!memory.enabled() || storable <= slot.stored_upto) return 0;
  return static_cast<ByteCount>(storable - slot.stored_upto) * memory.copier.bytes_per_token() +
         memory.copier.snapshot_bytes(storable);
}

// Where the layout of a window shows in the last bits, an answer that begins with a restored
// state is not that of a cold run.
bool CacheCore::keeps_ends(const Prompt& prompt) const {
  if (!memory.enabled() || !prompt.reuse) return false;
  return !options.has_exact_prompts() || engine.shape().find(PartKind::kWindow) == nullptr;
}

}  // namespace holdfast::cache
