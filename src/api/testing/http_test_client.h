// A blocking HTTP client for tests: it shows what arrived, byte by byte if need be,
// and gives up rather than hang.
#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <openssl/ssl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace holdfast::api {

struct TestAnswer {
  int status = 0;    // 0: the connection ended before a whole head
  std::string head;  // with the status line
  std::string body;
  bool complete = false;  // the body reached its proper end
  std::vector<std::string> chunks;

  [[nodiscard]] bool has(std::string_view header_line) const {
    return head.find("\r\n" + std::string(header_line) + "\r\n") != std::string::npos;
  }
};

class TestClient {
 public:
  struct Options {
    int receive_buffer = 0;  // bytes; 0: the kernel's choice
    SSL_CTX* tls = nullptr;
  };

  explicit TestClient(std::uint16_t port) : TestClient(port, Options{}) {}
  TestClient(std::uint16_t port, Options options) : fd_(::socket(AF_INET, SOCK_STREAM, 0)) {
    const timeval patience{20, 0};
    ::setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    ::setsockopt(fd_, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
    if (options.receive_buffer > 0) {
      ::setsockopt(fd_, SOL_SOCKET, SO_RCVBUF, &options.receive_buffer, sizeof(int));
    }
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(0, ::connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof(address)));
    if (options.tls != nullptr) shake_hands(options.tls);
  }
  ~TestClient() { close(); }
  TestClient(TestClient&& other) noexcept
      : fd_(std::exchange(other.fd_, -1)),
        ssl_(std::move(other.ssl_)),
        received_(std::move(other.received_)) {}

  // False when the server no longer takes bytes.
  bool send(std::string_view bytes) {
    while (!bytes.empty()) {
      const auto sent = ssl_ ? SSL_write(ssl_.get(), bytes.data(), static_cast<int>(bytes.size()))
                             : ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) return false;
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
  }
  void end_sending() { ::shutdown(fd_, SHUT_WR); }
  void say_tls_goodbye() { SSL_shutdown(ssl_.get()); }
  void close() {
    ssl_.reset();
    if (fd_ >= 0) ::close(std::exchange(fd_, -1));
  }

  [[nodiscard]] int fd() const { return fd_; }

  TestAnswer get(std::string_view path) {
    send("GET " + std::string(path) + " HTTP/1.1\r\nHost: localhost\r\n\r\n");
    return read_answer();
  }

  TestAnswer read_answer() {
    TestAnswer answer = read_head();
    if (answer.status == 0) return answer;
    if (answer.status == 204) {  // has no body
      answer.complete = true;
    } else if (answer.has("Transfer-Encoding: chunked")) {
      while (read_chunk(answer)) {
      }
    } else if (const auto at = answer.head.find("Content-Length: "); at != std::string::npos) {
      const std::size_t length = std::strtoul(answer.head.c_str() + at + 16, nullptr, 10);
      answer.body = take(length);
      answer.complete = answer.body.size() == length;
    } else {
      answer.body = read_to_end();
      answer.complete = true;
    }
    return answer;
  }

  TestAnswer read_head() {
    TestAnswer answer;
    answer.head = take_through("\r\n\r\n");
    if (answer.head.size() > 12) answer.status = std::atoi(answer.head.c_str() + 9);
    return answer;
  }

  // False after the last chunk, or when the connection ended.
  bool read_chunk(TestAnswer& answer) {
    const std::string size_line = take_through("\r\n");
    if (size_line.empty()) return false;
    const std::size_t size = std::strtoul(size_line.c_str(), nullptr, 16);
    const std::string data = take(size + 2);
    answer.complete = size == 0 && data == "\r\n";
    if (size == 0 || data.size() != size + 2) return false;
    answer.chunks.push_back(data.substr(0, size));
    answer.body += answer.chunks.back();
    return true;
  }

  std::string read_to_end() {
    while (receive()) {
    }
    return std::exchange(received_, {});
  }
  // True when the server closes in an orderly way, sending nothing more.
  bool sees_end() { return !receive() && last_result_ == 0 && received_.empty(); }

 private:
  struct FreeSsl {
    void operator()(SSL* ssl) const { SSL_free(ssl); }
  };

  void shake_hands(SSL_CTX* context) {
    ssl_.reset(SSL_new(context));
    SSL_set_fd(ssl_.get(), fd_);
    EXPECT_EQ(1, SSL_connect(ssl_.get()));
  }

  bool receive() {
    char bytes[16 * 1024];
    last_result_ =
        ssl_ ? SSL_read(ssl_.get(), bytes, sizeof(bytes)) : ::recv(fd_, bytes, sizeof(bytes), 0);
    if (last_result_ > 0) received_.append(bytes, static_cast<std::size_t>(last_result_));
    return last_result_ > 0;
  }

  std::string take(std::size_t count) {
    while (received_.size() < count && receive()) {
    }
    std::string taken = received_.substr(0, count);
    received_.erase(0, taken.size());
    return taken;
  }

  std::string take_through(std::string_view mark) {
    std::size_t at;
    while ((at = received_.find(mark)) == std::string::npos) {
      if (!receive()) return {};
    }
    return take(at + mark.size());
  }

  int fd_;
  std::unique_ptr<SSL, FreeSsl> ssl_;
  std::string received_;
  long last_result_ = 0;
};

}  // namespace holdfast::api
