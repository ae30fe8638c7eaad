#ifndef TANGRAM_TESTS_TESTING_FINGERPRINT_ATTACK_H_
#define TANGRAM_TESTS_TESTING_FINGERPRINT_ATTACK_H_

#include <string>

#include "absl/strings/string_view.h"

namespace tangram::testing {

// Returns another printable text of 20 bytes with the same fingerprint. Texts
// that continue both in the same way also have equal fingerprints. Takes less
// than a second: fingerprints name things, but prove nothing.
std::string TextWithFingerprintOf(absl::string_view text);

}  // namespace tangram::testing

#endif  // TANGRAM_TESTS_TESTING_FINGERPRINT_ATTACK_H_
