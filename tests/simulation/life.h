// Life: one server's life over the simulated folder, from its start to its end: fake engine,
// scheduler, memory, the tier below with its store, drafts. No thread runs: step() does what
// threads would.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cache/disk_tier.h"
#include "choices.h"
#include "counts.h"
#include "engine/draft_model.h"
#include "engine/testing/fake.h"
#include "engine_faults.h"
#include "serve/scheduler.h"
#include "simulated_clock.h"
#include "tier/disk_store.h"
#include "tier/testing/simulated_files.h"

namespace holdfast::simulation {

inline constexpr TokenPos kGridStep = 16;

// How all servers of one seed are set up.
struct Setting {
  engine::FakeOptions fake;
  Exactness exact = Exactness::kOff;
  bool drafts = false;
  ByteCount memory = 0;
  ByteCount disk = 0;  // 0: no folder
  double proofs = 0.0;
  int slot_snapshots = 8;
  bool checkpoints = true;
  std::size_t queue_max = 256;
  bool prewarm = false;
};
[[nodiscard]] Setting choose_setting(Choices& choices);
[[nodiscard]] std::string describe(const Setting& setting);

class Life final : public serve::SchedulerObserver {
 public:
  // Where the folder cannot be opened it is a life without one, as the program does it.
  Life(const Setting& setting, tier::SimulatedFiles& files, SimulatedClock& clock,
       EngineFaults& faults, Counts& counts);
  ~Life() override;

  // One round of the loop; with `below`, one thing of the tier below memory too.
  void step(bool below);
  // What the loop does while nobody waits.
  void rest();
  // Of that, reading ahead; over after this many pieces.
  void read_ahead(std::size_t pieces);
  // All that may be written is.
  void settle();
  // All invariants; those of the folder where it is `sound`.
  void check(bool sound);
  // Nothing is at work, nothing waits, nothing is held for nobody.
  void check_quiet();

  [[nodiscard]] serve::Scheduler& scheduler() { return *scheduler_; }
  [[nodiscard]] const engine::FakeText& text() const { return text_; }

  void on_proved(const serve::Proof& proof) override;

 private:
  void open_folder(tier::SimulatedFiles& files);
  [[nodiscard]] serve::SchedulerOptions options() const;

  const Setting setting_;
  SimulatedClock& clock_;
  Counts& counts_;
  engine::FakeText text_;
  engine::FakeEngine engine_;
  engine::FakeEngine small_;  // what drafts
  std::optional<engine::DraftModel> companion_;
  std::shared_ptr<tier::StoredDepths> known_;
  std::unique_ptr<tier::DiskStore> store_;
  std::optional<cache::DiskTier> lower_;
  std::optional<serve::Scheduler> scheduler_;  // after what it works on
  std::string disproved_;
};

}  // namespace holdfast::simulation
