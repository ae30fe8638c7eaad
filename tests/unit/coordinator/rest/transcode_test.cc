#include "coordinator/rest/transcode.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/wire/error_details.h"
#include "tangram/v1/job_service.pb.h"
#include "tests/testing/status_matchers.h"

namespace tangram {
namespace {

using ::tangram::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::StartsWith;

class TranscodeTest : public ::testing::Test {
 protected:
  absl::StatusOr<std::string> Request(ApiRequest request) {
    const HttpMatch match = FindHttpRule(rules_, request.method, request.path);
    EXPECT_NE(match.rule, nullptr) << request.path;
    return RequestOf(match, request);
  }
  template <typename Message>
  Message Read(ApiRequest request) {
    Message message;
    const auto bytes = Request(std::move(request));
    EXPECT_TRUE(bytes.ok()) << bytes.status();
    if (bytes.ok()) {
      EXPECT_TRUE(message.ParseFromString(*bytes));
    }
    return message;
  }
  void ExpectBad(ApiRequest request, const char* what) {
    EXPECT_THAT(Request(std::move(request)).status(),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(what)));
  }

  const std::vector<HttpRule> rules_ = *ParseHttpRules(HttpRulesText());
};

TEST_F(TranscodeTest, ErrorsOfBodiesNameTheField) {
  const auto error = [this](const char* body) {
    const absl::Status status =
        Request({.method = "POST", .path = "/v1/jobs", .body = body}).status();
    EXPECT_NE(SerializedDetails(status), "") << body;
    return std::string(status.message());
  };
  EXPECT_THAT(error(R"({"request":{"training":{"globalBatchSize":"x"}}})"),
              StartsWith("request.training.global_batch_size: invalid"));
  EXPECT_THAT(error(R"({"priority":"x"})"), StartsWith("priority: invalid"));
  EXPECT_THAT(error(R"({"colour":1})"), StartsWith("colour: Cannot find"));
  EXPECT_THAT(error("[]"), StartsWith("body: Root element"));
  EXPECT_THAT(error("{"), StartsWith("body: Unexpected end"));
  EXPECT_THAT(error("{\"job_id\":\"\xff\"}"), StartsWith("body: Encountered"));
}

TEST_F(TranscodeTest, ObjectsHaveAThousandMembersAtMost) {
  const auto plan = [](const std::string& key, int count) {
    std::string body = R"({"planner_options":{)";
    for (int i = 0; i < count; ++i) {
      absl::StrAppend(&body, i > 0 ? "," : "", key, i, R"(":"a:\":\\")");
    }
    return ApiRequest{
        .method = "POST", .path = "/v1/plans", .body = body + "}}"};
  };
  EXPECT_EQ(Read<v1::PlanRequest>(plan("\"k", 1000)).planner_options_size(),
            1000);
  ExpectBad(plan("\"k", 1001),
            "body: an object with too many members; expected at most 1000");
  // Lists and texts may have more.
  std::string nodes;
  for (int i = 0; i < 2000; ++i) nodes += R"({"names":["::"],"group":1},)";
  EXPECT_EQ(
      Read<v1::PlanRequest>(
          {.method = "POST",
           .path = "/v1/plans",
           .body = absl::StrCat(R"({"model":{"name":")", std::string(2000, ':'),
                                R"("},"cluster":{"nodes":[)", nodes, "{}]}}")})
          .cluster()
          .nodes_size(),
      2001);
  std::string quoted = "{";
  for (int i = 0; i < 1001; ++i) absl::StrAppend(&quoted, "'\"':'\"',");
  ExpectBad({.method = "POST", .path = "/v1/plans", .body = quoted + "}"},
            "too many members");
}

TEST_F(TranscodeTest, BodyPathAndQueryAreOneRequest) {
  const auto submit = Read<v1::SubmitJobRequest>(
      {.method = "POST",
       .path = "/v1/jobs",
       .body = R"({"job_id":"a","labels":{"run":"7"},"request":
                   {"training":{"globalBatchSize":32}}})"});
  EXPECT_EQ(submit.job_id(), "a");
  EXPECT_EQ(submit.labels().at("run"), "7");
  EXPECT_EQ(submit.request().training().global_batch_size(), 32);

  const auto list =
      Read<v1::ListJobsRequest>({.method = "GET",
                                 .path = "/v1/jobs",
                                 .query = {{"filter", "state = FAILED"},
                                           {"page_size", "7"},
                                           {"states", "RUNNING"},
                                           {"states", "QUEUED"},
                                           {"read_mask", "job_id,state"}}});
  EXPECT_EQ(list.filter(), "state = FAILED");
  EXPECT_EQ(list.page_size(), 7);
  EXPECT_EQ(list.states_size(), 2);
  EXPECT_EQ(list.read_mask().paths(1), "state");

  const auto update = Read<v1::UpdateJobRequest>(
      {.method = "PATCH",
       .path = "/v1/jobs/a",
       .query = {{"update_mask", "priority"}},
       .body = R"({"priority":5,"job_id":"another"})"});
  EXPECT_EQ(update.job().priority(), 5);
  EXPECT_EQ(update.job().job_id(), "a");
  EXPECT_EQ(update.update_mask().paths(0), "priority");

  const auto retry =
      Read<v1::RetryJobRequest>({.method = "POST", .path = "/v1/jobs/a:retry"});
  EXPECT_EQ(retry.job_id(), "a");
}

TEST_F(TranscodeTest, BadRequestsNameWhatIsWrong) {
  ExpectBad({.method = "POST", .path = "/v1/jobs", .body = "{"}, "body: ");
  ExpectBad({.method = "POST", .path = "/v1/jobs", .body = R"({"colour":1})"},
            "colour");
  ExpectBad(
      {.method = "POST", .path = "/v1/jobs", .body = std::string(100000, '[')},
      "body: ");
  ExpectBad({.method = "GET", .path = "/v1/jobs", .body = "{}"}, "body: ");
  ExpectBad({.method = "GET", .path = "/v1/jobs", .query = {{"colour", "x"}}},
            "\"colour\"");
  ExpectBad(
      {.method = "GET", .path = "/v1/jobs", .query = {{"page_size", "many"}}},
      "page_size: \"many\"; expected a number");
  ExpectBad({.method = "GET", .path = "/v1/jobs", .query = {{"states", "X"}}},
            "states");
  ExpectBad({.method = "GET", .path = "/v1/jobs", .query = {{"filter.x", "1"}}},
            "filter.x");
}

TEST_F(TranscodeTest, QueriesHaveTheNamesOfJsonToo) {
  const auto list = Read<v1::ListJobsRequest>(
      {.method = "GET",
       .path = "/v1/jobs",
       .query = {{"pageSize", "5"}, {"readMask", "state"}}});
  EXPECT_EQ(list.page_size(), 5);
  EXPECT_THAT(list.read_mask().paths(), ElementsAre("state"));
}

// The library would hold every prefix of the mask: gigabytes for 64 KiB.
TEST_F(TranscodeTest, MasksWithParenthesesAreRefusedBeforeTheyUnfold) {
  for (const char* const parenthesis : {"(", "\\u0028"}) {
    std::string mask;
    for (int i = 0; i < 1000; ++i) mask += std::string("a") + parenthesis;
    ExpectBad({.method = "POST",
               .path = "/v1/jobs/x:wait",
               .body = R"({"readMask": ")" + mask + R"("})"},
              "body: \"(\"; expected masks without parentheses");
  }
}

TEST_F(TranscodeTest, AnswersAreJson) {
  v1::Job job;
  job.set_job_id("a");
  job.set_state(v1::Job::RUNNING);
  const HttpMatch match = FindHttpRule(rules_, "GET", "/v1/jobs/a");
  const auto json = AnswerOf(*match.rule, job.SerializeAsString());
  ASSERT_TRUE(json.ok());
  EXPECT_THAT(*json,
              HasSubstr(R"("job_id":"a","state":"RUNNING","priority":0)"));

  v1::PlanUpdate update;
  update.mutable_result()->add_notes("note");
  const HttpMatch plan = FindHttpRule(rules_, "POST", "/v1/plans");
  const auto file = AnswerOf(*plan.rule, update.SerializeAsString());
  ASSERT_TRUE(file.ok());
  EXPECT_THAT(*file, HasSubstr(R"("notes":["note"])"));
}

TEST_F(TranscodeTest, AMaskLeavesOutZerosToo) {
  v1::Job job;
  job.set_job_id("a");
  job.mutable_error()->set_code(5);
  const HttpRule& get = *FindHttpRule(rules_, "GET", "/v1/jobs/a").rule;
  v1::GetJobRequest request;
  for (const char* path : {"priority", "job_id", "error.code"}) {
    request.mutable_read_mask()->add_paths(path);
  }
  const AnswerMask mask = ReadMaskOf(get, request.SerializeAsString());
  const auto one = AnswerOf(get, job.SerializeAsString(), mask);
  ASSERT_TRUE(one.ok());
  EXPECT_EQ(*one, R"({"job_id":"a","priority":0,"error":{"code":5}})");

  v1::ListJobsResponse page;
  *page.add_jobs() = job;
  const HttpRule& list = *FindHttpRule(rules_, "GET", "/v1/jobs").rule;
  const auto all = AnswerOf(list, page.SerializeAsString(), {"state"});
  ASSERT_TRUE(all.ok());
  EXPECT_EQ(*all, R"({"jobs":[{"state":"UNKNOWN"}],"next_page_token":""})");

  request.mutable_read_mask()->add_paths("*");
  EXPECT_TRUE(ReadMaskOf(get, request.SerializeAsString()).empty());
  EXPECT_TRUE(ReadMaskOf(get, "").empty());
}

TEST_F(TranscodeTest, ErrorsAreThoseOfGooglesApis) {
  const absl::Status status =
      absl::InvalidArgumentError("page_size: -1; expected 0 or more");
  const HttpResponse response =
      ErrorResponse(status, SerializedDetails(status));
  EXPECT_EQ(response.status, 400);
  EXPECT_THAT(response.body, HasSubstr(R"("status":"INVALID_ARGUMENT")"));
  EXPECT_THAT(
      response.body,
      HasSubstr(R"("@type":"type.googleapis.com/google.rpc.BadRequest")"));
  EXPECT_THAT(response.body, HasSubstr(R"("field":"page_size")"));
  for (const auto& [code, http] :
       {std::pair{absl::StatusCode::kNotFound, 404},
        std::pair{absl::StatusCode::kAlreadyExists, 409},
        std::pair{absl::StatusCode::kResourceExhausted, 429},
        std::pair{absl::StatusCode::kUnavailable, 503},
        std::pair{absl::StatusCode::kUnauthenticated, 401},
        std::pair{absl::StatusCode::kInternal, 500}}) {
    EXPECT_EQ(ErrorResponse(absl::Status(code, "\xff"), "").status, http);
  }
  EXPECT_THAT(response.headers, IsEmpty());
  const HttpResponse away = ErrorResponse(absl::UnavailableError("away"), 503);
  EXPECT_THAT(away.headers, ElementsAre(Pair("Retry-After", "1")));
  const HttpResponse method =
      ErrorResponse(absl::UnimplementedError("PUT /v1/jobs"), 405);
  EXPECT_EQ(method.status, 405);
  EXPECT_THAT(method.body, HasSubstr(R"("code":405)"));
  EXPECT_THAT(method.body, HasSubstr(R"("status":"UNIMPLEMENTED")"));
}

}  // namespace
}  // namespace tangram
