// Stands in for what build.mjs makes, where the packages for it are not installed.
#include "api/web_page.h"

namespace holdfast::api {

std::span<const WebFile> web_files() { return {}; }

}  // namespace holdfast::api
