// PathReader: what a store has of a prompt, and how it comes up.
//
// Some of it is known without a look at the store. What fails on the way up is an answer without
// `all`: a miss, never an error. How fast it goes is measured.
//
// look() and load() are called by the disk tier's thread, the rest by the engine's.
#pragma once

#include <atomic>
#include <memory>
#include <span>
#include <utility>

#include "cache/cold_tier.h"
#include "cache/foreign_states.h"
#include "env/clock.h"
#include "tier/blob_store.h"
#include "tier/stored_depths.h"

namespace holdfast::cache {

class PathReader {
 public:
  // `known` may be null: then every prompt is looked up. `bytes_per_ms`: assumed until something
  // was read. REQUIRES: store and clock outlive it.
  PathReader(tier::BlobStore& store, std::shared_ptr<const tier::StoredDepths> known,
             const env::Clock& clock, double bytes_per_ms)
      : store_(store), known_(std::move(known)), clock_(clock), bytes_per_ms_(bytes_per_ms) {}

  // Who else has made states in the store. To be called before anything is asked.
  void set_foreign(ForeignStates foreign) { foreign_ = std::move(foreign); }
  // A look would find nothing deeper than this.
  [[nodiscard]] TokenPos deepest(std::span<const tier::PathName> names) const;
  // What there is that was made under other facts.
  [[nodiscard]] ForeignMatch foreign(const ForeignQuestion& question) const;

  [[nodiscard]] tier::StoreMatch look(SpaceKey space, TokenSpan keys) {
    return store_.lookup(space, keys);
  }
  // Ends early when nobody waits for the reply any more.
  // REQUIRES: the choice is one of this match.
  [[nodiscard]] Brought load(const tier::StoreMatch& match, const ColdChoice& choice,
                             const Pending<Brought>& reply);
  [[nodiscard]] double bytes_per_ms() const { return bytes_per_ms_; }

 private:
  void measure(ByteCount bytes, double ms);

  tier::BlobStore& store_;
  const std::shared_ptr<const tier::StoredDepths> known_;
  const env::Clock& clock_;
  ForeignStates foreign_;
  std::atomic<double> bytes_per_ms_;
};

}  // namespace holdfast::cache
