// Crash report: what is printed when the program dies of a fault.
//
//   holdfast: crash: SIGSEGV, address not mapped: 0x0000000000000000
//     build     holdfast 0.2.0 (0d818f7a41c2), llama.cpp 0.5.0
//     model     /srv/models/model.gguf
//     doing     reading a prompt
//     request   chatcmpl-4Qx...
//     stack
//   /usr/bin/holdfast(_ZN8holdfast5serve4Loop9run_roundEv+0x1f)[0x55...]
//   ...
//
// It goes to standard error for SIGSEGV, SIGBUS, SIGFPE, SIGILL and SIGABRT (a CHECK, an exception
// that nobody caught, an abort of the engine). Then the signal does what it does by default, so
// that a core is written where cores are, and a supervisor sees which signal it was. Nothing is
// tidied up: the files of a cache folder are whole at any moment.
//
// The handler allocates nothing, takes no lock and waits for nobody who should read what it writes:
// facts are noted before, in buffers of their own. The stack comes from backtrace() of the C
// library. Functions of one file alone have no name in it, only a place: `addr2line` and the
// program's debug symbols give the name, and `c++filt` makes names readable.
//
// Invariants, verified by the tests of the same numbers (crash_report_test.cc):
//   CRASH-1  the program ends by the signal that it was sent
//   CRASH-2  the report holds the facts as they were noted last, cut to their longest
//   CRASH-3  a reader who does not read delays the end by seconds at most
#pragma once

#include <memory>
#include <string_view>

namespace holdfast::env {

enum class CrashFact {
  kBuild,
  kModel,
  kDoing,
  kRequest,  // the last one that was worked on
};

// From then on faults are reported. Once, in the main thread, before there are others. Nothing
// happens in a build with a sanitizer, which reports by itself.
void report_crashes(std::string_view build);

// Any thread; cheap. What is longer than 255 bytes is cut.
void note_for_crash(CrashFact fact, std::string_view text);

// A second stack for this thread, on which it can report that its own is full. Without one it ends
// without a word. To be destroyed by the thread that made it.
class CrashStack {
 public:
  CrashStack();
  ~CrashStack();
  CrashStack(const CrashStack&) = delete;
  CrashStack& operator=(const CrashStack&) = delete;

 private:
  std::unique_ptr<char[]> memory_;
};

}  // namespace holdfast::env
