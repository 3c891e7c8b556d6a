#include "engine/llama/schema_meter.h"

#include <json.h>

#include <nlohmann/json.hpp>
#include <set>

#include "engine/llama/schema_conversion_meter.h"
#include "engine/llama/schema_steps.h"

namespace holdfast::llama {

namespace {

using Json = nlohmann::json;

// The library looks names up one by one, and its regular expressions recurse along a name.
constexpr std::size_t kNamesMax = 4096;
constexpr std::size_t kNameBytesMax = 512;

// Everything below a value, each value and each 16 bytes of text counted as one.
std::size_t size_of(const Json& value) {
  if (value.is_string()) return 1 + value.get_ref<const std::string&>().size() / 16;
  std::size_t size = 1;
  if (value.is_object()) {
    for (const auto& [name, member] : value.items()) size += 1 + name.size() / 16 + size_of(member);
  } else if (value.is_array()) {
    for (const Json& member : value) size += size_of(member);
  }
  return size;
}

// Walks JSON as common_chat_schema_builder does.
class ReadingMeter {
 public:
  ReadingMeter(const Json& root, SchemaSteps& steps) : root_(root), steps_(steps) {}

  void visit(const Json& schema) {
    steps_.spend(4 + steps_.depth() / 4);
    if (!schema.is_object()) return;  // the library refuses it
    check_names(schema);
    if (const Json* ref = find(schema, "$ref")) return visit_ref(*ref);
    for (const char* name : {"oneOf", "anyOf"}) {
      if (const Json* alternatives = find(schema, name)) return visit_all(*alternatives, name);
    }
    if (const Json* type = find(schema, "type"); type != nullptr && type->is_array()) {
      return visit_types(schema, *type);
    }
    for (const char* name : {"const", "enum"}) {
      if (const Json* values = find(schema, name)) return steps_.spend(size_of(*values));
    }
    visit_parts(schema);
  }

 private:
  static const Json* find(const Json& object, const char* name) {
    const auto found = object.find(name);
    return found == object.end() ? nullptr : &*found;
  }

  void check_names(const Json& object) {
    if (object.size() > kNamesMax) {
      steps_.fail("an object has more than " + std::to_string(kNamesMax) + " names");
    }
    for (const auto& [name, value] : object.items()) {
      if (name.size() > kNameBytesMax) {
        steps_.fail("a name is longer than " + std::to_string(kNameBytesMax) + " bytes");
      }
    }
  }

  // Each target is read once.
  void visit_ref(const Json& ref) {
    if (!ref.is_string()) return;
    const auto& name = ref.get_ref<const std::string&>();
    if (name.size() > kNameBytesMax) steps_.fail("a $ref is too long");
    const Json* target = resolve(name);
    if (target == nullptr || !refs_.insert(name).second) return;
    const SchemaSteps::Inside inside(steps_, name);
    visit(*target);
  }

  const Json* resolve(const std::string& ref) {
    const Json* target = &root_;
    std::size_t at = ref.find('/');
    while (at != std::string::npos && target != nullptr) {
      const std::size_t next = ref.find('/', at + 1);
      const std::string name = ref.substr(at + 1, next == std::string::npos ? next : next - at - 1);
      steps_.spend(1 + target->size() / 4);
      target = child(*target, name);
      at = next;
    }
    return target;
  }

  static const Json* child(const Json& parent, const std::string& name) {
    if (parent.is_object()) return find(parent, name.c_str());
    if (!parent.is_array() || name.empty()) return nullptr;
    const std::size_t index = std::strtoull(name.c_str(), nullptr, 10);
    return index < parent.size() ? &parent[index] : nullptr;
  }

  void visit_all(const Json& schemas, const std::string& name) {
    const SchemaSteps::Inside inside(steps_, name);
    std::size_t index = 0;
    if (!schemas.is_structured()) return;
    for (const auto& [key, schema] : schemas.items()) {
      const SchemaSteps::Inside member(steps_, schemas.is_array() ? std::to_string(index++) : key);
      visit(schema);
    }
  }

  // The library copies the schema for each type, and reads every copy.
  void visit_types(const Json& schema, const Json& types) {
    for (const Json& type : types) {
      const SchemaSteps::Inside inside(steps_, "type");
      steps_.spend(2 * size_of(schema));
      Json one = schema;
      one["type"] = type;
      visit(one);
    }
  }

  void visit_parts(const Json& schema) {
    for (const char* name : {"allOf", "properties"}) {
      if (const Json* parts = find(schema, name)) {
        if (parts->is_object()) check_names(*parts);
        visit_all(*parts, name);
      }
    }
    if (const Json* required = find(schema, "required")) steps_.spend(size_of(*required));
    if (const Json* pattern = find(schema, "pattern")) steps_.spend(size_of(*pattern));
    for (const char* name : {"additionalProperties", "items", "prefixItems"}) {
      const Json* part = find(schema, name);
      if (part == nullptr) continue;
      const SchemaSteps::Inside inside(steps_, name);
      if (part->is_object()) visit(*part);
      if (part->is_array()) visit_all(*part, name);
    }
  }

  const Json& root_;
  SchemaSteps& steps_;
  std::set<std::string> refs_;
};

}  // namespace

Result<common_chat_schema_document> read_metered_schema(std::string_view text,
                                                        OtherPatterns patterns,
                                                        SchemaBudget& budget) {
  SchemaSteps steps(budget);
  try {
    steps.spend(text.size() / 8);
    const Json schema = Json::parse(text);
    ReadingMeter(schema, steps).visit(schema);
    auto document = common_chat_schema_from_json(common_json::parse(std::string(text)));
    meter_conversion(document, patterns, steps);
    return document;
  } catch (const SchemaFault& fault) {
    return Error{fault.code, fault.message, ""};
  } catch (const std::exception& failure) {
    return invalid_argument("", failure.what());
  }
}

}  // namespace holdfast::llama
