#ifndef TANGRAM_COMMON_SECURITY_TLS_FILES_H_
#define TANGRAM_COMMON_SECURITY_TLS_FILES_H_

#include <string>

#include "absl/status/status.h"

namespace tangram {

// PEM files of one end of a connection; empty: none.
struct TlsFiles {
  std::string cert_file;  // Its certificate and those that lead to the CA's.
  std::string key_file;   // Of the certificate.
  std::string ca_file;    // Whose certificates the other end may have.
  bool operator==(const TlsFiles&) const = default;
};

// What the user calls them.
struct TlsFlags {
  const char* cert_file = "--tls_cert_file";
  const char* key_file = "--tls_key_file";
  const char* ca_file = "--tls_ca_file";
};

// Whether the files can be read and belong together, now. kInvalidArgument
// names the flag and the file:
//   --tls_key_file: /etc/tangram/key.pem: not the key of --tls_cert_file
absl::Status CheckTlsFiles(const TlsFiles& files, const TlsFlags& flags);

}  // namespace tangram

#endif  // TANGRAM_COMMON_SECURITY_TLS_FILES_H_
