// Einsums of random texts and extents, and their gradients, against plain loops
// over all letters.
#include "ops/einsum/einsum.h"

#include <gtest/gtest.h>

#include <map>

#include "base/philox.h"
#include "graph/autodiff.h"
#include "ops/random_shapes/draws.h"
#include "ops/random_shapes/environment.h"
#include "ops/run_op.h"
#include "ops/standard_ops.h"

namespace plimsoll::ops::testing {
namespace {

using Values = std::vector<double>;

// An operand or the result: a letter an axis, upper case where an ellipsis
// stands for it.
struct Labels {
  std::string axes;
  std::map<char, std::int64_t> extents;

  Shape shape() const {
    std::vector<std::int64_t> sizes;
    for (const char label : axes) sizes.push_back(extents.at(label));
    return to_shape(sizes);
  }
  // As it is written: `...` once for all of its axes, or for none at `dots`.
  std::string text(bool dots) const {
    std::string text;
    bool done = false;
    for (const char label : axes) {
      if (label >= 'a') text += label;
      if (label < 'a' && !done) text += "...";
      done = done || label < 'a';
    }
    return dots && !done ? text + "..." : text;
  }
};

struct Case {
  std::string text;
  Labels a, b, result;
  std::map<char, std::int64_t> extents;  // of both operands together
};

std::string shuffled(Draws& draw, std::string letters) {
  std::shuffle(letters.begin(), letters.end(), draw.engine());
  return letters;
}

Labels operand(Draws& draw, const std::string& letters,
               const std::string& ellipsis,
               const std::map<char, std::int64_t>& extents) {
  Labels made;
  for (const char letter : letters) {
    if (draw.one_in(2)) continue;
    made.axes += letter;
    if (draw.one_in(8)) made.axes += letter;  // a diagonal
  }
  made.axes = shuffled(draw, made.axes);
  const auto axes = static_cast<std::int64_t>(made.axes.size());
  const auto dots = static_cast<std::int64_t>(ellipsis.size());
  made.axes.insert(
      static_cast<std::size_t>(draw.between(0, axes)),
      ellipsis.substr(static_cast<std::size_t>(draw.between(0, dots))));
  for (const auto& [letter, extent] : extents) {
    made.extents[letter] = draw.one_in(8) ? 1 : extent;
  }
  return made;
}

bool has(const Labels& labels, char letter) {
  return labels.axes.find(letter) != std::string::npos;
}

Case draw_case(Draws& draw) {
  std::string letters = "abcdefg";
  letters.resize(static_cast<std::size_t>(draw.between(1, 6)));
  letters = shuffled(draw, letters);
  const bool dots = draw.one_in(3);
  std::string ellipsis = dots ? "ABC" : "";
  if (dots) ellipsis.resize(static_cast<std::size_t>(draw.between(0, 2)));
  std::map<char, std::int64_t> extents;
  std::int64_t left = 4000;
  for (const char letter : letters + ellipsis) {
    extents[letter] = draw.one_in(40)  ? 0
                      : draw.one_in(6) ? draw.between(1, 40)
                                       : draw.between(1, 5);
    extents[letter] = std::min(extents[letter], left);
    left = std::max<std::int64_t>(
        1, left / std::max<std::int64_t>(1, extents[letter]));
  }
  Case made;
  made.a = operand(draw, letters, ellipsis, extents);
  made.b = operand(draw, letters, ellipsis, extents);
  std::string kept;
  for (const auto& [letter, extent] : extents) {
    const bool in_a = has(made.a, letter);
    const bool in_b = has(made.b, letter);
    if (!in_a && !in_b) continue;
    const std::int64_t of_a = in_a ? made.a.extents[letter] : 1;
    const std::int64_t of_b = in_b ? made.b.extents[letter] : 1;
    made.extents[letter] = of_a == 1 ? of_b : of_a;
    if (letter >= 'a' && draw.one_in(2)) kept += letter;
  }
  kept = shuffled(draw, kept);
  std::string whole;  // the longer one of the operands' ellipses
  for (const char letter : ellipsis) {
    if (has(made.a, letter) || has(made.b, letter)) whole += letter;
  }
  kept.insert(static_cast<std::size_t>(
                  draw.between(0, static_cast<std::int64_t>(kept.size()))),
              whole);
  made.result = {kept, made.extents};
  made.text = made.a.text(dots) + "," + made.b.text(dots) + "->" +
              made.result.text(dots);
  return made;
}

// Calls visit(where in a, where in b, where in the result) for every number
// that the letters can have.
template <class Visit>
void for_letters(const Case& test, Visit&& visit) {
  std::map<char, std::int64_t> at;
  for (const auto& [letter, extent] : test.extents) {
    if (extent == 0) return;
    at[letter] = 0;
  }
  const auto place = [&](const Labels& labels) {
    std::int64_t offset = 0;
    for (const char letter : labels.axes) {
      const std::int64_t extent = labels.extents.at(letter);
      offset = offset * extent + (extent == 1 ? 0 : at[letter]);
    }
    return static_cast<std::size_t>(offset);
  };
  while (true) {
    visit(place(test.a), place(test.b), place(test.result));
    auto digit = at.begin();
    while (digit != at.end() &&
           ++digit->second == test.extents.at(digit->first)) {
      digit->second = 0;
      ++digit;
    }
    if (digit == at.end()) return;
  }
}

Values random_values(std::int64_t count, std::uint64_t stream) {
  Values values;
  for (std::int64_t i = 0; i < count; ++i) {
    const auto words = philox(5, stream, static_cast<std::uint64_t>(i));
    values.push_back(2 * uniform_double(words[0], words[1]) - 1);
  }
  return values;
}

void expect_near(const Values& got, const Values& want,
                 const std::string& what) {
  ASSERT_EQ(got.size(), want.size()) << what;
  for (std::size_t i = 0; i < want.size(); ++i) {
    ASSERT_NEAR(got[i], want[i], 1e-11) << what << ", index " << i;
  }
}

// Result and gradients of sum(einsum * weights).
void check(const Case& test) {
  using graph::ValueId;
  const Shape shapes[] = {test.a.shape(), test.b.shape(), test.result.shape()};
  const std::string what =
      test.text + " of " + shapes[0].to_string() + ", " + shapes[1].to_string();
  const Values a = random_values(shapes[0].elements(), 1);
  const Values b = random_values(shapes[1].elements(), 2);
  const Values weights = random_values(shapes[2].elements(), 3);
  Values result(weights.size()), da(a.size()), db(b.size());
  for_letters(test, [&](std::size_t x, std::size_t y, std::size_t z) {
    result[z] += a[x] * b[y];
    da[x] += weights[z] * b[y];
    db[y] += weights[z] * a[x];
  });

  graph::Builder builder;
  const ValueId in_a = builder.input("a", {DType::f64, shapes[0]});
  const ValueId in_b = builder.input("b", {DType::f64, shapes[1]});
  const ValueId made = einsum(builder, test.text, in_a, in_b);
  ASSERT_TRUE(builder.ok()) << what << builder.status().error().message;
  ASSERT_EQ(builder.type(made).shape, shapes[2]) << what;
  const ValueId flow = builder.input("w", builder.type(made));
  const auto gradients = graph::add_gradients(
      builder, made, flow, std::vector{in_a, in_b}, standard_ops());
  ASSERT_TRUE(gradients) << what << gradients.error().message;
  const auto graph = std::move(builder).finish();
  ASSERT_TRUE(graph) << graph.error().message;
  ComputeThreads threads(1);
  const auto values = run_graph(
      *graph, 1,
      {tensor_of(DType::f64, shapes[0], a), tensor_of(DType::f64, shapes[1], b),
       tensor_of(DType::f64, shapes[2], weights)},
      threads);
  ASSERT_TRUE(values) << what << values.error().message;
  const auto values_of = [&](ValueId id) { return (*values)[id.pos()].values; };
  expect_near(values_of(made), result, what);
  expect_near(values_of((*gradients)[0]), da, what + ", of a");
  expect_near(values_of((*gradients)[1]), db, what + ", of b");
}

TEST(RandomEinsums, AgreeWithLoops) {
  Draws draw(random_seed());
  for (int left = random_draws(300); left > 0; --left) check(draw_case(draw));
}

}  // namespace
}  // namespace plimsoll::ops::testing
