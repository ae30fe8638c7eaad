#include "common/http/http_server.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/http_get.h"
#include "tests/testing/status_matchers.h"

namespace tangram {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;
using testing::StatusIs;

HttpResponse Echo(const HttpRequest& request) {
  return {.status = request.authorization.empty() ? 401 : 200,
          .content_type = "text/plain",
          .body = absl::StrCat(request.path, " of ", request.host)};
}

class HttpServerTest : public ::testing::Test {
 protected:
  HttpServerTest()
      : server_(*HttpServer::Start("127.0.0.1:0", /*num_threads=*/2, Echo)) {}
  ~HttpServerTest() override {
    for (const int socket : sockets_) close(socket);
  }

  // Connects and sends `text`.
  int Connect(const std::string& text) {
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(server_->port()));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(
        connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
    EXPECT_EQ(write(fd, text.data(), text.size()),
              static_cast<ssize_t>(text.size()));
    sockets_.push_back(fd);
    return fd;
  }
  std::string Ask(const std::string& request) {
    const int fd = Connect(request);
    std::string answer;
    char buffer[4096];
    for (ssize_t n = 0; (n = read(fd, buffer, sizeof(buffer))) > 0;) {
      answer.append(buffer, n);
    }
    return answer;
  }

  std::unique_ptr<HttpServer> server_;
  std::vector<int> sockets_;
};

TEST_F(HttpServerTest, AnswersWithWhatTheHandlerReturns) {
  EXPECT_THAT(Ask("GET /a%20b?x=1 HTTP/1.1\r\nHost: here\r\n"
                  "Authorization: Bearer t\r\n\r\n"),
              AllOf(StartsWith("HTTP/1.1 200 OK\r\n"),
                    HasSubstr("\r\n\r\n/a b of here"),
                    HasSubstr("Content-Type: text/plain\r\n"),
                    HasSubstr("Cache-Control: no-store\r\n"),
                    HasSubstr("X-Content-Type-Options: nosniff\r\n")));
  EXPECT_THAT(Ask("GET / HTTP/1.1\r\nHost: here\r\n\r\n"),
              AllOf(StartsWith("HTTP/1.1 401 "),
                    HasSubstr("WWW-Authenticate: Bearer\r\n")));
}

TEST_F(HttpServerTest, OnlyGetsAndHeads) {
  EXPECT_THAT(Ask("HEAD /a HTTP/1.1\r\nHost: here\r\n\r\n"),
              AllOf(StartsWith("HTTP/1.1 401 "), Not(HasSubstr("/a of"))));
  EXPECT_THAT(
      Ask("POST / HTTP/1.1\r\nHost: here\r\nContent-Length: 3\r\n\r\n"),
      AllOf(StartsWith("HTTP/1.1 405 "), HasSubstr("Allow: GET, HEAD\r\n")));
  EXPECT_THAT(Ask("nonsense\r\n\r\n"), Not(HasSubstr(" 200 ")));
}

TEST_F(HttpServerTest, SilentAndSlowConnectionsKeepNobodyOut) {
  for (int i = 0; i < 100; ++i) {
    Connect("");
    Connect("GET / HTTP/1.1\r\nHo");
  }
  EXPECT_THAT(testing::HttpGet(server_->port(), "/"), HasSubstr("/ of"));
}

TEST_F(HttpServerTest, LongHeadersAreRefused) {
  EXPECT_THAT(Ask(absl::StrCat("GET / HTTP/1.1\r\nHost: ",
                               std::string(1 << 16, 'x'), "\r\n\r\n")),
              Not(HasSubstr(" 200 ")));
}

TEST(HttpAddressTest, ListensOnIpv6AndAllAddresses) {
  for (const char* address : {"[::1]:0", ":0", "0.0.0.0:0", "localhost:0"}) {
    const auto server = HttpServer::Start(address, 2, Echo);
    // There may be no IPv6.
    if (!server.ok() && address[0] == '[') continue;
    ASSERT_TRUE(server.ok()) << address;
    EXPECT_GT((*server)->port(), 0);
  }
}

TEST(HttpAddressTest, AnAddressThatCannotBeUsedIsNamed) {
  EXPECT_THAT(HttpServer::Start("nowhere.invalid:1", 2, Echo).status(),
              StatusIs(absl::StatusCode::kUnavailable,
                       HasSubstr("cannot listen on nowhere.invalid:1: ")));
  EXPECT_FALSE(HttpServer::Start("127.0.0.1:x", 2, Echo).ok());
}

}  // namespace
}  // namespace tangram
