#include "api/http_service.h"

#include "api/http_message.h"
#include "env/log.h"

namespace holdfast::api {

HttpResponse HttpService::error_page(int status, std::string_view message,
                                     const HttpRequest& head) const {
  if (!options.error_page) return default_error_page(status, message);
  try {
    return options.error_page(status, message, head);
  } catch (const std::exception& error) {
    env::Log::error("error_page failed", {{"status", status}, {"error", error.what()}});
    return default_error_page(status, message);
  }
}

}  // namespace holdfast::api
