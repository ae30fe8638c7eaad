#ifndef TANGRAM_COORDINATOR_DISPATCH_PACKED_ANSWER_H_
#define TANGRAM_COORDINATOR_DISPATCH_PACKED_ANSWER_H_

#include <cstdint>
#include <string>
#include <variant>

#include "common/parallelizer/query.h"

namespace tangram {

// An answer in a fraction of its memory. Slice plans, of which there are most,
// are kept as bytes: small numbers in one byte, what neighbouring stages share
// once, and no unused room in lists. Immutable.
class PackedAnswer {
 public:
  explicit PackedAnswer(const Answer& answer);

  Answer Unpack() const;  // Equal to the answer, bit for bit.

  int64_t num_bytes() const;  // The memory that it takes, approximately.

 private:
  std::variant<std::string, Answer> content_;
};

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_DISPATCH_PACKED_ANSWER_H_
