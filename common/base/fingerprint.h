#ifndef TANGRAM_COMMON_BASE_FINGERPRINT_H_
#define TANGRAM_COMMON_BASE_FINGERPRINT_H_

#include <cstdint>
#include <cstring>
#include <string>

#include "absl/strings/string_view.h"

namespace tangram {

// A 64-bit content hash that is the same on every machine and in every version
// of the program. (absl::Hash is seeded for each process, so it cannot name
// things that are cached or sent.) FNV-1a over fixed-width fields, then a final
// mix.
//
//   Fingerprint fp = Fingerprinter().Add(layer.hidden_size).Add(name).Finish();
using Fingerprint = uint64_t;

class Fingerprinter {
 public:
  Fingerprinter& Add(int64_t value) {
    return AddBits(static_cast<uint64_t>(value));
  }
  Fingerprinter& Add(int value) { return Add(static_cast<int64_t>(value)); }
  Fingerprinter& Add(bool value) { return Add(static_cast<int64_t>(value)); }
  Fingerprinter& Add(uint64_t value) { return AddBits(value); }
  Fingerprinter& Add(double value) {
    if (value == 0) value = 0;  // -0.0 and 0.0 are the same quantity.
    uint64_t bits = 0;
    std::memcpy(&bits, &value, sizeof(bits));
    return AddBits(bits);
  }
  Fingerprinter& Add(absl::string_view text) {
    AddBits(text.size());
    for (const char c : text) AddByte(static_cast<unsigned char>(c));
    return *this;
  }
  // Without this overload, a literal would convert to bool.
  Fingerprinter& Add(const char* text) { return Add(absl::string_view(text)); }
  Fingerprinter& Add(const std::string& text) {
    return Add(absl::string_view(text));
  }

  Fingerprint Finish() const {
    uint64_t h = state_;
    h ^= h >> 33;
    h *= 0xff51afd7ed558ccdULL;
    h ^= h >> 33;
    h *= 0xc4ceb9fe1a85ec53ULL;
    h ^= h >> 33;
    return h;
  }

 private:
  void AddByte(unsigned char byte) {
    state_ = (state_ ^ byte) * 0x100000001b3ULL;
  }
  Fingerprinter& AddBits(uint64_t bits) {
    for (int shift = 0; shift < 64; shift += 8) {
      AddByte(static_cast<unsigned char>(bits >> shift));
    }
    return *this;
  }

  uint64_t state_ = 0xcbf29ce484222325ULL;
};

}  // namespace tangram

#endif  // TANGRAM_COMMON_BASE_FINGERPRINT_H_
