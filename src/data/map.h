// A function from element to element.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "base/result.h"
#include "data/element.h"

namespace plimsoll::data {

struct MapContext {
  std::span<std::byte> scratch;  // of scratch_bytes(), aligned to 64
  std::uint64_t seed = 1;        // with epoch and index: the key of any chance
  std::int64_t epoch = 0;
};

class Map {
 public:
  virtual ~Map() = default;

  virtual std::string name() const = 0;  // "resize"

  // What it makes of such elements, or why it cannot take them. Called once,
  // before anything below.
  virtual Result<ElementSpec> bind(const ElementSpec& in) = 0;

  // Whether output field `i` is written; otherwise it is the input's field of
  // the same number, passed on without a copy.
  virtual bool writes(int field) const = 0;
  virtual std::int64_t scratch_bytes() const { return 0; }

  // Writes each field it writes to `buffers[i]` (of the spec's most_bytes,
  // aligned to 4, and not overlapping the input) and sets bytes and shape of
  // `out.values[i]`; the caller has set everything else. Called from several
  // threads at a time; allocates nothing unless it fails. Errors say what is
  // wrong with the element, not which element it is: the caller adds that.
  virtual Status apply(const Element& in, Element& out,
                       std::span<std::byte* const> buffers,
                       const MapContext& context) const = 0;
};

}  // namespace plimsoll::data
