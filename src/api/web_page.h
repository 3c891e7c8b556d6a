// The page for people (web/), as files that the program carries with it.
//
//   /                 the page itself; a browser asks each time whether it has changed
//   /assets/NAME      what it consists of; a name carries a hash of its content, so a browser keeps
//                     the file for ever
//
// Files are compressed when the program is built. The page is told to nobody who does not ask for
// HTML: a script that looks at / gets the short note (info.h).
//
// The page holds no secret and no data: what it shows, it asks the server for, as any client does.
// It may load from its own origin alone, and no script or style of it stands inside the HTML.
//
// Invariants, verified by the tests of the same numbers (web_page_test.cc):
//   PAGE-1  every file that is sent says that scripts, styles and data come from this origin only
//   PAGE-2  only a client that takes gzip gets a file; another gets the note, or 406 for an asset
//   PAGE-3  an asset may be kept for ever, the page itself is asked for each time
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "api/http_server.h"

namespace holdfast::api {

struct WebFile {
  std::string_view path;  // "/", "/assets/app-1A2B3C4D.js"
  std::string_view type;
  std::string_view etag;  // with its quotes
  std::string_view gzip;
};

// Of this program, as web/build.mjs made them; none: the page was not built.
[[nodiscard]] std::span<const WebFile> web_files();

// "/" and all below "/assets/".
[[nodiscard]] bool asks_for_page(const HttpRequest& request);

// One of `files`. Nothing: "/" is asked for by a program that takes no HTML, or there is no page.
// REQUIRES: asks_for_page(request).
[[nodiscard]] std::optional<HttpResponse> web_page(const HttpRequest& request,
                                                   std::span<const WebFile> files);

}  // namespace holdfast::api
