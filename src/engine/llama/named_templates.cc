#include "engine/llama/named_templates.h"

#include <llama.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <vector>

namespace holdfast::llama {
namespace {

// What stands around the parts of a message, and what opens the answer.
struct PlainTemplate {
  std::string_view name;
  const char* before_role;
  const char* after_role;
  const char* after_content;
  bool trims;
};

constexpr PlainTemplate kPlain[] = {
    {"llama3", "<|start_header_id|>", "<|end_header_id|>\\n\\n", "<|eot_id|>", true},
    {"llama4", "<|header_start|>", "<|header_end|>\\n\\n", "<|eot|>", true},
    {"phi3", "<|", "|>\\n", "<|end|>\\n", false},
    {"phi4", "<|im_start|>", "<|im_sep|>", "<|im_end|>", false},
    {"zephyr", "<|", "|>\\n", "<|endoftext|>\\n", false},
};

struct OtherTemplate {
  std::string_view name;
  std::string_view jinja;
};

constexpr OtherTemplate kOther[] = {
    {"chatml", "chatml"},  // llama-common has this one
    {"command-r",
     "{%- set names = {'system': 'SYSTEM', 'user': 'USER', 'assistant': 'CHATBOT'} -%}"
     "{%- for message in messages if message.role in names -%}"
     "{{- '<|START_OF_TURN_TOKEN|><|' + names[message.role] + '_TOKEN|>' + (message.content | "
     "trim) "
     "+ '<|END_OF_TURN_TOKEN|>' -}}{%- endfor -%}"
     "{%- if add_generation_prompt -%}{{- '<|START_OF_TURN_TOKEN|><|CHATBOT_TOKEN|>' -}}"
     "{%- endif -%}"},
    {"gemma",
     "{%- set kept = namespace(system='') -%}"
     "{%- for message in messages -%}"
     "{%- if message.role == 'system' -%}"
     "{%- set kept.system = kept.system + (message.content | trim) -%}"
     "{%- else -%}"
     "{{- '<start_of_turn>' + ('model' if message.role == 'assistant' else message.role) + '\\n' "
     "-}}"
     "{%- if kept.system and message.role != 'assistant' -%}"
     "{{- kept.system + '\\n\\n' -}}{%- set kept.system = '' -%}"
     "{%- endif -%}"
     "{{- (message.content | trim) + '<end_of_turn>\\n' -}}"
     "{%- endif -%}{%- endfor -%}"
     "{%- if add_generation_prompt -%}{{- '<start_of_turn>model\\n' -}}{%- endif -%}"},
};

std::string jinja_of(const PlainTemplate& plain) {
  const std::string content = plain.trims ? "(message.content | trim)" : "message.content";
  const auto quoted = [](const std::string& text) { return "'" + text + "'"; };
  return "{%- for message in messages -%}{{- " + quoted(plain.before_role) + " + message.role + " +
         quoted(plain.after_role) + " + " + content + " + " + quoted(plain.after_content) +
         " -}}{%- endfor -%}{%- if add_generation_prompt -%}{{- " +
         quoted(std::string(plain.before_role) + "assistant" + plain.after_role) +
         " -}}{%- endif -%}";
}

bool is_known_to_library(std::string_view given) {
  const int count = llama_chat_builtin_templates(nullptr, 0);
  std::vector<const char*> names(static_cast<std::size_t>(count));
  (void)llama_chat_builtin_templates(names.data(), names.size());
  return std::ranges::any_of(names, [&](const char* name) { return given == name; });
}

std::string known_names() {
  std::string names;
  for (const PlainTemplate& plain : kPlain) (names += plain.name) += ", ";
  for (const OtherTemplate& other : kOther) (names += other.name) += ", ";
  names.resize(names.size() - 2);
  return names;
}

}  // namespace

Result<std::string> template_named(std::string_view given) {
  const auto plain = std::ranges::find(kPlain, given, &PlainTemplate::name);
  if (plain != std::end(kPlain)) return jinja_of(*plain);
  const auto other = std::ranges::find(kOther, given, &OtherTemplate::name);
  if (other != std::end(kOther)) return std::string(other->jinja);
  if (!is_known_to_library(given)) return std::string(given);
  return invalid_argument("--chat-template",
                          "The template '" + std::string(given) +
                              "' is not known by its name; these are: " + known_names() +
                              ". Give the template itself, with --chat-template-file FILE.");
}

}  // namespace holdfast::llama
