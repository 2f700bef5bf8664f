// Result<T>: a value or an Error. Used wherever failing is part of the job
// (budgets, plans, files); exceptions exist only at the public API's edge.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <variant>

namespace plimsoll {

enum class ErrorCode {
  bad_input,     // the caller's file, flag or value is wrong
  over_budget,   // an allocation would pass the memory line
  does_not_fit,  // the plan cannot fit the budget
  unsupported,   // no kernel or no such feature: named, never silent
  io,            // the system refused a read or a write
  device,        // a launch or a device call failed
  cancelled,     // stopped by the user
  internal,      // a broken promise of our own
};

struct Error {
  ErrorCode code = ErrorCode::internal;
  std::string message;
  friend bool operator==(const Error&, const Error&) = default;
};

template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::move(value)) {}
  Result(Error error) : state_(std::move(error)) {}

  bool ok() const { return std::holds_alternative<T>(state_); }
  explicit operator bool() const { return ok(); }

  T& value() & { return std::get<T>(state_); }
  const T& value() const& { return std::get<T>(state_); }
  T&& value() && { return std::get<T>(std::move(state_)); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

  const Error& error() const& { return std::get<Error>(state_); }
  Error&& error() && { return std::get<Error>(std::move(state_)); }

 private:
  std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : error_(std::move(error)) {}

  bool ok() const { return !error_.has_value(); }
  explicit operator bool() const { return ok(); }
  const Error& error() const& { return *error_; }
  Error&& error() && { return std::move(*error_); }

 private:
  std::optional<Error> error_;
};

using Status = Result<void>;

}  // namespace plimsoll

#define PLIMSOLL_CONCAT_INNER(a, b) a##b
#define PLIMSOLL_CONCAT(a, b) PLIMSOLL_CONCAT_INNER(a, b)

// Leaves the function with the error of `expression`, if it has one.
#define PLIMSOLL_RETURN_IF_ERROR(expression)                   \
  do {                                                         \
    if (auto plimsoll_status = (expression); !plimsoll_status) \
      return std::move(plimsoll_status).error();               \
  } while (false)

// `PLIMSOLL_ASSIGN(auto x, f());`: x is f's value, or its error is returned.
#define PLIMSOLL_ASSIGN(target, expression) \
  PLIMSOLL_ASSIGN_INNER(target, expression, \
                        PLIMSOLL_CONCAT(plimsoll_result_, __LINE__))
#define PLIMSOLL_ASSIGN_INNER(target, expression, result) \
  auto result = (expression);                             \
  if (!result) return std::move(result).error();          \
  target = *std::move(result)
