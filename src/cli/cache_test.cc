#include "cli/cache.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "cli/cache_dir.h"
#include "cli/cache_view.h"
#include "cli/option_values.h"
#include "tier/answer_log.h"
#include "tier/cache_folder.h"
#include "tier/response_files.h"
#include "tier/testing/blob_maker.h"
#include "tier/testing/temp_folder.h"

namespace holdfast::cli {
namespace {

using Json = nlohmann::json;
namespace fs = std::filesystem;

// --- where it is ----------------------------------------------------------------------------

TEST(CacheDir, FollowsTheEnvironment) {
  EXPECT_EQ(default_cache_dir({{"HOLDFAST_CACHE_DIR", "/a"}, {"HOME", "/h"}}), "/a");
  EXPECT_EQ(default_cache_dir({{"XDG_CACHE_HOME", "/x"}, {"HOME", "/h"}}), "/x/holdfast/states");
  EXPECT_EQ(default_cache_dir({{"XDG_CACHE_HOME", "x"}, {"HOME", "/h"}}),
            "/h/.cache/holdfast/states");
  EXPECT_EQ(default_cache_dir({{"HOLDFAST_CACHE_DIR", ""}, {"HOME", "/h"}}),
            "/h/.cache/holdfast/states");
  EXPECT_EQ(default_cache_dir({}), "");
}

// --- the command line -----------------------------------------------------------------------

const Environment kHome = {{"HOME", "/h"}};

TEST(CacheCommandOptions, AreRead) {
  const auto parse = [](std::vector<std::string> args) { return parse_cache_options(args, kHome); };
  EXPECT_EQ(parse({})->action, CacheAction::kHelp);
  EXPECT_EQ(parse({"rm", "--nonsense", "--help"})->action, CacheAction::kHelp);
  EXPECT_EQ(parse({"ls"})->folder, "/h/.cache/holdfast/states");
  EXPECT_EQ(parse({"ls", "--cache-dir=/c", "--json"})->folder, "/c");
  EXPECT_TRUE(parse({"ls", "--json"})->json);
  EXPECT_EQ(parse({"show", "3fa9"})->keys, std::vector<std::string>{"3fa9"});
  EXPECT_TRUE(parse({"verify", "--rebuild"})->rebuild);
  EXPECT_EQ(parse({"gc", "--to", "10G"})->to, ByteCount{10} << 30);
  EXPECT_EQ(parse({"rm", "a", "b"})->keys.size(), 2U);
  EXPECT_TRUE(parse({"rm", "--all", "--yes"})->yes);
  EXPECT_EQ(parse({"export", "f", "--space", "00"})->space, "00");
  EXPECT_EQ(parse({"import", "f", "--to", "1G"})->file, "f");
}

TEST(CacheCommandOptions, MistakesAreNamed) {
  const std::pair<std::vector<std::string>, std::string> wrong[] = {
      {{"verfy"}, "there is no `cache verfy`; did you mean verify?"},
      {{"xyzzy"}, "there is no `cache xyzzy`; see holdfast cache --help"},
      {{"ls", "x"}, "`cache ls` does not know what \"x\" is"},
      {{"ls", "--rebuild"}, "option --rebuild belongs to `holdfast cache verify`"},
      {{"ls", "--jsn"}, "unknown option --jsn; did you mean --json?"},
      {{"gc", "--to"}, "option --to needs a value: --to SIZE"},
      {{"gc", "--to", "much"}, "option --to needs a size such as 500M or 10G, not \"much\""},
      {{"show"}, "`cache show` wants one KEY"},
      {{"show", "a", "b"}, "`cache show` wants one KEY"},
      {{"rm"}, "`cache rm` wants KEYs, or --space SPACE, or --all"},
      {{"rm", "a", "--all"}, "`cache rm` wants KEYs, or --space SPACE, or --all"},
      {{"export"}, "`cache export` wants a FILE"},
      {{"import", "a", "b"}, "one file at a time: a or b"},
  };
  for (const auto& [args, part] : wrong) {
    const auto parsed = parse_cache_options(args, kHome);
    ASSERT_FALSE(parsed.ok()) << part;
    EXPECT_NE(parsed.error().message.find(part), std::string::npos) << parsed.error().message;
  }
  const std::vector<std::string> ls = {"ls"};
  EXPECT_NE(parse_cache_options(ls, {}).error().message.find("--cache-dir"), std::string::npos);
  EXPECT_NE(parse_cache_options(ls, {{"HOLDFAST_CACHE_DIR", "off"}}).error().message.find("is off"),
            std::string::npos);
}

TEST(CacheCommandOptions, SizesAsPeopleWriteThem) {
  EXPECT_EQ(bytes_of("0"), 0U);
  EXPECT_EQ(bytes_of("4096"), 4096U);
  EXPECT_EQ(bytes_of("500M"), 500U << 20);
  EXPECT_EQ(bytes_of("1.5g"), 3U << 29);
  EXPECT_EQ(bytes_of("10GiB"), ByteCount{10} << 30);
  EXPECT_EQ(bytes_of("10GB"), ByteCount{10} << 30);
  EXPECT_EQ(bytes_of("2T"), ByteCount{2} << 40);
  EXPECT_EQ(bytes_of("7B"), 7U);
  for (const char* text :
       {"", "G", "B", "iB", "5iB", "-1", "1e30", "nan", "inf", "1 G", "G1", "1X"})
    EXPECT_FALSE(bytes_of(text).has_value()) << text;
}

TEST(CacheHelp, TeachesEveryCommandAndOption) {
  for (const char* word : {"cache ls", "show KEY", "verify", "gc --to", "rm KEY", "export FILE",
                           "import FILE", "--cache-dir DIR", "--rebuild", "--space", "--yes"})
    EXPECT_NE(cache_help().find(word), std::string::npos) << word;
  std::size_t begin = 0;
  for (std::size_t end = 0; (end = cache_help().find('\n', begin)) != std::string::npos;
       begin = end + 1)
    EXPECT_LE(end - begin, 80U);
}

// --- views ----------------------------------------------------------------------------------

bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

TEST(CacheView, SmallThings) {
  EXPECT_EQ(ago(1000, 1000), "just now");
  EXPECT_EQ(ago(9000, 1000), "just now");
  EXPECT_EQ(ago(0, 61'000), "1 minute ago");
  EXPECT_EQ(ago(0, 7'300'000), "2 hours ago");
  EXPECT_EQ(ago(0, 400'000'000), "4 days ago");
  EXPECT_EQ(ago(0, 70'000'000'000), "2 years ago");
  EXPECT_EQ(ago(INT64_MIN, INT64_MAX), "at no known time");
  EXPECT_EQ(ago(INT64_MAX, 0), "just now");
  EXPECT_EQ(counted(1, "blob"), "1 blob");
  EXPECT_EQ(counted(1200, "blob"), "1,200 blobs");
  EXPECT_EQ(one_line("a\x1b[31m\nb\x7f\xc2\x9b", 20), "a[31m b");
  EXPECT_EQ(one_line("\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4", 5),
            "\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4");
  EXPECT_EQ(one_line("\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4", 4), "\xc3\xa4...");
}

CacheListing sample_listing() {
  CacheListing listing{.folder = "/c"};
  listing.spaces.push_back({.space = {0x3f2a9c1d00000000, 1},
                            .note = tier::SpaceNote{"qwen.gguf", "kv=f16/f16 grid=512", true},
                            .blobs = 120,
                            .bytes = 13 << 20,
                            .paths = {3, 41'000, 20'480},
                            .used_ms = 0});
  listing.spaces.push_back({.space = {5, 6}, .blobs = 1, .bytes = 900, .paths = {1, 64, 64}});
  listing.quarantine_files = 1;
  listing.quarantine_bytes = 2048;
  return listing;
}

TEST(CacheView, AListing) {
  EXPECT_EQ(
      listing_text(sample_listing(), 120'000),
      "/c\n"
      "\n"
      "SPACE         MODEL                         PATHS     TOKENS      SIZE  LAST USED\n"
      "3f2a9c1d0000  qwen.gguf                         3     41,000  13.0 MiB  2 minutes ago\n"
      "  kv=f16/f16 grid=512, a tenant's\n"
      "000000000000  (unknown)                         1         64     900 B  2 minutes ago\n"
      "\n"
      "2 spaces, 121 blobs, 13.0 MiB.\n"
      "In quarantine: 1 damaged blob, 2.0 KiB; `holdfast cache gc` removes them.\n");
  const Json json = Json::parse(listing_json(sample_listing()));
  EXPECT_EQ(json["blobs"], 121);
  EXPECT_EQ(json["spaces"][0]["space"], "3f2a9c1d000000000000000000000001");
  EXPECT_EQ(json["spaces"][0]["note"]["model"], "qwen.gguf");
  EXPECT_TRUE(json["spaces"][1]["note"].is_null());
  EXPECT_EQ(json["quarantine"]["files"], 1);
  EXPECT_EQ(listing_text({.folder = "/c"}, 0), "/c\n\nNothing is kept here yet.\n");
}

std::string noted(const std::string& features, const std::string& rest) {
  return "model=c200741b9d7709a059d10e2053412598 engine=llama.cpp 0.5.0 (CPU : SSE3 = 1 | " +
         features + ") " + rest;
}

// Two spaces that look alike differ in what stands under them.
TEST(CacheView, SpacesOfOneModelAreToldApart) {
  CacheListing listing = sample_listing();
  const auto add = [&](const std::string& model, const std::string& settings, bool tenant) {
    listing.spaces.push_back({.space = {8, listing.spaces.size()},
                              .note = tier::SpaceNote{model, settings, tenant},
                              .paths = {1, 64, 64}});
  };
  add("pocket", noted("AVX = 1 | ", "kv=f16/f16 grid=256"), false);
  add("pocket", noted("", "kv=f16/f16 grid=512"), false);
  add("pocket", noted("", "kv=f16/f16 grid=512"), true);
  const std::string text = listing_text(listing, 0);
  EXPECT_TRUE(has(text, "just now\n  engine=(AVX = 1) grid=256\n")) << text;
  EXPECT_TRUE(has(text, "just now\n  engine=(fewer features) grid=512\n")) << text;
  EXPECT_TRUE(has(text, "just now\n  engine=(fewer features) grid=512, a tenant's\n")) << text;
  EXPECT_FALSE(has(text, "model=")) << text;
  EXPECT_TRUE(has(text, "kv=f16/f16 grid=512, a tenant's\n")) << "the only one of its model";
  const Json json = Json::parse(listing_json(listing));
  EXPECT_EQ(json["spaces"][2]["facts"]["grid"], "256");
  EXPECT_EQ(json["spaces"][3]["facts"]["engine"], "llama.cpp 0.5.0 (CPU : SSE3 = 1 | )");
  EXPECT_TRUE(json["spaces"][1]["facts"].is_null());
}

TEST(CacheView, SpacesThatCannotBeReadAreShownAsTheyAre) {
  CacheListing listing = sample_listing();
  listing.spaces.push_back(listing.spaces[0]);
  listing.spaces.back().note->settings = "by hand";
  const std::string text = listing_text(listing, 0);
  EXPECT_TRUE(has(text, "  kv=f16/f16 grid=512, a tenant's\n")) << text;
  EXPECT_TRUE(has(text, "  by hand, a tenant's\n")) << text;
}

TEST(CacheView, ANoteDoesNotDriveTheTerminal) {
  CacheListing listing = sample_listing();
  listing.spaces[0].note =
      tier::SpaceNote{"\x1b]0;owned\x07\xc2\x9b", "a\nb\r\x1b[2J" + std::string(500, 'x'), false};
  for (const std::string& text : {listing_text(listing, 0), listing_json(listing)}) {
    for (const char c : text) {
      const auto byte = static_cast<unsigned char>(c);
      EXPECT_TRUE(c == '\n' || (byte >= ' ' && byte < 0x7f)) << static_cast<int>(byte);
    }
  }
  EXPECT_NE(listing_text(listing, 0).find("xxx...\n"), std::string::npos);
}

TEST(CacheView, NorDoItsFacts) {
  CacheListing listing = sample_listing();
  listing.spaces.push_back(listing.spaces[0]);
  listing.spaces.back().note->settings = "kv=\x1b[2J\r" + std::string(500, 'x') + " grid=\n";
  for (const char c : listing_text(listing, 0)) {
    const auto byte = static_cast<unsigned char>(c);
    EXPECT_TRUE(c == '\n' || (byte >= ' ' && byte < 0x7f)) << static_cast<int>(byte);
  }
}

TEST(CacheView, Reports) {
  tier::VerifyReport verified{.checked = 2, .checked_bytes = 2048};
  EXPECT_EQ(verify_text(verified, false), "Read 2 blobs, 2.0 KiB.\nEverything is intact.\n");
  verified.damaged = 1;
  verified.failures.push_back({tier::BlobKey{}, "a part's checksum is wrong"});
  EXPECT_EQ(verify_text(verified, false),
            "Read 2 blobs, 2.0 KiB.\n"
            "  000000000000  a part's checksum is wrong\n"
            "1 damaged blob moved to quarantine; `holdfast cache gc` removes what is there.\n");
  EXPECT_NE(verify_text(verified, true).find("left in place"), std::string::npos);
  tier::ImportReport cut{.read = 3, .stored = 3, .stored_bytes = 1024, .ended = "it is cut off"};
  EXPECT_EQ(import_text(cut).substr(0, 47), "Imported 3 of at least 4 blobs, 1.0 KiB of it n");
  EXPECT_FALSE(Json::parse(import_json(cut))["whole"]);
}

// --- a real folder --------------------------------------------------------------------------

constexpr SpaceKey kSpace{7, 8};
constexpr SpaceKey kOther{9, 9};
constexpr std::int64_t kNow = 1'000'000;

class CacheCommand : public testing::Test {
 protected:
  void SetUp() override { fill(dir()); }

  static void fill(const std::string& folder) {
    auto cache = tier::CacheFolder::open(folder, {.budget = 1 << 24}, kNow - 60'000);
    ASSERT_TRUE(cache.ok());
    for (const SpaceKey space : {kSpace, kOther}) {
      const tier::BlobMaker maker(space, tier::counting(400));
      ASSERT_EQ(*(*cache)->put(maker.rows({0, 300}), kNow - 60'000), tier::PutAnswer::kStored);
      ASSERT_EQ(*(*cache)->put(maker.place(300, {.logits = true}), kNow - 60'000),
                tier::PutAnswer::kStored);
    }
    ASSERT_TRUE((*cache)->describe_space(kSpace, {"qwen.gguf", "kv=f16/f16", false}).ok());
  }
  [[nodiscard]] std::string dir() const { return folder_ / "cache"; }

  // The text, or the sentence behind "error: ".
  std::string run(std::vector<std::string> args, const std::string& folder = "") {
    args.push_back("--cache-dir=" + (folder.empty() ? dir() : folder));
    const auto options = parse_cache_options(args, {});
    EXPECT_TRUE(options.ok()) << options.error().message;
    CacheCommandWorld world{.now_ms = kNow, .ask = ask_};
    const auto answer = run_cache(*options, world);
    sound_ = answer && answer->sound;
    return answer ? answer->text : "error: " + answer.error().message;
  }
  Json run_json(std::vector<std::string> args, const std::string& folder = "") {
    args.emplace_back("--json");
    return Json::parse(run(std::move(args), folder), nullptr, false);
  }
  [[nodiscard]] std::vector<std::string> blob_files() const {
    std::vector<std::string> files;
    for (const auto& entry : fs::recursive_directory_iterator(dir() + "/blobs"))
      if (entry.is_regular_file()) files.push_back(entry.path().string());
    std::ranges::sort(files);
    return files;
  }
  static void damage(const std::string& path) {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(-40, std::ios::end);
    file.put('\x55');
    file.put('\x66');
  }
  static std::string key_of(const std::string& path) { return fs::path(path).stem().string(); }

  tier::TempFolder folder_;
  std::function<bool(const std::string&)> ask_;
  bool sound_ = false;
};

TEST_F(CacheCommand, LsCounts) {
  const Json json = run_json({"ls"});
  ASSERT_EQ(json["spaces"].size(), 2U);
  EXPECT_EQ(json["blobs"], 4);
  EXPECT_EQ(json["spaces"][0]["paths"], 1);
  EXPECT_EQ(json["spaces"][0]["tokens"], 300);
  EXPECT_EQ(json["spaces"][0]["deepest"], 300);
  const std::string text = run({"ls"});
  EXPECT_TRUE(has(text, "qwen.gguf") && has(text, "(unknown)") && has(text, "1 minute ago"))
      << text;
}

TEST_F(CacheCommand, ShowSaysWhatAHeaderSays) {
  for (const std::string& path : blob_files()) {
    const Json json = run_json({"show", key_of(path).substr(0, 8)});
    EXPECT_EQ(json["key"], key_of(path));
    EXPECT_EQ(json["end"], 300);
    EXPECT_TRUE(json["intact"]);
    EXPECT_EQ(json["logits"], json["kind"] == "place");
    EXPECT_EQ(json["parts"]["logits_bytes"], json["kind"] == "place" ? 16 : 0);
    EXPECT_TRUE(has(run({"show", key_of(path)}), "digests are right"));
  }
  EXPECT_TRUE(has(run({"show", "nokey"}), "No blob begins with \"nokey\""));
  EXPECT_TRUE(has(run({"show", ""}), "4 blobs begin with")) << run({"show", ""});
  damage(blob_files()[0]);
  EXPECT_TRUE(has(run({"show", key_of(blob_files()[0])}), "DAMAGED: "));
  EXPECT_FALSE(sound_);
  EXPECT_EQ(blob_files().size(), 4U);  // looking changes nothing
}

TEST_F(CacheCommand, VerifySetsAsideAndGcFrees) {
  EXPECT_TRUE(has(run({"verify"}), "Everything is intact"));
  EXPECT_TRUE(sound_);
  damage(blob_files()[1]);
  EXPECT_TRUE(has(run({"verify", "--rebuild"}), "1 damaged blob moved to quarantine"));
  EXPECT_FALSE(sound_);
  EXPECT_EQ(blob_files().size(), 3U);
  EXPECT_EQ(run_json({"ls"})["quarantine"]["files"], 1);
  const Json freed = run_json({"gc"});
  EXPECT_GT(freed["freed_quarantine_bytes"], 0);
  EXPECT_EQ(freed["removed_blobs"], 0);
  EXPECT_EQ(run_json({"ls"})["quarantine"]["files"], 0);
}

TEST_F(CacheCommand, GcKeepsWithinASize) {
  const ByteCount all = run_json({"ls"})["bytes"];
  const Json freed = run_json({"gc", "--to", std::to_string(all / 2)});
  EXPECT_LE(freed["bytes"], all / 2);
  EXPECT_GT(freed["removed_blobs"], 0);
  EXPECT_EQ(run_json({"ls"})["bytes"], freed["bytes"]);
  EXPECT_TRUE(has(run({"gc", "--to", "0"}), "0 blobs, 0 B are left"));
  EXPECT_TRUE(fs::is_empty(dir() + "/spaces"));  // notes of spaces without blobs
}

TEST_F(CacheCommand, RmTakesKeysASpaceOrAll) {
  EXPECT_TRUE(has(run({"rm", key_of(blob_files()[0]).substr(0, 10)}), "1 blob. 3 blobs"));
  EXPECT_TRUE(has(run({"rm", "--space", "00000000000000090"}), "are left"));
  EXPECT_EQ(run_json({"ls"})["spaces"].size(), 1U);
  EXPECT_TRUE(has(run({"rm", "--space", "ff"}), "No space begins with"));
  EXPECT_TRUE(has(run({"rm", "--all"}), "say --yes"));
  std::string asked;
  ask_ = [&](const std::string& question) { return asked = question, false; };
  EXPECT_TRUE(has(run({"rm", "--all"}), "Nothing was removed"));
  EXPECT_TRUE(has(asked, "Remove all")) << asked;
  EXPECT_FALSE(blob_files().empty());
  EXPECT_TRUE(has(run({"rm", "--all", "--yes"}), "0 blobs, 0 B are left"));
  EXPECT_TRUE(blob_files().empty());
}

TEST_F(CacheCommand, RmAllLeavesNoAnswer) {
  const std::vector<tier::RememberedAnswer> said = {{1, kSpace, 2, 3, {4, 5, 6}}};
  {
    const auto cache = tier::CacheFolder::open(dir(), {.budget = 1 << 24}, kNow);
    ASSERT_TRUE(cache.ok());
    ASSERT_TRUE(tier::AnswerLog::begin(cache->files(), said).ok());
  }
  const fs::path answers = fs::path(dir()) / "answers";
  ASSERT_FALSE(fs::is_empty(answers));
  EXPECT_TRUE(has(run({"rm", "--all", "--yes"}), "of answers. 0 blobs"));
  EXPECT_TRUE(fs::is_empty(answers));
}

TEST_F(CacheCommand, RmAllLeavesNoStoredResponse) {
  {
    const auto cache = tier::CacheFolder::open(dir(), {.budget = 1 << 24}, kNow);
    ASSERT_TRUE(cache.ok());
    ASSERT_TRUE(tier::ResponseFiles(cache->files()).write(1, {"resp_1", "", "[]", "{}"}).ok());
  }
  const fs::path responses = fs::path(dir()) / "responses";
  ASSERT_FALSE(fs::is_empty(responses));
  EXPECT_TRUE(has(run({"rm", "--all", "--yes"}), "of responses. 0 blobs"));
  EXPECT_TRUE(fs::is_empty(responses));
}

TEST_F(CacheCommand, ExportAndImport) {
  const std::string file = folder_ / "states.hfa";
  EXPECT_TRUE(has(run({"export", file}), "Exported 4 blobs"));
  struct stat facts {};
  ASSERT_EQ(::stat(file.c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 0777, 0600U);
  EXPECT_TRUE(has(run({"export", file}), "is there already"));
  const std::string other = folder_ / "deep/new";
  EXPECT_TRUE(has(run({"import", file}, other), "Imported 4 of 4 blobs"));
  EXPECT_TRUE(sound_);
  EXPECT_EQ(run_json({"ls"}, other)["bytes"], run_json({"ls"})["bytes"]);
  EXPECT_TRUE(has(run({"ls"}, other), "qwen.gguf"));
  EXPECT_TRUE(has(run({"import", file}, other), "4 blobs had been there already"));
  const std::string one = folder_ / "one.hfa";
  EXPECT_TRUE(has(run({"export", one, "--space", "0000000000000007"}), "Exported 2 blobs"));
  fs::resize_file(file, fs::file_size(file) - 30);
  const std::string text = run({"import", file}, folder_ / "third");
  EXPECT_TRUE(has(text, "Imported 3 of at least 4 blobs") && has(text, "cut off")) << text;
  EXPECT_FALSE(sound_);
}

TEST_F(CacheCommand, HostileFilesAreRefusedInASentence) {
  std::ofstream(folder_ / "text") << "this is no export, whatever its name may say";
  const std::string fresh = folder_ / "fresh";
  EXPECT_TRUE(has(run({"import", folder_ / "text"}, fresh), "it is no file of exported states"));
  EXPECT_TRUE(has(run({"import", folder_ / "none"}, fresh), "cannot be opened"));
  EXPECT_TRUE(has(run({"import", dir()}, fresh), "cannot be opened"));
  EXPECT_FALSE(fs::exists(fresh));  // no folder was made for them
}

TEST_F(CacheCommand, FoldersThatAreNoneAreLeftAlone) {
  const std::string missing = folder_ / "missing";
  const std::string file = folder_ / "x.hfa";
  for (const std::vector<std::string>& args : {std::vector<std::string>{"ls"},
                                               {"show", "a"},
                                               {"verify"},
                                               {"gc"},
                                               {"rm", "a"},
                                               {"export", file}}) {
    EXPECT_TRUE(has(run(args, missing), "There is no cache in")) << args[0];
    EXPECT_FALSE(fs::exists(missing));
  }
  const std::string foreign = folder_ / "foreign";
  fs::create_directory(foreign);
  std::ofstream(foreign + "/thesis.txt") << "mine";
  for (const char* action : {"ls", "verify", "gc"})
    EXPECT_TRUE(has(run({action}, foreign), "is not a cache folder")) << run({action}, foreign);
  EXPECT_TRUE(has(run({"rm", "--all", "--yes"}, foreign), "is not a cache folder"));
  EXPECT_EQ(std::distance(fs::directory_iterator(foreign), fs::directory_iterator()), 1);
}

TEST_F(CacheCommand, WhileAServerRunsItOnlyLooks) {
  const std::string file = folder_ / "states.hfa";
  ASSERT_TRUE(has(run({"export", file}), "Exported"));
  auto server = tier::CacheFolder::open(dir(), {.budget = 1 << 24}, kNow);
  ASSERT_TRUE(server.ok());
  ASSERT_EQ((*server)->role(), tier::StoreRole::kWriter);
  EXPECT_EQ(run_json({"ls"})["blobs"], 4);
  EXPECT_TRUE(has(run({"show", key_of(blob_files()[0])}), "are right"));
  EXPECT_TRUE(has(run({"export", folder_ / "again.hfa"}), "Exported 4 blobs"));
  for (const std::vector<std::string>& args : {std::vector<std::string>{"gc"},
                                               {"rm", "--all", "--yes"},
                                               {"import", file},
                                               {"verify", "--rebuild"}})
    EXPECT_TRUE(has(run(args), "in use by a running server")) << args[0];
  damage(blob_files()[0]);
  EXPECT_TRUE(has(run({"verify"}), "left in place"));
  EXPECT_FALSE(sound_);
  EXPECT_EQ(blob_files().size(), 4U);
  EXPECT_TRUE((*server)->check().empty());
}

}  // namespace
}  // namespace holdfast::cli
