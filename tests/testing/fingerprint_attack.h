#ifndef TANGRAM_TESTS_TESTING_FINGERPRINT_ATTACK_H_
#define TANGRAM_TESTS_TESTING_FINGERPRINT_ATTACK_H_

#include <string>

#include "absl/strings/string_view.h"

namespace tangram::testing {

// Another printable text of the same 20 bytes' length whose fingerprint, and
// that of all that goes on from the two in the same way, is the same. Found in
// less than a second: a fingerprint names things, it proves nothing.
std::string TextWithFingerprintOf(absl::string_view text);

}  // namespace tangram::testing

#endif  // TANGRAM_TESTS_TESTING_FINGERPRINT_ATTACK_H_
