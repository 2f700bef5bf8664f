#include "device/emulated/library_work.h"

#include <cstring>
#include <vector>

#include "base/half.h"
#include "device/cuda/operand_address.h"

namespace plimsoll::emulated {
namespace {

using Values = std::vector<double>;

template <class T>
T stored_at(const std::byte* from, std::int64_t element) {
  T stored;
  std::memcpy(&stored, from + element * std::int64_t{sizeof(T)}, sizeof(T));
  return stored;
}
template <class T>
void store_at(std::byte* to, std::int64_t element, T stored) {
  std::memcpy(to + element * std::int64_t{sizeof(T)}, &stored, sizeof(T));
}

double load(DType dtype, const std::byte* from, std::int64_t element) {
  switch (dtype) {
    case DType::f64:
      return stored_at<double>(from, element);
    case DType::bf16:
      return static_cast<double>(
          bf16_to_float(stored_at<std::uint16_t>(from, element)));
    case DType::f16:
      return static_cast<double>(
          f16_to_float(stored_at<std::uint16_t>(from, element)));
    default:
      return static_cast<double>(stored_at<float>(from, element));
  }
}

void store(DType dtype, std::byte* to, std::int64_t element, double value) {
  const auto rounded = static_cast<float>(value);
  switch (dtype) {
    case DType::f64:
      return store_at(to, element, value);
    case DType::bf16:
      return store_at(to, element, float_to_bf16(rounded));
    case DType::f16:
      return store_at(to, element, float_to_f16(rounded));
    default:
      return store_at(to, element, rounded);
  }
}

// Rows of a stored matrix, turned or not, as one the product reads by rows.
Values matrix(DType dtype, const std::byte* from, std::int64_t first,
              std::int64_t rows, std::int64_t columns, std::int64_t row_step,
              bool turned) {
  const std::int64_t step = row_step > 0 ? row_step : turned ? rows : columns;
  Values values;
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t c = 0; c < columns; ++c) {
      const std::int64_t at = turned ? c * step + r : r * step + c;
      values.push_back(load(dtype, from, first + at));
    }
  }
  return values;
}

// Every meeting of a pixel of x and one of y over a weight's row of channels.
template <class Visit>
void each_meeting(const cuda::Convolution& of, const Visit& visit) {
  const auto [batch, height, width, channels] = of.x;
  const auto [filters, kernel_rows, kernel_columns, depth] = of.w;
  const std::int64_t groups = channels / depth;
  for (std::int64_t b = 0; b < batch; ++b) {
    for (std::int64_t i = 0; i < of.y[1]; ++i) {
      for (std::int64_t j = 0; j < of.y[2]; ++j) {
        for (std::int64_t ki = 0; ki < kernel_rows; ++ki) {
          const std::int64_t row =
              i * of.strides[0] - of.padding[0] + ki * of.dilations[0];
          if (row < 0 || row >= height) continue;
          for (std::int64_t kj = 0; kj < kernel_columns; ++kj) {
            const std::int64_t column =
                j * of.strides[1] - of.padding[2] + kj * of.dilations[1];
            if (column < 0 || column >= width) continue;
            for (std::int64_t o = 0; o < filters; ++o) {
              const std::int64_t group = o / (filters / groups);
              visit(((b * height + row) * width + column) * channels +
                        group * depth,
                    ((o * kernel_rows + ki) * kernel_columns + kj) * depth,
                    ((b * of.y[1] + i) * of.y[2] + j) * filters + o);
            }
          }
        }
      }
    }
  }
}

Values values_of(DType dtype, const std::byte* from,
                 const std::array<std::int64_t, 4>& shape) {
  Values values(
      static_cast<std::size_t>(shape[0] * shape[1] * shape[2] * shape[3]));
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = load(dtype, from, static_cast<std::int64_t>(i));
  }
  return values;
}

void multiply(const cuda::Product& of, const std::byte* a_at,
              const std::byte* b_at, const std::byte* bias, std::byte* out) {
  const std::int64_t out_row = of.out_row > 0 ? of.out_row : of.n;
  for (std::int64_t batch = 0; batch < of.batch; ++batch) {
    const Values a = matrix(of.operands, a_at, batch * of.a_batch, of.m, of.k,
                            of.a_row, of.transpose_a);
    // Turned the other way, so that both are read by rows.
    const Values b = matrix(of.operands, b_at, batch * of.b_batch, of.n, of.k,
                            of.b_row, !of.transpose_b);
    for (std::int64_t i = 0; i < of.m; ++i) {
      for (std::int64_t j = 0; j < of.n; ++j) {
        const double* const left = a.data() + i * of.k;
        const double* const right = b.data() + j * of.k;
        double sum = 0;
        for (std::int64_t k = 0; k < of.k; ++k) sum += left[k] * right[k];
        const std::int64_t element = batch * of.m * of.n + i * out_row + j;
        if (of.accumulate) sum += load(of.output, out, element);
        if (of.bias) sum += load(of.output, bias, j);
        if (of.relu && sum <= 0) sum = 0;
        store(of.output, out, element, sum);
      }
    }
  }
}

void convolve(const cuda::Convolution& of, std::byte* x_at, std::byte* w_at,
              std::byte* y_at) {
  using Kind = cuda::Convolution::Kind;
  Values x = values_of(of.dtype, x_at, of.x);
  Values w = values_of(of.dtype, w_at, of.w);
  Values y = values_of(of.dtype, y_at, of.y);
  Values& made = of.kind == Kind::forward     ? y
                 : of.kind == Kind::data_grad ? x
                                              : w;
  made.assign(made.size(), 0);
  each_meeting(
      of, [&](std::int64_t pixel, std::int64_t weight, std::int64_t result) {
        double* const px = x.data() + pixel;
        double* const pw = w.data() + weight;
        double& py = y[static_cast<std::size_t>(result)];
        for (std::int64_t c = 0; c < of.w[3]; ++c) {
          if (of.kind == Kind::forward) py += px[c] * pw[c];
          if (of.kind == Kind::data_grad) px[c] += py * pw[c];
          if (of.kind == Kind::weight_grad) pw[c] += py * px[c];
        }
      });
  std::byte* const out = of.kind == Kind::forward     ? y_at
                         : of.kind == Kind::data_grad ? x_at
                                                      : w_at;
  for (std::size_t i = 0; i < made.size(); ++i) {
    store(of.dtype, out, static_cast<std::int64_t>(i), made[i]);
  }
}

}  // namespace

std::function<void()> library_work(const cuda::Stage& stage,
                                   const void* const* inputs,
                                   void* const* outputs, void* scratch) {
  const auto at = [&](const cuda::Operand& operand) {
    return cuda::address_of(operand, inputs, outputs, scratch);
  };
  if (const auto* of = std::get_if<cuda::Product>(&stage)) {
    return [of = *of, a = at(of->a_at), b = at(of->b_at),
            bias = of->bias ? at({cuda::Operand::Of::input, 2}) : nullptr,
            out = at(of->out_at)] { multiply(of, a, b, bias, out); };
  }
  if (const auto* of = std::get_if<cuda::Convolution>(&stage)) {
    return [of = *of, x = at(of->x_at), w = at(of->w_at), y = at(of->y_at)] {
      convolve(of, x, w, y);
    };
  }
  return [] {};
}

}  // namespace plimsoll::emulated
