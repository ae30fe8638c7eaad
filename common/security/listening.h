#ifndef TANGRAM_COMMON_SECURITY_LISTENING_H_
#define TANGRAM_COMMON_SECURITY_LISTENING_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "common/security/tls_files.h"

namespace grpc {
class AuthMetadataProcessor;
class ServerCredentials;
}  // namespace grpc

namespace tangram {

// Returns credentials to listen on `address`: plain text without a certificate.
// With tls.ca_file clients must have a certificate too. Every call of every
// service passes `gate` first, unless it is null. Tokens in plain text are
// refused on addresses that other machines can reach. kInvalidArgument names
// the flag at fault. Certificates are read again when their files change.
absl::StatusOr<std::shared_ptr<grpc::ServerCredentials>> ListeningCredentials(
    const std::string& address, const TlsFiles& tls,
    const std::shared_ptr<grpc::AuthMetadataProcessor>& gate);

}  // namespace tangram

#endif  // TANGRAM_COMMON_SECURITY_LISTENING_H_
