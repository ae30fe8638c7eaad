#ifndef TANGRAM_COMMON_SECURITY_TLS_FILES_H_
#define TANGRAM_COMMON_SECURITY_TLS_FILES_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace tangram {

// PEM files of one end of a connection; empty: none.
struct TlsFiles {
  std::string cert_file;  // Its certificate and the chain to the CA's.
  std::string key_file;   // Private key of the certificate.
  std::string ca_file;    // CAs whose certificates the other end may have.
  bool operator==(const TlsFiles&) const = default;
};

// The names of the user's flags, for errors.
struct TlsFlags {
  const char* cert_file = "--tls_cert_file";
  const char* key_file = "--tls_key_file";
  const char* ca_file = "--tls_ca_file";
};

// Checks that the files can be read and belong together at this moment.
// kInvalidArgument names the flag and the file:
//   --tls_key_file: /etc/tangram/key.pem: not the key of --tls_cert_file
absl::Status CheckTlsFiles(const TlsFiles& files, const TlsFlags& flags);

// Returns when the first certificate of a PEM file to expire does, in seconds
// since 1970. Connections fail from then on. `flag` names the file in errors.
absl::StatusOr<double> CertificatesEndS(absl::string_view flag,
                                        const std::string& file);

}  // namespace tangram

#endif  // TANGRAM_COMMON_SECURITY_TLS_FILES_H_
