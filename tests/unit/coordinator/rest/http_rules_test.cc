#include "coordinator/rest/http_rules.h"

#include <gmock/gmock.h>
#include <google/protobuf/descriptor.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "coordinator/auth/method_roles.h"
#include "tests/testing/status_matchers.h"

namespace tangram {
namespace {

using ::tangram::testing::StatusIs;
using ::testing::HasSubstr;

std::vector<HttpRule> Rules() {
  auto rules = ParseHttpRules(HttpRulesText());
  EXPECT_TRUE(rules.ok()) << rules.status();
  return rules.ok() ? *rules : std::vector<HttpRule>();
}

// "METHOD selector value", or "none".
std::string Found(const std::string& method, const std::string& path) {
  static const std::vector<HttpRule> rules = Rules();
  const HttpMatch match = FindHttpRule(rules, method, path);
  if (match.rule == nullptr) return match.path_exists ? "other method" : "none";
  return absl::StrCat(match.rule->selector.substr(11), " ", match.value);
}

TEST(HttpRulesTest, EveryRuleIsOfAMethodWithARole) {
  const auto* pool = google::protobuf::DescriptorPool::generated_pool();
  EXPECT_GE(Rules().size(), 15u);
  for (const HttpRule& rule : Rules()) {
    const auto* method = pool->FindMethodByName(rule.selector);
    ASSERT_NE(method, nullptr) << rule.selector;
    EXPECT_NE(FindMethodAccess(rule.grpc_method()), nullptr) << rule.selector;
    if (!rule.body.empty() && rule.body != "*") {
      const auto* field = method->input_type()->FindFieldByName(rule.body);
      ASSERT_NE(field, nullptr) << rule.selector;
      EXPECT_NE(field->message_type(), nullptr) << rule.selector;
    }
    if (!rule.response_body.empty()) {
      const auto* field =
          method->output_type()->FindFieldByName(rule.response_body);
      ASSERT_NE(field, nullptr) << rule.selector;
      EXPECT_NE(field->message_type(), nullptr) << rule.selector;
    }
  }
}

TEST(HttpRulesTest, PathsAreMatched) {
  EXPECT_EQ(Found("GET", "/v1/jobs"), "Jobs.ListJobs ");
  EXPECT_EQ(Found("POST", "/v1/jobs"), "Jobs.SubmitJob ");
  EXPECT_EQ(Found("GET", "/v1/jobs/nightly-7"), "Jobs.GetJob nightly-7");
  EXPECT_EQ(Found("GET", "/v1/jobs/team-a/x"), "Jobs.GetJob team-a/x");
  EXPECT_EQ(Found("POST", "/v1/jobs/a:cancel"), "Jobs.CancelJob a");
  EXPECT_EQ(Found("GET", "/v1/jobs/a:trace"), "Jobs.GetJobTrace a");
  EXPECT_EQ(Found("GET", "/v1/tenants/t:usage"), "Tenants.GetTenantUsage t");
  EXPECT_EQ(Found("GET", "/v1/tenants/t/u:usage"), "none");
  EXPECT_EQ(Found("PUT", "/v1/jobs"), "other method");
  EXPECT_EQ(Found("GET", "/v1/jobs/a:cancel"), "other method");
  EXPECT_EQ(Found("GET", "/v1/jobs/a:drop"), "none");
  EXPECT_EQ(Found("GET", "/v1/jobs/"), "none");
  EXPECT_EQ(Found("GET", "/v1/jobsx"), "none");
  EXPECT_EQ(Found("GET", "/v2/jobs"), "none");
  EXPECT_EQ(Found("GET", ""), "none");
}

TEST(HttpRulesTest, BadRulesAreNamed) {
  for (const auto& [text, found] :
       {std::pair{"[]", "rules"},
        std::pair{R"({"http":{"rules":[3]}})", "objects"},
        std::pair{R"({"http":{"rules":[{"selector":"a.b"}]}})", "a.b"},
        std::pair{R"({"http":{"rules":[{"selector":"a.b","get":"x"}]}})",
                  "a.b: x"},
        std::pair{
            R"({"http":{"rules":[{"selector":"a.b","get":"/v1/{a}/{b}"}]}})",
            "at most one"}}) {
    EXPECT_THAT(ParseHttpRules(text).status(),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(found)))
        << text;
  }
}

}  // namespace
}  // namespace tangram
