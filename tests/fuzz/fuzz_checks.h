#ifndef TANGRAM_TESTS_FUZZ_FUZZ_CHECKS_H_
#define TANGRAM_TESTS_FUZZ_FUZZ_CHECKS_H_

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/base/check.h"

// Checks that hold for any input.
namespace tangram::fuzz {

inline absl::string_view Text(const uint8_t* data, size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

// Bad input is the sender's fault, and the error says what is wrong.
inline void CheckBlame(const absl::Status& status) {
  if (status.ok()) return;
  const bool is_right =
      !status.message().empty() &&
      (absl::IsInvalidArgument(status) || absl::IsUnimplemented(status));
  if (!is_right) std::fprintf(stderr, "%s\n", status.ToString().c_str());
  TANGRAM_CHECK(is_right);
}

// A message that decodes can be encoded, and the encoding decodes to the same
// encoding.
template <typename Message, typename Decode, typename Encode>
void CheckRoundTrip(const Message& message, const Decode& decode,
                    const Encode& encode) {
  const auto value = decode(message);
  CheckBlame(value.status());
  if (!value.ok()) return;
  const Message encoded = encode(*value);
  const auto again = decode(encoded);
  CheckBlame(again.status());
  TANGRAM_CHECK(again.ok());
  TANGRAM_CHECK(encode(*again).SerializeAsString() ==
                encoded.SerializeAsString());
}

}  // namespace tangram::fuzz

#endif  // TANGRAM_TESTS_FUZZ_FUZZ_CHECKS_H_
