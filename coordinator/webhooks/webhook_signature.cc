#include "coordinator/webhooks/webhook_signature.h"

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "common/digest/hmac_sha256.h"

namespace tangram {
namespace {

constexpr absl::string_view kKeyPurpose = "tangram webhook key of tenant ";

}  // namespace

std::string WebhookKeyOf(absl::string_view secret, absl::string_view tenant) {
  return HmacSha256(secret, absl::StrCat(kKeyPurpose, tenant));
}

std::string WebhookKeyText(absl::string_view key) {
  return absl::StrCat("whsec_", absl::Base64Escape(key));
}

std::string SignWebhook(absl::string_view key, absl::string_view id,
                        int64_t time_s, absl::string_view body) {
  return absl::StrCat(
      "v1,", absl::Base64Escape(
                 HmacSha256(key, absl::StrCat(id, ".", time_s, ".", body))));
}

}  // namespace tangram
