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

// How to reach a coordinator and authenticate to it.
struct CoordinatorAccess {
  std::string address;  // "host:port"
  TlsFiles tls;         // No ca_file: plain text.
  // Its one line is sent with every call. It is read again each time. Empty: no
  // token.
  std::string token_file;
  // Sends the token in plain text to other machines too.
  bool allow_plaintext_token = false;
};

// The names of the user's flags, for errors.
struct AccessFlags {
  TlsFlags tls;
  const char* token_file = "--token_file";
  const char* allow_plaintext_token = "--allow_plaintext_token";
};

// Returns whether a TCP address, or the Host that a browser sends, is this
// machine, by name or number.
bool IsLoopback(absl::string_view address);

// Returns whether an address of gRPC is this machine: a loopback address or a
// Unix socket. Other machines cannot listen in on it.
bool StaysOnThisMachine(absl::string_view address);

// Makes a channel that does not connect yet. Certificates are read again when
// their files change. kInvalidArgument names the flag at fault.
absl::StatusOr<std::shared_ptr<grpc::Channel>> OpenChannel(
    const CoordinatorAccess& access, const AccessFlags& flags,
    grpc::ChannelArguments arguments);

}  // namespace tangram

#endif  // TANGRAM_COMMON_SECURITY_CHANNEL_H_
