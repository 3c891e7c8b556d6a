#include "cache/answer_keeper.h"

#include <utility>

namespace holdfast::cache {

void AnswerKeeper::begin() { static_cast<void>(begin_anew()); }

void AnswerKeeper::begin_in(tier::FileSystem& files) {
  files_ = &files;
  begin();
}

void AnswerKeeper::keep(const tier::RememberedAnswer& answer) {
  if (!write(answer) && on_missed) on_missed();
}

// What is there goes first: a disk that is full lets nothing be begun.
Result<void> AnswerKeeper::clear() {
  log_.reset();
  const auto erased = tier::AnswerLog::erase(*files_);
  begin();
  if (!erased) return erased.error();
  return {};
}

void AnswerKeeper::finish() {
  if (log_ == nullptr) begin();
}

bool AnswerKeeper::write(const tier::RememberedAnswer& answer) {
  if (log_ == nullptr && clock_.now() < again_) return false;
  if (log_ == nullptr || !log_->has_room_for(answer)) return begin_anew();  // it is among them
  if (const auto appended = log_->append(answer); !appended) {
    log_.reset();  // what follows a torn record would not be read
    note_trouble(appended.error().message);
    return false;
  }
  return true;
}

bool AnswerKeeper::begin_anew() {
  log_.reset();
  auto begun = tier::AnswerLog::begin(*files_, history_.answers());
  if (!begun) {
    note_trouble(begun.error().message);
    return false;
  }
  log_ = std::move(*begun);
  note_success();
  return true;
}

void AnswerKeeper::note_trouble(const std::string& what) {
  again_ = clock_.now() + kPauseAfterFailure;
  if (!std::exchange(in_trouble_, true) && on_trouble) on_trouble(what);
}

void AnswerKeeper::note_success() {
  if (std::exchange(in_trouble_, false) && on_trouble) on_trouble("");
}

}  // namespace holdfast::cache
