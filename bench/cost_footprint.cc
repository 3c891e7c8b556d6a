#include "cost_footprint.h"

#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>

#include "cost_reading.h"

namespace holdfast::bench {

namespace {

ByteCount resident_bytes() {
  std::ifstream statm("/proc/self/statm");
  ByteCount pages = 0;
  ByteCount resident = 0;
  statm >> pages >> resident;
  return resident * static_cast<ByteCount>(::sysconf(_SC_PAGESIZE));
}

ByteCount allocated_bytes() {
  const auto info = ::mallinfo2();
  return info.uordblks + info.hblkhd;
}

}  // namespace

Footprint::Footprint(const cache::StateCache& cache)
    : status(cache.status()), allocated(allocated_bytes()), resident(resident_bytes()) {}

// The shape counts a few bytes a token for the library's own bookkeeping, which are
// not kept; so what is held may be a little less than `least`.
Measurement held_bytes(const StateSetting& setting, const llama::LoadedModel& model,
                       const Footprint& before, const Footprint& after) {
  const auto tokens = static_cast<double>(after.status.tokens - before.status.tokens);
  const auto count =
      static_cast<double>(after.status.snapshot_count - before.status.snapshot_count);
  const ByteCount counted = after.status.resident - before.status.resident;
  const ByteCount allocated = after.allocated - before.allocated;
  const StateShape& shape = model.engine->shape();
  const Part* extent = shape.find(PartKind::kExtent);
  const double rows = extent ? static_cast<double>(extent->bytes_per_token) : 0;
  const Part* window = shape.find(PartKind::kWindow);
  const double windowed = window ? static_cast<double>(window->bytes_per_token) *
                                       std::min(window->window, setting.tokens)
                                 : 0;
  const double least =
      rows * tokens + count * (windowed + static_cast<double>(shape.bytes_per_snapshot()));
  const auto per_token = [&](ByteCount bytes) { return static_cast<double>(bytes) / tokens; };
  Measurement result;
  result.what = "bytes held";
  result.under = described(setting, model);
  result.figures = {
      {"tokens", tokens},
      {"snapshots", count},
      {"least_bytes_per_token", least / tokens},
      {"counted_bytes_per_token", per_token(counted)},
      {"allocated_bytes_per_token", per_token(allocated)},
      {"process_bytes_per_token", per_token(after.resident - before.resident)},
      {"counted_over_least", static_cast<double>(counted) / least},
      {"allocated_over_least", static_cast<double>(allocated) / least},
  };
  return result;
}

}  // namespace holdfast::bench
