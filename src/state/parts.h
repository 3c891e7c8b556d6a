// What a model's state consists of, and what each part can and cannot do.
//
// Everything above the engine plans by these answers; only the engine's own
// implementation knows model families.
#pragma once

#include <string>
#include <vector>

#include "state/tokens.h"

namespace holdfast {

enum class PartKind {
  kExtent,    // attention KV: may be truncated at any token
  kWindow,    // sliding-window KV: may be truncated while the window below is held
  kSnapshot,  // recurrent state: valid only where it was taken
};
[[nodiscard]] const char* part_kind_name(PartKind kind);

struct Part {
  PartKind kind = PartKind::kExtent;
  ByteCount bytes_per_token = 0;  // extents and windows
  ByteCount bytes_fixed = 0;      // snapshots
  TokenPos window = 0;            // windows: tokens that attention looks back
  TokenPos rollback_depth = 0;    // snapshots: tokens that can be undone after a verify step
};

// The parts of one model under one configuration.
struct StateShape {
  std::vector<Part> parts;

  [[nodiscard]] const Part* find(PartKind kind) const;
  // True when a live state may be truncated at any token.
  [[nodiscard]] bool truncates_anywhere() const;
  [[nodiscard]] ByteCount bytes_per_token() const;
  [[nodiscard]] ByteCount bytes_per_snapshot() const;
  // One line for people: "attention 1.0 KiB/token, recurrent 656 KiB/snapshot".
  [[nodiscard]] std::string describe() const;
};

[[nodiscard]] std::string human_bytes(ByteCount bytes);

}  // namespace holdfast
