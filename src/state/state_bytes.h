// StateBytes: the bytes of a state, in bulk.
//
// They are overwritten as soon as there is room for them, so they are not set to
// zero first. Large ones ask for huge pages: a snapshot of 20 MiB is touched for
// the first time in ten pages instead of five thousand.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdlib>
#include <new>
#include <utility>
#include <vector>

namespace holdfast {

template <typename Value>
struct BulkAllocator {
  using value_type = Value;

  BulkAllocator() = default;
  template <typename Other>
  BulkAllocator(const BulkAllocator<Other>&) {}  // NOLINT(google-explicit-constructor): rebinding

  [[nodiscard]] Value* allocate(std::size_t count) {
    constexpr std::size_t kHugePage = 2 << 20;
    const std::size_t bytes = count * sizeof(Value);
    if (bytes < kHugePage) return static_cast<Value*>(::operator new(bytes));
    void* memory = nullptr;
    if (::posix_memalign(&memory, kHugePage, bytes) != 0) throw std::bad_alloc();
    ::madvise(memory, bytes, MADV_HUGEPAGE);  // a wish; nothing depends on it
    return static_cast<Value*>(memory);
  }
  void deallocate(Value* memory, std::size_t count) {
    constexpr std::size_t kHugePage = 2 << 20;
    if (count * sizeof(Value) < kHugePage) {
      ::operator delete(memory);
    } else {
      std::free(memory);
    }
  }

  // Left as it is where nothing is asked for.
  template <typename Made>
  void construct(Made* at) {
    ::new (static_cast<void*>(at)) Made;
  }
  template <typename Made, typename... Args>
  void construct(Made* at, Args&&... args) {
    ::new (static_cast<void*>(at)) Made(std::forward<Args>(args)...);
  }

  bool operator==(const BulkAllocator&) const = default;
};

using StateBytes = std::vector<std::byte, BulkAllocator<std::byte>>;

}  // namespace holdfast
