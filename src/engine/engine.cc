#include "engine/engine.h"

#include <memory>
#include <utility>

namespace holdfast::engine {

Result<SavedLater> Engine::save_later(SlotId slot, std::span<const TokenRange> blocks,
                                      bool snapshot) const {
  SavedLater saved;
  if (!blocks.empty()) {
    auto rows = save_rows(slot, blocks);
    if (!rows) return rows.error();
    for (ExtentRows& block : *rows) {
      saved.rows.push_back(
          std::make_shared<const ArrivingBytes>(std::move(block.bytes), block.checksum));
    }
  }
  if (!snapshot) return saved;
  auto state = save(slot, SaveScope::kSnapshot);
  if (!state) return state.error();
  saved.snapshot = std::make_shared<const ArrivingBytes>(std::move(state->bytes), state->checksum);
  return saved;
}

}  // namespace holdfast::engine
