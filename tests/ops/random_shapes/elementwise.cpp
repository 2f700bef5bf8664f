// Element-wise codes alone and in chains, over operands that broadcast in any
// way.
#include "ops/elementwise/elementwise.h"

#include <cmath>

#include "ops/random_shapes/draws.h"
#include "ops/random_shapes/random_records.h"
#include "ops/records/makers.h"

namespace plimsoll::ops::testing {
namespace {

using graph::ElementwiseInstruction;
using Code = graph::ElementwiseCode;
using Sizes = std::vector<std::int64_t>;

// Operands that together broadcast to an output of about so many elements.
std::vector<Shape> operands(Draws& draw, std::int64_t count) {
  const auto rank = static_cast<int>(draw.between(0, 5));
  const Sizes output = draw.extents(rank, draw.some_or(15'000, 300'000));
  std::vector<Shape> shapes;
  for (std::int64_t i = 0; i < count; ++i) {
    Sizes own = output;
    const std::int64_t kind = draw.between(0, 3);
    if (kind == 1) own.erase(own.begin(), own.begin() + draw.between(0, rank));
    for (std::int64_t& extent : own) {
      if (kind >= 2 && draw.one_in(2)) extent = 1;
    }
    shapes.push_back(to_shape(own));
  }
  return shapes;
}

// Draws instructions whose results stay moderate, with what rounding may do to
// them: a chain that magnified it would fail in any kernel.
class Chain {
 public:
  Chain(Draws& draw, int inputs) : draw_(draw), inputs_(inputs) {
    values_.assign(static_cast<std::size_t>(inputs), {kMostInput, 0});
  }

  void add() {
    const int before = known();
    while (known() == before) try_one();
  }
  int any() { return static_cast<int>(draw_.between(0, known() - 1)); }
  int known() const { return static_cast<int>(values_.size()); }
  std::vector<ElementwiseInstruction> instructions;

  static constexpr double kMostInput = 2;

 private:
  // The largest value, and its error in units of f32's last place of 1.
  struct Value {
    double most = 0;
    double error = 0;
  };

  const Value& of(int operand) const {
    return values_[static_cast<std::size_t>(operand)];
  }
  void push(ElementwiseInstruction instruction, double most, double error) {
    constexpr double kMostValue = 100;
    constexpr double kMostError = 60;
    if (most > kMostValue || error > kMostError) return;
    instructions.push_back(instruction);
    values_.push_back({most, error});
  }

  void try_one() {
    switch (draw_.between(0, 9)) {
      case 0:
        return constant();
      case 1:
        return choice();
      case 2:
      case 3:
        return smooth();
      case 4:
      case 5:
        return simple();
      default:
        return binary();
    }
  }
  void constant() {
    const double value = draw_.one_of({-0.5, 0.0, 0.75, 2.0});
    push({Code::constant, -1, -1, value}, std::abs(value), 0);
  }
  // Inputs alone are the same in every kernel: what is compared must not hang
  // on a last bit.
  void choice() {
    const auto input = [&] {
      return static_cast<int>(draw_.between(0, inputs_ - 1));
    };
    if (inputs_ == 0) return;
    const int condition = input();
    if (draw_.one_in(2)) {
      push({draw_.one_of({Code::equal, Code::greater, Code::less,
                          Code::less_equal, Code::greater_equal,
                          Code::not_equal}),
            condition, input()},
           1, 0);
      return;
    }
    const int b = any();
    const int c = any();
    push({Code::where, condition, b, 0, c}, std::max(of(b).most, of(c).most),
         std::max(of(b).error, of(c).error));
  }
  void smooth() {
    const int a = any();
    const Value in = of(a);
    const Code code =
        draw_.one_of({Code::sigmoid, Code::tanh, Code::gelu, Code::gelu_tanh,
                      Code::silu, Code::elu, Code::softplus, Code::exp});
    const bool steep = code == Code::exp;
    if (steep && in.most > 3) return;
    const bool bounded = code == Code::sigmoid || code == Code::tanh;
    const double most = steep ? std::exp(in.most) : bounded ? 1 : in.most + 1;
    push({code, a, -1, 0.25}, most, (steep ? most : 1.2) * in.error + 4 * most);
  }
  void simple() {
    const int a = any();
    const Value in = of(a);
    const Code code = draw_.one_of(
        {Code::identity, Code::negate, Code::abs, Code::relu, Code::leaky_relu,
         Code::add_scalar, Code::multiply_scalar, Code::maximum_scalar,
         Code::minimum_scalar, Code::square});
    const double scalar = draw_.one_of({-1.5, -0.25, 0.0, 0.5, 1.25});
    if (code == Code::square) {
      push({code, a}, in.most * in.most, 2 * in.most * in.error + in.most);
      return;
    }
    const double most =
        code == Code::multiply_scalar ? 1.5 * in.most : in.most + 1.5;
    push({code, a, -1, scalar}, most, 1.5 * in.error + most);
  }
  void binary() {
    const int a = any();
    const int b = any();
    const Value x = of(a);
    const Value y = of(b);
    const Code code =
        draw_.one_of({Code::add, Code::subtract, Code::multiply, Code::multiply,
                      Code::maximum, Code::minimum});
    if (code == Code::multiply) {
      const double most = x.most * y.most;
      push({code, a, b}, most, x.error * y.most + y.error * x.most + most);
      return;
    }
    push({code, a, b}, x.most + y.most, x.error + y.error + x.most + y.most);
  }

  Draws& draw_;
  int inputs_;
  std::vector<Value> values_;
};

// f32, bf16 and f16 side by side.
void mix(Draws& draw, OpRecord& record, std::size_t results) {
  const auto any = [&] {
    return draw.one_of({DType::f32, DType::bf16, DType::f16});
  };
  for (graph::TensorType& type : record.inputs) type.dtype = any();
  std::vector<std::int64_t> codes;
  for (std::size_t i = 0; i < results; ++i) {
    codes.push_back(static_cast<std::int64_t>(any()));
  }
  record.attrs.set("dtypes", codes);
  record.tolerance = 0x1p-7;
}

}  // namespace

std::vector<OpRecord> random_elementwise(std::uint64_t seed, int count) {
  Draws draw(seed);
  std::vector<OpRecord> records;
  for (int made = 0; made < count;) {
    const auto code =
        static_cast<Code>(draw.between(0, graph::kElementwiseCodes - 1));
    if (graph::arity_of(code) == 0) continue;
    records.push_back(elementwise_record(code, draw.name(made++),
                                         operands(draw, graph::arity_of(code)),
                                         elementwise_ranges(code)));
    if (!draw.one_in(8)) continue;
    for (Range& range : records.back().ranges) range.nan_share = 0.1;
  }
  return records;
}

std::vector<OpRecord> random_chains(std::uint64_t seed, int count) {
  Draws draw(seed);
  std::vector<OpRecord> records;
  for (int made = 0; made < count; ++made) {
    const auto inputs = static_cast<int>(draw.between(1, 6));
    std::vector<Shape> shapes = operands(draw, inputs);
    Chain chain(draw, inputs);
    for (std::int64_t left = draw.between(1, 14); left > 0; --left) {
      chain.add();
    }
    std::vector<int> results = {chain.known() - 1};
    for (std::int64_t left = draw.between(0, 3); left > 0; --left) {
      results.push_back(chain.any());
    }
    OpRecord record = fused_record(draw.name(made), std::move(shapes),
                                   std::move(chain.instructions), results);
    for (int i = 0; i < inputs; ++i) {
      record.ranges.push_back(
          {-Chain::kMostInput, Chain::kMostInput, draw.one_in(3)});
    }
    if (draw.one_in(3)) mix(draw, record, results.size());
    records.push_back(std::move(record));
  }
  return records;
}

}  // namespace plimsoll::ops::testing
