// The head of a report, with its style.
#pragma once

#include <string>

namespace holdfast::record {

// Up to the opening of <main>. `title` is escaped already.
[[nodiscard]] std::string report_head(const std::string& title);

}  // namespace holdfast::record
