// TextAssembler turns the bytes of tokens into text that may be sent.
//
//   held back:  the start of a character whose other bytes are still to come,
//               and any tail that may yet become a stop string
//
// Invariants, verified by the model test:
//   TEXT-1  what was returned, joined, never contains a stop string
//   TEXT-2  without stop strings, joining everything (flush included) gives the input
//   TEXT-3  a returned piece ends between characters, unless the bytes are not UTF-8
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::serve {

class TextAssembler {
 public:
  explicit TextAssembler(std::vector<std::string> stops);

  struct Piece {
    std::string text;                 // may be sent now
    std::optional<std::string> stop;  // the stop string that was reached
  };

  // After a stop was reported nothing more is returned.
  [[nodiscard]] Piece feed(std::string_view bytes);
  // What was held back, at the end of a generation that met no stop.
  [[nodiscard]] std::string flush();

 private:
  struct StopMatch {
    std::size_t position;
    std::size_t index;
  };
  [[nodiscard]] std::optional<StopMatch> find_stop() const;
  [[nodiscard]] std::size_t possible_stop_tail() const;

  std::vector<std::string> stops_;
  std::string pending_;
  bool stopped_ = false;
};

// Bytes at the end of `text` that begin a character but do not complete it.
[[nodiscard]] std::size_t incomplete_utf8_tail(std::string_view text);

}  // namespace holdfast::serve
