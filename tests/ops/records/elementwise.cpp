#include "ops/elementwise/elementwise.h"

#include "ops/op_record.h"
#include "ops/records/makers.h"

namespace plimsoll::ops::testing {

using graph::ElementwiseCode;
using graph::ElementwiseExpression;
using graph::ElementwiseInstruction;

OpRecord elementwise_record(ElementwiseCode code, const std::string& name,
                            std::vector<Shape> shapes,
                            std::vector<Range> ranges) {
  OpRecord record;
  record.name = std::string(graph::name_of(code)) + "_" + name;
  record.op = &elementwise_op(code);
  for (Shape& shape : shapes) {
    record.inputs.push_back({DType::f32, std::move(shape)});
  }
  record.attrs = {{"scalar", 0.25}};
  record.ranges = std::move(ranges);
  return record;
}

// Where the function is defined and its derivatives stay moderate.
std::vector<Range> elementwise_ranges(ElementwiseCode code) {
  switch (code) {
    case ElementwiseCode::divide:
      return {{-2, 2}, {0.5, 3}};
    case ElementwiseCode::sqrt:
    case ElementwiseCode::log:
    case ElementwiseCode::power_scalar:
      return {{0.1, 5}};
    case ElementwiseCode::sign:
    case ElementwiseCode::equal:
    case ElementwiseCode::greater:
    case ElementwiseCode::less:
    case ElementwiseCode::less_equal:
    case ElementwiseCode::greater_equal:
    case ElementwiseCode::not_equal:
      return {{-2, 2, true}, {-2, 2, true}};
    case ElementwiseCode::where:
      return {{-1, 1, true}, {-4, 4}, {-4, 4}};
    case ElementwiseCode::power:
      return {{0.1, 3}, {-3, 3}};
    case ElementwiseCode::softplus_grad:
      return {{-4, 4}, {0.01, 8}};
    case ElementwiseCode::bce_logits:
      return {{-6, 6}, {0, 1}};
    default:
      return {{-4, 4}, {-4, 4}};
  }
}

OpRecord fused_record(const std::string& name, std::vector<Shape> shapes,
                      std::vector<ElementwiseInstruction> instructions,
                      std::vector<int> results) {
  OpRecord record;
  record.name = "fused_" + name;
  record.op = &fused_op();
  const int inputs = static_cast<int>(shapes.size());
  for (Shape& shape : shapes) {
    record.inputs.push_back({DType::f32, std::move(shape)});
  }
  record.attrs =
      graph::to_attrs({inputs, std::move(instructions), std::move(results)});
  return record;
}

namespace {

// Inputs that gradients reach: what is flat has none.
std::vector<int> gradients_of(ElementwiseCode code) {
  switch (code) {
    case ElementwiseCode::sign:
    case ElementwiseCode::equal:
    case ElementwiseCode::greater:
    case ElementwiseCode::greater_scalar:
    case ElementwiseCode::less:
    case ElementwiseCode::less_equal:
    case ElementwiseCode::greater_equal:
    case ElementwiseCode::not_equal:
      return {};
    case ElementwiseCode::relu_grad:
    case ElementwiseCode::leaky_relu_grad:
      return {0};
    case ElementwiseCode::where:
      return {1, 2};
    default:
      return graph::arity_of(code) == 1 ? std::vector<int>{0}
                                        : std::vector<int>{0, 1};
  }
}

// Every op, at one element and around the length of a block.
void add_every_code(std::vector<OpRecord>& records) {
  for (int i = 0; i < graph::kElementwiseCodes; ++i) {
    const auto code = static_cast<ElementwiseCode>(i);
    const int arity = graph::arity_of(code);
    if (arity == 0) continue;
    for (const std::int64_t size : {1, 7, 1023, 1025}) {
      records.push_back(elementwise_record(
          code, std::to_string(size),
          std::vector<Shape>(static_cast<std::size_t>(arity), Shape{size}),
          elementwise_ranges(code)));
      if (size != 7) continue;
      records.back().gradient_of = gradients_of(code);
      records.back().gradient_tolerance = 1e-5;
    }
  }
}

// Each way of broadcasting that the kernel tells apart, and gradients through
// it.
void add_broadcasts(std::vector<OpRecord>& records) {
  struct Pattern {
    const char* name;
    Shape a, b;
    bool small = true;
  };
  const std::vector<Pattern> patterns = {
      {"same", {7, 33}, {7, 33}},
      {"scalars", {}, {}},
      {"scalar", {5, 7}, {}},
      {"scalar_first", {1}, {1025}, false},
      {"row_short", {103, 10}, {10}, false},
      {"row_one_block", {9, 512}, {512}, false},
      {"row_small", {6, 5}, {5}},
      {"row_long", {1500}, {5, 1500}, false},
      {"row_just_over", {3, 1025}, {1, 1025}, false},
      {"row_of_rows", {7, 300, 10}, {300, 10}, false},
      {"column", {11, 1}, {11, 9}},
      {"column_long", {3, 2100}, {3, 1}, false},
      {"column_many", {1031, 3}, {1031, 1}, false},
      {"outer", {6, 1}, {1, 7}},
      {"middle", {2, 1, 5}, {2, 3, 5}},
      {"general", {3, 1, 5, 1}, {1, 4, 1, 6}},
      {"general_long", {3, 1, 700}, {1, 5, 700}, false},
      {"leading_ones", {1, 1, 7}, {7}},
      {"ones_both", {1, 1}, {1}},
      {"large", {100003}, {100003}, false},
      {"large_row", {1001, 103}, {103}, false},
      {"large_column", {307, 401}, {307, 1}, false},
      {"empty", {0, 3}, {3}, false},
  };
  for (const Pattern& pattern : patterns) {
    for (const auto code :
         {ElementwiseCode::subtract, ElementwiseCode::multiply}) {
      records.push_back(
          elementwise_record(code, pattern.name, {pattern.a, pattern.b}));
      if (pattern.small) records.back().gradient_of = {0, 1};
    }
  }
  for (const auto code : {ElementwiseCode::maximum, ElementwiseCode::divide,
                          ElementwiseCode::bce_logits}) {
    records.push_back(elementwise_record(code, "broadcast", {{4, 5}, {5}},
                                         elementwise_ranges(code)));
    records.back().gradient_of = {0, 1};
  }
  const std::vector<Range> chosen = elementwise_ranges(ElementwiseCode::where);
  const auto add_where = [&](const std::string& name,
                             std::vector<Shape> shapes) {
    records.push_back(elementwise_record(ElementwiseCode::where, name,
                                         std::move(shapes), chosen));
    records.back().gradient_of = {1, 2};
  };
  add_where("row", {{6, 5}, {5}, {6, 5}});
  add_where("column", {{6, 1}, {6, 5}, {}});
  add_where("outer", {{6, 1, 1}, {1, 5, 1}, {1, 1, 4}});
  add_where("scalar", {{}, {9}, {9}});
  records.push_back(elementwise_record(ElementwiseCode::where, "rows_long",
                                       {{2, 1500}, {1500}, {2, 1}}, chosen));
}

// Bases and exponents for which powers take their special ways.
void add_powers(std::vector<OpRecord>& records) {
  using Code = ElementwiseCode;
  records.push_back(elementwise_record(Code::power, "broadcast", {{4, 5}, {5}},
                                       {{0.5, 2}, {-2, 2}}));
  records.back().gradient_of = {0, 1};
  // Below zero there is a gradient of the base alone.
  records.push_back(elementwise_record(Code::power, "negative", {{40}, {40}},
                                       {{-2, -0.5}, {-3, 3, true}}));
  records.back().gradient_of = {0};
  records.push_back(
      elementwise_record(Code::power, "not_whole", {{99}, {99}},
                         {{-2, 2}, {-2, 2}}));  // NaN for half of them
  records.push_back(elementwise_record(Code::power, "at_zero", {{99}, {99}},
                                       {{0, 0}, {0, 3, true}}));
  for (const double exponent : {-2., -1., -0.5, 0., 0.5, 1., 2., 3., 7.}) {
    const bool whole = exponent == double(int(exponent));
    records.push_back(
        elementwise_record(Code::power_scalar, "of_" + std::to_string(exponent),
                           {{33}}, {{whole ? -3. : 0.5, whole ? -0.5 : 3.}}));
    records.back().attrs = {{"scalar", exponent}};
    records.back().gradient_of = {0};
    records.back().gradient_tolerance = 1e-5;
  }
}

// The functions over most of f32's range.
void add_wide_ranges(std::vector<OpRecord>& records) {
  const auto add = [&](ElementwiseCode code, Range range) {
    records.push_back(elementwise_record(code, "wide", {{4099}}, {range}));
    records.back().tolerance = 1e-6;
  };
  add(ElementwiseCode::exp, {-110, 88});
  add(ElementwiseCode::log, {1e-30, 1e-20});
  add(ElementwiseCode::tanh, {-20, 20});
  add(ElementwiseCode::sigmoid, {-100, 100});
  add(ElementwiseCode::gelu, {-20, 20});
  add(ElementwiseCode::gelu_tanh, {-20, 20});
  add(ElementwiseCode::silu, {-120, 120});
  add(ElementwiseCode::elu, {-120, 20});
  add(ElementwiseCode::softplus, {-120, 120});
  add(ElementwiseCode::power_scalar, {0, 1e30});
  for (const auto code :
       {ElementwiseCode::gelu_grad, ElementwiseCode::gelu_tanh_grad,
        ElementwiseCode::silu_grad}) {
    records.push_back(elementwise_record(code, "wide", {{4099}, {4099}},
                                         {{1, 1}, {-20, 20}}));
  }
  records.push_back(elementwise_record(ElementwiseCode::softplus_grad, "wide",
                                       {{4099}, {4099}}, {{1, 1}, {0, 120}}));
  records.push_back(elementwise_record(ElementwiseCode::power, "wide",
                                       {{4099}, {4099}},
                                       {{1e-3, 1e3}, {-12, 12}}));
  records.back().tolerance = 1e-6;
  records.push_back(elementwise_record(ElementwiseCode::bce_logits, "wide",
                                       {{4099}, {4099}},
                                       {{-100, 100}, {0, 1}}));
}

void add_shaped(std::vector<OpRecord>& records) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    OpRecord record;
    record.name = "constant_" + std::string(name_of(dtype));
    record.op = &elementwise_op(ElementwiseCode::constant);
    record.attrs = {{"shape", Shape{3, 700}},
                    {"dtype", std::string(name_of(dtype))},
                    {"scalar", 0.375}};
    records.push_back(record);
  }
  for (const Shape& from : {Shape{}, Shape{7}, Shape{5, 1}, Shape{5, 7}}) {
    records.push_back(elementwise_record(
        ElementwiseCode::identity, "to_5_7_from_" + from.to_string(), {from}));
    records.back().attrs = {{"shape", Shape{5, 7}}};
    records.back().gradient_of = {0};
  }
}

void add_fused(std::vector<OpRecord>& records) {
  using Code = ElementwiseCode;
  // sigmoid((a + row) * scalar) and, on the way, a + row.
  const std::vector<ElementwiseInstruction> chain = {
      {Code::add, 0, 1}, {Code::multiply, 3, 2}, {Code::sigmoid, 4}};
  records.push_back(fused_record("chain", {{33, 70}, {70}, {}}, chain, {5, 3}));
  records.push_back(
      fused_record("long_rows", {{3, 2048}, {2048}, {1}}, chain, {5}));
  // Periods of 10 and 3000 and a column at once.
  records.push_back(fused_record(
      "periods", {{4, 300, 10}, {10}, {300, 10}, {4, 1, 1}},
      {{Code::add, 0, 1}, {Code::multiply, 4, 2}, {Code::subtract, 5, 3}},
      {6}));
  // Output 0 is written before input 0 is read again; output 2 is an input,
  // output 3 is output 1 again, output 4 a constant.
  records.push_back(fused_record("hazards", {{2, 1027}, {2, 1027}},
                                 {{Code::add, 0, 1},
                                  {Code::constant, -1, -1, 0.5},
                                  {Code::multiply, 2, 3},
                                  {Code::subtract, 4, 0},
                                  {Code::maximum, 5, 1}},
                                 {2, 6, 1, 6, 3}));
  // More values alive than one slot, some read twice, one by nobody.
  records.push_back(fused_record("slots", {{1030}},
                                 {{Code::square, 0},
                                  {Code::exp, 0},
                                  {Code::multiply, 1, 2},
                                  {Code::multiply, 3, 3},
                                  {Code::negate, 1},
                                  {Code::add, 4, 2},
                                  {Code::subtract, 6, 1}},
                                 {7}));
  // A choice between an input and a result, with a constant as a third; the
  // result goes over an operand that is still read.
  records.push_back(fused_record("where", {{3, 1029}, {1029}, {3, 1}},
                                 {{Code::greater, 0, 1},
                                  {Code::constant, -1, -1, -0.5},
                                  {Code::silu, 0},
                                  {Code::where, 3, 5, 0, 4},
                                  {Code::where, 6, 2, 0, 1},
                                  {Code::add, 7, 0}},
                                 {6, 8}));
  records.push_back(
      fused_record("only_constant", {}, {{Code::constant, -1, -1, 2}}, {0}));
  records.back().attrs.set("shape", Shape{5, 7});
  records.back().attrs.set("dtype", std::string("f32"));
  records.push_back(fused_record(
      "large", {{100003}, {1}},
      {{Code::multiply, 0, 1}, {Code::tanh, 2}, {Code::tanh_grad, 0, 3}},
      {4, 3}));
}

// f32, bf16 and f16 side by side, each read in every way: in place, in runs,
// as a short row, as one value, over a middle axis.
void add_mixed(std::vector<OpRecord>& records) {
  using Code = ElementwiseCode;
  const auto mixed = [&](const std::string& name, std::vector<Shape> shapes,
                         const std::vector<DType>& inputs,
                         std::vector<ElementwiseInstruction> instructions,
                         std::vector<int> results,
                         const std::vector<DType>& outputs) {
    OpRecord record = fused_record("mixed_" + name, std::move(shapes),
                                   std::move(instructions), std::move(results));
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      record.inputs[i].dtype = inputs[i];
    }
    std::vector<std::int64_t> codes;
    for (const DType dtype : outputs) {
      codes.push_back(static_cast<std::int64_t>(dtype));
    }
    record.attrs.set("dtypes", codes);
    record.tolerance = 0x1p-7;
    records.push_back(std::move(record));
  };
  constexpr DType kF32 = DType::f32, kBf16 = DType::bf16, kF16 = DType::f16;
  const std::vector<ElementwiseInstruction> chain = {
      {Code::add, 0, 1}, {Code::multiply, 4, 2}, {Code::subtract, 5, 3}};
  mixed("access", {{4, 300, 10}, {10}, {4, 1, 10}, {}},
        {kF32, kBf16, kF16, kBf16}, chain, {6, 4, 5}, {kBf16, kF32, kF16});
  mixed("periods", {{3, 2050}, {2050}, {3, 1}, {1}}, {kBf16, kF16, kF16, kF32},
        chain, {6, 4}, {kF32, kBf16});
  // A result that is read again after it was stored, an input as an output,
  // and a cast alone.
  mixed("stored", {{2, 1027}, {2, 1027}}, {kBf16, kF32},
        {{Code::add, 0, 1},
         {Code::square, 2},
         {Code::add, 3, 0},
         {Code::multiply, 4, 1}},
        {2, 5, 0, 1}, {kBf16, kF32, kF16, kBf16});
  mixed("cast", {{1029}}, {kF32}, {{Code::identity, 0}}, {1}, {kF16});
}

}  // namespace

std::vector<OpRecord> elementwise_records() {
  std::vector<OpRecord> records;
  add_every_code(records);
  add_broadcasts(records);
  add_powers(records);
  add_wide_ranges(records);
  add_shaped(records);
  add_fused(records);
  add_mixed(records);
  return records;
}

}  // namespace plimsoll::ops::testing
