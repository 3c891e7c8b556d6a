#include "cache/folder_survey.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "cache/space_facts.h"

namespace holdfast::cache {

namespace {

constexpr std::size_t kLinesMax = 4;

// As it comes back from a folder, where long texts are cut.
Facts facts_as_noted(const tier::SpaceNote& note) {
  const auto noted = tier::parse_note(tier::note_text(note));
  return noted ? parse_facts(noted->settings) : Facts();
}

class Survey {
 public:
  explicit Survey(const tier::SpaceNote& own) : own_(own), ours_(facts_as_noted(own)) {}

  void add(const tier::SpaceNote* note, ByteCount bytes) {
    const Facts theirs = note != nullptr ? parse_facts(note->settings) : Facts();
    if (theirs.empty() || ours_.empty()) {
      rest_["has no note that says what made it"] += bytes;
    } else if (theirs == ours_) {
      usable_ += bytes;
    } else if (value_of(theirs, "model") != value_of(ours_, "model")) {
      add_model(*note, bytes);
    } else {
      add_maker(theirs, bytes);
    }
  }

  [[nodiscard]] FolderSurvey take() {
    FolderSurvey survey;
    survey.usable = usable_;
    for (auto& [what, bytes] : rest_) survey.rest.push_back({what, bytes});
    std::ranges::stable_sort(survey.rest, std::greater{}, &FolderSurvey::Rest::bytes);
    std::ranges::stable_sort(makers_, std::greater{}, &std::pair<ByteCount, Facts>::first);
    for (const auto& [bytes, theirs] : makers_) {
      if (survey.makers.size() < FolderSurvey::kMakersMax) add_asked(theirs, survey.makers);
    }
    return survey;
  }

 private:
  void add_model(const tier::SpaceNote& note, ByteCount bytes) {
    const bool same_name = note.model == own_.model;
    rest_[same_name ? "was made with another file of this model's name and is not used; it goes "
                      "when room is needed"
                    : "belongs to other models"] += bytes;
  }

  void add_maker(const Facts& theirs, ByteCount bytes) {
    rest_["was made by " + made_by(theirs, ours_) +
          " and is not used; it goes when room is needed"] += bytes;
    const auto known = std::ranges::find(makers_, theirs, &std::pair<ByteCount, Facts>::second);
    if (known != makers_.end()) {
      known->first += bytes;
    } else {
      makers_.emplace_back(bytes, theirs);
    }
  }

  // Chunk keys on another grid cannot be made here, so nothing can be asked about these.
  void add_asked(const Facts& theirs, std::vector<ForeignMaker>& makers) const {
    const bool chunk_keys = value_of(theirs, "mode") == "deterministic";
    if (chunk_keys && value_of(theirs, "grid") != value_of(ours_, "grid")) return;
    makers.push_back(
        {as_fingerprint(theirs), made_by(theirs, ours_), flags_for(theirs, ours_), chunk_keys});
  }

  const tier::SpaceNote& own_;
  const Facts ours_;
  ByteCount usable_ = 0;
  std::map<std::string, ByteCount> rest_;
  std::vector<std::pair<ByteCount, Facts>> makers_;
};

}  // namespace

FolderSurvey survey_folder(std::span<const tier::SpaceTotal> totals,
                           const std::map<SpaceKey, tier::SpaceNote>& notes,
                           const tier::SpaceNote& own) {
  Survey survey(own);
  for (const tier::SpaceTotal& total : totals) {
    const auto note = notes.find(total.space);
    survey.add(note != notes.end() ? &note->second : nullptr, total.bytes);
  }
  return survey.take();
}

std::vector<std::string> rest_lines(const FolderSurvey& survey) {
  std::vector<std::string> lines;
  ByteCount left = 0;
  const bool too_many = survey.rest.size() > kLinesMax;
  for (const FolderSurvey::Rest& rest : survey.rest) {
    if (too_many && lines.size() == kLinesMax - 1) {
      left += rest.bytes;
    } else {
      lines.push_back(human_bytes(rest.bytes) + " of it " + rest.what);
    }
  }
  if (too_many) {
    const std::size_t kinds = survey.rest.size() - lines.size();
    lines.push_back(human_bytes(left) + " of it is of " + std::to_string(kinds) +
                    " more kinds; `holdfast cache ls` shows them");
  }
  return lines;
}

}  // namespace holdfast::cache
