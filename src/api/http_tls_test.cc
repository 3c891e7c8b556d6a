#include <gtest/gtest.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <future>

#include "api/http_server.h"
#include "api/testing/http_test_client.h"

namespace holdfast::api {
namespace {

namespace asio = boost::asio;
using asio::awaitable;
using std::chrono::seconds;

template <auto kFree>
struct Free {
  void operator()(auto* object) const { kFree(object); }
};
using KeyPtr = std::unique_ptr<EVP_PKEY, Free<EVP_PKEY_free>>;
using CertificatePtr = std::unique_ptr<X509, Free<X509_free>>;
using ContextPtr = std::unique_ptr<SSL_CTX, Free<SSL_CTX_free>>;

CertificatePtr self_signed(EVP_PKEY* key) {
  CertificatePtr certificate(X509_new());
  ASN1_INTEGER_set(X509_get_serialNumber(certificate.get()), 1);
  X509_gmtime_adj(X509_getm_notBefore(certificate.get()), 0);
  X509_gmtime_adj(X509_getm_notAfter(certificate.get()), 3600);
  X509_set_pubkey(certificate.get(), key);
  X509_NAME* name = X509_get_subject_name(certificate.get());
  const auto* common_name = reinterpret_cast<const unsigned char*>("localhost");
  X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, common_name, -1, -1, 0);
  X509_set_issuer_name(certificate.get(), name);
  X509_sign(certificate.get(), key, EVP_sha256());
  return certificate;
}

// A key and its certificate in files that vanish with this object.
class TemporaryCertificate {
 public:
  TemporaryCertificate() {
    char folder[] = "/tmp/holdfast_tls_XXXXXX";
    folder_ = ::mkdtemp(folder);
    const KeyPtr key(EVP_EC_gen("P-256"));
    std::FILE* file = std::fopen(files().private_key.c_str(), "w");
    PEM_write_PrivateKey(file, key.get(), nullptr, nullptr, 0, nullptr, nullptr);
    std::fclose(file);
    file = std::fopen(files().certificate_chain.c_str(), "w");
    PEM_write_X509(file, self_signed(key.get()).get());
    std::fclose(file);
  }
  ~TemporaryCertificate() { std::filesystem::remove_all(folder_); }

  [[nodiscard]] TlsFiles files() const { return {folder_ + "/cert.pem", folder_ + "/key.pem"}; }

 private:
  std::string folder_;
};

class HttpTlsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const TemporaryCertificate certificate;
    options_.port = 0;
    options_.tls = certificate.files();
    auto server = HttpServer::listen(
        options_, [this](const HttpRequest& request, HttpResponder& out) -> awaitable<void> {
          return request.path == "/wait" ? wait_until_gone(out) : echo(request, out);
        });
    ASSERT_TRUE(server.ok()) << server.error().message;
    server_ = std::move(*server);
    server_->start();
    context_.reset(SSL_CTX_new(TLS_client_method()));
    SSL_CTX_load_verify_locations(context_.get(), options_.tls->certificate_chain.c_str(), nullptr);
  }
  void TearDown() override { server_->stop(); }

  static awaitable<void> echo(const HttpRequest& request, HttpResponder& out) {
    HttpResponse first;
    first.body = "echo ";
    co_await out.begin_stream(std::move(first));
    co_await out.write(request.body);
    co_await out.end_stream();
  }

  awaitable<void> wait_until_gone(HttpResponder& out) {
    asio::steady_timer forever(server_->executor(), asio::steady_timer::time_point::max());
    out.on_gone([&] { forever.cancel(); });
    started_.set_value();
    boost::system::error_code ignored;
    co_await forever.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
    gone_.set_value(out.gone());
  }

  [[nodiscard]] TestClient connect() {
    return TestClient(server_->port(), {.tls = context_.get()});
  }
  void expect_gone() {
    auto gone = gone_.get_future();
    ASSERT_EQ(std::future_status::ready, gone.wait_for(seconds(20)));
    EXPECT_TRUE(gone.get());
  }

  HttpServerOptions options_;
  std::unique_ptr<HttpServer> server_;
  ContextPtr context_;
  std::promise<void> started_;
  std::promise<bool> gone_;
};

TEST_F(HttpTlsTest, RoundTripsOnOneConnection) {
  TestClient client = connect();
  const std::string body(200'000, 'x');
  for (int i = 0; i < 3; ++i) {
    client.send("POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 200000\r\n\r\n" + body);
    const TestAnswer answer = client.read_answer();
    EXPECT_EQ("echo " + body, answer.body);
    EXPECT_TRUE(answer.complete);
  }
}

// The certificate that the server shows to a new connection.
std::string shown_certificate(std::uint16_t port) {
  const ContextPtr context(SSL_CTX_new(TLS_client_method()));
  TestClient plain(port);
  const std::unique_ptr<SSL, Free<SSL_free>> ssl(SSL_new(context.get()));
  SSL_set_fd(ssl.get(), plain.fd());
  EXPECT_EQ(1, SSL_connect(ssl.get()));
  const CertificatePtr certificate(SSL_get1_peer_certificate(ssl.get()));
  std::string digest(EVP_MAX_MD_SIZE, '\0');
  unsigned size = 0;
  X509_digest(certificate.get(), EVP_sha256(), reinterpret_cast<unsigned char*>(digest.data()),
              &size);
  digest.resize(size);
  return digest;
}

TEST(HttpTlsReload, NewConnectionsSeeTheNewCertificate) {
  const TemporaryCertificate certificate;
  HttpServerOptions options;
  options.port = 0;
  options.tls = certificate.files();
  auto server =
      HttpServer::listen(options, [](const HttpRequest&, HttpResponder& out) -> awaitable<void> {
        HttpResponse answer;
        co_await out.send(std::move(answer));
      });
  ASSERT_TRUE(server.ok()) << server.error().message;
  (*server)->start();
  const std::string first = shown_certificate((*server)->port());
  const ContextPtr trusting(SSL_CTX_new(TLS_client_method()));
  TestClient old((*server)->port(), {.tls = trusting.get()});
  EXPECT_EQ(200, old.get("/").status);

  const TemporaryCertificate other;
  const auto put = [&](const std::string& chain, const std::string& key) {
    const auto overwrite = std::filesystem::copy_options::overwrite_existing;
    std::filesystem::copy_file(chain, certificate.files().certificate_chain, overwrite);
    std::filesystem::copy_file(key, certificate.files().private_key, overwrite);
    return (*server)->reload_certificate();
  };
  std::ofstream(other.files().private_key + ".bad") << "no key";
  EXPECT_FALSE(put(other.files().certificate_chain, other.files().private_key + ".bad").ok());
  EXPECT_EQ(shown_certificate((*server)->port()), first) << "the old one stays in use";
  EXPECT_TRUE(put(other.files().certificate_chain, other.files().private_key).ok());
  EXPECT_NE(shown_certificate((*server)->port()), first);
  EXPECT_EQ(200, old.get("/").status) << "connections go on";
  (*server)->stop();
}

TEST_F(HttpTlsTest, SaysGoodbyeWhenItCloses) {
  TestClient client = connect();
  client.send("GET /echo HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
  EXPECT_EQ("echo ", client.read_answer().body);
  EXPECT_TRUE(client.sees_end());
}

TEST_F(HttpTlsTest, DisconnectIsTold) {
  TestClient client = connect();
  client.send("GET /wait HTTP/1.1\r\nHost: localhost\r\n\r\n");
  started_.get_future().wait();
  client.close();
  expect_gone();
}

TEST_F(HttpTlsTest, DisconnectAfterGoodbyeIsTold) {
  TestClient client = connect();
  client.send("GET /wait HTTP/1.1\r\nHost: localhost\r\n\r\n");
  started_.get_future().wait();
  client.say_tls_goodbye();
  client.close();
  expect_gone();
}

TEST_F(HttpTlsTest, StopDuringAHandshakeReturns) {
  TestClient client(server_->port());  // never says anything
  server_->stop();
}

TEST_F(HttpTlsTest, PlainHttpIsRefusedAndTheServerGoesOn) {
  TestClient plain(server_->port());
  EXPECT_EQ(0, plain.get("/echo").status);
  TestClient client = connect();
  EXPECT_EQ("echo ", client.get("/echo").body);
}

TEST_F(HttpTlsTest, OldVersionsAreRefused) {
  SSL_CTX_set_security_level(context_.get(), 0);
  SSL_CTX_set_min_proto_version(context_.get(), TLS1_VERSION);
  SSL_CTX_set_max_proto_version(context_.get(), TLS1_1_VERSION);
  TestClient plain(server_->port());
  const std::unique_ptr<SSL, Free<SSL_free>> ssl(SSL_new(context_.get()));
  SSL_set_fd(ssl.get(), plain.fd());
  EXPECT_NE(1, SSL_connect(ssl.get()));
}

}  // namespace
}  // namespace holdfast::api
