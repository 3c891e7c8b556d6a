// Simulation: a server, its disk, its clients and everything that can go wrong, from one seed.
//
//   Clients, Operators --> Life: scheduler, memory, disk tier --> SimulatedFiles
//                            |                                      fail once, for good, full,
//                            power lost,
//                            `--> FakeEngine                        files damaged by other hands
//                                   calls fail, refuse, save damaged bytes
//
// A seed sets up servers of one kind, and lets some hundred things happen in an order of its own:
// requests, rounds of the loop, work below memory, faults, restarts. All invariants are verified on
// the way. At the end faults stop, every request must end, and nothing may be held, pinned or
// waited for. Then one more server, on what the disk has kept, is asked about everything again.
//
// It begins where a request has been decoded: HTTP, JSON and templates need threads and sockets,
// and are tested with those (tests/clients).
//
// The same seed does the same, call by call.
#pragma once

#include <cstdint>
#include <memory>

#include "choices.h"
#include "clients.h"
#include "counts.h"
#include "engine_faults.h"
#include "life.h"
#include "operators.h"
#include "oracle.h"
#include "simulated_clock.h"
#include "tier/testing/simulated_files.h"

namespace holdfast::simulation {

class Simulation {
 public:
  explicit Simulation(std::uint64_t seed);

  // Throws Trouble where a promise is broken.
  void run();
  // Prints what happens.
  void tell() {
    counts_.tell();
    check_every_ = 1;
  }
  [[nodiscard]] const Counts& counts() const { return counts_; }
  // For people: how its servers are set up.
  [[nodiscard]] std::string setting() const { return describe(setting_); }
  [[nodiscard]] std::uint64_t steps() const { return steps_; }

 private:
  void live();
  void happen();
  void spoil_engine();
  void spoil_files(tier::SimulatedFiles& files);
  void damage(tier::SimulatedFiles& files);
  void heal();
  void check();

  void start();
  void end_life();
  void stop_politely();
  void kill();
  void lose_power();
  void pause();
  void finish_all();

  Choices choices_;
  Counts counts_;
  const Setting setting_;
  SimulatedClock clock_;
  EngineFaults engine_faults_;
  tier::SimulatedFiles files_;
  tier::SimulatedFiles slot_files_;
  Oracle oracle_;
  Clients clients_;
  Operators operators_;
  std::unique_ptr<Life> life_;
  bool sound_ = true;  // in this life the folder has not failed, and nobody else has touched it
  std::uint64_t steps_ = 0;
  std::uint64_t check_every_ = 16;
};

}  // namespace holdfast::simulation
