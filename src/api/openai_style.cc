#include "api/openai_style.h"

#include "api/native_style.h"
#include "api/openai_chunks.h"
#include "api/openai_errors.h"
#include "api/openai_response.h"

namespace holdfast::api {

namespace {

ReplyHead head_of(const AnswerUnderWay& answer) {
  return {answer.id, answer.created, answer.backend->model_name, answer.backend->fingerprint};
}

const serve::Timings& timings_of_first(const AnswerUnderWay& answer) {
  return answer.readers.front().finished()->timings;
}

// What the two have in common. Their chunks differ.
class CompletionStyle : public AnswerStyle {
 public:
  CompletionStyle(AnswerUnderWay& answer, ChunkHead head)
      : answer_(answer), head_(std::move(head)), opened_(answer.readers.size(), false) {}

  void begin(std::string&) override {}
  void on_progress(std::size_t choice, const serve::PromptProgress& progress,
                   std::string& out) override {
    append_event(out, progress_chunk(static_cast<int>(choice), progress));
  }
  void on_deltas(std::size_t choice, const Deltas& deltas, const serve::Timings* timings,
                 std::string& out) override {
    open_once(choice, out);
    for (const engine::ReplyDelta& delta : deltas) {
      const auto logprobs = answer_.readers[choice].take_new_logprobs();
      ChunkExtras extras;
      if (answer_.options.logprobs() && !logprobs.empty()) extras.logprobs = &logprobs;
      if (answer_.options.timings_per_token) extras.timings = timings;
      append_event(out, delta_chunk(choice, delta, extras));
    }
  }
  void on_finished(std::size_t choice, std::string& out) override {
    const bool last = !answer_.options.include_usage && all_finished(answer_);
    append_event(out, finish_chunk(choice, last ? receipts_json(answer_) : ""));
  }
  void keep_alive(std::string& out) override { out += ": keep-alive\n\n"; }
  void end(std::string& out) override {
    if (answer_.options.include_usage) {
      append_event(out, usage_chunk(head_, total_usage(answer_), &timings_of_first(answer_),
                                    receipts_json(answer_)));
    }
    append_event(out, "[DONE]");
  }
  void fail(const Error& error, std::string& out) override { append_event(out, error_json(error)); }

 protected:
  virtual void open(std::size_t choice, std::string& out) = 0;
  virtual std::string progress_chunk(int index, const serve::PromptProgress& progress) = 0;
  virtual std::string delta_chunk(std::size_t choice, const engine::ReplyDelta& delta,
                                  ChunkExtras extras) = 0;
  virtual std::string finish_chunk(std::size_t choice, std::string_view receipts) = 0;

  [[nodiscard]] const AnswerUnderWay& answer() const { return answer_; }
  [[nodiscard]] const ChunkHead& head() const { return head_; }
  [[nodiscard]] std::string_view finish_reason(std::size_t choice) const {
    const ChoiceReader& reader = answer_.readers[choice];
    return finish_reason_name(reader.finished()->reason, !reader.reply().tool_calls.empty());
  }
  // With "__verbose", the first choice as /completion would answer it, where the client asked for
  // it.
  [[nodiscard]] std::string with_native(std::string json) const {
    if (!answer_.options.verbose) return json;
    json.pop_back();  // the closing brace
    return json + ",\"__verbose\":" + native_completion(answer_, {}, 0) + "}";
  }
  [[nodiscard]] std::optional<std::vector<TokenLogprobs>> logprobs_of_all(
      std::size_t choice) const {
    if (!answer_.options.logprobs()) return std::nullopt;
    return answer_.readers[choice].all_logprobs();
  }

 private:
  void open_once(std::size_t choice, std::string& out) {
    if (opened_[choice]) return;
    opened_[choice] = true;
    open(choice, out);
  }

  AnswerUnderWay& answer_;
  const ChunkHead head_;
  std::vector<bool> opened_;
};

class ChatStyle final : public CompletionStyle {
 public:
  explicit ChatStyle(AnswerUnderWay& answer)
      : CompletionStyle(answer, ChunkHead::chat(head_of(answer))) {}

  std::string whole() override {
    std::vector<ChatChoice> choices;
    for (std::size_t i = 0; i < answer().readers.size(); ++i) {
      const ChoiceReader& reader = answer().readers[i];
      choices.push_back(
          {static_cast<int>(i), reader.reply(), reader.finished()->reason, logprobs_of_all(i)});
    }
    return with_native(chat_completion(head_of(answer()), choices, total_usage(answer()),
                                       timings_of_first(answer()), receipts_json(answer())));
  }

 private:
  void open(std::size_t choice, std::string& out) override {
    append_event(out, chat_role_chunk(head(), static_cast<int>(choice)));
  }
  std::string progress_chunk(int index, const serve::PromptProgress& progress) override {
    return chat_progress_chunk(head(), index, progress, answer().options.timings_per_token);
  }
  std::string delta_chunk(std::size_t choice, const engine::ReplyDelta& delta,
                          ChunkExtras extras) override {
    return chat_delta_chunk(head(), static_cast<int>(choice), delta, extras);
  }
  std::string finish_chunk(std::size_t choice, std::string_view receipts) override {
    const serve::Timings* timings = &answer().readers[choice].finished()->timings;
    return chat_finish_chunk(head(), static_cast<int>(choice), finish_reason(choice), timings,
                             receipts);
  }
};

class TextStyle final : public CompletionStyle {
 public:
  explicit TextStyle(AnswerUnderWay& answer)
      : CompletionStyle(answer, ChunkHead::text(head_of(answer))),
        characters_(answer.readers.size(), 0) {}

  std::string whole() override {
    std::vector<TextChoice> choices;
    for (std::size_t i = 0; i < answer().readers.size(); ++i) {
      const ChoiceReader& reader = answer().readers[i];
      const std::string& echo = answer().echoes[i];
      choices.push_back({static_cast<int>(i), echo + reader.reply().content, text_characters(echo),
                         reader.finished()->reason, logprobs_of_all(i)});
    }
    return with_native(text_completion(head_of(answer()), choices, total_usage(answer()),
                                       timings_of_first(answer()), receipts_json(answer())));
  }

 private:
  void open(std::size_t choice, std::string& out) override {
    const std::string& echo = answer().echoes[choice];
    if (echo.empty()) return;
    append_event(out, text_delta_chunk(head(), static_cast<int>(choice), echo));
    characters_[choice] = text_characters(echo);
  }
  std::string progress_chunk(int index, const serve::PromptProgress& progress) override {
    return text_progress_chunk(head(), index, progress, answer().options.timings_per_token);
  }
  std::string delta_chunk(std::size_t choice, const engine::ReplyDelta& delta,
                          ChunkExtras extras) override {
    extras.text_offset = characters_[choice];
    characters_[choice] += text_characters(delta.content);
    return text_delta_chunk(head(), static_cast<int>(choice), delta.content, extras);
  }
  std::string finish_chunk(std::size_t choice, std::string_view receipts) override {
    const serve::Timings* timings = &answer().readers[choice].finished()->timings;
    return text_finish_chunk(head(), static_cast<int>(choice), finish_reason(choice), timings,
                             receipts);
  }

  std::vector<std::size_t> characters_;  // of each choice, sent so far
};

}  // namespace

std::unique_ptr<AnswerStyle> make_chat_style(AnswerUnderWay& answer) {
  return std::make_unique<ChatStyle>(answer);
}

std::unique_ptr<AnswerStyle> make_text_style(AnswerUnderWay& answer) {
  return std::make_unique<TextStyle>(answer);
}

}  // namespace holdfast::api
