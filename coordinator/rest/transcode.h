#ifndef TANGRAM_COORDINATOR_REST_TRANSCODE_H_
#define TANGRAM_COORDINATOR_REST_TRANSCODE_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/http/api_server.h"
#include "coordinator/rest/answer_mask.h"
#include "coordinator/rest/http_rules.h"

namespace google::protobuf {
class Descriptor;
}  // namespace google::protobuf

// Requests and answers between JSON and protobuf, without messages in between,
// so that a small text cannot unfold to a large one: the service measures what
// it gets.
namespace tangram {

// Returns the serialised request of the method of `match`: the body, the
// variable of the path and the query. kInvalidArgument names what is wrong.
absl::StatusOr<std::string> RequestOf(const HttpMatch& match,
                                      const ApiRequest& request);

// Returns the JSON of a serialised answer of the method of `rule`, or of the
// field that is the body. Fields that the mask names are printed whatever their
// value is.
absl::StatusOr<std::string> AnswerOf(const HttpRule& rule,
                                     absl::string_view bytes,
                                     const AnswerMask& mask = {});

// Returns the answer for an error, as Google's APIs do: {"error":{...}} with
// the serialised google.rpc.Status as details. A delay in them, or the usual
// one of kUnavailable, becomes a Retry-After header, too.
HttpResponse ErrorResponse(const absl::Status& status,
                           absl::string_view details);

// The same for an error of this process, with an HTTP status of its own, such
// as 405.
HttpResponse ErrorResponse(const absl::Status& status, int http_status);

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_REST_TRANSCODE_H_
