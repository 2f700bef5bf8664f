// Functions of tensors that are traced once, planned as a graph and run as one:
//   auto step = pl::function([&](const pl::Tensor& x, const pl::Tensor& y) {
//     pl::GradientTape tape;
//     auto loss = pl::mean_squared_error(y, pl::matmul(x, w));
//     w.assign_sub(0.01 * tape.gradient(loss, w));
//     return loss;
//   });
//   for (...) step(x, y);
// The first call runs the body with tensors that have no numbers and writes
// down what it does; later calls run what was written. So whatever is not
// arguments or variables (numbers, seeds, branches, other tensors) is as it was
// then, and variables are made outside. Other types or shapes are traced
// anew, but not another extent of the first axis that they share: any batch is
// one trace, unless the body asks for its number (shape(), size()). A body may
// be run twice to find that out.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <span>
#include <type_traits>

#include "plimsoll/tensor.h"

namespace plimsoll {

struct FunctionOptions {
  std::string name = "function";  // in the ledger
  // The least used of more go, with their memory.
  int most_traces = 16;
  int most_plans = 64;  // of all traces: one for each size of arguments
};

// What stands behind a traced function. For one thread at a time.
class FunctionCalls {
 public:
  using Body = std::function<std::vector<Tensor>(std::span<const Tensor>)>;

  explicit FunctionCalls(FunctionOptions options);
  ~FunctionCalls();
  FunctionCalls(FunctionCalls&&) noexcept;
  FunctionCalls& operator=(FunctionCalls&&) noexcept;

  // The body's results for these arguments: of its plan, or, where a tape
  // records, inside of another traced function and after
  // run_functions_eagerly(true), of the body itself.
  std::vector<Tensor> call(std::span<const Tensor> arguments, const Body& body);
  // Traces and plans unless that is done; what a call takes beside arguments,
  // variables and results.
  std::int64_t planned_bytes(std::span<const Tensor> arguments,
                             const Body& body);
  // Since it was made.
  std::int64_t traces() const;
  std::int64_t plans() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// For debugging: bodies run op by op, with the same numbers where the same
// kernels run.
void run_functions_eagerly(bool eagerly);
bool functions_run_eagerly();

// The body takes tensors and gives one, a vector of them, or nothing.
template <class F>
class Function {
 public:
  Function(F body, FunctionOptions options)
      : body_(std::move(body)), calls_(std::move(options)) {}

  template <class... T>
  auto operator()(const T&... arguments) {
    using R = std::invoke_result_t<F&, as_tensor<T>...>;
    auto results = calls_.call(tensors(arguments...), body<R, T...>());
    if constexpr (std::is_same_v<R, Tensor>) {
      return std::move(results[0]);
    } else if constexpr (!std::is_void_v<R>) {
      return results;
    }
  }

  // What a call with such arguments takes beside them, variables and results:
  // known before it is taken.
  template <class... T>
  std::int64_t planned_bytes(const T&... arguments) {
    using R = std::invoke_result_t<F&, as_tensor<T>...>;
    return calls_.planned_bytes(tensors(arguments...), body<R, T...>());
  }

  // How often the body was traced, and how many sizes were planned.
  std::int64_t traces() const { return calls_.traces(); }
  std::int64_t plans() const { return calls_.plans(); }

 private:
  template <class>
  using as_tensor = const Tensor&;

  template <class... T>
  static std::array<Tensor, sizeof...(T)> tensors(const T&... arguments) {
    return {Tensor(arguments)...};
  }

  template <class R, class... T>
  FunctionCalls::Body body() {
    return [this](std::span<const Tensor> given) {
      return run<R>(given, std::index_sequence_for<T...>());
    };
  }

  template <class R, std::size_t... I>
  std::vector<Tensor> run(std::span<const Tensor> given,
                          std::index_sequence<I...>) {
    if constexpr (std::is_void_v<R>) {
      body_(given[I]...);
      return {};
    } else if constexpr (std::is_same_v<R, Tensor>) {
      return {body_(given[I]...)};
    } else {
      return body_(given[I]...);
    }
  }

  F body_;
  FunctionCalls calls_;
};

template <class F>
Function<F> function(F body, FunctionOptions options = {}) {
  return Function<F>(std::move(body), std::move(options));
}

}  // namespace plimsoll
