#ifndef TANGRAM_COMMON_SECURITY_CHANNEL_H_
#define TANGRAM_COMMON_SECURITY_CHANNEL_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/security/tls_files.h"

namespace grpc {
class Channel;
class ChannelArguments;
}  // namespace grpc

namespace tangram {

// How to reach a coordinator and show it who one is.
struct CoordinatorAccess {
  std::string address;  // "host:port"
  TlsFiles tls;         // No ca_file: in plain text.
  // Its one line is sent with every call, read anew each time; empty: none.
  std::string token_file;
  // Send the token in plain text to other machines too.
  bool allow_plaintext_token = false;
};

// What the user calls them.
struct AccessFlags {
  TlsFlags tls;
  const char* token_file = "--token_file";
  const char* allow_plaintext_token = "--allow_plaintext_token";
};

// This machine, by its name or number; other machines cannot listen in.
bool IsLoopback(absl::string_view address);

// A channel that does not connect yet. Certificates are read again when their
// files change. kInvalidArgument names the flag at fault.
absl::StatusOr<std::shared_ptr<grpc::Channel>> OpenChannel(
    const CoordinatorAccess& access, const AccessFlags& flags,
    grpc::ChannelArguments arguments);

}  // namespace tangram

#endif  // TANGRAM_COMMON_SECURITY_CHANNEL_H_
