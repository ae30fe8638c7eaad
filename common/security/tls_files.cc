#include "common/security/tls_files.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <time.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "common/base/infinity.h"
#include "common/base/status_macros.h"
#include "common/security/secret_file.h"

namespace tangram {
namespace {

struct Freer {
  void operator()(BIO* bio) const { BIO_free_all(bio); }
  void operator()(X509* certificate) const { X509_free(certificate); }
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
};
template <typename T>
using Owned = std::unique_ptr<T, Freer>;

Owned<BIO> Open(const std::string& pem) {
  return Owned<BIO>(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
}

// Refuses encrypted keys, since no user is present to enter a passphrase.
int NoPassphrase(char*, int, int, void*) { return -1; }

absl::StatusOr<std::vector<Owned<X509>>> ReadCertificates(
    absl::string_view flag, const std::string& file) {
  TANGRAM_ASSIGN_OR_RETURN(const std::string pem, ReadSecretFile(flag, file));
  const Owned<BIO> bio = Open(pem);
  std::vector<Owned<X509>> certificates;
  while (X509* certificate =
             PEM_read_bio_X509(bio.get(), nullptr, NoPassphrase, nullptr)) {
    certificates.emplace_back(certificate);
  }
  ERR_clear_error();
  if (certificates.empty()) {
    return FileError(flag, file, "no certificate in it; expected PEM");
  }
  return certificates;
}

absl::Status CheckPairOnce(const TlsFiles& files, const TlsFlags& flags) {
  TANGRAM_ASSIGN_OR_RETURN(const auto certificates,
                           ReadCertificates(flags.cert_file, files.cert_file));
  X509* own = certificates.front().get();
  if (X509_cmp_current_time(X509_get0_notAfter(own)) < 0) {
    return FileError(flags.cert_file, files.cert_file, "has expired");
  }
  TANGRAM_ASSIGN_OR_RETURN(const std::string pem,
                           ReadSecretFile(flags.key_file, files.key_file));
  const Owned<EVP_PKEY> key(
      PEM_read_bio_PrivateKey(Open(pem).get(), nullptr, NoPassphrase, nullptr));
  ERR_clear_error();
  if (key == nullptr) {
    return FileError(flags.key_file, files.key_file,
                     "no key in it; expected PEM without a passphrase");
  }
  const bool is_pair = X509_check_private_key(own, key.get()) == 1;
  ERR_clear_error();
  if (is_pair) return absl::OkStatus();
  return FileError(flags.key_file, files.key_file,
                   absl::StrCat("not the key of ", flags.cert_file, " (",
                                files.cert_file, ")"));
}

// Tries twice, since both files may be replaced between the two reads.
absl::Status CheckPair(const TlsFiles& files, const TlsFlags& flags) {
  const absl::Status status = CheckPairOnce(files, flags);
  return status.ok() ? status : CheckPairOnce(files, flags);
}

}  // namespace

absl::Status CheckTlsFiles(const TlsFiles& files, const TlsFlags& flags) {
  if (files.cert_file.empty() != files.key_file.empty()) {
    const bool has_cert = !files.cert_file.empty();
    return absl::InvalidArgumentError(
        absl::StrCat(has_cert ? flags.key_file : flags.cert_file,
                     ": missing; expected beside ",
                     has_cert ? flags.cert_file : flags.key_file));
  }
  if (!files.cert_file.empty()) {
    TANGRAM_RETURN_IF_ERROR(CheckPair(files, flags));
  }
  if (files.ca_file.empty()) return absl::OkStatus();
  return ReadCertificates(flags.ca_file, files.ca_file).status();
}

absl::StatusOr<double> CertificatesEndS(absl::string_view flag,
                                        const std::string& file) {
  TANGRAM_ASSIGN_OR_RETURN(const auto certificates,
                           ReadCertificates(flag, file));
  double end_s = kInfinity;
  for (const Owned<X509>& certificate : certificates) {
    tm end = {};
    if (ASN1_TIME_to_tm(X509_get0_notAfter(certificate.get()), &end) != 1) {
      return FileError(flag, file, "has no date of expiry");
    }
    end_s = std::min(end_s, static_cast<double>(timegm(&end)));
  }
  return end_s;
}

}  // namespace tangram
