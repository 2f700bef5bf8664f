#include "ops/tensor_values.h"

#include <cmath>
#include <cstring>
#include <limits>

#include "base/half.h"
#include "base/hash.h"
#include "base/philox.h"

namespace plimsoll::ops::testing {
namespace {

// Calls f with a value of the C++ type that stores `dtype`.
template <class F>
auto with_storage(DType dtype, F&& f) {
  switch (dtype) {
    case DType::f32:
      return f(float());
    case DType::f64:
      return f(double());
    case DType::bf16:
    case DType::f16:
    case DType::u16:
      return f(std::uint16_t());
    case DType::i8:
      return f(std::int8_t());
    case DType::i16:
      return f(std::int16_t());
    case DType::i32:
      return f(std::int32_t());
    case DType::i64:
      return f(std::int64_t());
    case DType::u32:
      return f(std::uint32_t());
    case DType::u64:
      return f(std::uint64_t());
    case DType::u8:
    case DType::boolean:
      break;
  }
  return f(std::uint8_t());
}

template <class Storage>
Storage to_storage(DType dtype, double value) {
  if constexpr (sizeof(Storage) == 2) {
    if (dtype == DType::bf16) {
      return static_cast<Storage>(float_to_bf16(static_cast<float>(value)));
    }
    if (dtype == DType::f16) {
      return static_cast<Storage>(float_to_f16(static_cast<float>(value)));
    }
  }
  if (dtype == DType::boolean) return static_cast<Storage>(value != 0);
  return static_cast<Storage>(value);
}

template <class Storage>
double from_storage(DType dtype, Storage value) {
  if constexpr (sizeof(Storage) == 2) {
    const auto bits = static_cast<std::uint16_t>(value);
    if (dtype == DType::bf16) return static_cast<double>(bf16_to_float(bits));
    if (dtype == DType::f16) return static_cast<double>(f16_to_float(bits));
  }
  return static_cast<double>(value);
}

}  // namespace

std::vector<std::byte> encode(const RefTensor& tensor) {
  const DType dtype = tensor.type.dtype;
  return with_storage(dtype, [&](auto zero) {
    using Storage = decltype(zero);
    std::vector<std::byte> bytes(tensor.values.size() * sizeof(Storage));
    for (std::size_t i = 0; i < tensor.values.size(); ++i) {
      const auto stored = to_storage<Storage>(dtype, tensor.values[i]);
      std::memcpy(bytes.data() + i * sizeof(Storage), &stored, sizeof(stored));
    }
    return bytes;
  });
}

RefTensor decode(const graph::TensorType& type,
                 std::span<const std::byte> bytes) {
  return with_storage(type.dtype, [&](auto zero) {
    using Storage = decltype(zero);
    RefTensor tensor{type, std::vector<double>(bytes.size() / sizeof(Storage))};
    for (std::size_t i = 0; i < tensor.values.size(); ++i) {
      Storage stored;
      std::memcpy(&stored, bytes.data() + i * sizeof(Storage), sizeof(stored));
      tensor.values[i] = from_storage(type.dtype, stored);
    }
    return tensor;
  });
}

namespace {

bool lies_packed(const std::vector<graph::Layout>& layouts, std::size_t at) {
  return at < layouts.size() && layouts[at].is_packed();
}

RefTensor moved(std::string_view op, const RefTensor& tensor,
                const graph::TensorType& type, const graph::Layout& layout) {
  const auto count = static_cast<std::size_t>(type.shape.elements());
  std::vector<RefTensor> outputs = {{type, std::vector<double>(count)}};
  find_reference(op)({tensor}, graph::attrs_of(layout), outputs);
  return outputs[0];
}

}  // namespace

graph::TensorType packed_type(const graph::TensorType& type,
                              const std::vector<graph::Layout>& layouts,
                              std::size_t at) {
  if (!lies_packed(layouts, at)) return type;
  return {type.dtype, {layouts[at].elements()}};
}

RefTensor packed(const RefTensor& tensor,
                 const std::vector<graph::Layout>& layouts, std::size_t at) {
  if (!lies_packed(layouts, at)) return tensor;
  return moved("pack", tensor, packed_type(tensor.type, layouts, at),
               layouts[at]);
}

RefTensor unpacked(const RefTensor& tensor, const graph::TensorType& type,
                   const std::vector<graph::Layout>& layouts, std::size_t at) {
  if (!lies_packed(layouts, at)) return tensor;
  return moved("unpack", tensor, type, layouts[at]);
}

std::vector<RefTensor> random_inputs(const OpRecord& record,
                                     const graph::TypeList& types) {
  std::vector<RefTensor> inputs;
  const std::uint64_t seed = stable_hash(record.name);
  for (std::size_t i = 0; i < types.size(); ++i) {
    const Range range = i < record.ranges.size() ? record.ranges[i] : Range();
    RefTensor tensor{types[i], {}};
    const std::int64_t count = types[i].shape.elements();
    for (std::int64_t j = 0; j < count; ++j) {
      const PhiloxBlock words = philox(seed, i, static_cast<std::uint64_t>(j));
      const double unit = uniform_double(words[0], words[1]);
      double value = range.low + (range.high - range.low) * unit;
      if (range.whole_numbers) {
        value = std::floor(range.low + (range.high - range.low + 1) * unit);
      }
      if (uniform_double(words[2], words[3]) < range.nan_share) {
        value = std::numeric_limits<double>::quiet_NaN();
      }
      tensor.values.push_back(value);
    }
    // What f32 cannot hold, no run shall see.
    graph::TensorType stored = types[i];
    if (stored.dtype == DType::f64) stored.dtype = DType::f32;
    const auto bytes = encode({stored, tensor.values});
    tensor.values = decode(stored, bytes).values;
    inputs.push_back(std::move(tensor));
  }
  return inputs;
}

}  // namespace plimsoll::ops::testing
