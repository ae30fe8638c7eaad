#include "common/http/api_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
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
  using Handle = std::function<void(ApiRequest, ApiReply)>;
  void Start(Handle handle, HoldAnswer hold_answer = nullptr) {
    auto server = ApiServer::Start(
        "127.0.0.1:0",
        {.max_connections = max_connections_,
         .max_body_bytes = 1000,
         .max_account_bytes = 3000,
         .max_bodies_bytes = 5000},
        {.admit = Admit,
         .handle = std::move(handle),
         .refuse =
             [](int status, const std::string& why) {
               return HttpResponse{.status = status,
                                   .body = absl::StrCat("<", why, ">")};
             },
         .hold_answer = std::move(hold_answer)});
    ASSERT_THAT(server, IsOk());
    server_ = *std::move(server);
  }
  static ApiAdmission Admit(const ApiRequest& request) {
    EXPECT_EQ(request.body, "");
    if (request.authorization == "Bearer stranger") {
      return {.refusal = HttpResponse{.status = 401, .body = "who?"}};
    }
    return {.account = request.authorization};
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
  static std::string Post(const std::string& body,
                          const std::string& caller = "t",
                          const std::string& path = "/v1/jobs?a=b%20c&d=") {
    return absl::StrCat(
        "POST ", path, " HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer ", caller,
        "\r\nContent-Type: application/json\r\n"
        "Content-Length: ",
        body.size(), "\r\n\r\n", body);
  }
  // Sends all of a body but its last byte.
  int Hold(int64_t bytes, const std::string& caller) const {
    const std::string request =
        Post(std::string(static_cast<size_t>(bytes), 'x'), caller);
    const int socket_fd = Connect();
    SendTo(socket_fd, request.substr(0, request.size() - 1));
    return socket_fd;
  }
  // Asks until the answer has this text.
  void AskUntil(const std::string& request, const char* text) const {
    while (Ask(request).find(text) == std::string::npos) {
      std::this_thread::yield();
    }
  }

  int max_connections_ = 1000;
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
  EXPECT_THAT(seen.peer, StartsWith("ipv4:127.0.0.1:"));
  EXPECT_EQ(seen.body, "0123456789");
}

// Holds the replies of calls until the test wants them.
class WaitingCalls {
 public:
  void Hold(ApiReply reply) {
    const std::lock_guard lock(mutex_);
    waiting_.push_back(std::move(reply));
    changed_.notify_all();
  }
  void WaitFor(size_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return waiting_.size() == count; });
  }
  void ReplyToAll(size_t count, const std::string& body) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return waiting_.size() == count; });
    for (const ApiReply& reply : waiting_) reply({.body = body});
    waiting_.clear();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<ApiReply> waiting_;
};

TEST_F(ApiServerTest, AnAnswerMayComeLater) {
  WaitingCalls calls;
  Start([&](ApiRequest, ApiReply reply) { calls.Hold(std::move(reply)); });
  // More than there are threads.
  std::vector<int> sockets;
  for (int i = 0; i < 8; ++i) {
    sockets.push_back(Connect());
    SendTo(sockets.back(), Post("x"));
  }
  calls.ReplyToAll(sockets.size(), "late");
  for (const int socket_fd : sockets) {
    EXPECT_THAT(ReadAll(socket_fd), HasSubstr("late"));
  }
}

TEST_F(ApiServerTest, AnswersAreSentBeforeItEnds) {
  WaitingCalls calls;
  Start([&](ApiRequest, ApiReply reply) { calls.Hold(std::move(reply)); });
  std::vector<int> sockets;
  for (int i = 0; i < 8; ++i) {
    sockets.push_back(Connect());
    SendTo(sockets.back(), Post("x"));
  }
  calls.ReplyToAll(sockets.size(), "last");
  server_.reset();
  for (const int socket_fd : sockets) {
    EXPECT_THAT(ReadAll(socket_fd), HasSubstr("last"));
  }
}

TEST_F(ApiServerTest, AnAccountHasAQuarterOfTheConnections) {
  max_connections_ = 40;
  WaitingCalls calls;
  std::atomic<int> num_crowded = 0;
  Start([&](ApiRequest request, ApiReply reply) {
    if (request.is_crowded) ++num_crowded;
    if (request.body == "now") return reply({.body = "at once"});
    calls.Hold(std::move(reply));
  });
  std::vector<int> sockets;
  const auto wait_as = [&](const std::string& caller) {
    for (int i = 0; i < 10; ++i) {
      sockets.push_back(Connect());
      SendTo(sockets.back(), Post("x", caller));
    }
    calls.WaitFor(sockets.size());
  };
  wait_as("one");
  const std::string refused = Ask(Post("now", "one"));
  EXPECT_THAT(refused, StartsWith("HTTP/1.1 429 "));
  EXPECT_THAT(refused, HasSubstr("<Bearer one has 10 requests under way, a "
                                 "quarter of the 40 connections"));
  EXPECT_THAT(Ask(Post("now", "two")), HasSubstr("at once"));
  wait_as("two");
  wait_as("three");
  EXPECT_EQ(num_crowded, 0);
  EXPECT_THAT(Ask(Post("now", "four")), HasSubstr("at once"));
  EXPECT_EQ(num_crowded, 1);
  calls.ReplyToAll(sockets.size(), "late");
  for (const int socket_fd : sockets) {
    EXPECT_THAT(ReadAll(socket_fd), HasSubstr("late"));
  }
  AskUntil(Post("now", "one"), "at once");
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

TEST_F(ApiServerTest, AnswersCountUntilTheyAreTaken) {
  std::mutex mutex;
  std::condition_variable changed;
  int64_t held_bytes = 0;
  std::function<void()> end;
  const std::string large(16 << 20, 'x');
  Start(
      [&](ApiRequest request, const ApiReply& reply) {
        reply({.body = request.body == "large" ? large : "small"});
      },
      [&](int64_t bytes,
          std::function<void()> end_it) -> std::shared_ptr<void> {
        const std::lock_guard lock(mutex);
        held_bytes += bytes;
        end = std::move(end_it);
        changed.notify_all();
        return {nullptr, [&, bytes](void*) {
                  const std::lock_guard dropping(mutex);
                  held_bytes -= bytes;
                  changed.notify_all();
                }};
      });
  const auto wait_for = [&](int64_t bytes) {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return held_bytes == bytes; });
  };
  EXPECT_THAT(Ask(Post("x")), HasSubstr("small"));
  wait_for(0);
  // Nobody reads it until it is ended.
  const int socket_fd = Connect();
  SendTo(socket_fd, Post("large"));
  wait_for(static_cast<int64_t>(large.size()));
  {
    const std::lock_guard lock(mutex);
    end();
  }
  wait_for(0);
  EXPECT_LT(ReadAll(socket_fd).size(), large.size());
  EXPECT_THAT(Ask(Post("large")), HasSubstr(large));
  wait_for(0);
}

TEST_F(ApiServerTest, LargeBodiesAreRefused) {
  int num_handled = 0;
  Start([&](ApiRequest, const ApiReply& reply) {
    ++num_handled;
    reply({});
  });
  const std::string answer = Ask(Post(std::string(1001, 'x')));
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 413 "));
  EXPECT_THAT(answer, HasSubstr("<body: too large; expected at most 1000"));
  EXPECT_EQ(num_handled, 0);
  EXPECT_THAT(Ask(Post(std::string(1000, 'x'))), StartsWith("HTTP/1.1 200 "));
}

TEST_F(ApiServerTest, BodiesShareTheMemoryByAccount) {
  Start([&](ApiRequest, const ApiReply& reply) { reply({}); });
  std::vector<int> sockets;
  const std::string more(900, 'x');
  // A body that is asked with in between may keep one of these out.
  std::string answer;
  while (answer.find("<too many large requests") == std::string::npos) {
    sockets.push_back(Hold(1000, "one"));
    answer = Ask(Post(more, "one"));
  }
  // Others have room until that of all is used up.
  EXPECT_THAT(Ask(Post(more, "two")), StartsWith("HTTP/1.1 200 "));
  while (Ask(Post(more, "three")).find("HTTP/1.1 503 ") == std::string::npos) {
    sockets.push_back(Hold(1000, "two"));
  }
  for (const int socket_fd : sockets) close(socket_fd);
  AskUntil(Post(more, "one"), "200 OK");
}

TEST_F(ApiServerTest, BodiesOfStrangersTakeNoMemory) {
  int num_handled = 0;
  Start([&](ApiRequest, const ApiReply& reply) {
    ++num_handled;
    reply({});
  });
  std::vector<int> sockets;
  for (int i = 0; i < 10; ++i) sockets.push_back(Hold(1000, "stranger"));
  // Larger than any body may be, and read to its end.
  EXPECT_THAT(Ask(Post(std::string(100000, 'x'), "stranger")),
              StartsWith("HTTP/1.1 401 "));
  EXPECT_EQ(num_handled, 0);
  EXPECT_THAT(Ask(Post(std::string(1000, 'x'))), StartsWith("HTTP/1.1 200 "));
  for (const int socket_fd : sockets) close(socket_fd);
}

TEST_F(ApiServerTest, BadEscapesAreRefused) {
  std::string path;
  Start([&](ApiRequest request, const ApiReply& reply) {
    path = request.path;
    reply({});
  });
  for (const char* bad : {"/v1/jobs/a%00b", "/v1/jobs/a%0", "/v1/jobs/a%",
                          "/v1/jobs/a%zz", "/v1/jobs/%ff", "/v1/jobs?a=%00",
                          "/v1/jobs?%=1", "/v1/jobs?a=%c3%28"}) {
    const std::string answer = Ask(Post("", "t", bad));
    EXPECT_THAT(answer, StartsWith("HTTP/1.1 400 ")) << bad;
    EXPECT_THAT(answer, HasSubstr("<path or query: a bad escape")) << bad;
  }
  EXPECT_THAT(Ask(Post("", "t", "/v1/%6Aobs/a%2Fb%C3%A9")),
              StartsWith("HTTP/1.1 200 "));
  EXPECT_EQ(path, "/v1/jobs/a/b\u00e9");
}

}  // namespace
}  // namespace tangram
