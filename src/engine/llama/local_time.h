// The date in chat templates, asked for by several threads at once.
//
// To render a chat the library calls std::localtime(), whose answer lies in one place for the
// whole process, so that one of two workers that render side by side may read what the other one
// is writing. The library has no other way, and a lock around it would have short chats wait for
// long ones. So localtime() is defined here a second time: the program's own definition goes
// before libc's, and answers from memory of the calling thread.
//
// Verified by local_time_test.cc:
//   LTIME-1  each thread's answer lies in memory of its own
//   LTIME-2  the library calls this definition
#pragma once

namespace holdfast::llama {

// LTIME-2, as the dynamic linker sees it. A program that calls this is linked with the definition.
[[nodiscard]] bool owns_local_time();

}  // namespace holdfast::llama
