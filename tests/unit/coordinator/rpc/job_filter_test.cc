#include "coordinator/rpc/job_filter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "tests/testing/status_matchers.h"

namespace tangram {
namespace {

using ::tangram::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;

Job FailedJob() {
  return {.id = "team/nightly-7",
          .priority = 3,
          .state = JobState::kFailed,
          .attempts = 2,
          .submitted_s = 1000,
          .finished_s = 1060,
          .labels = {{"run", "7"}, {"ci/team", "vision"}}};
}

bool Takes(const std::string& filter) {
  const auto predicate = ParseJobFilter(filter);
  EXPECT_TRUE(predicate.ok()) << filter << ": " << predicate.status();
  return predicate.ok() && (*predicate)(FailedJob(), "nightly-7");
}

TEST(JobFilterTest, TakesWhatItSays) {
  for (const char* filter :
       {"", "  ", "state = FAILED", "state:FAILED", "state != RUNNING",
        "priority > 2", "priority>=3 AND priority<=3", "priority != -3",
        "job_id = nightly-7", "job_id = \"night*\"", "job_id = *-7",
        "job_id != \"x\"", "labels.run = 7", "labels.ci/team = \"vis*\"",
        "labels:run", "NOT labels:gone", "labels.gone != 1", "-state = RUNNING",
        "-(state = RUNNING OR state = QUEUED)", "finished_s > 1059.5",
        "submitted_s = \"1970-01-01T00:16:40Z\"", "attempts = 2 AND losses = 0",
        // OR binds closer than AND.
        "state = FAILED AND priority = 9 OR priority = 3",
        "(state = RUNNING) OR NOT (priority < 3)"}) {
    EXPECT_TRUE(Takes(filter)) << filter;
  }
}

TEST(JobFilterTest, LeavesWhatItDoesNotSay) {
  for (const char* filter :
       {"state = RUNNING", "priority < 3", "job_id = nightly", "labels:gone",
        "labels.run = \"*8\"", "labels.gone = 1", "NOT state = FAILED",
        "priority = 3 OR priority = 4 AND state = RUNNING", "started_s > 0",
        "deadline_s != 0"}) {
    EXPECT_FALSE(Takes(filter)) << filter;
  }
}

TEST(JobFilterTest, ABadFilterNamesItsPart) {
  const std::string deep = std::string(40, '(') + "priority = 1";
  for (const auto& [filter, found] :
       {std::pair<std::string, const char*>{"colour = red", "\"colour\""},
        {"state = DONE", "\"DONE\""},
        {"state > FAILED", "\">\""},
        {"priority = high", "\"high\""},
        {"submitted_s > yesterday", "\"yesterday\""},
        {"priority =", "\"priority=\""},
        {"priority", "\"priority\""},
        {"(priority = 1", "\"(\""},
        {"priority = 1 priority = 2", "\"priority\""},
        {"priority = 1)", "\")\""},
        {"job_id = \"x", "closing quote"},
        {"labels.run < 8", "\"<\""},
        {"labels. = 8", "\"labels.\""},
        {"AND", "\"AND\""},
        {"= 3", "job_id, state"},
        {"priority ! 3", "\"!\""},
        {"job_id = a\x01", "\"\\x01\""},
        {deep, "32 levels"},
        {std::string(3000, ' ') + "x", "2000"}}) {
    EXPECT_THAT(ParseJobFilter(filter).status(),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         AllOf(HasSubstr("filter: "), HasSubstr(found))))
        << filter;
  }
}

TEST(JobFilterTest, ReadsAnOrder) {
  using Key = JobOrder::Key;
  for (const auto& [text, order] :
       {std::pair<const char*, JobOrder>{"", {Key::kSubmitted, true}},
        {"submitted_s", {Key::kSubmitted, false}},
        {" priority  desc ", {Key::kPriority, true}},
        {"job_id asc", {Key::kId, false}}}) {
    const auto read = ParseJobOrder(text);
    ASSERT_TRUE(read.ok()) << text;
    EXPECT_EQ(*read, order) << text;
  }
  for (const char* text :
       {"state", "priority,job_id", "priority down", "priority desc desc"}) {
    EXPECT_THAT(
        ParseJobOrder(text).status(),
        StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("order_by: ")))
        << text;
  }
}

}  // namespace
}  // namespace tangram
