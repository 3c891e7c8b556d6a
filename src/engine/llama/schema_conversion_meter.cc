#include "engine/llama/schema_conversion_meter.h"

#include <set>
#include <unordered_map>
#include <unordered_set>

#include "engine/schema_pattern.h"

namespace holdfast::llama {

namespace {

using Kind = common_chat_schema::node_kind;

template <typename T>
const T& as(const common_chat_schema& schema) {
  return static_cast<const T&>(schema);
}

// A rule's name as a grammar has it.
std::string sanitized(const std::string& name) {
  std::string clean;
  for (const char c : name) {
    const bool word = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-';
    if (word || clean.empty() || clean.back() != '\1') clean += word ? c : '\1';
  }
  return clean;
}

// Walks a schema as common_chat_schema_converter does, with the names that it makes.
class ConversionMeter {
 public:
  ConversionMeter(OtherPatterns patterns, SchemaSteps& steps)
      : patterns_(patterns), steps_(steps) {}

  void visit(const common_chat_schema& schema, const std::string& name) {
    steps_.spend(8);
    switch (schema.kind()) {
      case Kind::KIND_REF: return visit_ref(as<common_chat_schema_ref>(schema), name);
      case Kind::KIND_ANY_OF: return visit_any_of(as<common_chat_schema_any_of>(schema), name);
      case Kind::KIND_ALL_OF: return visit_all_of(as<common_chat_schema_all_of>(schema), name);
      case Kind::KIND_CONST:
        return add_rule(name, text_of(as<common_chat_schema_const>(schema).value));
      case Kind::KIND_ENUM: return visit_enum(as<common_chat_schema_enum>(schema), name);
      case Kind::KIND_OBJECT: return visit_object(as<common_chat_schema_object>(schema), name);
      case Kind::KIND_TUPLE: return visit_tuple(as<common_chat_schema_tuple>(schema), name);
      case Kind::KIND_ARRAY: return visit_array(as<common_chat_schema_array>(schema), name);
      case Kind::KIND_STRING: return visit_string(as<common_chat_schema_string>(schema), name);
      case Kind::KIND_INTEGER: return visit_integer(as<common_chat_schema_integer>(schema), name);
      default: return add_rule(name, 32);
    }
  }

 private:
  struct Property {
    std::string name;
    const common_chat_schema* schema;
    bool required;
  };

  static std::size_t text_of(const common_json& value) { return 16 + 4 * value.dump().size(); }

  // A rule with that many bytes. Equal names are told apart by numbers, which the library tries one
  // after the other.
  void add_rule(const std::string& name, std::size_t bytes) {
    std::size_t& alike = names_[sanitized(name)];
    steps_.spend(8 + 2 * name.size() + bytes / 4 + alike * (1 + name.size() / 16));
    ++alike;
    rules_bytes_ += name.size() + bytes + 64;
  }

  static std::string below(const std::string& name, const std::string& part) {
    return name.empty() ? part : name + "-" + part;
  }

  void visit_ref(const common_chat_schema_ref& ref, const std::string& name) {
    add_rule(name, ref.ref.size());
    steps_.spend(2 * ref.ref.size());
    if (ref.target == nullptr || !refs_.insert(ref.ref).second) return;
    const SchemaSteps::Inside inside(steps_, ref.ref);
    visit(*ref.target, "ref" + ref.ref);
  }

  void visit_any_of(const common_chat_schema_any_of& schema, const std::string& name) {
    std::size_t index = 0;
    const SchemaSteps::Inside inside(steps_, "anyOf");
    for (const auto& child : schema.children) {
      visit(*child, below(name, std::to_string(index++)));
    }
    add_rule(name, schema.children.size() * (name.size() + 8));
  }

  void visit_enum(const common_chat_schema_enum& schema, const std::string& name) {
    std::size_t bytes = 0;
    for (const common_json& value : schema.values) bytes += text_of(value);
    add_rule(name, bytes);
  }

  // The parts' properties become one object. References are followed each time.
  void visit_all_of(const common_chat_schema_all_of& schema, const std::string& name) {
    std::vector<Property> properties;
    for (const auto& child : schema.children) {
      if (child->kind() == Kind::KIND_ANY_OF) {
        for (const auto& one : as<common_chat_schema_any_of>(*child).children) {
          add_component(*one, false, properties);
        }
      } else {
        add_component(*child, true, properties);
      }
    }
    visit_properties(properties, nullptr, name);
  }

  void add_component(const common_chat_schema& schema, bool required,
                     std::vector<Property>& properties) {
    const SchemaSteps::Inside inside(steps_, "allOf");
    steps_.spend(4);
    if (schema.kind() == Kind::KIND_REF) {
      const auto* target = as<common_chat_schema_ref>(schema).target;
      if (target != nullptr) add_component(*target, required, properties);
    } else if (schema.kind() == Kind::KIND_OBJECT) {
      for (const auto& one : as<common_chat_schema_object>(schema).properties) {
        steps_.spend(4);
        properties.push_back({one.name, one.schema.get(), required});
      }
    } else if (schema.kind() == Kind::KIND_ENUM) {
      visit_enum(as<common_chat_schema_enum>(schema), "enum");
    }
  }

  void visit_object(const common_chat_schema_object& object, const std::string& name) {
    std::vector<Property> properties;
    for (const auto& one : object.properties) {
      properties.push_back({one.name, one.schema.get(), one.required});
    }
    visit_properties(properties, object.additional_properties.get(), name);
  }

  void visit_properties(const std::vector<Property>& properties,
                        const common_chat_schema* additional, const std::string& name) {
    std::size_t optional = additional != nullptr ? 1 : 0;
    std::size_t names_bytes = 0;
    for (const Property& one : properties) {
      const SchemaSteps::Inside inside(steps_, one.name);
      visit(*one.schema, below(name, one.name));
      add_rule(below(name, one.name) + "-kv", 2 * one.name.size() + name.size() + 32);
      names_bytes += below(name, one.name).size() + 8;
      if (!one.required) ++optional;
    }
    if (additional != nullptr) visit_additional(properties, *additional, name);
    spend_on_optional(optional, names_bytes / (properties.size() + 1));
    add_rule(name, names_bytes * 2 + 64);
  }

  // Any other name: the grammar of all strings but these is a tree of their characters.
  void visit_additional(const std::vector<Property>& properties,
                        const common_chat_schema& additional, const std::string& name) {
    std::size_t characters = 0;
    for (const Property& one : properties) characters += one.name.size();
    const SchemaSteps::Inside inside(steps_, "additionalProperties");
    if (additional.kind() != Kind::KIND_ANY) visit(additional, below(name, "additional-value"));
    add_rule(below(name, "additional-k"), characters * 32);
    add_rule(below(name, "additional-kv"), 64 + name.size());
  }

  // For each of n optional properties the library writes a rule for each later one, with a copy of
  // the list of those after it: n^3/6 copies of a name, n^2/2 names of rules.
  void spend_on_optional(std::size_t n, std::size_t name_bytes) {
    steps_.spend(n * n / 2 * (4 + 2 * name_bytes) + n * n / 6 * n);
  }

  void visit_tuple(const common_chat_schema_tuple& tuple, const std::string& name) {
    std::size_t index = 0;
    const SchemaSteps::Inside inside(steps_, "items");
    for (const auto& item : tuple.items)
      visit(*item, below(name, "tuple-" + std::to_string(index++)));
    add_rule(name, tuple.items.size() * (name.size() + 24));
  }

  void visit_array(const common_chat_schema_array& array, const std::string& name) {
    if (array.max_items >= 0 && array.min_items > array.max_items) {
      steps_.fail("minItems " + std::to_string(array.min_items) + " is more than maxItems " +
                  std::to_string(array.max_items));
    }
    const SchemaSteps::Inside inside(steps_, "items");
    visit(*array.items, below(name, "item"));
    add_rule(name, 2 * name.size() + 64);
  }

  void visit_string(const common_chat_schema_string& string, const std::string& name) {
    if (string.max_length >= 0 && string.min_length > string.max_length) {
      steps_.fail("minLength " + std::to_string(string.min_length) + " is more than maxLength " +
                  std::to_string(string.max_length));
    }
    if (!string.pattern.empty()) visit_pattern(string.pattern, name);
    add_rule(name, 64);
  }

  // The library keeps a copy of all rules while it reads a pattern.
  void visit_pattern(const std::string& pattern, const std::string& name) {
    const auto why_not = engine::why_not_convertible(pattern);
    const bool refused = patterns_ == OtherPatterns::kRefused;
    if (why_not && (refused || pattern.size() > 2048)) {
      steps_.fail("the pattern '" + pattern.substr(0, 200) + "' cannot be used: " + *why_not);
    }
    steps_.spend(rules_bytes_ / 16 + pattern.size() * 16 + name.size() * pattern.size() / 4);
  }

  void visit_integer(const common_chat_schema_integer& integer, const std::string& name) {
    if (integer.minimum > integer.maximum) {
      steps_.fail("the minimum " + std::to_string(integer.minimum) + " is more than the maximum " +
                  std::to_string(integer.maximum));
    }
    add_rule(name, 2048);
  }

  OtherPatterns patterns_;
  SchemaSteps& steps_;
  std::unordered_map<std::string, std::size_t> names_;
  std::set<std::string> refs_;
  std::size_t rules_bytes_ = 0;
};

// The library asks what types a value may have, and follows a reference each time.
class TypesMeter {
 public:
  explicit TypesMeter(SchemaSteps& steps) : steps_(steps) {}

  void visit(const common_chat_schema& schema) {
    steps_.spend(4);
    if (schema.kind() == Kind::KIND_REF) {
      const auto* target = as<common_chat_schema_ref>(schema).target;
      if (target == nullptr || !typed_.insert(target).second) return;
      const SchemaSteps::Inside inside(steps_, as<common_chat_schema_ref>(schema).ref);
      visit(*target);
      typed_.erase(target);
    } else if (schema.kind() == Kind::KIND_ANY_OF || schema.kind() == Kind::KIND_ALL_OF) {
      const auto& children = schema.kind() == Kind::KIND_ANY_OF
                                 ? as<common_chat_schema_any_of>(schema).children
                                 : as<common_chat_schema_all_of>(schema).children;
      const SchemaSteps::Inside inside(steps_, "type");
      for (const auto& child : children) visit(*child);
    }
  }

 private:
  SchemaSteps& steps_;
  std::unordered_set<const common_chat_schema*> typed_;
};

}  // namespace

void meter_conversion(const common_chat_schema_document& document, OtherPatterns patterns,
                      SchemaSteps& steps) {
  ConversionMeter(patterns, steps).visit(*document.root, "");
  TypesMeter types(steps);
  types.visit(*document.root);
  if (document.root->kind() != Kind::KIND_OBJECT) return;
  for (const auto& property : as<common_chat_schema_object>(*document.root).properties) {
    types.visit(*property.schema);
  }
}

}  // namespace holdfast::llama
