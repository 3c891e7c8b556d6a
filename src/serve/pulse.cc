#include "serve/pulse.h"

#include <algorithm>
#include <cmath>

#include "env/crash_report.h"

namespace holdfast::serve {
namespace {

constexpr double kBoundMinMs = 60'000.0;
constexpr double kBoundUnknownMs = 600'000.0;  // a first chunk of a large model on a slow machine
constexpr double kTimesSlowest = 20.0;
constexpr double kFade = 0.99;  // with each piece: a slow one counts half after 70 others

void note(std::string_view doing, std::string_view request = "") {
  env::note_for_crash(env::CrashFact::kDoing, doing);
  if (!request.empty()) env::note_for_crash(env::CrashFact::kRequest, request);
}

std::string_view in_a_crash(Work work) {
  switch (work) {
    case Work::kRound: return "taking requests in";
    case Work::kReading: return "reading a prompt";
    case Work::kWriting: return "writing answers";
    case Work::kIdle: break;
  }
  return "idle work";
}

}  // namespace

std::string PulseReading::in_words() const {
  if (resting) return "resting";
  const std::string since = " for " + std::to_string(std::lround(piece_ms / 1000.0)) + " s";
  switch (work) {
    case Work::kRound: return "taking requests in" + since;
    case Work::kReading: return "reading " + std::to_string(tokens) + " tokens" + since;
    case Work::kWriting: return "writing " + std::to_string(tokens) + " tokens" + since;
    case Work::kIdle: break;
  }
  return "at idle work" + since;
}

void Pulse::begin(Work work, TokenPos tokens, std::string_view request) {
  note(in_a_crash(work), request);
  const auto now = clock_.now();
  const MutexLock lock(mutex_);
  end_piece(now);
  if (work == Work::kRound) round_ = now;
  began_ = now;
  now_.resting = false;
  now_.work = work;
  now_.tokens = tokens;
  now_.request.assign(request);
}

void Pulse::rest() {
  note("resting");
  const auto now = clock_.now();
  const MutexLock lock(mutex_);
  end_piece(now);
  now_.resting = true;
  now_.request.clear();
}

PulseReading Pulse::read() const {
  const auto now = clock_.now();
  const MutexLock lock(mutex_);
  PulseReading reading = now_;
  reading.round_ms = env::ms_between(round_, now);
  if (reading.resting) return reading;
  reading.piece_ms = env::ms_between(began_, now);
  reading.bound_ms = bound_ms();
  return reading;
}

void Pulse::end_piece(env::Clock::TimePoint now) {
  if (now_.resting) return;
  Slowest& slowest = slowest_[static_cast<std::size_t>(now_.work)];
  const double ms = env::ms_between(began_, now);
  slowest.ms *= kFade;
  if (ms >= slowest.ms) slowest = {std::max(ms, 1e-3), now_.tokens};
}

double Pulse::bound_ms() const {
  const Slowest& slowest = slowest_[static_cast<std::size_t>(now_.work)];
  if (slowest.ms == 0.0) return kBoundUnknownMs;
  const double tokens = static_cast<double>(now_.tokens);
  const double scale = std::max(1.0, tokens / std::max<double>(1.0, slowest.tokens));
  return std::max(kBoundMinMs, kTimesSlowest * slowest.ms * scale);
}

}  // namespace holdfast::serve
