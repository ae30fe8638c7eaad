#include "tests/testing/fingerprint_attack.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "common/base/check.h"

namespace tangram::testing {
namespace {

// Makes collisions of FNV-1a: state' = (state ^ byte) · p mod 2^64. The
// exclusive or changes only the low byte. So a text takes every state with a
// given low byte to
//   state · p^n + c
// where c depends only on the text and that low byte. Texts that return to the
// low byte from which they start can be combined freely, and their c add up.
// The attack searches four lists of texts for a sum (Wagner, "A Generalized
// Birthday Problem", 2002).
constexpr uint64_t kPrime = 0x100000001b3;
constexpr size_t kSegmentBytes = 5;
constexpr size_t kNumSegments = 4;
constexpr size_t kListSize = 1 << 19;
// Bits of the sums of two segments that are fixed, so that few sums remain.
constexpr int kFixedBits = 8 + 18;
constexpr uint64_t kFixedMask = (uint64_t{1} << kFixedBits) - 1;

uint64_t Step(uint64_t state, unsigned char byte) {
  return (state ^ byte) * kPrime;
}

// Returns the state after the length, with which texts begin.
uint64_t StateAfterLength(uint64_t length) {
  uint64_t state = 0xcbf29ce484222325;
  for (int shift = 0; shift < 64; shift += 8) {
    state = Step(state, static_cast<unsigned char>(length >> shift));
  }
  return state;
}

uint64_t StateAfter(absl::string_view text) {
  uint64_t state = StateAfterLength(text.size());
  for (const char c : text) state = Step(state, static_cast<unsigned char>(c));
  return state;
}

uint64_t Power(size_t exponent) {
  uint64_t power = 1;
  while (exponent-- > 0) power *= kPrime;
  return power;
}

using Segment = std::array<char, kSegmentBytes>;
struct Part {
  uint64_t sum = 0;
  Segment text;
};

// Returns printable segments that lead from the low byte `from` to `to`, with
// the value that each adds to the last state if `bytes_after` follow.
std::vector<Part> ListParts(unsigned char from, unsigned char to,
                            size_t bytes_after) {
  // Multiplied by the prime, it has the low byte `to`.
  unsigned char before_last = 0;
  while (static_cast<unsigned char>(before_last * kPrime) != to) ++before_last;
  std::vector<Part> parts;
  for (uint32_t number = 0; parts.size() < kListSize; ++number) {
    Part part;
    uint64_t state = from;
    for (size_t i = 0; i + 1 < kSegmentBytes; ++i) {
      // One of 64 printable characters.
      part.text[i] = static_cast<char>('0' + (number >> (6 * i)) % 64);
      state = Step(state, static_cast<unsigned char>(part.text[i]));
    }
    const auto last = static_cast<unsigned char>(state ^ before_last);
    if (last < '0' || last > '~') continue;
    part.text[kSegmentBytes - 1] = static_cast<char>(last);
    state = Step(state, last);
    part.sum = (state - from * Power(kSegmentBytes)) * Power(bytes_after);
    parts.push_back(part);
  }
  return parts;
}

struct Pair {
  uint64_t sum = 0;
  Segment first;
  Segment second;
};

// Returns pairs from both lists whose sums have the fixed bits of `residue`.
std::vector<Pair> Merge(const std::vector<Part>& first,
                        std::vector<Part> second, uint64_t residue) {
  const auto fixed = [](const Part& part) { return part.sum & kFixedMask; };
  std::sort(second.begin(), second.end(),
            [&](const Part& a, const Part& b) { return fixed(a) < fixed(b); });
  std::vector<Pair> pairs;
  for (const Part& a : first) {
    const uint64_t wanted = (residue - a.sum) & kFixedMask;
    auto b = std::lower_bound(
        second.begin(), second.end(), wanted,
        [&](const Part& part, uint64_t value) { return fixed(part) < value; });
    for (; b != second.end() && fixed(*b) == wanted; ++b) {
      pairs.push_back({a.sum + b->sum, a.text, b->text});
    }
  }
  return pairs;
}

std::string Joined(const Pair& head, const Pair& tail) {
  std::string text;
  for (const Segment* segment :
       {&head.first, &head.second, &tail.first, &tail.second}) {
    text.append(segment->data(), segment->size());
  }
  return text;
}

}  // namespace

std::string TextWithFingerprintOf(absl::string_view text) {
  constexpr size_t kBytes = kSegmentBytes * kNumSegments;
  TANGRAM_CHECK(text.size() == kBytes);
  const uint64_t target = StateAfter(text);
  const uint64_t start = StateAfterLength(kBytes);
  const auto low = static_cast<unsigned char>(start);
  std::vector<std::vector<Part>> lists;
  for (size_t i = 1; i <= kNumSegments; ++i) {
    lists.push_back(ListParts(
        low, i < kNumSegments ? low : static_cast<unsigned char>(target),
        kBytes - i * kSegmentBytes));
  }
  const uint64_t wanted = target - start * Power(kBytes);
  // The low byte of a sum is the same for all pairs.
  const uint64_t low_byte = (lists[0][0].sum + lists[1][0].sum) & 0xff;
  for (uint64_t guess = 0;; ++guess) {
    const uint64_t residue = low_byte | guess << 8;
    const std::vector<Pair> heads = Merge(lists[0], lists[1], residue);
    std::vector<Pair> tails = Merge(lists[2], lists[3], wanted - residue);
    std::sort(tails.begin(), tails.end(),
              [](const Pair& a, const Pair& b) { return a.sum < b.sum; });
    for (const Pair& head : heads) {
      const auto tail = std::lower_bound(
          tails.begin(), tails.end(), wanted - head.sum,
          [](const Pair& pair, uint64_t sum) { return pair.sum < sum; });
      if (tail == tails.end() || tail->sum != wanted - head.sum) continue;
      std::string found = Joined(head, *tail);
      if (found != text && StateAfter(found) == target) return found;
    }
  }
}

}  // namespace tangram::testing
