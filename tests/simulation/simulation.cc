#include "simulation.h"

#include <cerrno>
#include <string>
#include <vector>

#include "trouble.h"

namespace holdfast::simulation {

namespace {

constexpr ByteCount kAnySize = ByteCount{1} << 40;
constexpr int kRoundsMax = 20'000;  // far more than any request needs

}  // namespace

Simulation::Simulation(std::uint64_t seed)
    : choices_(seed),
      setting_(choose_setting(choices_)),
      engine_faults_(choices_, clock_, counts_),
      files_(choices_.any()),
      slot_files_(choices_.any()),
      oracle_(setting_.fake, setting_.exact, kGridStep),
      clients_(choices_, oracle_, engine_faults_, counts_, setting_),
      operators_(choices_, slot_files_, clock_, counts_, setting_.fake.slots) {
  if (choices_.once_in(4)) files_.move_little();
  if (setting_.exact == Exactness::kAll) engine_faults_.count_all();
}

void Simulation::run() {
  start();
  live();
  stop_politely();
  // What the disk has kept is as good as what was never written.
  start();
  for (int i = 0; i < 6; ++i) clients_.act(life_->scheduler());
  stop_politely();
  life_.reset();
  counts_.add("steps", steps_);
}

void Simulation::live() {
  for (std::size_t left = 100 + choices_.below(200); left > 0; --left) {
    ++steps_;
    if (choices_.once_in(5)) clients_.act(life_->scheduler());
    if (choices_.once_in(25)) operators_.act(life_->scheduler());
    life_->step(choices_.once_in(2));
    if (check_every_ == 1) std::printf("%llu\n", static_cast<unsigned long long>(steps_));
    clients_.collect(&life_->scheduler());
    happen();
    if (steps_ % check_every_ == 0) check();
  }
}

// What is not asked for.
void Simulation::happen() {
  if (choices_.once_in(12)) life_->rest();
  if (choices_.once_in(15)) pause();
  if (choices_.once_in(12)) clock_.pass(std::chrono::milliseconds(choices_.below(20'000)));
  if (choices_.once_in(90))
    clock_.jump_calendar(static_cast<std::int64_t>(choices_.below(2'000'000)) - 1'000'000);
  if (choices_.once_in(40)) spoil_engine();
  if (choices_.once_in(30)) spoil_files(choices_.once_in(4) ? slot_files_ : files_);
  if (choices_.once_in(120)) damage(choices_.once_in(4) ? slot_files_ : files_);
  if (choices_.once_in(40)) heal();
  if (choices_.once_in(100)) {
    switch (choices_.below(3)) {
      case 0: stop_politely(); break;
      case 1: kill(); break;
      default: lose_power(); break;
    }
    start();
  }
}

void Simulation::spoil_engine() {
  const auto rate = [&] { return choices_.one_of<std::size_t>({0, 3, 20}); };
  const auto rarely = [&] { return choices_.one_of<std::size_t>({0, 0, 30}); };
  engine_faults_.set({.prefill = rarely(),
                      .decode = rarely(),
                      .truncate = rate(),
                      .save = rate(),
                      .load = rate()});
}

void Simulation::spoil_files(tier::SimulatedFiles& files) {
  const std::uint64_t call = files.calls() + 1 + choices_.below(20);
  const int error = choices_.once_in(2) ? EIO : ENOSPC;
  switch (choices_.below(4)) {
    case 0:
      counts_.add("files: full");
      sound_ = false;
      return files.set_capacity(choices_.below(20'000));
    case 1:
      counts_.add("files: calls failing for good");
      sound_ = false;
      return files.fail_at(call, error, true);
    default:
      counts_.add("files: a call failing once");
      sound_ = false;
      return files.fail_at(call, error);
  }
}

// Other hands change, cut or remove a file. A folder without FORMAT is none, so that one is left
// alone.
void Simulation::damage(tier::SimulatedFiles& files) {
  std::vector<std::string> paths = files.file_paths();
  std::erase_if(paths, [](const std::string& path) {
    return path.ends_with("FORMAT") || path.ends_with("lock");
  });
  if (paths.empty()) return;
  const std::string& path = paths[choices_.below(paths.size())];
  counts_.add("files: damaged by other hands");
  if (&files == &files_) sound_ = false;
  if (choices_.once_in(3)) return files.erase(path);
  std::vector<std::byte> bytes = files.bytes(path);
  if (bytes.empty() || choices_.once_in(2)) {
    bytes.resize(choices_.below(bytes.size() + 1));
  } else {
    bytes[choices_.below(bytes.size())] ^=
        std::byte{static_cast<unsigned char>(1U << choices_.below(8))};
  }
  files.overwrite(path, std::move(bytes));
}

void Simulation::heal() {
  engine_faults_.set({});
  for (tier::SimulatedFiles* files : {&files_, &slot_files_}) {
    files->fail_never();
    files->set_capacity(kAnySize);
  }
}

// A store cannot look into a folder that fails, nor remove what it began to write there.
void Simulation::check() { life_->check(sound_); }

// --- lives
// ----------------------------------------------------------------------------------------------------

void Simulation::start() {
  sound_ = true;
  life_ = std::make_unique<Life>(setting_, files_, clock_, engine_faults_, counts_);
}

void Simulation::end_life() {
  life_.reset();
  clients_.server_ended();
  operators_.server_ended();
}

// Everybody is answered first, and all that may be written is.
void Simulation::stop_politely() {
  counts_.add("servers stopped");
  heal();
  finish_all();
  life_->settle();
  demand(operators_.waiting() == 0, "an operator was not answered");
  life_->check_quiet();
  check();
  end_life();
}

// What was written stays; nothing more is.
void Simulation::kill() {
  counts_.add("servers killed");
  heal();
  files_.fail_at(files_.calls() + 1, EIO, true);
  slot_files_.fail_at(slot_files_.calls() + 1, EIO, true);
  end_life();
  heal();
}

// In one of the next calls; the server may not notice at once.
void Simulation::lose_power() {
  counts_.add("power losses");
  sound_ = false;
  files_.lose_power_at(files_.calls() + 1 + choices_.below(12));
  slot_files_.lose_power_at(slot_files_.calls() + 1 + choices_.below(12));
  for (std::size_t left = choices_.below(12); left > 0; --left) life_->step(true);
  if (choices_.once_in(2)) life_->settle();
  clients_.collect(&life_->scheduler());
  end_life();
  files_.restart();
  slot_files_.restart();
  heal();
}

// Clients think for a while: answers end, and are read ahead, to their ends or not.
void Simulation::pause() {
  for (std::size_t left = 40; left > 0 && clients_.waiting(); --left) {
    life_->step(choices_.once_in(2));
    clients_.collect(&life_->scheduler());
  }
  for (std::size_t pieces : {std::size_t{4}, choices_.below(8)}) {  // asks for prompts; reads them
    life_->step(true);
    life_->read_ahead(pieces);
  }
}

void Simulation::finish_all() {
  for (int round = 0; clients_.waiting(); ++round) {
    demand(round < kRoundsMax, "request " + clients_.first_waiting() + " is lost");
    life_->step(true);
    clients_.collect(&life_->scheduler());
    ++steps_;
  }
  for (int round = 0; round < 3; ++round)
    life_->step(true);  // what operators asked of slots that were at work
}

}  // namespace holdfast::simulation
