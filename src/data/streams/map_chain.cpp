#include "data/streams/map_chain.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "base/units.h"
#include "data/check.h"

namespace plimsoll::data {
namespace {

constexpr std::int64_t kAlignment = 64;

}  // namespace

Result<MapChain> MapChain::create(const ElementSpec& in,
                                  std::vector<std::shared_ptr<Map>> maps) {
  MapChain chain;
  std::vector<ElementSpec> specs = {in};
  for (auto& map : maps) {
    PLIMSOLL_ASSIGN(ElementSpec made, map->bind(specs.back()));
    PLIMSOLL_RETURN_IF_ERROR(check_spec(map->name(), made));
    Step step;
    step.fields = made.size();
    for (std::size_t i = 0; i < made.size(); ++i) {
      // A field the input does not have can only be written.
      step.targets[i].writes =
          map->writes(static_cast<int>(i)) || i >= specs.back().size();
    }
    chain.own_scratch_bytes_ =
        std::max(chain.own_scratch_bytes_, map->scratch_bytes());
    step.map = std::move(map);
    chain.steps_.push_back(std::move(step));
    specs.push_back(std::move(made));
  }
  chain.spec_ = specs.back();
  chain.plan(specs);
  return chain;
}

void MapChain::plan(const std::vector<ElementSpec>& specs) {
  struct Part {
    std::size_t last;  // the step that reads it last
    std::int64_t begin, end;
  };
  std::vector<Part> parts;
  for (std::size_t s = 0; s < steps_.size(); ++s) {
    std::erase_if(parts, [&](const Part& part) { return part.last < s; });
    for (std::size_t i = 0; i < steps_[s].fields; ++i) {
      Target& target = steps_[s].targets[i];
      if (!target.writes) continue;
      // It lives until a later map writes the field anew or leaves it out.
      std::size_t next = s + 1;
      while (next < steps_.size() && i < steps_[next].fields &&
             !steps_[next].targets[i].writes) {
        ++next;
      }
      if (next == steps_.size()) {
        target.is_output = true;
        written_ |= 1u << i;
        continue;
      }
      const std::int64_t bytes =
          round_up(specs[s + 1][i].most_bytes, kAlignment);
      std::sort(parts.begin(), parts.end(),
                [](const Part& a, const Part& b) { return a.begin < b.begin; });
      std::int64_t at = 0;  // the first gap that is wide enough
      for (const Part& part : parts) {
        if (part.begin - at >= bytes) break;
        at = std::max(at, part.end);
      }
      target.offset = at;
      parts.push_back({next, at, at + bytes});
      between_bytes_ = std::max(between_bytes_, at + bytes);
    }
  }
}

bool MapChain::apply(Element& element, Element& made,
                     std::span<std::byte* const> outputs,
                     std::span<std::byte> scratch, std::uint64_t seed,
                     std::int64_t epoch, Failure& failure) const {
  Element* in = &element;
  Element* out = &made;
  for (const Step& step : steps_) {
    auto status = apply_one(step, *in, *out, outputs, scratch, seed, epoch);
    if (!status) {
      failure = {step.map->name(), std::move(status).error()};
      return false;
    }
    std::swap(in, out);
  }
  if (in != &made) {
    made.index = in->index;
    made.offset = in->offset;
    made.file = in->file;
    std::copy_n(in->values.begin(), spec_.size(), made.values.begin());
  }
  return true;
}

Status MapChain::apply_one(const Step& step, const Element& in, Element& out,
                           std::span<std::byte* const> outputs,
                           std::span<std::byte> scratch, std::uint64_t seed,
                           std::int64_t epoch) const {
  out.index = in.index;
  out.offset = in.offset;
  out.file = in.file;
  std::array<std::byte*, kMostFields> buffers{};
  for (std::size_t i = 0; i < step.fields; ++i) {
    const Target& target = step.targets[i];
    if (!target.writes) {
      out.values[i] = in.values[i];
      continue;
    }
    buffers[i] = target.is_output ? outputs[i] : scratch.data() + target.offset;
    out.values[i] = {buffers[i], 0, {}};
  }
  const MapContext context = {
      scratch.subspan(static_cast<std::size_t>(between_bytes_)), seed, epoch};
  try {
    return step.map->apply(in, out, {buffers.data(), step.fields}, context);
  } catch (const std::exception& thrown) {  // a map of the user's own
    return Error{ErrorCode::bad_input, thrown.what()};
  } catch (...) {
    return Error{ErrorCode::bad_input, "an exception of an unknown type"};
  }
}

}  // namespace plimsoll::data
