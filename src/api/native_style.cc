#include "api/native_style.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "api/generation_settings.h"
#include "api/json_fields.h"
#include "api/openai_errors.h"
#include "api/openai_objects.h"

namespace holdfast::api {
namespace {

using serve::FinishReason;

const char* stop_type(FinishReason reason) {
  switch (reason) {
    case FinishReason::kStopToken:
    case FinishReason::kBlankTail: return "eos";
    case FinishReason::kStopString: return "word";
    case FinishReason::kMaxTokens:
    case FinishReason::kContextFull: break;
  }
  return "limit";
}

const char* boolean(bool value) { return value ? "true" : "false"; }

// --- probabilities -----------------------------------------------------------------

// llama-server's stand-in for the logarithm of zero.
constexpr float kLowest = std::numeric_limits<float>::lowest();

void append_choice(ObjectWriter& object, std::string& out, const TokenChoice& choice, bool post) {
  object.integer("id", choice.token);
  object.text("token", choice.text);
  object.key("bytes");
  append_array(out, choice.text, [&](char byte) {
    append_json_number(out, std::int64_t{static_cast<unsigned char>(byte)});
  });
  if (post) {
    object.real("prob", std::exp(choice.logprob));
  } else {
    object.real("logprob", std::isfinite(choice.logprob) ? choice.logprob : kLowest);
  }
}

void append_probabilities(std::string& out, const std::vector<TokenLogprobs>& tokens, bool post) {
  append_array(out, tokens, [&](const TokenLogprobs& token) {
    ObjectWriter object(out);
    append_choice(object, out, token.chosen, post);
    object.key(post ? "top_probs" : "top_logprobs");
    append_array(out, token.top, [&](const TokenChoice& choice) {
      ObjectWriter alternative(out);
      append_choice(alternative, out, choice, post);
    });
  });
}

void append_ids(std::string& out, const std::vector<TokenLogprobs>& tokens) {
  append_array(out, tokens, [&](const TokenLogprobs& token) {
    append_json_number(out, std::int64_t{token.chosen.token});
  });
}

// --- objects -----------------------------------------------------------------------

// Those of `fields` that `json` has, under their whole paths.
std::string picked(const std::string& json, const std::vector<std::string>& fields) {
  const Json whole = Json::parse(json);
  Json result = Json::object();
  for (const std::string& field : fields) {
    const Json* value = &whole;
    for (std::size_t at = 0; value != nullptr && at <= field.size();) {
      const std::size_t end = std::min(field.find('/', at), field.size());
      const auto found = value->is_object() ? value->find(field.substr(at, end - at)) : whole.end();
      value = value->is_object() && found != value->end() ? &*found : nullptr;
      at = end + 1;
    }
    if (value != nullptr) result[field] = *value;
  }
  return json_text(result);
}

// The last token is chosen and not computed, so the slot holds one less.
std::int64_t tokens_held(const serve::Finished& finished) {
  const std::int64_t predicted = finished.timings.predicted_tokens;
  return finished.prompt_tokens + std::max<std::int64_t>(predicted - 1, 0);
}

void append_ending(ObjectWriter& object, const AnswerUnderWay& answer, std::size_t choice) {
  const ChoiceReader& reader = answer.readers[choice];
  const serve::Finished& finished = *reader.finished();
  object.raw("has_new_line", boolean(reader.reply().content.find('\n') != std::string::npos));
  object.raw("truncated", boolean(finished.reason == FinishReason::kContextFull));
  object.text("stop_type", stop_type(finished.reason));
  object.text("stopping_word", finished.stop_string);
  object.integer("tokens_cached", tokens_held(finished));
  append_timings(object.key("timings"), finished.timings);
}

// The end of a stream has neither text nor tokens: both were sent.
std::string completion(const AnswerUnderWay& answer, const NativeShape& shape, std::size_t choice,
                       bool stream) {
  const CompletionOptions& options = answer.options;
  const ChoiceReader& reader = answer.readers[choice];
  const serve::Finished& finished = *reader.finished();
  std::string out;
  {
    ObjectWriter object(out);
    object.integer("index", static_cast<std::int64_t>(choice));
    object.text("content", stream ? "" : reader.reply().content);
    object.key("tokens");
    append_ids(out, stream || !options.return_tokens ? std::vector<TokenLogprobs>{}
                                                     : reader.all_logprobs());
    object.integer("id_slot", finished.slot.value);
    object.raw("stop", "true");
    object.text("model", answer.backend->model_name);
    object.integer("tokens_predicted", finished.timings.predicted_tokens);
    object.integer("tokens_evaluated", finished.prompt_tokens);
    append_generation_settings(object.key("generation_settings"), options,
                               answer.backend->defaults.companion, shape.end_tokens);
    object.text("prompt", answer.echoes[choice]);
    append_ending(object, answer, choice);
    if (!stream && options.logprobs()) {
      append_probabilities(object.key("completion_probabilities"), reader.all_logprobs(),
                           options.sampling.post_sampling_probs);
    }
    const std::string receipts = all_finished(answer) ? receipts_json(answer) : "";
    if (!receipts.empty()) object.raw("cache_receipt", receipts);
  }
  return shape.response_fields.empty() ? out : picked(out, shape.response_fields);
}

// --- streams -----------------------------------------------------------------------

class NativeStyle final : public AnswerStyle {
 public:
  NativeStyle(AnswerUnderWay& answer, NativeShape shape)
      : answer_(answer), shape_(std::move(shape)) {}

  std::string whole() override {
    if (answer_.readers.size() == 1) return completion(answer_, shape_, 0, false);
    std::string out = "[";
    for (std::size_t i = 0; i < answer_.readers.size(); ++i) {
      if (i > 0) out += ',';
      out += completion(answer_, shape_, i, false);
    }
    return out + "]";
  }

  void begin(std::string&) override {}
  void on_progress(std::size_t choice, const serve::PromptProgress& progress,
                   std::string& out) override {
    std::string event;
    {
      ObjectWriter object(event);
      open(object, choice, "", {});
      if (answer_.options.timings_per_token) {
        append_timings(object.key("timings"), progress.timings());
      }
      append_progress(object.key("prompt_progress"), progress);
    }
    append_event(out, event);
  }

  // An event for each token. What a token adds to the text is its own only where the text goes on
  // with it: a part of a character, or what may become a stop string, comes with a later one.
  void on_deltas(std::size_t choice, const Deltas& deltas, const serve::Timings* timings,
                 std::string& out) override {
    std::string text;
    for (const engine::ReplyDelta& delta : deltas) text += delta.content;
    const auto tokens = answer_.readers[choice].take_new_logprobs();
    std::string_view rest = text;
    for (std::size_t i = 0; i + 1 < tokens.size(); ++i) {
      const std::string& own = tokens[i].chosen.text;
      const bool shown = rest.starts_with(own) && ends_character(rest, own.size());
      append_event(out, partial(choice, shown ? own : "", {tokens[i]}, timings));
      if (shown) rest.remove_prefix(own.size());
    }
    if (tokens.empty() && rest.empty()) return;
    const auto last = tokens.empty() ? tokens : std::vector<TokenLogprobs>{tokens.back()};
    append_event(out, partial(choice, rest, last, timings));
  }

  void on_finished(std::size_t choice, std::string& out) override {
    append_event(out, completion(answer_, shape_, choice, true));
  }
  void keep_alive(std::string& out) override { out += ": keep-alive\n\n"; }
  void end(std::string&) override {}
  void fail(const Error& error, std::string& out) override { append_event(out, error_json(error)); }

 private:
  static bool ends_character(std::string_view text, std::size_t at) {
    return at >= text.size() || (static_cast<unsigned char>(text[at]) & 0xC0U) != 0x80U;
  }

  void open(ObjectWriter& object, std::size_t choice, std::string_view text,
            const std::vector<TokenLogprobs>& tokens) const {
    object.integer("index", static_cast<std::int64_t>(choice));
    object.text("content", text);
    append_ids(object.key("tokens"), tokens);
    object.raw("stop", "false");
  }

  [[nodiscard]] std::string partial(std::size_t choice, std::string_view text,
                                    const std::vector<TokenLogprobs>& tokens,
                                    const serve::Timings* timings) const {
    std::string out;
    {
      ObjectWriter object(out);
      open(object, choice, text, tokens);
      if (timings != nullptr) {
        object.integer("tokens_predicted", timings->predicted_tokens);
        object.integer("tokens_evaluated", timings->cached_tokens + timings->prompt_tokens);
        if (answer_.options.timings_per_token) append_timings(object.key("timings"), *timings);
      }
      if (answer_.options.logprobs() && !tokens.empty()) {
        append_probabilities(object.key("completion_probabilities"), tokens,
                             answer_.options.sampling.post_sampling_probs);
      }
    }
    return out;
  }

  AnswerUnderWay& answer_;
  const NativeShape shape_;
};

}  // namespace

std::string native_completion(const AnswerUnderWay& answer, const NativeShape& shape,
                              std::size_t choice) {
  return completion(answer, shape, choice, false);
}

std::unique_ptr<AnswerStyle> make_native_style(AnswerUnderWay& answer, NativeShape shape) {
  return std::make_unique<NativeStyle>(answer, std::move(shape));
}

}  // namespace holdfast::api
