// Several maps as one: which bytes lie where while an element passes through.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "data/map.h"

namespace plimsoll::data {

class MapChain {
 public:
  // Binds each map to what the one before makes of `in`.
  static Result<MapChain> create(const ElementSpec& in,
                                 std::vector<std::shared_ptr<Map>> maps);

  const ElementSpec& spec() const { return spec_; }
  // The fields of spec() that a map writes; the others are the input's.
  std::uint32_t written() const { return written_; }
  // For each thread: what maps need, and what lives from one to the next.
  std::int64_t scratch_bytes() const {
    return between_bytes_ + own_scratch_bytes_;
  }

  struct Failure {
    std::string map;
    Error error;
  };
  // Leaves in `made` what all maps make of `element`, which is used as room on
  // the way. `outputs` has a buffer for each field of written(). Errors and
  // exceptions come with the map's name.
  bool apply(Element& element, Element& made,
             std::span<std::byte* const> outputs, std::span<std::byte> scratch,
             std::uint64_t seed, std::int64_t epoch, Failure& failure) const;

 private:
  // A value that a map writes: to the element's output or between maps.
  struct Target {
    bool writes = false;
    bool is_output = false;
    std::int64_t offset = 0;  // within scratch, bytes
  };
  struct Step {
    std::shared_ptr<Map> map;
    std::size_t fields = 0;
    std::array<Target, kMostFields> targets;
  };

  void plan(const std::vector<ElementSpec>& specs);
  Status apply_one(const Step& step, const Element& in, Element& out,
                   std::span<std::byte* const> outputs,
                   std::span<std::byte> scratch, std::uint64_t seed,
                   std::int64_t epoch) const;

  std::vector<Step> steps_;
  ElementSpec spec_;
  std::uint32_t written_ = 0;
  std::int64_t between_bytes_ = 0;
  std::int64_t own_scratch_bytes_ = 0;
};

}  // namespace plimsoll::data
