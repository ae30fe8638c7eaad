#ifndef TANGRAM_COORDINATOR_REST_HTTP_RULES_H_
#define TANGRAM_COORDINATOR_REST_HTTP_RULES_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace google::protobuf {
class MethodDescriptor;
}  // namespace google::protobuf

namespace tangram {

// A rule of google.api.http: how a method is called by REST.
struct HttpRule {
  std::string selector;  // "tangram.v1.Jobs.GetJob".
  std::string method;    // "GET".
  // "/v1/jobs/" of "/v1/jobs/{job_id=**}:wait".
  std::string prefix;
  std::string field;  // "job_id"; empty: the path has no variable.
  bool takes_slashes = false;
  std::string verb;           // "wait"; empty: none.
  std::string body;           // "*", a field, or empty.
  std::string response_body;  // A field; empty: the whole message.

  // "/tangram.v1.Jobs/GetJob".
  std::string grpc_method() const;
};

// Returns the method of a rule, which must exist.
const google::protobuf::MethodDescriptor* MethodOf(const HttpRule& rule);

// Returns proto/http_rules.json, which is part of the program.
absl::string_view HttpRulesText();

// Reads a google.api.Service with rules. kInvalidArgument names the rule at
// fault.
absl::StatusOr<std::vector<HttpRule>> ParseHttpRules(absl::string_view text);

// A rule that fits a request, and the value of its variable.
struct HttpMatch {
  const HttpRule* rule = nullptr;  // Null: none fits.
  std::string value;
  bool path_exists = false;  // For another method.
};
HttpMatch FindHttpRule(const std::vector<HttpRule>& rules,
                       absl::string_view method, absl::string_view path);

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_REST_HTTP_RULES_H_
