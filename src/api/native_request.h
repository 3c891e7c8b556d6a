// llama-server's own request for a completion, POST /completion: that of plain completions
// (openai_request.h) with a few fields more.
//
// What a decoded request promises is what openai_request.h says, and
//   NATIVEREQ-1  there are at most 64 response fields, none empty or over 256 bytes;
//                verified by native_test.cc
//
// Pure functions: no I/O, no exceptions, any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "api/openai_request.h"
#include "base/result.h"

namespace holdfast::api {

struct NativeRequest {
  TextRequest text;
  // Paths into the answer, "generation_settings/n_predict": it has these and no others.
  std::vector<std::string> response_fields;
};

[[nodiscard]] Result<NativeRequest> decode_native_request(std::string_view json,
                                                          const ChatDefaults& defaults);
// All but the prompts, of a body that has been parsed; mistakes are noted in `body`.
[[nodiscard]] NativeRequest read_native_settings(const JsonFields& body,
                                                 const ChatDefaults& defaults);

}  // namespace holdfast::api
