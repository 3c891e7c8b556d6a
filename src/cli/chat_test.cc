#include "cli/chat.h"

#include <gtest/gtest.h>

#include <atomic>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <deque>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

namespace holdfast::cli {
namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using Json = nlohmann::json;
using Socket = asio::ip::tcp::socket;
using Request = http::request<http::string_body>;

// Answers one connection at a time with whatever `handler` writes.
class TestServer {
 public:
  using Handler = std::function<void(const Request&, Socket&)>;

  explicit TestServer(Handler handler)
      : handler_(std::move(handler)),
        acceptor_(io_, {asio::ip::make_address("127.0.0.1"), 0}),
        port_(acceptor_.local_endpoint().port()),
        thread_([this] { serve(); }) {}

  ~TestServer() {
    stopping_ = true;
    boost::system::error_code ignored;
    Socket(io_).connect({asio::ip::make_address("127.0.0.1"), port_}, ignored);
    thread_.join();
  }

  [[nodiscard]] std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }

 private:
  void serve() {
    while (true) {
      Socket socket(io_);
      acceptor_.accept(socket);
      if (stopping_) return;
      boost::beast::flat_buffer buffer;
      Request request;
      boost::system::error_code error;
      http::read(socket, buffer, request, error);
      if (!error) handler_(request, socket);
    }
  }

  Handler handler_;
  asio::io_context io_;
  asio::ip::tcp::acceptor acceptor_;
  std::uint16_t port_;
  std::atomic<bool> stopping_{false};
  std::thread thread_;
};

void send(Socket& socket, const std::string& text) {
  boost::system::error_code ignored;
  asio::write(socket, asio::buffer(text), ignored);
}

void send_answer(Socket& socket, int status, const std::string& body) {
  send(socket, "HTTP/1.1 " + std::to_string(status) + " X\r\nContent-Type: application/json\r\n" +
                   "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body);
}

void begin_stream(Socket& socket) {
  send(socket,
       "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n");
}

void send_event(Socket& socket, const std::string& data) {
  const std::string text = "data: " + data + "\n\n";
  std::ostringstream size;
  size << std::hex << text.size();
  send(socket, size.str() + "\r\n" + text + "\r\n");
}

void end_stream(Socket& socket) {
  send_event(socket, "[DONE]");
  send(socket, "0\r\n\r\n");
}

std::string delta(const std::string& field, const std::string& text) {
  return Json{{"choices", {{{"delta", {{field, text}}}, {"finish_reason", nullptr}}}}}.dump();
}

const char* const kLastChunk =
    R"({"choices":[],"usage":{"prompt_tokens":1061,"completion_tokens":118},"timings":{"cache_n":)"
    R"(1024,"prompt_n":37,"prompt_ms":120.0,"predicted_n":118,"predicted_per_second":61.3}})";

class FakeIo final : public ChatIo {
 public:
  std::optional<std::string> read_line(const std::string& prompt) override {
    prompts += prompt;
    if (lines.empty()) return std::nullopt;
    std::string line = lines.front();
    lines.pop_front();
    return line;
  }
  void write(std::string_view text) override {
    out += text;
    if (!interrupt_after.empty() && out.find(interrupt_after) != std::string::npos) stopped = true;
  }
  void note(std::string_view line) override { notes.emplace_back(line); }
  [[nodiscard]] bool terminal() const override { return is_terminal; }
  [[nodiscard]] bool colour() const override { return is_terminal; }
  [[nodiscard]] bool interrupted() const override { return stopped; }
  void clear_interrupt() override { stopped = false; }
  env::Logger& log() override { return *logger; }

  [[nodiscard]] bool noted(std::string_view text) const {
    return std::any_of(notes.begin(), notes.end(), [&](const std::string& note) {
      return note.find(text) != std::string::npos;
    });
  }

  std::deque<std::string> lines;
  std::string prompts;
  std::string out;
  std::vector<std::string> notes;
  std::string log_text;
  std::string interrupt_after;
  bool is_terminal = false;
  bool stopped = false;
  std::unique_ptr<env::Logger> logger =
      std::move(
          env::Logger::open({.sink = {.write = [this](std::string_view t) { log_text += t; }}}))
          .value();
};

// A server that answers every question with "Hello there." and remembers what it got.
class ChatTest : public ::testing::Test {
 protected:
  void answer(const Request& request, Socket& socket) {
    if (request.target() == "/health") return send_answer(socket, 200, R"({"status":"ok"})");
    bodies.push_back(Json::parse(request.body()));
    authorization = std::string(request[http::field::authorization]);
    begin_stream(socket);
    send_event(socket, delta("reasoning_content", "Hm."));
    send_event(socket, delta("content", "Hello "));
    send_event(socket, delta("content", "there."));
    send_event(socket, kLastChunk);
    end_stream(socket);
  }

  TestServer::Handler handler() {
    return [this](const Request& request, Socket& socket) { answer(request, socket); };
  }

  int chat(const TestServer& server, std::deque<std::string> lines, ChatOptions options = {}) {
    options.url = server.url();
    io.lines = std::move(lines);
    return run_chat(options, io);
  }

  FakeIo io;
  std::vector<Json> bodies;
  std::string authorization;
};

TEST_F(ChatTest, OneShotPrintsTheAnswerAndNothingElse) {
  TestServer server(handler());
  EXPECT_EQ(chat(server, {}, {.api_key = "k", .question = "Hi"}), 0);
  EXPECT_EQ(io.out, "Hello there.\n");
  EXPECT_TRUE(io.notes.empty());
  EXPECT_EQ(authorization, "Bearer k");
}

TEST_F(ChatTest, TheRequestCarriesTheOptions) {
  TestServer server(handler());
  ChatOptions options;
  options.system = "Be brief.";
  options.model = "m";
  options.temperature = 0.5;
  options.max_tokens = 9;
  options.think = false;
  options.question = "Hi";
  EXPECT_EQ(chat(server, {}, options), 0);
  EXPECT_EQ(bodies.at(0), Json::parse(R"({"model":"m","temperature":0.5,"max_tokens":9,
      "stream":true,"stream_options":{"include_usage":true},
      "chat_template_kwargs":{"enable_thinking":false},
      "messages":[{"role":"system","content":"Be brief."},{"role":"user","content":"Hi"}]})"));
}

TEST_F(ChatTest, OnATerminalReasoningIsDimAndTheTurnIsCounted) {
  TestServer server(handler());
  io.is_terminal = true;
  chat(server, {"Hi"});
  EXPECT_EQ(io.out, "\x1b[2mHm.\x1b[0m\n\nHello there.\n");
  EXPECT_TRUE(io.noted("1,024 cached + 37 new tokens read in 0.12 s · 118 tokens at 61.3 tok/s"));
}

TEST_F(ChatTest, HistoryGoesWithEachTurn) {
  TestServer server(handler());
  chat(server, {"one", "two \\", "lines"});
  EXPECT_EQ(bodies.at(1)["messages"], Json::parse(R"([{"role":"user","content":"one"},
      {"role":"assistant","content":"Hello there.","reasoning_content":"Hm."},
      {"role":"user","content":"two \nlines"}])"));
  EXPECT_EQ(io.prompts, "> > . > ");
}

TEST_F(ChatTest, CommandsChangeTheConversation) {
  TestServer server(handler());
  chat(server,
       {"one", "/retry", "/undo", "two", "/new", "/system Be kind.", "//three", "/quit", "never"});
  ASSERT_EQ(bodies.size(), 4U);
  EXPECT_EQ(bodies[1], bodies[0]);
  EXPECT_EQ(bodies[2]["messages"].size(), 1U);
  EXPECT_EQ(bodies[2]["messages"][0]["content"], "two");
  EXPECT_EQ(bodies[3]["messages"][0]["content"], "Be kind.");
  EXPECT_EQ(bodies[3]["messages"][1]["content"], "/three");
}

TEST_F(ChatTest, HelpStatsAndUnknownCommands) {
  TestServer server(handler());
  chat(server, {"/help", "/stats", "/rety", "/undo", "/retry", "one", "/stats"});
  EXPECT_TRUE(io.noted("/save FILE"));
  EXPECT_TRUE(io.noted("did you mean /retry?"));
  EXPECT_TRUE(io.noted("nothing to take back"));
  EXPECT_TRUE(io.noted("1 turn · 1,061 prompt tokens, 1,024 of them cached (96.5%)"));
}

TEST_F(ChatTest, SaveWritesTheMessages) {
  TestServer server(handler());
  const auto path = std::filesystem::temp_directory_path() / "holdfast_chat_test.json";
  chat(server, {"one", "/save " + path.string(), "/save /nowhere/x"});
  const Json saved = Json::parse(std::ifstream(path));
  EXPECT_EQ(saved.size(), 2U);
  EXPECT_TRUE(io.noted("Cannot write /nowhere/x."));
  std::filesystem::remove(path);
}

TEST_F(ChatTest, NoServerIsSaidInOneSentence) {
  std::string url;
  { url = TestServer(handler()).url(); }
  EXPECT_EQ(run_chat({.url = url}, io), 1);
  EXPECT_EQ(io.notes,
            std::vector<std::string>{"No server at " + url + ". Start one with `holdfast serve`."});
}

TEST_F(ChatTest, ALoadingServerIsWaitedFor) {
  int checks = 0;
  TestServer server([&](const Request& request, Socket& socket) {
    if (request.target() == "/health" && ++checks < 3) {
      return send_answer(socket, 503, R"({"error":{"message":"Loading model"}})");
    }
    answer(request, socket);
  });
  EXPECT_EQ(chat(server, {}, {.question = "Hi"}), 0);
  EXPECT_EQ(io.out, "Hello there.\n");
  EXPECT_NE(io.log_text.find("The server is loading its model: done"), std::string::npos);
}

TEST_F(ChatTest, RefusalsAreShownAndLeaveNoTrace) {
  int asked = 0;
  TestServer server([&](const Request& request, Socket& socket) {
    if (request.target() == "/health" || ++asked > 2) return answer(request, socket);
    if (asked == 1) return send_answer(socket, 400, R"({"error":{"message":"too long"}})");
    send_answer(socket, 401, "");
  });
  chat(server, {"one", "two", "three"});
  EXPECT_TRUE(io.noted("The server says: too long"));
  EXPECT_TRUE(io.noted("--api-key"));
  EXPECT_EQ(bodies.at(0)["messages"].size(), 1U);
}

TEST_F(ChatTest, AStoppedAnswerClosesTheConnectionAndKeepsItsText) {
  std::atomic<bool> closed{false};
  std::atomic<int> asked{0};
  TestServer server([&](const Request& request, Socket& socket) {
    if (request.target() == "/health" || ++asked > 1) return answer(request, socket);
    begin_stream(socket);
    send_event(socket, delta("content", "Once upon"));
    char byte = 0;
    boost::system::error_code error;
    socket.read_some(asio::buffer(&byte, 1), error);  // returns when the client closes
    closed = error.failed();
  });
  io.interrupt_after = "Once upon";
  chat(server, {"tell", "go on"});
  EXPECT_TRUE(closed);
  EXPECT_TRUE(io.noted("(Stopped.)"));
  EXPECT_EQ(bodies.at(0)["messages"][1]["content"], "Once upon");
  EXPECT_EQ(bodies.at(0)["messages"][2]["content"], "go on");
}

TEST_F(ChatTest, AnAnswerThatKeepsFlowingStopsToo) {
  TestServer server([&](const Request& request, Socket& socket) {
    if (request.target() == "/health") return answer(request, socket);
    begin_stream(socket);
    boost::system::error_code error;
    while (!error) {  // until the client closes
      send_event(socket, delta("content", "la "));
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      char byte = 0;
      socket.non_blocking(true);
      socket.read_some(asio::buffer(&byte, 1), error);
      if (error == asio::error::would_block) error.clear();
      socket.non_blocking(false);
    }
  });
  io.interrupt_after = "la la ";
  EXPECT_EQ(chat(server, {}, {.question = "sing"}), 130);
}

TEST_F(ChatTest, ABrokenAnswerIsAnErrorThatKeepsItsText) {
  TestServer server([&](const Request& request, Socket& socket) {
    if (request.target() == "/health") return answer(request, socket);
    begin_stream(socket);
    send_event(socket, delta("content", "Half"));
  });
  EXPECT_EQ(chat(server, {}, {.question = "Hi"}), 1);
  EXPECT_EQ(io.out, "Half\n");
  EXPECT_TRUE(io.noted("the connection to"));
}

TEST_F(ChatTest, AnErrorInTheStreamIsShown) {
  TestServer server([&](const Request& request, Socket& socket) {
    if (request.target() == "/health") return answer(request, socket);
    begin_stream(socket);
    send_event(socket, R"({"error":{"message":"context full"}})");
    end_stream(socket);
  });
  EXPECT_EQ(chat(server, {}, {.question = "Hi"}), 1);
  EXPECT_TRUE(io.noted("The server says: context full"));
}

TEST_F(ChatTest, TextOfAModelCannotDriveTheTerminal) {
  TestServer server([&](const Request& request, Socket& socket) {
    if (request.target() == "/health") return answer(request, socket);
    begin_stream(socket);
    send_event(socket, delta("content",
                             "a\x1b[2Jb\xc2\x9b"
                             "c\n"));
    end_stream(socket);
  });
  io.is_terminal = true;
  chat(server, {}, {.question = "Hi"});
  EXPECT_EQ(io.out, "a[2Jbc\n");
}

TEST(ChatOptionsTest, WordsAreTheQuestion) {
  const std::vector<std::string> args = {"--temp", "0.2", "Why", "-", "--no-think", "--", "-x"};
  const auto options = parse_chat_options(args, {{"HOLDFAST_API_KEY", "a,b"}});
  ASSERT_TRUE(options);
  EXPECT_EQ(options->question, "Why -x");
  EXPECT_TRUE(options->read_stdin);
  EXPECT_FALSE(options->think);
  EXPECT_EQ(options->temperature, 0.2);
  EXPECT_EQ(options->api_key, "a");
}

TEST(ChatOptionsTest, MistakesAreSentences) {
  const auto message = [](std::vector<std::string> args) {
    const auto options = parse_chat_options(args, {});
    return options ? "" : options.error().message;
  };
  EXPECT_EQ(message({"--systm", "x"}), "unknown option --systm; did you mean --system?");
  EXPECT_EQ(message({"--url"}), "option --url needs a value: --url URL");
  EXPECT_EQ(message({"--max-tokens", "0"}),
            "option --max-tokens needs a whole number from 1 to 2147483647, not \"0\"");
  EXPECT_NE(chat_help().find("--no-think"), std::string::npos);
}

TEST(StatsLineTest, SaysOnlyWhatIsKnown) {
  EXPECT_EQ(stats_line({.cached = 0, .read = 12, .generated = 3}), "12 tokens read · 3 tokens");
  EXPECT_EQ(stats_line({1234567, 1, 1000, 5, 2}),
            "1,234,567 cached + 1 new tokens read in 1.00 s · 5 tokens at 2.0 tok/s");
  EXPECT_EQ(stats_line({.read = 2, .generated = 9, .per_second = 3, .drafted = 8, .accepted = 6}),
            "2 tokens read · 9 tokens at 3.0 tok/s, 6 of 8 drafted accepted");
}

TEST(UrlTest, GoodAndBad) {
  EXPECT_EQ(parse_url("localhost:8080")->text(), "http://localhost:8080");
  EXPECT_EQ(parse_url("https://a.b/base/")->text(), "https://a.b/base");
  EXPECT_EQ(parse_url("http://[::1]:9")->host, "::1");
  EXPECT_EQ(parse_url("http://[::1]:9")->text(), "http://[::1]:9");
  for (const char* text : {"", "ftp://x", "http://", "http://a:b", "http://u@h",
                           "http://h:", "http://[::1", "http://a b", "http://h:123456"}) {
    EXPECT_FALSE(parse_url(text)) << text;
  }
}

}  // namespace
}  // namespace holdfast::cli
