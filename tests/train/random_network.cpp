#include "train/random_network.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <random>

#include "graph/autodiff.h"
#include "graph/passes.h"
#include "ops/elementwise/elementwise.h"
#include "ops/matmul/matmul.h"
#include "ops/movement/movement.h"
#include "ops/random/random.h"
#include "ops/reduction/reduction.h"
#include "ops/softmax/softmax.h"
#include "ops/standard_ops.h"
#include "ops/update/update.h"
#include "train/objective.h"
#include "train/optimizer.h"

namespace plimsoll::train::testing {
namespace {

using graph::Role;
using graph::TensorType;
using graph::ValueId;

class Maker {
 public:
  Maker(std::uint64_t seed, bool large) : random_(seed), large_(large) {
    dtype_ = !large && pick(5) == 0 ? DType::f64 : DType::f32;
    batch_ = large ? 4096 + pick(1025)
                   : static_cast<std::int64_t>(std::exp2(
                         12.0 * static_cast<double>(pick(1001)) / 1000.0));
  }

  RandomNetwork make() {
    const int target = large_ ? 30 + static_cast<int>(pick(21))
                              : 10 + static_cast<int>(pick(71));
    random_step_ = b_.state("random_step", Role::counter, {DType::i64, {}});
    values_.push_back(b_.input("features", tensor(width())));
    while (forward_ops() < target) add_step();
    finish();
    RandomNetwork network;
    network.batch = batch_;
    network.forward_ops = target;
    network.description =
        fmt::format("{} forward ops, batch {}, {}, loss {}, optimizer {}",
                    target, batch_, name_of(dtype_), loss_, optimizer_.type);
    auto graph = std::move(b_).finish();
    EXPECT_TRUE(graph.ok()) << graph.error().message;
    if (graph.ok()) {
      network.graph = graph::optimize(*graph, ops::standard_ops());
    }
    return network;
  }

 private:
  std::int64_t pick(std::int64_t below) {
    return static_cast<std::int64_t>(random_() %
                                     static_cast<std::uint64_t>(below));
  }
  int forward_ops() const { return static_cast<int>(b_.graph().nodes.size()); }
  std::int64_t width() {
    static constexpr std::array<std::int64_t, 8> kSmall = {1,  4,  7,  12,
                                                           30, 64, 96, 200};
    static constexpr std::array<std::int64_t, 3> kLarge = {1024, 1600, 2048};
    return large_ ? kLarge[static_cast<std::size_t>(pick(3))]
                  : kSmall[static_cast<std::size_t>(pick(8))];
  }
  TensorType tensor(std::int64_t columns) const {
    return {dtype_, Shape{Dim::batch(), columns}};
  }
  std::int64_t columns(ValueId x) const { return b_.type(x).shape.extent(1); }
  // Recent values are likelier, old ones make long branches.
  ValueId any() {
    const auto count = static_cast<std::int64_t>(values_.size());
    const std::int64_t back = std::min(pick(count), pick(count));
    return values_[static_cast<std::size_t>(count - 1 - back)];
  }
  ValueId like(ValueId x) {
    std::vector<ValueId> same;
    for (const ValueId v : values_) {
      if (columns(v) == columns(x)) same.push_back(v);
    }
    return same[static_cast<std::size_t>(
        pick(static_cast<std::int64_t>(same.size())))];
  }
  ValueId parameter(Shape shape) {
    const std::string name = fmt::format("p{}", parameters_.size());
    const ValueId value =
        b_.state(name, Role::parameter, {dtype_, std::move(shape)});
    parameters_.push_back({name, value, "glorot_uniform", 1, 1});
    return value;
  }
  ValueId dense(ValueId x, std::int64_t units) {
    const bool transposed = pick(2) == 0;
    const std::int64_t n = columns(x);
    const ValueId kernel =
        parameter(transposed ? Shape{units, n} : Shape{n, units});
    return ops::add(b_, ops::matmul(b_, x, kernel, false, transposed),
                    parameter({units}));
  }

  ValueId unary(ValueId x) {
    switch (pick(21)) {
      case 0:
        return ops::relu(b_, x);
      case 1:
        return ops::leaky_relu(b_, x, 0.1);
      case 2:
        return ops::sigmoid(b_, x);
      case 3:
        return ops::tanh(b_, x);
      case 4:
        return ops::gelu(b_, x);
      case 5:
        return ops::square(b_, ops::tanh(b_, x));
      case 6:
        return ops::sqrt(b_, ops::add_scalar(b_, ops::square(b_, x), 1));
      case 7:
        return ops::exp(b_, ops::tanh(b_, x));
      case 8:
        return ops::log(b_, ops::add_scalar(b_, ops::square(b_, x), 1));
      case 9:
        return ops::abs(b_, x);
      case 10:
        return ops::softmax(b_, x);
      case 11:
        return ops::negate(b_, x);
      case 12:
        return ops::clip(b_, x, -2, 2);
      case 13:
        return ops::cast(b_, ops::cast(b_, x, DType::bf16), dtype_);
      case 14:
        return ops::cast(b_, ops::cast(b_, x, DType::f16), dtype_);
      case 15:
        return ops::gelu_tanh(b_, x);
      case 16:
        return ops::silu(b_, x);
      case 17:
        return ops::elu(b_, x, 0.5);
      case 18:
        return ops::softplus(b_, x);
      case 19:
        return ops::power_scalar(b_, ops::add_scalar(b_, ops::square(b_, x), 1),
                                 -0.5);
      default:
        return ops::dropout(b_, x, random_step_, 0.25, 7, forward_ops());
    }
  }

  ValueId binary(ValueId x) {
    const ValueId y = like(x);
    switch (pick(9)) {
      case 0:
        return ops::add(b_, x, y);
      case 1:
        return ops::subtract(b_, x, y);
      case 2:
        return ops::multiply(b_, ops::tanh(b_, x), y);
      case 3:
        return ops::divide(b_, x, ops::add_scalar(b_, ops::square(b_, y), 1));
      case 4:
        return ops::maximum(b_, x, y);
      case 5:
        return ops::minimum(b_, x, y);
      case 6:
        return ops::where(b_, ops::less(b_, x, y), x, ops::tanh(b_, y));
      case 7:
        return ops::power(b_, ops::add_scalar(b_, ops::square(b_, x), 1),
                          ops::tanh(b_, y));
      default:
        return ops::multiply(b_, x, parameter({columns(x)}));
    }
  }

  ValueId reduced(ValueId x) {
    ValueId column;
    switch (pick(3)) {
      case 0:
        column = ops::reduce_mean(b_, x, {1}, true);
        break;
      case 1:
        column = ops::reduce_max(b_, x, {1}, true);
        break;
      default:
        column = ops::reduce_sum(b_, x, {1}, true);
        break;
    }
    return ops::subtract(b_, x, column);
  }

  // Through [B, a, b]: a transpose, or a product of each example with itself.
  ValueId folded(ValueId x) {
    const std::int64_t n = columns(x);
    const std::int64_t a = n % 4 == 0 ? 4 : 1;
    const ValueId cube = ops::reshape(b_, x, Shape{Dim::batch(), a, n / a});
    if (large_ || pick(2) == 0) {
      return ops::reshape(b_, ops::transpose(b_, cube, {0, 2, 1}),
                          Shape{Dim::batch(), n});
    }
    const ValueId product = ops::matmul(b_, cube, cube, false, true);
    return ops::multiply_scalar(
        b_, ops::reshape(b_, product, Shape{Dim::batch(), a * a}), 0.1);
  }

  void add_step() {
    const ValueId x = any();
    ValueId y;
    // Wide products cost seconds and teach nothing new: large networks get few.
    switch (pick(large_ ? 16 : 8)) {
      case 0:
      case 1:
        y = dense(x, width());
        break;
      case 2:
        y = reduced(x);
        break;
      case 3:
        y = folded(x);
        break;
      case 4:
      case 5:
        y = binary(x);
        break;
      default:
        y = unary(x);
        break;
    }
    values_.push_back(y);
  }

  // Joins what is left open, adds loss, gradients and updates.
  void finish() {
    static constexpr std::array kLosses = {
        "binary_crossentropy", "mean_squared_error", "mean_absolute_error",
        "categorical_crossentropy", "sparse_categorical_crossentropy"};
    static constexpr std::array kOptimizers = {"sgd", "rmsprop", "adam",
                                               "adamw", "adagrad"};
    const std::int64_t classes = 2 + pick(9);
    ValueId joined = dense(values_.back(), classes);
    // Every value a large network made is read again: that keeps them alive.
    const int joins = large_ ? static_cast<int>(values_.size()) : 2;
    for (int i = 0; i < joins; ++i) {
      joined = ops::add(
          b_, joined, dense(large_ ? values_[std::size_t(i)] : any(), classes));
    }
    loss_ = kLosses[static_cast<std::size_t>(pick(5))];
    Network network;
    network.logits = joined;
    network.output = joined;
    if (loss_ == "binary_crossentropy") {
      network.output = ops::sigmoid(b_, joined);
      network.last_activation = pick(2) == 0 ? "sigmoid" : "linear";
    }
    const Shape shape = b_.type(joined).shape;
    const bool sparse = loss_ == "sparse_categorical_crossentropy";
    const ValueId labels =
        b_.input("labels", sparse ? TensorType{DType::i32, Shape{shape[0]}}
                                  : TensorType{dtype_, shape});
    auto losses = example_losses(b_, loss_, network, labels);
    ASSERT_TRUE(losses.ok());
    const TensorType scalar{dtype_, Shape{}};
    const ValueId share = b_.state("share", Role::counter, scalar);
    const ValueId loss =
        ops::multiply(b_, ops::reduce_sum(b_, *losses, {}), share);
    std::vector<ValueId> wanted;
    std::vector<Parameter> used;
    for (const Parameter& p : parameters_) {
      if (reaches(p.value, loss)) {
        wanted.push_back(p.value);
        used.push_back(p);
      }
    }
    auto gradients = graph::add_gradients(
        b_, loss, ops::constant(b_, scalar, 1), wanted, ops::standard_ops());
    ASSERT_TRUE(gradients.ok()) << gradients.error().message;
    b_.set_phase(graph::Phase::update);
    const ValueId rate = b_.state("rate", Role::counter, scalar);
    const ValueId step = b_.state("step", Role::counter, {DType::i64, {}});
    optimizer_.type = kOptimizers[static_cast<std::size_t>(pick(5))];
    optimizer_.momentum = pick(2) == 0 ? 0.9 : 0;
    ASSERT_TRUE(
        add_updates(b_, optimizer_, used, *gradients, {rate, step, {}}).ok());
    b_.assign(step, ops::increment(b_, step));
    b_.assign(random_step_, ops::increment(b_, random_step_));
    b_.output(loss);
  }

  bool reaches(ValueId from, ValueId to) const {
    std::vector<bool> reached(b_.graph().values.size(), false);
    reached[from.pos()] = true;
    for (const graph::Node& node : b_.graph().nodes) {
      for (const ValueId input : node.inputs) {
        if (!reached[input.pos()]) continue;
        for (const ValueId output : node.outputs) reached[output.pos()] = true;
      }
    }
    return reached[to.pos()];
  }

  std::mt19937_64 random_;
  bool large_;
  DType dtype_ = DType::f32;
  std::int64_t batch_ = 1;
  graph::Builder b_;
  ValueId random_step_;
  std::vector<ValueId> values_;
  std::vector<Parameter> parameters_;
  std::string loss_;
  OptimizerSpec optimizer_;
};

}  // namespace

RandomNetwork make_random_network(std::uint64_t seed, bool large) {
  return Maker(seed, large).make();
}

}  // namespace plimsoll::train::testing
