#include "ops/movement/movement.h"

#include "ops/op_record.h"
#include "ops/registry.h"

namespace plimsoll::ops::testing {

void add_moves(std::vector<OpRecord>& records);  // moves.cpp
void add_packs(std::vector<OpRecord>& records);  // packs.cpp

namespace {

using Perm = std::vector<std::int64_t>;

OpRecord moved(std::string name, std::string_view op, DType dtype, Shape shape,
               graph::Attrs attrs) {
  OpRecord record;
  record.name = std::move(name);
  record.op = find_op(op);
  record.inputs = {{dtype, std::move(shape)}};
  record.attrs = std::move(attrs);
  record.ranges = {{0, 100, !is_floating(dtype)}};
  record.tolerance = 0;
  return record;
}

// What a dtype can hold, and a little more than its neighbours can.
Range range_of(DType dtype) {
  switch (dtype) {
    case DType::f32:
    case DType::f64:
      return {-70000, 70000};
    case DType::bf16:
    case DType::f16:
      return {-300, 300};
    case DType::i8:
      return {-128, 127, true};
    case DType::i16:
      return {-32768, 32767, true};
    case DType::u8:
      return {0, 255, true};
    case DType::u16:
      return {0, 65535, true};
    case DType::u32:
    case DType::u64:
      return {0, 3e9, true};
    case DType::boolean:
      return {0, 1, true};
    default:
      return {-2e9, 2e9, true};
  }
}

constexpr DType kAll[] = {DType::f32,    DType::f64, DType::bf16, DType::f16,
                          DType::i8,     DType::i16, DType::i32,  DType::i64,
                          DType::u8,     DType::u16, DType::u32,  DType::u64,
                          DType::boolean};

void add_casts(std::vector<OpRecord>& records) {
  for (const DType from : kAll) {
    for (const DType to : kAll) {
      const std::string target(name_of(to));
      records.push_back(
          moved("cast_" + std::string(name_of(from)) + "_" + target, "cast",
                from, {3, 67}, {{"dtype", target}}));
      records.back().ranges = {range_of(from)};
    }
  }
  records.push_back(moved("cast_gradient", "cast", DType::f32, {5, 3},
                          {{"dtype", std::string("f64")}}));
  records.back().gradient_of = {0};
  records.push_back(moved("cast_large", "cast", DType::f64, {400003},
                          {{"dtype", std::string("f32")}}));
}

void add_transposes(std::vector<OpRecord>& records) {
  const auto add = [&](const std::string& name, Shape shape, Perm perm,
                       DType dtype = DType::f32) {
    records.push_back(moved("transpose_" + name, "transpose", dtype,
                            std::move(shape), {{"perm", std::move(perm)}}));
    if (dtype == DType::f32) records.back().gradient_of = {0};
  };
  add("none", {}, {});
  add("vector", {9}, {0});
  add("matrix", {7, 5}, {1, 0});
  add("uneven_tiles", {33, 70}, {1, 0});
  add("same", {4, 5}, {0, 1});
  add("last_two", {3, 4, 5}, {0, 2, 1});
  add("reversed", {3, 4, 5}, {2, 1, 0});
  add("moved_as_one", {3, 4, 5, 2}, {2, 3, 0, 1});
  add("general", {2, 3, 4, 5}, {3, 1, 0, 2});
  add("inner_kept", {6, 5, 8}, {1, 0, 2});
  add("ones", {1, 6, 1, 3}, {3, 2, 1, 0});
  for (const DType dtype : {DType::u8, DType::bf16, DType::i32, DType::i64}) {
    add(std::string(name_of(dtype)), {13, 35}, {1, 0}, dtype);
  }
  add("large", {701, 333}, {1, 0}, DType::f64);
  add("planes", {3, 40, 50}, {0, 2, 1}, DType::f64);
  add("planes_between", {40, 3, 50}, {2, 1, 0}, DType::u8);
  add("empty", {0, 3}, {1, 0}, DType::f64);
}

}  // namespace

std::vector<OpRecord> movement_records() {
  std::vector<OpRecord> records;
  for (const std::int64_t size : {1, 7, 1023, 100003}) {
    const std::string name = std::to_string(size);
    records.push_back(moved("copy_" + name, "copy", DType::f32, {size}, {}));
  }
  for (const DType dtype : kAll) {
    const std::string name(name_of(dtype));
    records.push_back(moved("copy_" + name, "copy", dtype, {5, 3}, {}));
    records.push_back(moved("reshape_" + name, "reshape", dtype, {6, 4},
                            {{"shape", Shape{2, 12}}}));
    for (auto record = records.end() - 2; record != records.end(); ++record) {
      record->ranges = {range_of(dtype)};
      if (dtype == DType::f32) {
        record->ranges = {{-1, 1}};
        record->gradient_of = {0};
      }
    }
  }
  add_transposes(records);
  add_casts(records);
  add_moves(records);
  add_packs(records);
  return records;
}

}  // namespace plimsoll::ops::testing
