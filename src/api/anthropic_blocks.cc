#include "api/anthropic_blocks.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "api/openai_fields.h"

namespace holdfast::api {
namespace {

std::string joined(const std::vector<std::string>& texts) {
  std::string all;
  for (const std::string& text : texts) (all += all.empty() ? "" : "\n") += text;
  return all;
}

std::string with_title(const JsonFields& block, std::string text) {
  const std::string title = block.text("title").value_or("");
  return title.empty() ? text : title + "\n" + std::move(text);
}

// Results of a client's own search; "source" says where it was found.
std::string read_search_result(const JsonFields& block) {
  const std::string source = block.text("source").value_or("");
  const std::string text = joined(read_texts(block, "content"));
  return with_title(block, source.empty() ? text : source + "\n" + text);
}

// {"type":"text","data":...} or {"type":"content","content":...}; PDFs are files.
std::optional<std::string> read_document(const JsonFields& block) {
  const auto source = block.object("source");
  if (!source) {
    block.fail("source", "is required");
    return std::nullopt;
  }
  const std::string type = required_text(*source, "type");
  if (type == "text") return with_title(block, required_text(*source, "data"));
  if (type == "content") return with_title(block, joined(read_texts(*source, "content")));
  source->fail("type", "is not a text source; this server reads text only");
  return std::nullopt;
}

void add_block(const JsonFields& block, std::vector<std::string>& texts) {
  auto text = read_text_block(block);
  if (text && !text->empty()) texts.push_back(std::move(*text));
}

}  // namespace

std::optional<std::string> read_text_block(const JsonFields& block) {
  const std::string type = required_text(block, "type");
  if (type == "text") return required_text(block, "text");
  if (type == "search_result") return read_search_result(block);
  if (type == "document") return read_document(block);
  if (type == "tool_reference") return required_text(block, "tool_name");
  block.fail("type", type == "image" ? "is an image; this server reads text only"
                                     : "is not a kind of text; this server reads text only");
  return std::nullopt;
}

std::vector<std::string> read_texts(const JsonFields& fields, std::string_view name) {
  std::vector<std::string> texts;
  const Json* value = fields.find(name);
  if (value == nullptr || !(value->is_string() || value->is_array())) {
    fields.fail(name, "must be a string or an array of blocks");
  } else if (value->is_string()) {
    if (!value->get_ref<const std::string&>().empty())
      texts.push_back(value->get_ref<const std::string&>());
  } else {
    for (std::size_t i = 0; i < value->size() && fields.error().empty(); ++i)
      if (const auto block = fields.element(*value, name, i)) add_block(*block, texts);
  }
  return texts;
}

}  // namespace holdfast::api
