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

// Compares field by field. Times are compared too: they follow from the recorded clock. Fields that
// the scheduler fills in without the cache are not compared, because a replay takes them from the
// recording: see given_fields(). In a private recording the tokens beside a difference are missing,
// and are not compared either.
[[nodiscard]] std::vector<FieldDifference> compare_receipts(const cache::Receipt& recorded,
                                                            const cache::Receipt& replayed,
                                                            bool private_form);

// The names of those fields, for reports.
[[nodiscard]] const std::vector<std::string>& given_fields();
// Copies those fields.
void take_given_fields(const cache::Receipt& from, cache::Receipt& to);

}  // namespace holdfast::record
