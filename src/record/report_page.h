// The page that `holdfast replay FILE --report` writes: one HTML file with everything in it. No
// script, no network; light or dark as the browser is.
//
// All text from the recording is escaped, and the page's policy forbids scripts: a hostile
// recording can put nonsense on the page, and nothing else.
#pragma once

#include <string>
#include <string_view>

#include "record/recording_summary.h"

namespace holdfast::record {

[[nodiscard]] std::string report_page(const ReplayOutcome& outcome, std::string_view name);

// Text as HTML, in elements and in quoted attributes. Control characters become spaces.
[[nodiscard]] std::string html_escaped(std::string_view text);

}  // namespace holdfast::record
