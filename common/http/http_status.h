#ifndef TANGRAM_COMMON_HTTP_HTTP_STATUS_H_
#define TANGRAM_COMMON_HTTP_HTTP_STATUS_H_

#include "absl/status/status.h"

namespace tangram {

// Returns the HTTP status of an answer with that code, as google.rpc.Code maps
// them: 404 of kNotFound, 429 of kResourceExhausted, 500 of codes without one.
int HttpStatusOf(absl::StatusCode code);

}  // namespace tangram

#endif  // TANGRAM_COMMON_HTTP_HTTP_STATUS_H_
