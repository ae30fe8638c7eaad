#ifndef TANGRAM_COORDINATOR_WEBHOOKS_WEBHOOK_SIGNATURE_H_
#define TANGRAM_COORDINATOR_WEBHOOKS_WEBHOOK_SIGNATURE_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"

// Signatures of events as https://www.standardwebhooks.com describes them, so
// that receivers may use its libraries.
namespace tangram {

// Returns the key of a tenant's events, 32 bytes. Each tenant has its own, so
// that none can forge the events of another.
std::string WebhookKeyOf(absl::string_view secret, absl::string_view tenant);

// Returns a key as text for receivers: "whsec_" and base64.
std::string WebhookKeyText(absl::string_view key);

// Returns the header "webhook-signature": HMAC-SHA256 of the id, the time in
// seconds since 1970 and the body.
std::string SignWebhook(absl::string_view key, absl::string_view id,
                        int64_t time_s, absl::string_view body);

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_WEBHOOKS_WEBHOOK_SIGNATURE_H_
