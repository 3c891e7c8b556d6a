#include "cache/cache_journal.h"

namespace holdfast::cache {

const char* request_end_name(RequestEnd end) {
  switch (end) {
    case RequestEnd::kStopToken: return "stop";
    case RequestEnd::kStopString: return "stop string";
    case RequestEnd::kMaxTokens: return "length";
    case RequestEnd::kContextFull: return "context full";
    case RequestEnd::kCancelled: return "cancelled";
    case RequestEnd::kTimeout: return "timeout";
    case RequestEnd::kFailed: return "failed";
  }
  return "unknown";
}

}  // namespace holdfast::cache
