#ifndef TANGRAM_COMMON_WIRE_ERROR_DETAILS_H_
#define TANGRAM_COMMON_WIRE_ERROR_DETAILS_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

// The details of google.rpc that programs read in an error, beside its text for
// people (proto/tangram/v1/error_details.proto).
namespace tangram {

// Adds the time in seconds after which the same call may pass. Changes no OK.
absl::Status WithRetryDelay(absl::Status status, double delay_s);

// Adds the thing that the error is about, e.g. "tangram.v1.Job" and its name.
absl::Status WithResource(absl::Status status, absl::string_view type,
                          absl::string_view name);

// Returns the path at the start of an error of bad input, e.g.
// "cluster.nodes[3].num_gpus"; empty: it has none.
absl::string_view FieldOf(absl::string_view message);

// Returns a serialised google.rpc.Status with the details of an error: those
// that were added, the field of bad input, and a delay for kUnavailable. Empty:
// it has none.
std::string SerializedDetails(const absl::Status& status);

}  // namespace tangram

#endif  // TANGRAM_COMMON_WIRE_ERROR_DETAILS_H_
