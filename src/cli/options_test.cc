#include "cli/options.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

namespace holdfast::cli {
namespace {

using Args = std::vector<std::string>;

// Files that exist in these tests.
std::map<std::string, std::string> test_files;

Result<std::string> read_test_file(const std::string& path) {
  const auto found = test_files.find(path);
  if (found == test_files.end()) return Error{ErrorCode::kIo, "cannot read " + path, path};
  return found->second;
}

Result<Parsed> parse(const Args& args, const Environment& env = {}) {
  return parse_serve_options(args, env, read_test_file);
}

ServeOptions good(const Args& args, const Environment& env = {}) {
  auto parsed = parse(args, env);
  EXPECT_TRUE(parsed) << parsed.error().message;
  return parsed ? parsed->options : ServeOptions{};
}

std::string bad(const Args& args, const Environment& env = {}) {
  const auto parsed = parse(args, env);
  return parsed ? "no error" : parsed.error().message;
}

class OptionsTest : public ::testing::Test {
 protected:
  void SetUp() override { test_files.clear(); }
};

TEST_F(OptionsTest, NothingGivenIsADefaultServer) {
  const ServeOptions options = good({});
  EXPECT_EQ(options.model.path, "");
  EXPECT_EQ(options.context.parallel, 4);
  EXPECT_EQ(options.server.port, 8080);
  EXPECT_EQ(options.reuse.ram_mib, kCacheRamAuto);
  EXPECT_EQ(options.context.latency_target_ms, 250);
  EXPECT_EQ(options.server.cors_origins, Args{});
  EXPECT_FALSE(options.sampling.seed.has_value());
}

TEST_F(OptionsTest, ALlamaServerCommandLineWorks) {
  const ServeOptions options = good({"-m",        "a.gguf",
                                     "-c",        "32k",
                                     "-np",       "2",
                                     "-ngl",      "99",
                                     "-fa",       "on",
                                     "-ctk",      "q8_0",
                                     "--temp",    "0.6",
                                     "--top-k",   "20",
                                     "-s",        "7",
                                     "--port",    "9",
                                     "-n",        "-1",
                                     "--no-mmap", "-a",
                                     "one,two",   "--reasoning-budget",
                                     "0",         "-ts",
                                     "3,1"});
  EXPECT_EQ(options.model.path, "a.gguf");
  EXPECT_EQ(options.context.size, 32768);
  EXPECT_EQ(options.context.parallel, 2);
  EXPECT_EQ(options.compute.gpu_layers, 99);
  EXPECT_EQ(options.compute.flash_attn, OnOffAuto::kOn);
  EXPECT_EQ(options.context.cache_type_k, "q8_0");
  EXPECT_FLOAT_EQ(options.sampling.temperature, 0.6F);
  EXPECT_EQ(options.sampling.top_k, 20);
  EXPECT_EQ(options.sampling.seed, 7U);
  EXPECT_EQ(options.server.port, 9);
  EXPECT_EQ(options.chat.predict, -1);
  EXPECT_FALSE(options.model.mmap);
  EXPECT_EQ(options.model.aliases, (Args{"one", "two"}));
  EXPECT_EQ(options.sampling.reasoning_budget_tokens, 0);
  EXPECT_EQ(options.compute.tensor_split, (std::vector<float>{3, 1}));
}

TEST_F(OptionsTest, ExactnessHasTwoNames) {
  const auto exact = [](const Args& args) { return good(args).context.exact; };
  EXPECT_EQ(exact({}), Exactness::kOff);
  EXPECT_EQ(exact({"--exact", "prompt"}), Exactness::kPrompt);
  EXPECT_EQ(exact({"--exact", "all"}), Exactness::kAll);
  EXPECT_EQ(exact({"--deterministic"}), Exactness::kAll);
  EXPECT_EQ(exact({"--deterministic", "--exact", "prompt"}), Exactness::kPrompt);
  EXPECT_EQ(exact({"--exact", "prompt", "--no-deterministic"}), Exactness::kPrompt);
  EXPECT_EQ(exact({"--exact", "all", "--no-deterministic"}), Exactness::kOff);
  EXPECT_NE(bad({"--exact", "some"}).find("one of off, prompt, all"), std::string::npos);
}

TEST_F(OptionsTest, TensorsMayLieElsewhere) {
  const ServeOptions options =
      good({"-ncmoe", "5", "-cmoe", "-ot", "a=CPU,b=CPU", "--override-kv", "x.y=int:3"});
  EXPECT_EQ(options.compute.cpu_expert_layers, 5);
  EXPECT_TRUE(options.compute.cpu_experts);
  EXPECT_EQ(options.compute.tensor_places, (Args{"a=CPU", "b=CPU"}));
  EXPECT_EQ(options.compute.metadata_overrides, (Args{"x.y=int:3"}));
}

TEST_F(OptionsTest, EqualsSignUnderscoresAndSuffixes) {
  const ServeOptions options = good({"--ctx_size=1m", "--ubatch-size=1K", "--mlock=on"});
  EXPECT_EQ(options.context.size, 1 << 20);
  EXPECT_EQ(options.context.ubatch_size, 1024);
  EXPECT_TRUE(options.model.mlock);
}

TEST_F(OptionsTest, GpuLayersSeedAndFlashAttentionHaveWords) {
  EXPECT_EQ(good({"-ngl", "auto"}).compute.gpu_layers, kGpuLayersAuto);
  EXPECT_EQ(good({"-ngl", "all"}).compute.gpu_layers, kGpuLayersAll);
  EXPECT_FALSE(good({"-s", "-1"}).sampling.seed.has_value());
  EXPECT_EQ(good({"-fa"}).compute.flash_attn, OnOffAuto::kOn);
  EXPECT_EQ(good({"-fa", "-np", "1"}).compute.flash_attn, OnOffAuto::kOn);
  EXPECT_EQ(good({"--reasoning", "off"}).chat.reasoning, OnOffAuto::kOff);
}

TEST_F(OptionsTest, EachMistakeIsOneClearSentence) {
  EXPECT_EQ(bad({"--paralel", "4"}), "unknown option --paralel; did you mean --parallel?");
  EXPECT_EQ(bad({"--prot", "4"}), "unknown option --prot; did you mean --port?");
  EXPECT_EQ(bad({"--qqqqqqqq"}), "unknown option --qqqqqqqq.");
  EXPECT_EQ(bad({"--model"}), "option --model needs a value: --model PATH.");
  EXPECT_EQ(bad({"--model", "--port", "1"}), "option --model needs a value: --model PATH.");
  EXPECT_EQ(bad({"-np", "0"}), "option -np needs a whole number from 1 to 256, not \"0\".");
  EXPECT_EQ(bad({"-np", "4x"}), "option -np needs a whole number from 1 to 256, not \"4x\".");
  EXPECT_EQ(bad({"--top-p", "1.5"}), "option --top-p needs a number from 0 to 1, not \"1.5\".");
  EXPECT_EQ(bad({"--temp", "nan"}), "option --temp needs a number of at least 0, not \"nan\".");
  EXPECT_EQ(bad({"-c", "-5"}),
            "option -c needs a number of tokens from 0 to 1073741824 (8192, or 8k), not \"-5\".");
  EXPECT_EQ(bad({"-ctk", "q9"}).substr(0, 31), "option -ctk needs one of f32, f");
  EXPECT_EQ(bad({"my.gguf"}), "unexpected argument my.gguf; did you mean --model my.gguf?");
  EXPECT_EQ(bad({"--chat-template-kwargs", "[1]"}).substr(0, 51),
            "option --chat-template-kwargs needs a JSON object s");
}

TEST_F(OptionsTest, HugeNumbersAreRefusedNotWrapped) {
  EXPECT_NE(bad({"-c", "9223372036854775807k"}), "no error");
  EXPECT_NE(bad({"--port", "65536"}), "no error");
  EXPECT_NE(bad({"-s", "99999999999"}), "no error");
}

TEST_F(OptionsTest, OptionsWithoutEffectLeaveANote) {
  const auto parsed = parse({"--jinja", "--cache-reuse", "256", "--no-context-shift"});
  ASSERT_TRUE(parsed);
  ASSERT_EQ(parsed->notes.size(), 3U);
  EXPECT_EQ(parsed->notes[0], "--jinja has no effect: chat templates always run through Jinja");
}

TEST_F(OptionsTest, OptionsThatWouldChangeTheAnswerAreRefused) {
  EXPECT_EQ(bad({"--lora", "x"}), "option --lora is not supported: Holdfast cannot do this yet.");
}

TEST_F(OptionsTest, CommandLineBeatsEnvironmentBeatsConfig) {
  test_files["a.conf"] = "parallel = 1\nport = 1\nctx-size = 1k\nhost = ::1\n";
  const Environment env = {{"LLAMA_ARG_N_PARALLEL", "2"}, {"LLAMA_ARG_PORT", "2"},
                           {"LLAMA_ARG_CTX_SIZE", "2k"},  {"HOLDFAST_PARALLEL", "3"},
                           {"HOLDFAST_PORT", "3"},        {"HOLDFAST_CONFIG", "a.conf"}};
  const ServeOptions options = good({"-np", "4"}, env);
  EXPECT_EQ(options.context.parallel, 4);
  EXPECT_EQ(options.server.port, 3);
  EXPECT_EQ(options.context.size, 2048);
  EXPECT_EQ(options.server.hosts, std::vector<std::string>{"::1"});
}

TEST_F(OptionsTest, RepeatedValuesComeFromTheHighestSourceOnly) {
  const Environment env = {{"LLAMA_API_KEY", "old"}};
  EXPECT_EQ(good({}, env).server.api_keys, Args{"old"});
  EXPECT_EQ(good({"--api-key", "a,b", "--api-key", "c"}, env).server.api_keys,
            (Args{"a", "b", "c"}));
}

// A server that was meant to be closed must not stand open.
TEST_F(OptionsTest, AnEmptyKeyIsRefusedWhereverItComesFrom) {
  const std::string needs = " needs at least one item that is not empty, not \"\".";
  for (const char* variable : {"HOLDFAST_API_KEY", "LLAMA_API_KEY", "LLAMA_ARG_API_KEY"})
    EXPECT_EQ(bad({}, {{variable, ""}}), variable + needs);
  EXPECT_EQ(bad({}, {{"HOLDFAST_API_KEY", " , "}}),
            "HOLDFAST_API_KEY needs at least one item that is not empty, not \" , \".");
  EXPECT_NE(bad({}, {{"HOLDFAST_API_KEY_FILE", ""}}), "no error");
  EXPECT_NE(bad({"--api-key", ""}), "no error");
  test_files["a.conf"] = "api-key =\n";
  EXPECT_NE(bad({"--config", "a.conf"}), "no error");
  // What a higher source says counts.
  EXPECT_EQ(good({"--api-key", "k"}, {{"HOLDFAST_API_KEY", ""}}).server.api_keys, Args{"k"});
}

TEST_F(OptionsTest, BothNamesOfLlamaServersKeyVariableWork) {
  EXPECT_EQ(good({}, {{"LLAMA_ARG_API_KEY", "a"}}).server.api_keys, Args{"a"});
  EXPECT_EQ(good({}, {{"LLAMA_API_KEY", "b"}}).server.api_keys, Args{"b"});
}

TEST_F(OptionsTest, EnvironmentTurnsFlagsOnAndOff) {
  EXPECT_FALSE(good({}, {{"LLAMA_ARG_MMAP", "0"}}).model.mmap);
  EXPECT_FALSE(good({}, {{"LLAMA_ARG_NO_MMAP", ""}}).model.mmap);
  EXPECT_FALSE(good({}, {{"HOLDFAST_NO_MMAP", "1"}}).model.mmap);
  EXPECT_TRUE(good({"--mmap"}, {{"HOLDFAST_MMAP", "off"}}).model.mmap);
  EXPECT_EQ(bad({}, {{"HOLDFAST_MLOCK", "perhaps"}}),
            "HOLDFAST_MLOCK needs on or off, not \"perhaps\".");
}

TEST_F(OptionsTest, EnvironmentThatIsNotMeantForUs) {
  EXPECT_EQ(good({}, {{"HOLDFAST_PORT", "tcp://10.0.0.1:80"}}).server.port, 8080);
  EXPECT_FALSE(good({}, {{"HOLDFAST_VERSION", "1.2"}}).show_version);
  EXPECT_EQ(good({}, {{"HOLDFAST_HOST", ""}}).server.hosts, std::vector<std::string>{"127.0.0.1"});
  const auto parsed = parse({}, {{"HOLDFAST_PARALEL", "2"}, {"HOLDFAST_XYZZYXYZZY", "2"}});
  ASSERT_EQ(parsed->notes.size(), 1U);
  EXPECT_NE(parsed->notes[0].find("did you mean HOLDFAST_PARALLEL?"), std::string::npos);
}

TEST_F(OptionsTest, ConfigFileHasSectionsCommentsQuotesAndFlags) {
  test_files["a.conf"] =
      "# ours\n[serve]\n\nmodel = \"/a # b.gguf\"  # quoted\nport = 81 # why\n"
      "mlock\nno-mmap = true\r\napi_key = a\napi-key = b\nalias = c#1\n";
  const ServeOptions options = good({"--config", "a.conf"});
  EXPECT_EQ(options.model.path, "/a # b.gguf");
  EXPECT_EQ(options.server.port, 81);
  EXPECT_TRUE(options.model.mlock);
  EXPECT_FALSE(options.model.mmap);
  EXPECT_EQ(options.server.api_keys, (Args{"a", "b"}));
  EXPECT_EQ(options.model.aliases, Args{"c#1"});
}

TEST_F(OptionsTest, ConfigMistakesNameFileAndLine) {
  const auto config = [](const std::string& text) {
    test_files["a.conf"] = text;
    return bad({"--config", "a.conf"});
  };
  EXPECT_EQ(config("\nparalel = 3\n"), "a.conf:2: unknown key paralel; did you mean parallel?");
  EXPECT_EQ(config("port = x\n"),
            "a.conf:1: port needs a whole number from 0 to 65535, not \"x\".");
  EXPECT_EQ(config("port\n"), "a.conf:1: port needs a value: port = N.");
  EXPECT_EQ(config("[chat]\n"), "a.conf:1: unknown section [chat]; the only one is [serve].");
  EXPECT_NE(config("config = b.conf\n"), "no error");
  EXPECT_EQ(bad({"--config", "none.conf"}), "cannot read none.conf.");
}

TEST_F(OptionsTest, FilesAreRead) {
  test_files["keys"] = "# users\nk1\n\n k2 \r\n";
  test_files["t.jinja"] = "{{ messages }}";
  const ServeOptions options =
      good({"--api-key", "k0", "--api-key-file", "keys", "--chat-template-file", "t.jinja"});
  EXPECT_EQ(options.server.api_keys, Args{"k0"});
  ASSERT_EQ(options.server.file_keys.size(), 2U);
  EXPECT_EQ(options.server.file_keys[1].key, "k2");
  EXPECT_EQ(options.chat.chat_template, "{{ messages }}");
  test_files["empty"] = "# nobody\n";
  EXPECT_EQ(bad({"--api-key-file", "empty"}), "empty: it holds no key.");
  EXPECT_EQ(bad({"--chat-template-file", "none"}), "cannot read none.");
}

TEST_F(OptionsTest, TheLaterOfTemplateAndTemplateFileCounts) {
  test_files["t"] = "from file";
  EXPECT_EQ(good({"--chat-template-file", "t", "--chat-template", "text"}).chat.chat_template,
            "text");
  EXPECT_EQ(good({"--chat-template", "text", "--chat-template-file", "t"}).chat.chat_template,
            "from file");
}

TEST_F(OptionsTest, TemplateKwargsAreKeptAsJsonText) {
  const auto options = good({"--chat-template-kwargs", R"({"enable_thinking":false,"x":"y"})"});
  EXPECT_EQ(options.chat.template_kwargs.at("enable_thinking"), "false");
  EXPECT_EQ(options.chat.template_kwargs.at("x"), "\"y\"");
}

TEST_F(OptionsTest, TheGridFitsTheEnginesStep) {
  EXPECT_EQ(good({"-b", "256"}).context.ubatch_size, 256);
  EXPECT_EQ(good({"-b", "16"}).context.batch_size, 64) << "the smallest chunk";
  EXPECT_EQ(good({"-ub", "1"}).context.ubatch_size, 64);
  EXPECT_EQ(good({"-ub", "1024", "--grid-step", "1024"}).reuse.grid_step, 1024);
  EXPECT_NE(bad({"--grid-step", "100"}), "no error");
  EXPECT_NE(bad({"--grid-step", "1024"}).find("more than --ubatch-size 512"), std::string::npos);
}

TEST_F(OptionsTest, TheLatencyTargetComesFromAnywhere) {
  EXPECT_EQ(good({"--latency-target", "40"}).context.latency_target_ms, 40);
  EXPECT_EQ(good({}, {{"HOLDFAST_LATENCY_TARGET", "0"}}).context.latency_target_ms, 0);
  test_files["a.conf"] = "latency-target = 100\n";
  EXPECT_EQ(good({"--config", "a.conf"}).context.latency_target_ms, 100);
  EXPECT_EQ(bad({"--latency-target", "-1"}),
            "option --latency-target needs a whole number from 0 to 3600000, not \"-1\".");
}

TEST_F(OptionsTest, CertificateAndKeyBelongTogether) {
  EXPECT_NE(bad({"--ssl-cert-file", "c"}), "no error");
  EXPECT_EQ(good({"--ssl-cert-file", "c", "--ssl-key-file", "k"}).server.ssl_key_file, "k");
}

TEST_F(OptionsTest, AnOpenServerIsNoted) {
  EXPECT_EQ(parse({"--host", "0.0.0.0"})->notes.size(), 1U);
  EXPECT_TRUE(parse({"--host", "0.0.0.0", "--api-key", "k"})->notes.empty());
  EXPECT_TRUE(parse({"--host", "localhost"})->notes.empty());
}

TEST_F(OptionsTest, HelpWinsOverMistakes) {
  EXPECT_TRUE(good({"--paralel", "-h"}).show_help);
  EXPECT_TRUE(good({"--version"}).show_version);
}

TEST_F(OptionsTest, HelpTeachesAndFitsTheTerminal) {
  for (const int width : {60, 80, 120}) {
    std::istringstream lines(serve_help(width));
    for (std::string line; std::getline(lines, line);) {
      const bool example = line.starts_with("    ") && line[4] != ' ';
      if (example) continue;
      EXPECT_LE(line.size(), static_cast<std::size_t>(std::max(width, 80))) << line;
    }
  }
  const std::string help = serve_help();
  EXPECT_LT(help.find("Examples:"), help.find("--ctx-size"));
  EXPECT_NE(help.find("(default: 0.95)"), std::string::npos);
  EXPECT_NE(help.find("-np, --parallel N"), std::string::npos);
  EXPECT_NE(help.find("Context tokens of each slot"), std::string::npos);
  EXPECT_EQ(help.find('\x01'), std::string::npos);
}

TEST_F(OptionsTest, EnvironmentOfSplitsAtTheFirstEqualsSign) {
  const char* const envp[] = {"A=b=c", "B=", "odd", nullptr};
  EXPECT_EQ(environment_of(envp), (Environment{{"A", "b=c"}, {"B", ""}}));
}

TEST_F(OptionsTest, ReadFileNamesWhatItCannotRead) {
  const auto text = read_file("/");
  ASSERT_FALSE(text);
  EXPECT_EQ(text.error().message, "cannot read /: Is a directory");
}

}  // namespace
}  // namespace holdfast::cli
