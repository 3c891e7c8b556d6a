// Counts the steps of llama-common's conversion of a schema into a grammar (schema_meter.h).
#pragma once

#include "engine/llama/schema_steps.h"

namespace holdfast::llama {

// Throws SchemaFault.
void meter_conversion(const common_chat_schema_document& document, OtherPatterns patterns,
                      SchemaSteps& steps);

}  // namespace holdfast::llama
