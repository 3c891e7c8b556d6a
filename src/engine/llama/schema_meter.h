// What converting a JSON schema will cost, counted before it is done.
//
// llama-common's converter (json-schema.cpp, json-schema-to-grammar.cpp) has no limits. It takes
// cubic time for optional properties, exponential time for lists of types and for references in
// `allOf`, recurses without end where such a reference leads back to itself, and its regular
// expressions recurse once for each character of a name. So it only sees schemas that were walked
// here in the same way, with every step counted.
//
// Invariants, tested in schema_meter_test and hostile_grammars_test:
//   METER-1  a schema that passes is converted in time and memory in proportion to its steps
//   METER-2  metering takes no more steps than GrammarLimits::schema_steps()
//   METER-3  a schema without an answer is refused: minLength over maxLength, and the like
#pragma once

#include <json-schema.h>

#include <cstddef>
#include <string>
#include <string_view>

#include "base/result.h"

namespace holdfast::llama {

// How much of the limit is left; one for all schemas of a request.
struct SchemaBudget {
  std::size_t steps_left = 0;
  std::size_t limit = 0;
};

// Patterns that cannot become a grammar are refused, or left to the library, which takes any string
// instead of them.
enum class OtherPatterns { kRefused, kAnyString };

// Walks the text as the library's reader of schemas would, and then its result as the converter
// would. The Error names the place in the schema, and no field.
[[nodiscard]] Result<common_chat_schema_document> read_metered_schema(std::string_view text,
                                                                      OtherPatterns patterns,
                                                                      SchemaBudget& budget);

}  // namespace holdfast::llama
