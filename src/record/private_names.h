// PrivateNames: what a private recording says instead of names.
//
// Spaces and tenants become numbers, in the order in which they were first seen; requests have a
// number already. Text goes without a replacement.
//
// Invariant, tested by private_names_test.cc, and with a whole server by
// PrivateRecording.HoldsNoTokenAndNoText in src/serve/recording_safety_test.cc:
//   PRIVATE-1  nothing in what it returns was chosen by a client or in the server's settings
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "cache/receipt.h"
#include "state/space.h"

namespace holdfast::record {

class PrivateNames {
 public:
  [[nodiscard]] SpaceKey number_of(SpaceKey space);
  // A request has begun: other receipts may name it by `id` until it has ended.
  void note_begun(const std::string& id, std::uint64_t number) { running_[id] = number; }
  void note_ended(const std::string& id) { running_.erase(id); }
  [[nodiscard]] cache::Receipt without_names(const cache::Receipt& receipt, std::uint64_t number);

 private:
  std::map<SpaceKey, std::uint64_t> spaces_;
  std::map<std::string, std::uint64_t> tenants_;
  std::map<std::string, std::uint64_t> running_;  // by the ids of requests
};

}  // namespace holdfast::record
