#include "ops/movement/moves_reference.h"

#include <algorithm>

namespace plimsoll::ops {
namespace {

using graph::Attrs;
using Place = std::vector<std::int64_t>;  // along each axis

Place place_of(const Shape& shape, std::size_t number) {
  Place place(static_cast<std::size_t>(shape.rank()));
  auto rest = static_cast<std::int64_t>(number);
  for (int axis = shape.rank(); axis-- > 0;) {
    place[static_cast<std::size_t>(axis)] = rest % shape.extent(axis);
    rest /= shape.extent(axis);
  }
  return place;
}

double& at(RefTensor& tensor, const Place& place) {
  std::int64_t number = 0;
  for (int axis = 0; axis < tensor.type.shape.rank(); ++axis) {
    number = number * tensor.type.shape.extent(axis) +
             place[static_cast<std::size_t>(axis)];
  }
  return tensor.values[static_cast<std::size_t>(number)];
}

double at(const RefTensor& tensor, const Place& place) {
  return at(const_cast<RefTensor&>(tensor), place);
}

template <class F>
void for_places(const RefTensor& tensor, const F& visit) {
  for (std::size_t i = 0; i < tensor.values.size(); ++i) {
    visit(place_of(tensor.type.shape, i));
  }
}

std::size_t joined_axis(const RefTensor& tensor, const Attrs& attrs) {
  const auto axis = attrs.get<std::int64_t>("axis");
  return static_cast<std::size_t>(axis < 0 ? axis + tensor.type.shape.rank()
                                           : axis);
}

// The attribute's number for an axis, or what it is when none is given.
std::int64_t number_of(const Attrs& attrs, const std::string& name,
                       std::size_t axis, std::int64_t otherwise) {
  const auto numbers = attrs.get<std::vector<std::int64_t>>(name);
  return numbers.empty() ? otherwise : numbers[axis];
}

}  // namespace

void concat_values(const std::vector<RefTensor>& inputs, const Attrs& attrs,
                   std::vector<RefTensor>& outputs) {
  const std::size_t axis = joined_axis(inputs[0], attrs);
  std::int64_t first = 0;
  for (const RefTensor& input : inputs) {
    for_places(input, [&](const Place& from) {
      Place to = from;
      to[axis] += first;
      at(outputs[0], to) = at(input, from);
    });
    first += input.type.shape.extent(static_cast<int>(axis));
  }
}

void split_values(const std::vector<RefTensor>& inputs, const Attrs& attrs,
                  std::vector<RefTensor>& outputs) {
  const std::size_t axis = joined_axis(inputs[0], attrs);
  std::int64_t first = 0;
  for (RefTensor& output : outputs) {
    for_places(output, [&](const Place& to) {
      Place from = to;
      from[axis] += first;
      at(output, to) = at(inputs[0], from);
    });
    first += output.type.shape.extent(static_cast<int>(axis));
  }
}

void slice_values(const std::vector<RefTensor>& inputs, const Attrs& attrs,
                  std::vector<RefTensor>& outputs) {
  for_places(outputs[0], [&](const Place& to) {
    Place from;
    for (std::size_t axis = 0; axis < to.size(); ++axis) {
      const std::int64_t extent =
          inputs[0].type.shape.extent(static_cast<int>(axis));
      std::int64_t start = number_of(attrs, "starts", axis, 0);
      if (start < 0) start = std::max<std::int64_t>(0, start + extent);
      from.push_back(start + to[axis] * number_of(attrs, "steps", axis, 1));
    }
    at(outputs[0], to) = at(inputs[0], from);
  });
}

void pad_values(const std::vector<RefTensor>& inputs, const Attrs& attrs,
                std::vector<RefTensor>& outputs) {
  std::fill(outputs[0].values.begin(), outputs[0].values.end(),
            attrs.get<double>("value"));
  for_places(inputs[0], [&](const Place& from) {
    Place to;
    for (std::size_t axis = 0; axis < from.size(); ++axis) {
      to.push_back(number_of(attrs, "before", axis, 0) +
                   from[axis] * (number_of(attrs, "interior", axis, 0) + 1));
    }
    at(outputs[0], to) = at(inputs[0], from);
  });
}

void expand_values(const std::vector<RefTensor>& inputs, const Attrs&,
                   std::vector<RefTensor>& outputs) {
  const Shape& small = inputs[0].type.shape;
  for_places(outputs[0], [&](const Place& to) {
    Place from(to.end() - small.rank(), to.end());
    for (int axis = 0; axis < small.rank(); ++axis) {
      if (small.extent(axis) == 1) from[static_cast<std::size_t>(axis)] = 0;
    }
    at(outputs[0], to) = at(inputs[0], from);
  });
}

}  // namespace plimsoll::ops
