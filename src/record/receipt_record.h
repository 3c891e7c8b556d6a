// Receipts in a recording: how they are written, and how two of them compare.
#pragma once

#include <string>
#include <vector>

#include "cache/receipt.h"
#include "record/record_bytes.h"

namespace holdfast::record {

void encode_receipt(RecordWriter& out, const cache::Receipt& receipt);
void decode_receipt(RecordReader& in, cache::Receipt& receipt);

// One field that differs, as text.
struct FieldDifference {
  std::string field;
  std::string recorded;
  std::string replayed;
};

// Field by field, times included: they follow from the recorded clock. Not compared are the fields
// that the scheduler fills in without the cache, which a replay takes from the recording: see
// given_fields(). Private: nor are the tokens beside a difference, which are not there.
[[nodiscard]] std::vector<FieldDifference> compare_receipts(const cache::Receipt& recorded,
                                                            const cache::Receipt& replayed,
                                                            bool private_form);

// Their names, for reports.
[[nodiscard]] const std::vector<std::string>& given_fields();
// Copies them.
void take_given_fields(const cache::Receipt& from, cache::Receipt& to);

}  // namespace holdfast::record
