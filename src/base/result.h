// Result<T> carries a value, or an Error that says what went wrong in one line.
//
// A miss or a refusal is an answer (std::optional, an enum) and not an Error;
// an Error means that the world, or the caller's input, was not as needed.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "base/check.h"

namespace holdfast {

enum class ErrorCode {
  kInvalidArgument,  // the caller's input; `param` names the field
  kNotFound,
  kUnauthorized,
  kTooLarge,         // input beyond a limit that the message states
  kContextExceeded,  // more prompt tokens than the context holds
  kUnavailable,      // try again later: loading, queue full, shutting down
  kTimeout,
  kCancelled,
  kUnsupported,
  kIo,
  kEngine,  // the engine failed; the slot concerned was cleared
};

struct Error {
  ErrorCode code = ErrorCode::kEngine;
  std::string message;
  std::string param;  // the offending field of a request, or empty
};

inline Error invalid_argument(std::string param, std::string message) {
  return Error{ErrorCode::kInvalidArgument, std::move(message), std::move(param)};
}

template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : content_(std::move(value)) {}      // NOLINT(google-explicit-constructor)
  Result(Error error) : content_(std::move(error)) {}  // NOLINT(google-explicit-constructor)

  [[nodiscard]] bool ok() const { return std::holds_alternative<T>(content_); }
  explicit operator bool() const { return ok(); }

  // REQUIRES: ok().
  [[nodiscard]] T& value() & {
    CHECK(ok());
    return std::get<T>(content_);
  }
  [[nodiscard]] const T& value() const& {
    CHECK(ok());
    return std::get<T>(content_);
  }
  [[nodiscard]] T&& value() && {
    CHECK(ok());
    return std::get<T>(std::move(content_));
  }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

  // REQUIRES: !ok().
  [[nodiscard]] const Error& error() const {
    CHECK(!ok());
    return std::get<Error>(content_);
  }

 private:
  std::variant<T, Error> content_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : error_(std::move(error)) {}  // NOLINT(google-explicit-constructor)

  [[nodiscard]] bool ok() const { return !error_.has_value(); }
  explicit operator bool() const { return ok(); }
  [[nodiscard]] const Error& error() const {
    CHECK(!ok());
    return *error_;
  }

 private:
  std::optional<Error> error_;
};

}  // namespace holdfast
