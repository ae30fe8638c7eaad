#include "common/http/api_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/status_matchers.h"

namespace tangram {
namespace {

using ::testing::HasSubstr;
using testing::IsOk;
using ::testing::StartsWith;

class ApiServerTest : public ::testing::Test {
 protected:
  void Start(ApiHandler handler) {
    auto server = ApiServer::Start(
        "127.0.0.1:0", {.max_body_bytes = 1000, .max_bodies_bytes = 5000},
        std::move(handler));
    ASSERT_THAT(server, IsOk());
    server_ = *std::move(server);
  }
  int Connect() const {
    const int socket_fd = socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(server_->port()));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(connect(socket_fd, reinterpret_cast<sockaddr*>(&address),
                      sizeof(address)),
              0);
    return socket_fd;
  }
  static void SendTo(int socket_fd, const std::string& text) {
    EXPECT_EQ(send(socket_fd, text.data(), text.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(text.size()));
  }
  static std::string ReadAll(int socket_fd) {
    std::string text;
    char buffer[4096];
    ssize_t count = 0;
    while ((count = recv(socket_fd, buffer, sizeof(buffer), 0)) > 0) {
      text.append(buffer, count);
    }
    close(socket_fd);
    return text;
  }
  std::string Ask(const std::string& request) const {
    const int socket_fd = Connect();
    SendTo(socket_fd, request);
    return ReadAll(socket_fd);
  }
  static std::string Post(const std::string& body) {
    return absl::StrCat(
        "POST /v1/jobs?a=b%20c&d= HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer "
        "t\r\nContent-Type: application/json\r\nContent-Length: ",
        body.size(), "\r\n\r\n", body);
  }

  std::unique_ptr<ApiServer> server_;
};

TEST_F(ApiServerTest, TheHandlerGetsTheWholeRequest) {
  ApiRequest seen;
  Start([&](ApiRequest request, const ApiReply& reply) {
    seen = std::move(request);
    reply({.status = 201, .body = "answer"});
  });
  const std::string answer = Ask(Post("0123456789"));
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 201 "));
  EXPECT_THAT(answer, HasSubstr("\r\n\r\nanswer"));
  EXPECT_EQ(seen.method, "POST");
  EXPECT_EQ(seen.path, "/v1/jobs");
  EXPECT_EQ(seen.query, (std::vector<std::pair<std::string, std::string>>{
                            {"a", "b c"}, {"d", ""}}));
  EXPECT_EQ(seen.authorization, "Bearer t");
  EXPECT_EQ(seen.content_type, "application/json");
  EXPECT_EQ(seen.body, "0123456789");
}

TEST_F(ApiServerTest, AnAnswerMayComeLater) {
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<ApiReply> waiting;
  Start([&](ApiRequest, ApiReply reply) {
    const std::lock_guard lock(mutex);
    waiting.push_back(std::move(reply));
    changed.notify_all();
  });
  // More than there are threads.
  std::vector<int> sockets;
  for (int i = 0; i < 8; ++i) {
    sockets.push_back(Connect());
    SendTo(sockets.back(), Post("x"));
  }
  std::unique_lock lock(mutex);
  changed.wait(lock, [&] { return waiting.size() == sockets.size(); });
  for (const ApiReply& reply : waiting) reply({.body = "late"});
  lock.unlock();
  for (const int socket_fd : sockets) {
    EXPECT_THAT(ReadAll(socket_fd), HasSubstr("late"));
  }
}

TEST_F(ApiServerTest, AClosedConnectionIsNoticed) {
  std::mutex mutex;
  std::condition_variable changed;
  std::function<bool()> is_gone;
  ApiReply waiting;
  Start([&](ApiRequest request, ApiReply reply) {
    const std::lock_guard lock(mutex);
    is_gone = request.is_gone;
    waiting = std::move(reply);
    changed.notify_all();
  });
  const int socket_fd = Connect();
  SendTo(socket_fd, Post("x"));
  std::unique_lock lock(mutex);
  changed.wait(lock, [&] { return waiting != nullptr; });
  EXPECT_FALSE(is_gone());
  close(socket_fd);
  while (!is_gone()) std::this_thread::yield();
  waiting({.body = "nobody reads this"});
}

TEST_F(ApiServerTest, LargeBodiesAreRefused) {
  int num_handled = 0;
  Start([&](ApiRequest, const ApiReply& reply) {
    ++num_handled;
    reply({});
  });
  EXPECT_THAT(Ask(Post(std::string(1001, 'x'))), StartsWith("HTTP/1.1 413 "));
  EXPECT_EQ(num_handled, 0);
  EXPECT_THAT(Ask(Post(std::string(1000, 'x'))), StartsWith("HTTP/1.1 200 "));
  // Those of all together: five wait for their last byte.
  std::vector<int> sockets;
  const std::string part = Post(std::string(1000, 'x'));
  for (int i = 0; i < 5; ++i) {
    sockets.push_back(Connect());
    SendTo(sockets.back(), part.substr(0, part.size() - 1));
  }
  while (Ask(Post(std::string(900, 'x'))).find("503") == std::string::npos) {
    std::this_thread::yield();
  }
  for (const int socket_fd : sockets) close(socket_fd);
  while (Ask(Post(std::string(900, 'x'))).find("200 OK") == std::string::npos) {
    std::this_thread::yield();
  }
}

}  // namespace
}  // namespace tangram
