#include "cache/fingerprint.h"

#include <algorithm>

#include "cache/hash128.h"
#include "tier/space_note.h"

namespace holdfast::cache {

namespace {

using Facts = std::vector<std::pair<std::string, std::string>>;

Hash128 hash_facts(const Facts& facts) {
  Hash128 hash;
  hash.number(facts.size());
  for (const auto& [name, value] : facts) hash.text(name).text(value);
  return hash;
}

}  // namespace

Fingerprint& Fingerprint::add(std::string_view name, std::string_view value) {
  facts_.emplace_back(name, value);
  return *this;
}

SpaceKey Fingerprint::space(std::string_view tenant_salt) const {
  return hash_facts(facts_).text(tenant_salt).digest();
}

std::string Fingerprint::hex() const { return tier::hex_of(hash_facts(facts_).digest()); }

std::string Fingerprint::describe() const {
  std::string line;
  for (const auto& [name, value] : facts_) {
    line += (line.empty() ? "" : " ") + name + "=" + value;
  }
  std::ranges::replace_if(
      line, [](char c) { return static_cast<unsigned char>(c) < ' '; }, '?');
  return line;
}

}  // namespace holdfast::cache
