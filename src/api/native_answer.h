// What is answered in llama-server's own shape, made ready to be submitted.
#pragma once

#include "api/answer.h"
#include "api/native_request.h"

namespace holdfast::api {

// Worker thread.
[[nodiscard]] Result<ReadyRequest> ready_native(const Asking& asking, NativeRequest request);

}  // namespace holdfast::api
