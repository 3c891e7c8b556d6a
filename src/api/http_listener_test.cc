// Where a server listens: several addresses, UNIX sockets, and below a prefix.
#include "api/http_listener.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "api/http_server.h"

namespace holdfast::api {
namespace {

namespace fs = std::filesystem;

class Listening : public testing::Test {
 protected:
  void SetUp() override { fs::create_directories(folder_); }
  void TearDown() override {
    if (server_) server_->stop();
    fs::remove_all(folder_);
  }

  // Answers with the request's path and peer.
  Result<std::unique_ptr<HttpServer>> listen(HttpServerOptions options) {
    options.port = 0;
    return HttpServer::listen(
        std::move(options),
        [](const HttpRequest& request, HttpResponder& out) -> boost::asio::awaitable<void> {
          HttpResponse seen;
          seen.body = (request.outside ? "outside " : "") + request.path + " of " +
                      request.peer.substr(0, request.peer.find(':'));
          co_await out.send(std::move(seen));
        });
  }
  void start(HttpServerOptions options) {
    auto server = listen(std::move(options));
    ASSERT_TRUE(server.ok()) << server.error().message;
    server_ = std::move(*server);
    server_->start();
  }

  // What the answer says; empty: nobody answers there.
  static std::string ask(const sockaddr* address, socklen_t size, const std::string& path) {
    const int fd = ::socket(address->sa_family, SOCK_STREAM, 0);
    std::string answer;
    if (::connect(fd, address, size) == 0) {
      const std::string request =
          "GET " + path + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
      EXPECT_GT(::send(fd, request.data(), request.size(), MSG_NOSIGNAL), 0);
      char bytes[4096];
      for (ssize_t n = 1; (n = ::recv(fd, bytes, sizeof(bytes), 0)) > 0;)
        answer.append(bytes, static_cast<std::size_t>(n));
    }
    ::close(fd);
    const auto body = answer.find("\r\n\r\n");
    return body == answer.npos ? "" : answer.substr(body + 4);
  }
  [[nodiscard]] std::string ask_address(const char* host, const std::string& path = "/a") const {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(server_->port());
    ::inet_pton(AF_INET, host, &address.sin_addr);
    return ask(reinterpret_cast<const sockaddr*>(&address), sizeof(address), path);
  }
  static std::string ask_file(const std::string& file) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    file.copy(address.sun_path, sizeof(address.sun_path) - 1);
    return ask(reinterpret_cast<const sockaddr*>(&address), sizeof(address), "/a");
  }
  [[nodiscard]] std::string file(const std::string& name) const { return folder_ / name; }

  std::unique_ptr<HttpServer> server_;

 private:
  const fs::path folder_ =
      fs::path(testing::TempDir()) / ("holdfast_listener_" + std::to_string(::getpid()));
};

TEST_F(Listening, SeveralAddressesShareAPort) {
  start({.hosts = {"127.0.0.1", "127.0.0.2"}});
  EXPECT_EQ(ask_address("127.0.0.1"), "/a of 127.0.0.1");
  EXPECT_NE(ask_address("127.0.0.2"), "");
  EXPECT_EQ(ask_address("127.0.0.3"), "") << "nobody listens there";
}

TEST_F(Listening, AUnixSocketIsAnotherWayIn) {
  start({.hosts = {file("a.sock"), "127.0.0.1"}});
  EXPECT_EQ(ask_file(file("a.sock")), "/a of unix");
  EXPECT_NE(ask_address("127.0.0.1"), "");
  server_->stop();
  EXPECT_FALSE(fs::exists(file("a.sock"))) << "it goes with the server";
}

TEST_F(Listening, AUnixSocketAloneHasNoPort) {
  start({.hosts = {file("a.sock")}});
  EXPECT_EQ(server_->port(), 0);
  EXPECT_EQ(ask_file(file("a.sock")), "/a of unix");
}

TEST_F(Listening, ASocketThatWasLeftOverIsReplaced) {
  const int fd = ::socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  file("a.sock").copy(address.sun_path, sizeof(address.sun_path) - 1);
  ASSERT_EQ(::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
  ::close(fd);
  ASSERT_TRUE(fs::exists(file("a.sock")));
  start({.hosts = {file("a.sock")}});
  EXPECT_EQ(ask_file(file("a.sock")), "/a of unix");
}

TEST_F(Listening, ASocketInUseIsAnError) {
  start({.hosts = {file("a.sock")}});
  const auto second = listen({.hosts = {file("a.sock")}});
  ASSERT_FALSE(second.ok());
  EXPECT_NE(second.error().message.find(file("a.sock")), std::string::npos);
  EXPECT_EQ(ask_file(file("a.sock")), "/a of unix") << "the first one is not harmed";
}

TEST_F(Listening, AFileOfAnotherKindStays) {
  std::ofstream(file("a.sock")) << "mine";
  EXPECT_FALSE(listen({.hosts = {file("a.sock")}}).ok());
  EXPECT_EQ(fs::file_size(file("a.sock")), 4U);
}

TEST_F(Listening, OneAddressInUseIsAnErrorOfAll) {
  start({.hosts = {"127.0.0.1"}});
  HttpServerOptions both{.hosts = {"127.0.0.2", "127.0.0.1"}, .port = server_->port()};
  const auto second = HttpServer::listen(
      std::move(both),
      [](const HttpRequest&, HttpResponder&) -> boost::asio::awaitable<void> { co_return; });
  ASSERT_FALSE(second.ok());
  EXPECT_NE(second.error().message.find("127.0.0.1:"), std::string::npos);
}

TEST_F(Listening, PathsAreBelowThePrefix) {
  start({.path_prefix = "/llm"});
  EXPECT_EQ(ask_address("127.0.0.1", "/llm/v1/models"), "/v1/models of 127.0.0.1");
  EXPECT_EQ(ask_address("127.0.0.1", "/v1/models"), "outside /v1/models of 127.0.0.1");
}

}  // namespace
}  // namespace holdfast::api
