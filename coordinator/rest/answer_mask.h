#ifndef TANGRAM_COORDINATOR_REST_ANSWER_MASK_H_
#define TANGRAM_COORDINATOR_REST_ANSWER_MASK_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "coordinator/rest/http_rules.h"

// Fields that a request leaves out of its answer (Google's AIP-157). The JSON
// of an answer has zeros, too, and only a mask tells those that are values from
// those that were left out.
namespace tangram {

// The paths of a mask, "state" or "error.code"; empty: all fields.
using AnswerMask = std::vector<std::string>;

// Returns the read_mask of a serialised request of the method of `rule`.
AnswerMask ReadMaskOf(const HttpRule& rule, absl::string_view request);

// Removes from the JSON of an answer of the method of `rule` what the mask does
// not name. A mask is about the answer or, in a list, about its elements.
// Returns a text that is no JSON unchanged.
std::string Masked(const HttpRule& rule, const AnswerMask& mask,
                   std::string json);

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_REST_ANSWER_MASK_H_
