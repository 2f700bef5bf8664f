// Tensors taken apart and padded, and what layers compute of tensors: numbers
// by hand or of other ops, gradients by tapes, and what is refused.
#include <gmock/gmock.h>

#include <cmath>

#include "plimsoll/plimsoll.h"
#include "thrown.h"

namespace plimsoll {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pointwise;
using testing::thrown;

class EagerOps : public ::testing::Test {
 protected:
  const Session session_{{.host = "256MiB", .threads = 1}};
};

Tensor numbers(const std::vector<double>& values, Extents shape) {
  return Tensor::of(values, std::move(shape));
}

Tensor some(Extents shape, std::int64_t seed) {
  return random_normal(std::move(shape), seed, 0, 1, DType::f64);
}

void expect_near(const Tensor& got, const Tensor& want, double error = 1e-12) {
  ASSERT_EQ(got.shape(), want.shape());
  EXPECT_THAT(got.to_doubles(),
              Pointwise(::testing::DoubleNear(error), want.to_doubles()));
}

using Of = std::function<Tensor(const std::vector<Tensor>&)>;

// The gradients of sum(made * weights).
std::vector<Tensor> gradients(const Of& of, const std::vector<Tensor>& x) {
  GradientTape tape;
  for (const Tensor& one : x) tape.watch(one);
  const Tensor made = of(x);
  return tape.gradient(sum(made * some(made.shape(), 99)), x);
}

// The same numbers and the same gradients.
void expect_same(const Of& a, const Of& b, const std::vector<Tensor>& x) {
  expect_near(a(x), b(x));
  const auto got = gradients(a, x);
  const auto want = gradients(b, x);
  for (std::size_t i = 0; i < x.size(); ++i) expect_near(got[i], want[i]);
}

TEST_F(EagerOps, PartsOfAnAxis) {
  const Tensor a = arange(12).reshape({2, 6});
  const auto thirds = split(a, 3, -1);
  ASSERT_EQ(thirds.size(), 3u);
  EXPECT_EQ(thirds[1].shape(), (Extents{2, 2}));
  EXPECT_THAT(thirds[1].to_floats(), ElementsAre(2, 3, 8, 9));
  EXPECT_THAT(split(a, 2)[1].to_floats(), ElementsAre(6, 7, 8, 9, 10, 11));
  EXPECT_EQ(split(arange(200), 100)[99].to_floats()[1], 199);
  EXPECT_EQ(split(zeros({0, 2}), 3)[2].shape(), (Extents{0, 2}));
  const auto sizes = split_with_sizes(a, {1, 0, 5}, 1);
  ASSERT_EQ(sizes.size(), 3u);
  EXPECT_THAT(sizes[0].to_floats(), ElementsAre(0, 6));
  EXPECT_EQ(sizes[1].shape(), (Extents{2, 0}));
  EXPECT_EQ(sizes[2].shape(), (Extents{2, 5}));
  // One part alone has a gradient: zeros for the others.
  GradientTape tape;
  tape.watch(a);
  EXPECT_THAT(tape.gradient(square(split(a, 3, 1)[1]), a).to_floats(),
              ElementsAre(0, 0, 4, 6, 0, 0, 0, 0, 16, 18, 0, 0));
}

TEST_F(EagerOps, Padding) {
  const Tensor a = numbers({1, 2, 3, 4}, {2, 2});
  const Tensor padded = pad(a, {{1, 0}, {0, 2}}, -1);
  EXPECT_EQ(padded.shape(), (Extents{3, 4}));
  EXPECT_THAT(padded.to_doubles(),
              ElementsAre(-1, -1, -1, -1, 1, 2, -1, -1, 3, 4, -1, -1));
  EXPECT_THAT(
      pad(Tensor::of(std::vector<std::int64_t>{7}, {1}), {{1, 1}}).to_doubles(),
      ElementsAre(0, 7, 0));
  EXPECT_EQ(pad(full({}, 3), {}).item(), 3);
  GradientTape tape;
  tape.watch(a);
  EXPECT_THAT(
      tape.gradient(square(pad(a, {{1, 0}, {0, 2}}, 5)), a).to_doubles(),
      ElementsAre(2, 4, 6, 8));
}

TEST_F(EagerOps, TheLargest) {
  const Tensor a = numbers({3, 9, 9, 1, 5, -2, 4, 0}, {2, 4});
  GradientTape tape;
  tape.watch(a);
  const TopK best = top_k(a, 2);
  EXPECT_EQ(best.values.shape(), (Extents{2, 2}));
  EXPECT_THAT(best.values.to_doubles(), ElementsAre(9, 9, 5, 4));
  EXPECT_EQ(best.indices.dtype(), DType::i64);
  EXPECT_THAT(best.indices.to_doubles(), ElementsAre(1, 2, 0, 2));
  EXPECT_THAT(tape.gradient(square(best.values), a).to_doubles(),
              ElementsAre(0, 18, 18, 0, 10, 0, 8, 0));
}

TEST_F(EagerOps, TransposedByAxesFromTheEnd) {
  const Tensor a = some({2, 3, 4}, 1);
  expect_near(transpose(a, {0, -1, -2}), transpose(a, {0, 2, 1}));
  EXPECT_THAT(
      thrown([&] {
        transpose(a, {0, -1, 2});
      }),
      AllOf(HasSubstr("transpose(f64[2, 3, 4])"), HasSubstr("each axis once")));
  EXPECT_THAT(thrown([&] {
                transpose(a, {0, -4, 2});
              }),
              HasSubstr("each axis once"));
}

TEST_F(EagerOps, EinsumOfAnyTwo) {
  const Tensor a = numbers({1, 2, 3, 4}, {2, 2});
  const Tensor b = Tensor::of(std::vector<float>{10, 100}, {2, 1});
  GradientTape tape;
  tape.watch(a);
  const Tensor made = einsum("ii,ij->ij", a, b);
  EXPECT_EQ(made.dtype(), DType::f64);  // the wider one
  EXPECT_EQ(made.shape(), (Extents{2, 1}));
  EXPECT_THAT(made.to_doubles(), ElementsAre(10, 400));
  EXPECT_THAT(tape.gradient(made, a).to_doubles(), ElementsAre(10, 0, 0, 100));
  EXPECT_THAT(einsum("ij,ij->ij", a, b).to_doubles(),
              ElementsAre(10, 20, 300, 400));
  EXPECT_THAT(thrown([&] {
                einsum("ij,ij->ij", a, zeros({3, 2}));
              }),
              AllOf(HasSubstr("einsum \"ij,ij->ij\""), HasSubstr("[3]")));
}

TEST_F(EagerOps, ResizedImages) {
  const Tensor a = numbers({0, 4}, {1, 1, 2, 1});
  EXPECT_EQ(resize(a, {3, 4}).shape(), (Extents{1, 3, 4, 1}));
  EXPECT_THAT(resize(a, {1, 4}).to_doubles(), ElementsAre(0, 1, 3, 4));
  EXPECT_THAT(resize(a, {1, 4}, "nearest").to_doubles(),
              ElementsAre(0, 0, 4, 4));
  EXPECT_THAT(resize(a, {1, 1}).to_doubles(), ElementsAre(2));
  GradientTape tape;
  tape.watch(a);
  const Tensor seed = numbers({1, 10, 100, 1000}, {1, 1, 4, 1});
  EXPECT_THAT(tape.gradient(resize(a, {1, 4}), a, seed).to_doubles(),
              ElementsAre(33.5, 1077.5));
}

TEST_F(EagerOps, ConvolvedImages) {
  const Tensor image = numbers({1, 2, 3, 4, 5, 6, 7, 8, 9}, {1, 3, 3, 1});
  const Tensor kernel = numbers({1, 1, 1, 1}, {1, 2, 2, 1});
  const Tensor made = conv2d(image, kernel);
  EXPECT_EQ(made.shape(), (Extents{1, 2, 2, 1}));
  EXPECT_THAT(made.to_doubles(), ElementsAre(12, 16, 24, 28));
  // An odd row goes to the bottom, a column to the right.
  EXPECT_THAT(conv2d(image, kernel, {.padding = "same"}).to_doubles(),
              ElementsAre(12, 16, 9, 24, 28, 15, 15, 17, 9));
  EXPECT_THAT(
      conv2d(image, kernel, {.strides = {2, 2}, .padding = 1}).to_doubles(),
      ElementsAre(1, 5, 11, 28));
  EXPECT_THAT(conv2d(image, kernel, {.dilations = {2, 2}}).to_doubles(),
              ElementsAre(20));
  // Each channel by a kernel of its own.
  const Tensor two = numbers({1, 2, 3, 4}, {1, 2, 1, 2});
  EXPECT_THAT(
      conv2d(two, numbers({10, 100}, {2, 1, 1, 1}), {.groups = 2}).to_doubles(),
      ElementsAre(10, 200, 30, 400));
  GradientTape tape;
  tape.watch(image);
  tape.watch(kernel);
  const auto flows = tape.gradient(conv2d(image, kernel), {image, kernel});
  EXPECT_THAT(flows[0].to_doubles(), ElementsAre(1, 2, 1, 2, 4, 2, 1, 2, 1));
  EXPECT_THAT(flows[1].to_doubles(), ElementsAre(12, 16, 24, 28));
}

TEST_F(EagerOps, PooledImages) {
  const Tensor image = arange(16, DType::f64).reshape({1, 4, 4, 1});
  EXPECT_THAT(max_pool2d(image).to_doubles(), ElementsAre(5, 7, 13, 15));
  EXPECT_THAT(avg_pool2d(image).to_doubles(),
              ElementsAre(2.5, 4.5, 10.5, 12.5));
  EXPECT_THAT(
      max_pool2d(image, {.pool_size = {3, 3}, .strides = {1, 1}}).to_doubles(),
      ElementsAre(10, 11, 14, 15));
  const PoolOptions same{.pool_size = {3, 3}, .padding = "same"};
  EXPECT_THAT(max_pool2d(image, same).to_doubles(), ElementsAre(5, 7, 13, 15));
  EXPECT_THAT(avg_pool2d(image, same).to_doubles(),
              ElementsAre(2.5, 4.5, 10.5, 12.5));
  GradientTape tape({.persistent = true});
  tape.watch(image);
  const Tensor seed = numbers({1, 2, 3, 4}, {1, 2, 2, 1});
  EXPECT_THAT(tape.gradient(max_pool2d(image), image, seed).to_doubles(),
              ElementsAre(0, 0, 0, 0, 0, 1, 0, 2, 0, 0, 0, 0, 0, 3, 0, 4));
  EXPECT_THAT(tape.gradient(avg_pool2d(image), image, seed).to_doubles(),
              ElementsAre(0.25, 0.25, 0.5, 0.5, 0.25, 0.25, 0.5, 0.5, 0.75,
                          0.75, 1, 1, 0.75, 0.75, 1, 1));
}

TEST_F(EagerOps, NormalizedRows) {
  const auto composed = [](const Tensor& x) {
    const Tensor centred = x - mean(x, {-1}, true);
    return centred / sqrt(mean(square(centred), {-1}, true) + 0.1);
  };
  const Tensor x = some({3, 5}, 1), gamma = some({5}, 2), beta = some({5}, 3);
  expect_same(
      [](const auto& of) {
        return layer_normalization(of[0], of[1], of[2], 0.1);
      },
      [&](const auto& of) { return composed(of[0]) * of[1] + of[2]; },
      {x, gamma, beta});
  expect_near(layer_normalization(x, {}, {}, 0.1), composed(x));
  expect_near(layer_normalization(x, gamma, {}, 0.1), composed(x) * gamma);
  expect_near(layer_normalization(x, {}, beta, 0.1), composed(x) + beta);
}

TEST_F(EagerOps, LogarithmsOfSoftmax) {
  expect_same([](const auto& of) { return log_softmax(of[0]); },
              [](const auto& of) { return log(softmax(of[0])); },
              {some({2, 3, 4}, 1)});
  EXPECT_THAT(
      log_softmax(numbers({1000, 1000, -1000}, {3})).to_doubles(),
      ElementsAre(-std::log(2.0), -std::log(2.0), -2000 - std::log(2.0)));
  const Tensor half = zeros({2, 4}).cast(DType::bf16);
  EXPECT_EQ(log_softmax(half).dtype(), DType::bf16);
}

// By all scores at once; `seen` is 1 where a query sees a key.
Tensor plain_attention(const Tensor& q, const Tensor& k, const Tensor& v,
                       const Tensor& seen, double scale) {
  const Tensor scores = einsum("bqhd,bkhd->bhqk", q, k) * scale;
  const Tensor hidden = (seen - 1.0) * 1e9;
  return einsum("bhqk,bkhd->bqhd", softmax(scores + hidden), v);
}

TEST_F(EagerOps, Attention) {
  const std::vector<Tensor> x = {some({2, 3, 2, 4}, 1), some({2, 3, 2, 4}, 2),
                                 some({2, 3, 2, 4}, 3)};
  const auto expect = [&](const DotProductOptions& options, const Tensor& seen,
                          double scale = 0.5) {
    expect_same(
        [&](const auto& of) {
          return scaled_dot_product_attention(of[0], of[1], of[2], options);
        },
        [&](const auto& of) {
          return plain_attention(of[0], of[1], of[2], seen, scale);
        },
        x);
  };
  expect({}, ones({}, DType::f64));
  expect({.scale = 0.25}, ones({}, DType::f64), 0.25);
  expect({.causal = true}, numbers({1, 0, 0, 1, 1, 0, 1, 1, 1}, {3, 3}));
  // A mask of any type.
  const Tensor keys = Tensor::of(std::vector<float>{1, 0, 1, 1, 1, 0}, {2, 3});
  const Tensor mask = keys.reshape({2, 1, 1, 3});
  expect({.mask = mask}, mask.cast(DType::f64));
  // Two heads of q share one of k and v.
  EXPECT_EQ(scaled_dot_product_attention(x[0], some({2, 5, 1, 4}, 4),
                                         some({2, 5, 1, 4}, 5))
                .shape(),
            (Extents{2, 3, 2, 4}));
}

// One trace for all batches, and the numbers of ops at once.
TEST_F(EagerOps, InFunctions) {
  const Tensor kernel = some({3, 2, 2, 2}, 1);
  const auto body = [&](const Tensor& images) {
    const Tensor made = max_pool2d(conv2d(images, kernel, {.padding = "same"}));
    const Tensor wide =
        pad(resize(made, {3, 3}), {{0, 0}, {1, 0}, {0, 1}, {0, 0}});
    const auto parts = split(wide, 3, -1);
    const auto rows = split_with_sizes(parts[1] * parts[2], {1, 3}, 1);
    const Tensor seen =
        scaled_dot_product_attention(wide, wide, wide, {.causal = true});
    const Tensor best = top_k(log_softmax(layer_normalization(seen)), 2).values;
    return sum(best) + sum(avg_pool2d(rows[1])) +
           sum(einsum("bhwc,bhwc->bc", parts[0],
                      transpose(rows[0], {0, 1, -2, -1})));
  };
  auto traced = function(body);
  for (const std::int64_t batch : {3, 5}) {
    const Tensor images = some({batch, 4, 4, 2}, batch);
    expect_near(traced(images), body(images), 1e-9);
  }
  EXPECT_EQ(traced.traces(), 1);
}

// What needs the batch in numbers is traced for each.
TEST_F(EagerOps, TheBatchInFunctions) {
  const auto body = [](const Tensor& x) {
    const auto halves = split(x, 2);
    const auto sizes = split_with_sizes(x, {1, 3});
    return sum(halves[0] * halves[1]) + sum(sizes[0] * sizes[1]) +
           sum(pad(x, {{1, 0}, {0, 0}}, 2)) + sum(einsum("ii,i->i", x, x[0]));
  };
  auto traced = function(body);
  const Tensor x = some({4, 4}, 1);
  expect_near(traced(x), body(x));
  // To an open batch one multiple of it would be all of it.
  auto whole =
      function([](const Tensor& y) { return split_with_sizes(y, {1})[0]; });
  EXPECT_THAT(thrown([&] { whole(x); }), HasSubstr("add up to 4"));
}

TEST_F(EagerOps, MistakesAreNamed) {
  const Tensor a = zeros({2, 6});
  const Tensor images = zeros({1, 4, 4, 2});
  const Tensor kernel = zeros({3, 2, 2, 2});
  const auto expect = [](auto&& work, const std::vector<std::string>& parts) {
    const std::string said = thrown(work);
    for (const std::string& part : parts) EXPECT_THAT(said, HasSubstr(part));
  };
  expect([&] { split(a, 4, 1); }, {"split(f32[2, 6]", "6 are no 4 equal"});
  expect([&] { split(a, 0, 1); }, {"split(f32[2, 6]", "6 are no 0 equal"});
  expect([&] { split(a, 2, 2); }, {"split(f32[2, 6]", "no such axis"});
  expect([&] { split(zeros({0}), std::int64_t{1} << 40); },
         {"split of f32[0]"});
  expect(
      [&] {
        split_with_sizes(a, {2, 3}, 1);
      },
      {"split_with_sizes: ", "f32[2, 6]", "add up to 6"});
  expect([&] { split_with_sizes(a, {}, 1); }, {"split_with_sizes: "});
  expect([&] { split({}, 2); }, {"split: the tensor is empty"});
  expect(
      [&] {
        pad(a, {{1, 1}});
      },
      {"pad of f32[2, 6]", "of 2 axes, not of 1"});
  expect([&] { pad(a, {{1, 1}, {0, -1}}); }, {"pad of [2, 6]", "by -1"});
  const std::int64_t most = std::int64_t{1} << 40;
  expect([&] { pad(a, {{most, 0}, {most, 0}}); }, {"2^62 elements"});
  expect([&] { top_k(a, 7); }, {"top_k: ", "f32[2, 6]", "must be 1 to 6"});
  expect([&] { top_k(zeros({}), 1); }, {"top_k of f32[]"});
  expect([&] { resize(a, {2, 2}); }, {"resize of f32[2, 6]", "[B, H, W, C]"});
  expect([&] { resize(images, {0, 2}); }, {"resize of f32[1, 4, 4, 2]"});
  expect(
      [&] {
        resize(images, {2, 2}, "cubic");
      },
      {"resize of f32[1, 4, 4, 2]", "`cubic`", "\"bilinear\""});
  expect([&] { conv2d(a, kernel); }, {"conv2d(f32[2, 6]", "[B, H, W, C]"});
  expect([&] { conv2d(images, a, {.padding = "same"}); },
         {"conv2d(f32[1, 4, 4, 2], f32[2, 6])", "kernel"});
  expect(
      [&] {
        conv2d(images, kernel, {.strides = {0, 1}, .padding = "same"});
      },
      {"conv2d(", "`strides`"});
  expect([&] { conv2d(images, kernel, {.padding = "full"}); },
         {"conv2d of f32[1, 4, 4, 2]", "unknown padding `full`"});
  expect([&] { conv2d(images, kernel, {.groups = 0}); }, {"0 groups"});
  expect([&] { conv2d(images, kernel.cast(DType::f64)); }, {"dtype"});
  expect([&] { max_pool2d(a); }, {"max_pool2d(f32[2, 6])", "[B, H, W, C]"});
  expect(
      [&] {
        avg_pool2d(images, {.pool_size = {5, 5}});
      },
      {"avg_pool2d(f32[1, 4, 4, 2])", "does not fit"});
  expect(
      [&] {
        max_pool2d(images, {.pool_size = {2, 2},
                            .strides = {INT64_MAX, 1},
                            .padding = "same"});
      },
      {"max_pool2d(", "strides"});
  expect([&] { layer_normalization(a, zeros({2})); },
         {"layer_normalization: ", "gamma f32[2] does not fit x f32[2, 6]"});
  expect([&] { layer_normalization(zeros({})); }, {"layer_normalization: "});
  expect([&] { log_softmax(zeros({})); }, {"log_softmax of f32[]"});
  expect([&] { log_softmax(arange(2, DType::i32)); }, {"log_softmax of i32"});
  expect([&] { scaled_dot_product_attention(images, images, a); },
         {"scaled_dot_product_attention: ", "v must be", "f32[2, 6]"});
  expect(
      [&] {
        scaled_dot_product_attention(images, images, images, {.mask = a});
      },
      {"scaled_dot_product_attention: ", "the mask f32[2, 6] does not fit"});
  expect([&] { scaled_dot_product_attention({}, a, a, {.mask = a}); },
         {"scaled_dot_product_attention: the tensor is empty"});
}

TEST_F(EagerOps, NothingAndIntegers) {
  const Tensor none = zeros({0, 4, 4, 2});
  EXPECT_EQ(conv2d(none, zeros({3, 2, 2, 2})).shape(), (Extents{0, 3, 3, 3}));
  EXPECT_EQ(max_pool2d(none).shape(), (Extents{0, 2, 2, 2}));
  EXPECT_EQ(resize(none, {2, 3}).shape(), (Extents{0, 2, 3, 2}));
  EXPECT_EQ(layer_normalization(none).shape(), none.shape());
  EXPECT_EQ(log_softmax(none).shape(), none.shape());
  EXPECT_EQ(scaled_dot_product_attention(none, none, none).shape(),
            none.shape());
  EXPECT_EQ(top_k(none, 1).indices.shape(), (Extents{0, 4, 4, 1}));
  const Tensor index = Tensor::of(std::vector<std::int32_t>{3, 1, 2}, {3});
  EXPECT_THAT(split(index, 3)[2].to_doubles(), ElementsAre(2));
  EXPECT_THROW(resize(index.reshape({1, 1, 3, 1}), {2, 2}), Exception);
  EXPECT_THROW(conv2d(index.reshape({1, 1, 3, 1}), ones({1, 1, 1, 1})),
               Exception);
}

}  // namespace
}  // namespace plimsoll
