// Stands in front of the C library's allocator and of operator new.
#include "allocation_count.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>

#include <array>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <new>

extern "C" {
// The C library's own, under the names it keeps for this purpose.
void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);
void __libc_free(void*);
}

namespace plimsoll::testing {
namespace {

struct Range {
  std::uintptr_t first = 0;
  std::uintptr_t end = 0;
};

// Plain arrays: this file must not allocate.
std::array<Range, 256> libraries;
std::size_t library_count = 0;
std::atomic<bool> counting{false};
std::atomic<std::int64_t> ours{0};
std::atomic<std::int64_t> theirs{0};
std::array<std::atomic<const void*>, 8> callers;

bool is_library(const char* path) {
  for (const char* name :
       {"libdnnl", "libtbb", "libimf", "libsvml", "libintlc", "libirng"}) {
    if (std::strstr(path, name)) return true;
  }
  return false;
}

int note_module(dl_phdr_info* info, std::size_t, void*) {
  if (!is_library(info->dlpi_name)) return 0;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const auto& part = info->dlpi_phdr[i];
    if (part.p_type != PT_LOAD || library_count == libraries.size()) continue;
    const std::uintptr_t first = info->dlpi_addr + part.p_vaddr;
    libraries[library_count++] = {first, first + part.p_memsz};
  }
  return 0;
}

void note(const void* caller) {
  if (!counting.load(std::memory_order_relaxed)) return;
  const auto address = reinterpret_cast<std::uintptr_t>(caller);
  for (std::size_t i = 0; i < library_count; ++i) {
    if (address >= libraries[i].first && address < libraries[i].end) {
      ++theirs;
      return;
    }
  }
  const auto count = static_cast<std::size_t>(ours++);
  if (count < callers.size()) callers[count] = caller;
}

void* for_new(std::size_t bytes, std::size_t alignment) {
  return alignment == 0 ? __libc_malloc(bytes)
                        : __libc_memalign(alignment, bytes);
}

}  // namespace

void learn_modules() {
  library_count = 0;
  dl_iterate_phdr(note_module, nullptr);
}

void start_counting() {
  ours = 0;
  theirs = 0;
  for (auto& caller : callers) caller = nullptr;
  counting = true;
}

void stop_counting() { counting = false; }

std::int64_t own_calls() { return ours; }
std::int64_t library_calls() { return theirs; }

std::string own_callers() {
  std::string text;
  for (const auto& caller : callers) {
    const void* address = caller;
    Dl_info info{};
    if (!address || !dladdr(address, &info)) continue;
    std::array<char, 512> line;
    std::snprintf(
        line.data(), line.size(), "%s+0x%zx %s\n", info.dli_fname,
        static_cast<std::size_t>(static_cast<const char*>(address) -
                                 static_cast<const char*>(info.dli_fbase)),
        info.dli_sname ? info.dli_sname : "");
    text += line.data();
  }
  return text;
}

}  // namespace plimsoll::testing

#define PLIMSOLL_NOTE      \
  plimsoll::testing::note( \
      __builtin_extract_return_addr(__builtin_return_address(0)))

#define PLIMSOLL_EXPORT __attribute__((visibility("default")))

extern "C" {

PLIMSOLL_EXPORT void* malloc(std::size_t bytes) {
  PLIMSOLL_NOTE;
  return __libc_malloc(bytes);
}
PLIMSOLL_EXPORT void* calloc(std::size_t count, std::size_t bytes) {
  PLIMSOLL_NOTE;
  return __libc_calloc(count, bytes);
}
PLIMSOLL_EXPORT void* realloc(void* old, std::size_t bytes) {
  PLIMSOLL_NOTE;
  return __libc_realloc(old, bytes);
}
PLIMSOLL_EXPORT void free(void* old) { __libc_free(old); }
PLIMSOLL_EXPORT int posix_memalign(void** made, std::size_t alignment,
                                   std::size_t bytes) {
  PLIMSOLL_NOTE;
  *made = __libc_memalign(alignment, bytes);
  return *made ? 0 : ENOMEM;
}
PLIMSOLL_EXPORT void* aligned_alloc(std::size_t alignment, std::size_t bytes) {
  PLIMSOLL_NOTE;
  return __libc_memalign(alignment, bytes);
}
PLIMSOLL_EXPORT void* memalign(std::size_t alignment, std::size_t bytes) {
  PLIMSOLL_NOTE;
  return __libc_memalign(alignment, bytes);
}

}  // extern "C"

// Every form of new has the caller's own address; each ends in the C library.
#define PLIMSOLL_NEW(parameters, alignment, refuse)            \
  PLIMSOLL_EXPORT void* operator new parameters {              \
    PLIMSOLL_NOTE;                                             \
    void* made = plimsoll::testing::for_new(bytes, alignment); \
    refuse;                                                    \
    return made;                                               \
  }                                                            \
  PLIMSOLL_EXPORT void* operator new[] parameters {            \
    PLIMSOLL_NOTE;                                             \
    void* made = plimsoll::testing::for_new(bytes, alignment); \
    refuse;                                                    \
    return made;                                               \
  }
#define PLIMSOLL_THROW \
  if (!made) throw std::bad_alloc()

PLIMSOLL_NEW((std::size_t bytes), 0, PLIMSOLL_THROW)
PLIMSOLL_NEW((std::size_t bytes, const std::nothrow_t&) noexcept, 0, )
PLIMSOLL_NEW((std::size_t bytes, std::align_val_t alignment),
             static_cast<std::size_t>(alignment), PLIMSOLL_THROW)
PLIMSOLL_NEW((std::size_t bytes, std::align_val_t alignment,
              const std::nothrow_t&) noexcept,
             static_cast<std::size_t>(alignment), )

#define PLIMSOLL_DELETE(parameters)                                     \
  PLIMSOLL_EXPORT void operator delete parameters { __libc_free(old); } \
  PLIMSOLL_EXPORT void operator delete[] parameters { __libc_free(old); }

PLIMSOLL_DELETE((void* old) noexcept)
PLIMSOLL_DELETE((void* old, std::size_t) noexcept)
PLIMSOLL_DELETE((void* old, const std::nothrow_t&) noexcept)
PLIMSOLL_DELETE((void* old, std::align_val_t) noexcept)
PLIMSOLL_DELETE((void* old, std::size_t, std::align_val_t) noexcept)
PLIMSOLL_DELETE((void* old, std::align_val_t, const std::nothrow_t&) noexcept)
