#include "cli/launch.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "cli/chat_json.h"
#include "cli/launch_server.h"

namespace holdfast::cli {
namespace {

using Args = std::vector<std::string>;
using Json = nlohmann::json;
using State = ServerAnswer::State;

LaunchOptions good(const Args& args, const Environment& env = {}) {
  auto parsed = parse_launch_options(args, env);
  EXPECT_TRUE(parsed) << parsed.error().message;
  return parsed ? *parsed : LaunchOptions{};
}

std::string bad(const Args& args) {
  const auto parsed = parse_launch_options(args, {});
  return parsed ? "no error" : parsed.error().message;
}

ServerFacts facts() {
  return {.url = "http://127.0.0.1:8080",
          .model = "it's \"a\" model",
          .context = 65536,
          .key = "secret-key"};
}

std::string value_of(const AgentSettings& settings, const std::string& name) {
  for (const auto& [variable, value] : settings.variables)
    if (variable == name) return value;
  return "(not set)";
}

// --- the command line ---------------------------------------------------------------

TEST(LaunchOptions, WhatFollowsTheDashesIsTheAgents) {
  const LaunchOptions options =
      good({"claude", "-m", "x.gguf", "--port", "9001", "--", "-p", "--print", "hi"});
  EXPECT_EQ(options.agent->name, "claude");
  EXPECT_EQ(options.agent_arguments, (Args{"-p", "--print", "hi"}));
  EXPECT_EQ(options.serve_options, (Args{"-m", "x.gguf", "--port", "9001"}));
  EXPECT_EQ(options.serve.model.path, "x.gguf");
  EXPECT_EQ(url_of(options.serve.server), "http://127.0.0.1:9001");
  EXPECT_FALSE(options.print);
}

TEST(LaunchOptions, OwnOptionsAreNotPassedToTheServer) {
  const LaunchOptions options = good({"--print", "pi", "--url", "http://h:1", "-c", "8k"});
  EXPECT_TRUE(options.print);
  EXPECT_EQ(options.url, "http://h:1");
  EXPECT_EQ(options.serve_options, (Args{"-c", "8k"}));
  EXPECT_TRUE(good({"pi", "--dry-run"}).print);
  EXPECT_EQ(good({"pi"}, {{"HOLDFAST_URL", "http://e:2"}}).url, "http://e:2");
  EXPECT_EQ(good({"pi", "--port", "9"}, {{"HOLDFAST_URL", "http://e:2"}}).url, "")
      << "the option is more explicit";
}

TEST(LaunchOptions, MistakesSayWhatToDo) {
  EXPECT_NE(bad({}).find("claude, codex, opencode, pi, qwen, cline"), std::string::npos);
  EXPECT_NE(bad({"cloude"}).find("did you mean claude?"), std::string::npos);
  EXPECT_NE(bad({"pi", "-p", "hi"}).find("follow `--`: holdfast launch pi -- ..."),
            std::string::npos);
  EXPECT_NE(bad({"pi", "--url"}).find("--url URL"), std::string::npos);
  EXPECT_NE(bad({"pi", "--ssl-cert-file", "a", "--ssl-key-file", "b"}).find("--url"),
            std::string::npos);
}

TEST(LaunchOptions, AServerForAllIsAskedOnThisMachine) {
  ServerOptions server;
  server.hosts = {"0.0.0.0"};
  EXPECT_EQ(url_of(server), "http://127.0.0.1:8080");
  server.hosts = {"/run/x.sock", "::"};
  EXPECT_EQ(url_of(server), "http://[::1]:8080");
}

TEST(LaunchOptions, AnAddressIsGivenToAgentsInOneForm) {
  for (const char* text : {"127.0.0.1:8080", "http://127.0.0.1:8080/", "http://127.0.0.1:8080/v1",
                           "http://127.0.0.1:8080/v1/"}) {
    const auto url = base_url(text);
    ASSERT_TRUE(url.ok()) << text;
    EXPECT_EQ(*url, "http://127.0.0.1:8080") << text;
  }
  EXPECT_EQ(*base_url("https://box.example/models/v1/"), "https://box.example/models");
  EXPECT_FALSE(base_url("http://a:b:c").ok());
}

// --- the settings -------------------------------------------------------------------

TEST(AgentSettings, EveryAgentIsToldTheServerAndItsModel) {
  for (const Agent& agent : known_agents()) {
    ServerFacts server = facts();
    server.model = "pocket-x";  // a word that nothing else holds
    const AgentSettings settings = agent.settings(server, "/folder");
    std::string all = as_text(settings, server, "/folder");
    for (const AgentFile& file : settings.files) all += file.content;
    EXPECT_NE(all.find("http://127.0.0.1:8080"), std::string::npos) << agent.name;
    EXPECT_NE(all.find("65536"), std::string::npos) << agent.name;
    EXPECT_NE(all.find("pocket-x"), std::string::npos) << agent.name;
  }
}

// Other users of the machine see command lines.
TEST(AgentSettings, TheKeyIsInNoArgumentAndNotShown) {
  for (const Agent& agent : known_agents()) {
    const AgentSettings settings = agent.settings(facts(), "/folder");
    for (const std::string& argument : settings.arguments)
      EXPECT_EQ(argument.find("secret-key"), std::string::npos) << agent.name;
    EXPECT_EQ(as_text(settings, facts(), "/folder").find("secret-key"), std::string::npos)
        << agent.name;
    ServerFacts open = facts();
    open.key.clear();
    const AgentSettings without = agent.settings(open, "/folder");
    std::string all;
    for (const auto& [name, value] : without.variables) all += value + "\n";
    for (const AgentFile& file : without.files) all += file.content;
    EXPECT_NE(all.find("none"), std::string::npos) << agent.name;
  }
}

TEST(AgentSettings, ClaudeGetsSizesAndNoAttribution) {
  const AgentSettings settings = find_agent("claude")->settings(facts(), "");
  EXPECT_EQ(value_of(settings, "ANTHROPIC_BASE_URL"), "http://127.0.0.1:8080");
  EXPECT_EQ(value_of(settings, "ANTHROPIC_MODEL"), facts().model);
  EXPECT_EQ(value_of(settings, "CLAUDE_CODE_MAX_CONTEXT_TOKENS"), "65536");
  EXPECT_EQ(value_of(settings, "CLAUDE_CODE_MAX_OUTPUT_TOKENS"), "16384");
  EXPECT_EQ(value_of(settings, "CLAUDE_CODE_ATTRIBUTION_HEADER"), "0");
  EXPECT_EQ(value_of(settings, "API_TIMEOUT_MS"), "3600000");  // as long as a server's --timeout
  EXPECT_EQ(value_of(settings, "CLAUDE_STREAM_IDLE_TIMEOUT_MS"), "3600000");
  EXPECT_EQ(planned_answer(1 << 20), 32000);
  EXPECT_EQ(planned_answer(0), 1);
}

TEST(AgentSettings, WhatIsJsonParses) {
  const Json config = lenient_json(
      value_of(find_agent("opencode")->settings(facts(), ""), "OPENCODE_CONFIG_CONTENT"));
  EXPECT_EQ(config.at("model"), "holdfast/" + facts().model);
  EXPECT_EQ(
      config.at("provider").at("holdfast").at("models").at(facts().model).at("limit").at("context"),
      65536);
  for (const char* name : {"qwen", "cline"})
    for (const AgentFile& file : find_agent(name)->settings(facts(), "/f").files)
      EXPECT_FALSE(lenient_json(file.content).is_discarded()) << file.name;
}

// What a shell makes of it is compared in tests/clients/launch.test.mjs.
TEST(AgentSettings, AsAShellReadsThem) {
  const std::string text = as_shell(*find_agent("pi"), facts());
  EXPECT_NE(text.find("export HOLDFAST_AGENT_DIR=\"$(mktemp -d)\"\n"), std::string::npos);
  EXPECT_NE(text.find("--extension \"$HOLDFAST_AGENT_DIR\"/holdfast-provider.js"),
            std::string::npos)
      << text;
}

// --- the server ---------------------------------------------------------------------

TEST(LaunchServer, ReadsWhatTheServerSays) {
  const auto read = [](int status, const std::string& body) {
    return read_models_answer(status, body, "http://h:1", "k");
  };
  const ServerAnswer ready = read(200, R"({"data":[{"id":"m","meta":{"n_ctx":4096}}]})");
  EXPECT_EQ(ready.state, State::kReady);
  EXPECT_EQ(ready.facts.model, "m");
  EXPECT_EQ(ready.facts.context, 4096);
  EXPECT_EQ(ready.facts.key, "k");
  const ServerAnswer loading = read(503, R"({"error":{},"progress":0.5})");
  EXPECT_EQ(loading.state, State::kLoading);
  EXPECT_EQ(loading.progress, 0.5);
  EXPECT_EQ(read(401, "{}").state, State::kOther);
  EXPECT_NE(read(401, "{}").said.find("--api-key"), std::string::npos);
  for (const char* body : {"", "<html>", "[]", R"({"data":[]})", R"({"data":[{"id":"gpt"}]})"})
    EXPECT_EQ(read(200, body).state, State::kOther) << body;
}

TEST(LaunchServer, NobodyAnswersOnAClosedPort) {
  EXPECT_EQ(ask_server("http://127.0.0.1:1", "").state, State::kNobody);
  EXPECT_EQ(ask_server("http://127.0.0.1:1:2", "").state, State::kOther);
}

TEST(LaunchServer, TheFolderIsTheUsersAloneAndGoes) {
  std::string path;
  {
    auto folder = TempFolder::make({{"TMPDIR", ::testing::TempDir()}});
    ASSERT_TRUE(folder);
    path = folder->path();
    ASSERT_TRUE(folder->write({"a.json", "{}"}));
    EXPECT_EQ(std::filesystem::status(path).permissions(), std::filesystem::perms::owner_all);
    EXPECT_TRUE(std::filesystem::exists(path + "/a.json"));
  }
  EXPECT_FALSE(std::filesystem::exists(path));
}

// --- programs -----------------------------------------------------------------------

TEST(ChildProcess, FindsProgramsAsAShellDoes) {
  EXPECT_EQ(find_program("sh", "/no/such/folder:/bin"), "/bin/sh");
  EXPECT_EQ(find_program("sh", ""), "");
  EXPECT_EQ(find_program("bin", "/usr"), "") << "a folder is no program";
  EXPECT_EQ(find_program("passwd", "/etc"), "") << "nor is a file that cannot be run";
}

TEST(ChildProcess, TheCodeOfTheChildIsReturned) {
  const auto code = [](const std::string& script) {
    const auto ended = run_in_front({.program = "/bin/sh",
                                     .arguments = {"-c", script},
                                     .variables = {{"HOLDFAST_TEST_A", "a b"}},
                                     .unset = {"HOME"}});
    return ended ? *ended : -1;
  };
  EXPECT_EQ(code(R"(test "$HOLDFAST_TEST_A" = "a b" && test -z "$HOME" && exit 7)"), 7);
  EXPECT_EQ(code("kill -TERM $$"), 128 + 15);
}

TEST(ChildProcess, OneInTheBackgroundEndsWhenStopped) {
  auto folder = TempFolder::make({});
  ASSERT_TRUE(folder);
  const std::string log = folder->path() + "/log";
  auto child = BackgroundChild::start(
      {.program = "/bin/sh", .arguments = {"-c", "echo begun; exec sleep 600"}}, log);
  ASSERT_TRUE(child);
  EXPECT_TRUE(child->running());
  child->stop(std::chrono::seconds(60));
  EXPECT_FALSE(child->running());
  auto short_lived = BackgroundChild::start({.program = "/bin/true"}, log);
  while (short_lived->running()) usleep(1000);
}

}  // namespace
}  // namespace holdfast::cli
