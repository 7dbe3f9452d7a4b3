#pragma once

// Replaces the memory functions of a program by ones that count. One file of a program may include it: it defines
// malloc and operator new.

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <new>

namespace tandem::test {

inline std::atomic<bool> counting = false;
inline std::atomic<int64_t> allocations = 0;

/// How often `work` asks for memory.
template <typename Work>
int64_t allocations_of(const Work& work) {
  allocations = 0;
  counting = true;
  work();
  counting = false;
  return allocations;
}

inline void note_allocation() {
  if (counting) allocations++;
}

}  // namespace tandem::test

// NOLINTBEGIN(bugprone-reserved-identifier, misc-definitions-in-headers): one program at a time includes this, and
// replaces the C library's functions, which replacing malloc must call by their second names.
extern "C" {
void* __libc_malloc(size_t size);
void* __libc_calloc(size_t count, size_t size);
void* __libc_realloc(void* memory, size_t size);
void* malloc(size_t size) {
  tandem::test::note_allocation();
  return __libc_malloc(size);
}
void* calloc(size_t count, size_t size) {
  tandem::test::note_allocation();
  return __libc_calloc(count, size);
}
void* realloc(void* memory, size_t size) {
  tandem::test::note_allocation();
  return __libc_realloc(memory, size);
}
}

void* operator new(size_t size) {
  if (void* memory = malloc(size)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }
// NOLINTEND(bugprone-reserved-identifier, misc-definitions-in-headers)
