#include "coordinator/webhooks/webhook_sender.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <cstdio>
#include <map>
#include <mutex>
#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "coordinator/store/sql_job_store.h"
#include "coordinator/store/sqlite_database.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/status_matchers.h"

namespace tangram {
namespace {

using ::testing::HasSubstr;
using testing::IsOk;
using testing::StatusIs;

// A port of this machine where somebody listens, so that a connection that is
// not refused would be made.
class Listener {
 public:
  Listener() : socket_(socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address = {.sin_family = AF_INET};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof(address);
    auto* const any = reinterpret_cast<sockaddr*>(&address);
    EXPECT_EQ(bind(socket_, any, length), 0);
    EXPECT_EQ(listen(socket_, 8), 0);
    EXPECT_EQ(getsockname(socket_, any, &length), 0);
    port_ = ntohs(address.sin_port);
  }
  ~Listener() { close(socket_); }
  int port() const { return port_; }

 private:
  const int socket_;
  int port_ = 0;
};

TEST(PostWebhookTest, PrivateAddressesAreRefusedWhateverTheirForm) {
  const Listener listener;
  for (const char* host :
       {"127.0.0.1", "localhost", "[::1]", "2130706433", "0x7f.1"}) {
    EXPECT_THAT(
        PostWebhook(
            {.url = absl::StrCat("https://", host, ":", listener.port(), "/"),
             .timeout_s = 2}),
        StatusIs(absl::StatusCode::kUnavailable, HasSubstr("private network")))
        << host;
  }
}

TEST(PostWebhookTest, OnlyHttpIsSpoken) {
  for (const char* url : {"file:///etc/passwd", "http://1.1.1.1/",
                          "gopher://1.1.1.1/", "ftp://1.1.1.1/"}) {
    EXPECT_THAT(PostWebhook({.url = url, .timeout_s = 2}),
                StatusIs(absl::StatusCode::kUnavailable,
                         HasSubstr("Unsupported protocol")))
        << url;
  }
}

// Endpoints that answer when they may.
class Endpoints {
 public:
  absl::Status Post(const WebhookPost& post) {
    std::unique_lock lock(mutex_);
    const std::string host = post.url.substr(0, post.url.rfind('/'));
    told_.insert(post.url);
    most_[host] = std::max(most_[host], ++under_way_[host]);
    changed_.notify_all();
    changed_.wait(lock, [&] { return host != "https://silent" || is_open_; });
    --under_way_[host];
    return absl::OkStatus();
  }
  void WaitUntilTold(const std::string& url) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return told_.count(url) > 0; });
  }
  void Open() {
    const std::lock_guard lock(mutex_);
    is_open_ = true;
    changed_.notify_all();
  }
  int most(const std::string& host) { return most_[host]; }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_open_ = false;
  std::set<std::string> told_;
  std::map<std::string, int> under_way_;
  std::map<std::string, int> most_;
};

TEST(WebhookSenderTest, SilentEndpointsOfATenantDelayNoOther) {
  const std::string path =
      absl::StrCat(::testing::TempDir(), "/webhook_sender_test.db");
  std::remove(path.c_str());
  ASSERT_OK_AND_ASSIGN(auto database, OpenSqliteDatabase(path));
  ASSERT_OK_AND_ASSIGN(const auto store,
                       CreateSqlJobStore(std::move(database)));
  const auto end_job = [&](const std::string& tenant, const std::string& url) {
    const std::string id = absl::StrCat(tenant, "/", url.substr(8, 1),
                                        url.substr(url.rfind('/') + 1));
    ASSERT_THAT(
        store->Submit(
            {.id = id, .request = "r", .share_key = tenant, .webhook = url}),
        IsOk());
    ASSERT_THAT(store->Cancel(id), IsOk());
  };
  // Due before those of the others.
  for (int i = 0; i < 30; ++i) {
    end_job("slow", absl::StrCat("https://silent/", i));
  }
  for (int i = 0; i < 5; ++i) {
    end_job("one", absl::StrCat("https://good/", i));
    end_job("two", absl::StrCat("https://fine/", i));
  }
  Endpoints endpoints;
  WebhookSender sender(
      *store,
      {.secret = "secret",
       .num_threads = 4,
       .max_of_tenant = 3,
       .poll_interval_s = 3600,
       .unix_now_s = [] { return 0; },
       .body = [](const Job&) { return "{}"; },
       .post = [&](const WebhookPost& post) { return endpoints.Post(post); }});
  for (int i = 0; i < 5; ++i) {
    endpoints.WaitUntilTold(absl::StrCat("https://good/", i));
    endpoints.WaitUntilTold(absl::StrCat("https://fine/", i));
  }
  // As soon as they answer, all of theirs are told, too.
  endpoints.Open();
  for (int i = 0; i < 30; ++i) {
    endpoints.WaitUntilTold(absl::StrCat("https://silent/", i));
  }
  EXPECT_LE(endpoints.most("https://silent"), 3);
}

}  // namespace
}  // namespace tangram
