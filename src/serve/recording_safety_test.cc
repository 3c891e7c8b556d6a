// What must not happen: a private recording that tells what was said, a damaged or hostile file
// that does more than be refused, a recording that disturbs its server.
#include <gtest/gtest.h>

#include <set>

#include "record/replayer.h"
#include "record/report_page.h"
#include "record/testing/recording_seal.h"
#include "serve/testing/recorded_traffic.h"

namespace holdfast::serve {
namespace {

// --- private -----------------------------------------------------------------------------

std::string as_varints(TokenSpan tokens) {
  record::RecordWriter out;
  for (const Token token : tokens) out.signed_number(token);
  return out.take();
}
std::string as_plain_varints(TokenSpan tokens) {
  record::RecordWriter out;
  for (const Token token : tokens) out.number(static_cast<std::uint64_t>(token));
  return out.take();
}
std::string as_integers(TokenSpan tokens) {
  return {reinterpret_cast<const char*>(tokens.data()), tokens.size() * sizeof(Token)};
}

// How much of what was said a file gives away: stretches of prompts in any form, words, names.
int given_away(const RecordedTraffic& traffic, const std::string& file) {
  int found = 0;
  std::set<std::string> looked_for;
  const auto look = [&](const std::string& what) {
    if (looked_for.insert(what).second && file.find(what) != file.npos) ++found;
  };
  for (const Tokens& prompt : traffic.prompts) {
    for (std::size_t at = 0; at + 6 <= prompt.size(); at += 5) {
      const TokenSpan few = TokenSpan(prompt).subspan(at, 6);
      look(as_varints(few));
      look(as_plain_varints(few));
      look(as_integers(few.first(3)));
      std::string letters;
      for (const Token token : few) letters += static_cast<char>(token);
      look(letters);
    }
  }
  for (const std::string& text : traffic.said) {
    look(text);
    for (std::size_t at = text.find("word"); at != text.npos; at = text.find("word", at + 1)) {
      look(text.substr(at, text.find(' ', at) - at));
    }
  }
  look("tenant");
  look("generation");
  look("system");
  return found;
}

TEST(PrivateRecording, HoldsNoTokenAndNoText) {
  for (const Exactness exact : kEachExactness) {
    for (const bool lower : {false, true}) {
      TrafficOptions options;
      options.exact = exact;
      options.lower = lower;
      options.companion = true;
      options.seed = 5;
      options.requests = 60;
      RecordedTraffic open(options);
      // The canary: the search finds what is there.
      EXPECT_GT(given_away(open, open.run()), 500);
      options.private_form = true;
      RecordedTraffic hidden(options);
      const std::string& file = hidden.run();
      EXPECT_EQ(given_away(hidden, file), 0);
      EXPECT_GT(file.size(), 5'000U);
      const auto outcome = record::replay_recording(file);
      ASSERT_TRUE(outcome.ok());
      EXPECT_TRUE(outcome->identical() && outcome->whole);
      EXPECT_EQ(given_away(hidden, record::report_page(*outcome, "x")),
                1);  // "system": a role's name
    }
  }
}

TEST(PrivateRecording, EndsWhereItCouldNoLongerTellTokensApart) {
  TrafficOptions options;
  options.private_form = true;
  options.tokens_max = 3000;
  RecordedTraffic traffic(options);
  const auto outcome = record::replay_recording(traffic.run());
  ASSERT_TRUE(outcome.ok());
  EXPECT_NE(traffic.stopped.find("tell apart"), std::string::npos);
  EXPECT_TRUE(outcome->whole && outcome->identical());
  EXPECT_EQ(outcome->done, record::DoneReason::kTooManyTokens);
  EXPECT_GT(outcome->requests.size(), 5U);
  EXPECT_LT(outcome->requests.size(), 200U);
}

// --- damaged and hostile -----------------------------------------------------------------

std::string small_recording(bool private_form, bool lower, int requests = 12) {
  TrafficOptions options;
  options.requests = requests;
  options.private_form = private_form;
  options.lower = lower;
  options.companion = true;
  options.faults = !lower;
  RecordedTraffic traffic(options);
  return traffic.run();
}

TEST(DamagedRecording, CutOffAnywhereItIsReplayedUpToThere) {
  const std::string file = small_recording(false, false);
  const auto whole = record::replay_recording(file);
  ASSERT_TRUE(whole.ok() && whole->whole);
  std::size_t most = 0;
  for (std::size_t length = 0; length < file.size(); ++length) {
    const auto outcome = record::replay_recording(std::string_view(file).substr(0, length));
    if (!outcome) {
      EXPECT_FALSE(outcome.error().message.empty());
      EXPECT_EQ(most, 0U);
      continue;
    }
    EXPECT_FALSE(outcome->whole);
    EXPECT_FALSE(outcome->trouble.empty()) << length;
    EXPECT_TRUE(outcome->identical()) << length;
    EXPECT_GE(outcome->requests.size(), most);
    most = outcome->requests.size();
  }
  EXPECT_EQ(most, whole->requests.size());
}

TEST(DamagedRecording, OneWrongByteIsNoticed) {
  const std::string file = small_recording(true, false, 6);
  for (std::size_t at = 0; at < file.size(); ++at) {
    std::string damaged = file;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x20);
    const auto outcome = record::replay_recording(damaged);
    EXPECT_TRUE(!outcome.ok() || !outcome->whole) << at;
  }
}

// With checksums that fit: whoever makes such a file can make any.
TEST(HostileRecording, IsRefusedOrReplayedButNeverMore) {
  for (unsigned seed = 1; seed <= 4; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const std::string file = small_recording(seed % 2 == 0, seed > 2);
    std::minstd_rand random(seed);
    for (int i = 0; i < 4000; ++i) {
      std::string bad = file;
      for (auto changes = 1 + random() % 4; changes > 0; --changes) {
        const std::size_t at = record::recording_magic().size() + random() % (bad.size() - 8);
        switch (random() % 4) {
          case 0: bad[at] = static_cast<char>(random()); break;
          case 1: bad[at] = static_cast<char>(bad[at] + 1); break;
          case 2: bad.erase(at, 1 + random() % 20); break;
          default: bad.insert(at, bad.substr(random() % bad.size(), random() % 60));
        }
        if (bad.size() < 100) bad = file;
      }
      const auto outcome = record::replay_recording(record::sealed_recording(bad));
      if (outcome) (void)record::report_page(*outcome, "bad");
    }
  }
}

TEST(HostileRecording, CannotPutAScriptOnThePage) {
  record::ReplayOutcome outcome;
  outcome.header.build = "<script>alert(1)</script>";
  outcome.header.companion = "\"><img src=x onerror=alert(1)>";
  outcome.trouble = "</p><script>";
  outcome.notes = {"<b onclick='x'>"};
  outcome.decisions_differ = 1;
  record::ReplayedRequest request;
  request.receipt.waited_for = "</title><script>alert(2)</script>";
  request.receipt.prompt_tokens = 500;
  request.receipt.matched = 100;
  request.receipt.recomputed = 500;
  request.receipt.difference = cache::Difference{100, {1}, {2}, 0, Role::kSystem, 0, {}};
  request.known_text = "at 14:03:12 <script>";
  request.sent_text = "at 14:03:13 <script>";
  request.differences = {{"slot", "<i>", "</td>"}};
  outcome.requests = {request};
  const std::string page = record::report_page(outcome, "<script src=//x>");
  EXPECT_EQ(page.find("<script"), page.npos);
  EXPECT_EQ(page.find("<img"), page.npos);
  EXPECT_EQ(page.find("<b onclick"), page.npos);
  EXPECT_EQ(page.find("<i>"), page.npos);
  EXPECT_NE(page.find("&lt;script"), page.npos);
}

TEST(DamagedRecording, SaysWhatIsWrong) {
  const auto said = [](const std::string& file) {
    const auto outcome = record::replay_recording(file);
    return outcome ? outcome->trouble : outcome.error().message;
  };
  const std::string file = small_recording(false, false, 3);
  EXPECT_NE(said("GIF89a").find("does not begin with HFREC"), std::string::npos);
  EXPECT_NE(said("").find("does not begin with HFREC"), std::string::npos);
  std::string later = file;
  later[5] = 9;
  EXPECT_NE(said(later).find("version 9"), std::string::npos);
  std::string text = file;
  text[6] = '\n';
  EXPECT_NE(said(text).find("binary"), std::string::npos);
  EXPECT_NE(said(file.substr(0, file.size() - 3)).find("cut off"), std::string::npos);
  EXPECT_NE(said(file + "more of it here").find("damaged"), std::string::npos);
}

// --- beside the server ---------------------------------------------------------------------

class FailingSink final : public record::RecordingSink {
 public:
  explicit FailingSink(int frames) : left_(frames) {}
  [[nodiscard]] Result<void> write(std::string) override {
    if (left_-- > 0) return {};
    return Error{ErrorCode::kIo, "No space left on device.", ""};
  }

 private:
  int left_;
};

// Answers and receipts of a few talks, recorded or not.
std::vector<std::string> answers(cache::CacheJournal* journal) {
  Bench bench({}, {}, {.journal = journal});
  std::vector<std::string> all;
  std::string talk = "<s>system: be brief</s>";
  for (int i = 0; i < 12; ++i) {
    talk += "<s>user: question " + std::to_string(i) + "</s><s>";
    const auto client = bench.submit(talk, 9);
    bench.turn_until_ended(*client);
    talk += client->text_ + "</s>";
    all.push_back(client->text_ + "/" + std::to_string(client->finished_->receipt->restored));
  }
  return all;
}

TEST(RecordingBesideTheServer, OfNoServerIsEmpty) {
  MemorySink sink;
  record::CacheRecorder(sink, {}).finish();
  EXPECT_EQ(sink.bytes, "");
}

TEST(RecordingBesideTheServer, ChangesNoAnswerWhereverTheDiskFails) {
  const auto expected = answers(nullptr);
  for (int frames = 0; frames < 20; ++frames) {
    FailingSink sink(frames);
    record::CacheRecorder recorder(sink, {});
    int told = 0;
    recorder.on_stopped = [&](const std::string& why) {
      ++told;
      EXPECT_NE(why.find("No space left"), std::string::npos);
    };
    EXPECT_EQ(answers(&recorder), expected);
    recorder.finish();
    // The header, a frame for each request, and the end.
    EXPECT_EQ(told, frames < 14 ? 1 : 0) << frames;
    EXPECT_EQ(recorder.recording(), frames >= 14);
  }
}

}  // namespace
}  // namespace holdfast::serve
