#include "api/responses_style.h"

#include <algorithm>
#include <utility>

#include "api/generation.h"
#include "api/responses_store.h"

namespace holdfast::api {
namespace {

ResponseHead head_of(const AnswerUnderWay& answer, const ResponsesRequest& request) {
  const std::string& asked = answer.options.model;
  return {answer.id, answer.created, asked.empty() ? answer.backend->model_name : asked,
          request.echo_json, answer.readers.front().answer_id()};
}

// The deltas that make up a whole reply.
AnswerStyle::Deltas deltas_of(const engine::Reply& reply) {
  AnswerStyle::Deltas deltas(2 + reply.tool_calls.size());
  deltas[0].reasoning = reply.reasoning;
  deltas[1].content = reply.content;
  for (std::size_t i = 0; i < reply.tool_calls.size(); ++i) {
    deltas[2 + i].tool_index = i;
    deltas[2 + i].tool = reply.tool_calls[i];
  }
  return deltas;
}

std::vector<StoredItem> stored_items(const std::vector<OutputItem>& output) {
  std::vector<StoredItem> items;
  for (const OutputItem& item : output) {
    items.push_back({item.id, ""});
    append_output_item(items.back().json, item);
  }
  return items;
}

// The conversation with the items that were just written.
std::string with_output(std::string items_json, const std::vector<StoredItem>& output) {
  items_json.pop_back();  // the closing bracket
  for (const StoredItem& item : output) {
    if (items_json.size() > 1) items_json += ',';
    items_json += item.json;
  }
  return items_json + ']';
}

}  // namespace

ResponsesStyle::ResponsesStyle(const AnswerUnderWay& answer, const ResponsesRequest& request,
                               std::string tenant)
    : answer_(answer),
      tenant_(std::move(tenant)),
      items_json_(request.items_json),
      store_(request.store),
      events_(head_of(answer, request), request.custom_tools, &new_id) {}

// --- the end ---------------------------------------------------------------------

bool ResponsesStyle::complete() const {
  const serve::FinishReason reason = reader().finished()->reason;
  return reason != serve::FinishReason::kMaxTokens && reason != serve::FinishReason::kContextFull;
}

// Thoughts are counted by their text: what the model sampled besides (marks, white space)
// belongs to nobody.
ResponseUsage ResponsesStyle::usage() const {
  const Usage total = total_usage(answer_);
  const std::string& thoughts = reader().reply().reasoning;
  const TokenPos thought = length_of(answer_.backend->text->tokenize(thoughts, false, false));
  return {total.prompt_tokens, total.cached_tokens, total.completion_tokens,
          std::min(thought, total.completion_tokens)};
}

ResponseState ResponsesStyle::final_state(const std::string& receipt) const {
  ResponseState state;
  state.status = complete() ? "completed" : "incomplete";
  state.output = &events_.items();
  state.usage = usage();
  state.cache_receipt = receipt;
  return state;
}

void ResponsesStyle::store(const std::string& response) const {
  if (!store_) return;
  std::vector<StoredItem> output = stored_items(events_.items());
  std::string conversation = with_output(items_json_, output);
  answer_.backend->responses->put(
      {answer_.id, tenant_, std::move(conversation), response, std::move(output)});
}

// --- whole answers -----------------------------------------------------------------

std::string ResponsesStyle::whole() {
  std::string unseen;
  on_deltas(0, deltas_of(reader().reply()), nullptr, unseen);
  on_finished(0, unseen);
  const std::string receipt = receipts_json(answer_);
  std::string response = response_json(events_.head(), final_state(receipt));
  store(response);
  return response;
}

// --- streams -------------------------------------------------------------------------

void ResponsesStyle::on_progress(std::size_t, const serve::PromptProgress& progress,
                                 std::string& out) {
  const serve::Timings timings = progress.timings();
  events_.in_progress(progress, shows_timings() ? &timings : nullptr, out);
}

void ResponsesStyle::on_deltas(std::size_t, const Deltas& deltas, const serve::Timings* timings,
                               std::string& out) {
  for (const engine::ReplyDelta& delta : deltas)
    events_.add(delta, out, shows_timings() ? timings : nullptr);
}

void ResponsesStyle::on_finished(std::size_t, std::string& out) {
  events_.close_item(complete() ? "completed" : "incomplete", out);
}

void ResponsesStyle::end(std::string& out) {
  const std::string receipt = receipts_json(answer_);
  const ResponseState state = final_state(receipt);
  events_.close(state, out, shows_timings() ? &reader().finished()->timings : nullptr);
  if (store_) store(response_json(events_.head(), state));
}

void ResponsesStyle::fail(const Error& error, std::string& out) {
  events_.close_item("incomplete", out);
  const ResponseState failed{.status = "failed", .output = &events_.items(), .error = error};
  events_.close(failed, out);
}

}  // namespace holdfast::api
