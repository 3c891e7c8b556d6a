// Answer: where the result of a command goes.
#pragma once

#include <functional>

#include "base/result.h"

namespace holdfast::serve {

// Gets the answer, on a thread of the server or the caller's. Must not block.
template <typename T>
using Answer = std::function<void(Result<T>)>;

}  // namespace holdfast::serve
