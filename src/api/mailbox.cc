#include "api/mailbox.h"

#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <iterator>
#include <utility>

namespace holdfast::api {

namespace asio = boost::asio;

class Mailbox::Sink final : public serve::EventSink {
 public:
  Sink(std::shared_ptr<Mailbox> mailbox, std::size_t choice, EndsInCall ends_in_call)
      : mailbox_(std::move(mailbox)), choice_(choice), ends_in_call_(std::move(ends_in_call)) {}
  void on_event(serve::Event event) override { mailbox_->put({choice_, std::move(event)}); }
  bool ends_in_call(const std::string& text) const override {
    return ends_in_call_ && ends_in_call_(text);
  }

 private:
  std::shared_ptr<Mailbox> mailbox_;
  std::size_t choice_;
  const EndsInCall ends_in_call_;
};

Mailbox::Mailbox(asio::any_io_executor executor) : executor_(executor), bell_(executor) {}

std::shared_ptr<serve::EventSink> Mailbox::sink_for(std::size_t choice, EndsInCall ends_in_call) {
  return std::make_shared<Sink>(shared_from_this(), choice, std::move(ends_in_call));
}

void Mailbox::put(Letter letter) {
  {
    const MutexLock lock(mutex_);
    if (!join_to_last(letter)) letters_.push_back(std::move(letter));
    if (std::exchange(rung_, true)) return;  // the taker has been called already
  }
  asio::post(executor_, [self = shared_from_this()] { self->bell_.cancel(); });
}

// More text of the same choice, while the taker is busy: one letter serves.
bool Mailbox::join_to_last(Letter& letter) {
  if (letters_.empty() || letters_.back().choice != letter.choice) return false;
  auto* last = std::get_if<serve::TextDelta>(&letters_.back().event);
  auto* more = std::get_if<serve::TextDelta>(&letter.event);
  if (last == nullptr || more == nullptr) return false;
  last->text += more->text;
  last->timings = more->timings;
  last->tokens.insert(last->tokens.end(), std::make_move_iterator(more->tokens.begin()),
                      std::make_move_iterator(more->tokens.end()));
  return true;
}

std::vector<Mailbox::Letter> Mailbox::empty_out() {
  const MutexLock lock(mutex_);
  rung_ = false;
  return std::exchange(letters_, {});
}

// The bell is rung on this thread only, so a letter that comes after the look
// finds the wait begun. A late ring, for letters already taken, is slept over.
asio::awaitable<std::vector<Mailbox::Letter>> Mailbox::take(std::chrono::milliseconds patience) {
  const auto deadline = std::chrono::steady_clock::now() + patience;
  for (;;) {
    auto letters = empty_out();
    if (!letters.empty() || std::chrono::steady_clock::now() >= deadline) co_return letters;
    bell_.expires_at(deadline);
    boost::system::error_code rung_or_late;
    co_await bell_.async_wait(asio::redirect_error(asio::use_awaitable, rung_or_late));
  }
}

}  // namespace holdfast::api
