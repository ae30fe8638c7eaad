#include <curl/curl.h>
#include <sys/socket.h>

#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "coordinator/webhooks/public_address.h"
#include "coordinator/webhooks/webhook_sender.h"

namespace tangram {
namespace {

// Bytes of an answer that are read before the attempt fails.
constexpr size_t kMaxAnswerBytes = 64 << 10;

// Opens a socket only to a public address. It is the address that curl is about
// to use, whatever names resolve to the next time.
curl_socket_t OpenPublic(void*, curlsocktype, curl_sockaddr* address) {
  if (!IsPublicAddress(address->addr)) return CURL_SOCKET_BAD;
  return socket(address->family, address->socktype | SOCK_CLOEXEC,
                address->protocol);
}

size_t Discard(char*, size_t size, size_t count, void* read) {
  auto& bytes = *static_cast<size_t*>(read);
  bytes += size * count;
  return bytes > kMaxAnswerBytes ? 0 : size * count;
}

struct CurlDeleter {
  void operator()(CURL* curl) const { curl_easy_cleanup(curl); }
  void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};

bool IsReady() {
  static const bool is_ready = curl_global_init(CURL_GLOBAL_DEFAULT) == 0;
  return is_ready;
}

}  // namespace

absl::Status PostWebhook(const WebhookPost& post) {
  const std::unique_ptr<CURL, CurlDeleter> curl(IsReady() ? curl_easy_init()
                                                          : nullptr);
  if (curl == nullptr) return absl::UnavailableError("no memory for curl");
  std::unique_ptr<curl_slist, CurlDeleter> headers;
  // An "Expect" header would wait for servers that do not know it.
  for (const std::string& line : {std::string("Expect:")}) {
    headers.reset(curl_slist_append(headers.release(), line.c_str()));
  }
  for (const std::string& line : post.headers) {
    headers.reset(curl_slist_append(headers.release(), line.c_str()));
  }
  size_t read = 0;
  CURL* const handle = curl.get();
  const auto milliseconds = static_cast<long>(post.timeout_s * 1000);
  curl_easy_setopt(handle, CURLOPT_URL, post.url.c_str());
  curl_easy_setopt(handle, CURLOPT_PROTOCOLS_STR,
                   post.allow_private ? "https,http" : "https");
  curl_easy_setopt(handle, CURLOPT_FOLLOWLOCATION, 0L);
  curl_easy_setopt(handle, CURLOPT_PROXY, "");
  curl_easy_setopt(handle, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(handle, CURLOPT_TIMEOUT_MS, milliseconds);
  curl_easy_setopt(handle, CURLOPT_POST, 1L);
  curl_easy_setopt(handle, CURLOPT_POSTFIELDS, post.body.data());
  curl_easy_setopt(handle, CURLOPT_POSTFIELDSIZE_LARGE,
                   static_cast<curl_off_t>(post.body.size()));
  curl_easy_setopt(handle, CURLOPT_HTTPHEADER, headers.get());
  curl_easy_setopt(handle, CURLOPT_USERAGENT, "tangram");
  curl_easy_setopt(handle, CURLOPT_WRITEFUNCTION, Discard);
  curl_easy_setopt(handle, CURLOPT_WRITEDATA, &read);
  if (!post.allow_private) {
    curl_easy_setopt(handle, CURLOPT_OPENSOCKETFUNCTION, OpenPublic);
  }
  const CURLcode code = curl_easy_perform(handle);
  if (code == CURLE_COULDNT_CONNECT && !post.allow_private) {
    return absl::UnavailableError(
        "cannot connect, or the address is of a private network");
  }
  if (code != CURLE_OK) return absl::UnavailableError(curl_easy_strerror(code));
  long status = 0;
  curl_easy_getinfo(handle, CURLINFO_RESPONSE_CODE, &status);
  if (status >= 200 && status < 300) return absl::OkStatus();
  return absl::UnavailableError(absl::StrCat("HTTP status ", status));
}

}  // namespace tangram
