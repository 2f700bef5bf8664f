// Generated kernels, compiled for the CPU by the compiler that built this and
// run a block after the other.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "device/emulated/block.h"

namespace plimsoll::emulated {

// The text as the host's compiler reads it: what stands in `asm` becomes calls
// of words.h.
std::string host_text(const std::string& source);

class Kernels {
 public:
  struct Entry {
    void (*call)(void* const*) = nullptr;
  };

  Kernels();
  ~Kernels();

  // Those that are not there yet; sixteen share one program, since each has
  // the same start, which takes the most.
  Status compile(std::span<const std::string> sources, int at_once);
  Result<Entry> find(const std::string& source);
  Status run(Entry entry, int blocks, std::span<void* const> pointers);

 private:
  Status add(std::span<const std::string> sources, const std::string& file);
  void begin(void* library);

  std::string folder_;
  int programs_ = 0;
  std::vector<void*> libraries_;
  std::map<std::string, Entry> entries_;  // by source
  std::unique_ptr<Block> block_;
  bool backwards_ = false;
};

}  // namespace plimsoll::emulated
