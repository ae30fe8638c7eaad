// Lists of stored jobs, their order and places in them, and usage.
#include "coordinator/store/read_job_list.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "coordinator/store/job_store.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/status_matchers.h"
#include "tests/unit/coordinator/store/job_store_fixture.h"

namespace tangram {
namespace {

using ::testing::ElementsAre;
using testing::IsOk;
using testing::IsOkAndHolds;
using ::testing::SizeIs;

using ReadJobListTest = testing::JobStoreTest;
INSTANTIATE_TEST_SUITE_P(All, ReadJobListTest,
                         ::testing::Values("sqlite", "postgresql"),
                         testing::DatabaseName);

TEST_P(ReadJobListTest, ListsPagesFromTheNewestOn) {
  for (const char* id : {"a", "b", "c", "d"}) Submit(id);
  EXPECT_EQ(Claim("me"), "a");

  EXPECT_THAT(Ids({.limit = 2}), ElementsAre("d", "c"));
  EXPECT_THAT(Ids({.limit = 2, .after = CursorAt(Get("c"), {})}),
              ElementsAre("b", "a"));
  EXPECT_THAT(Ids({.states = {JobState::kQueued}}), ElementsAre("d", "c", "b"));
}

TEST_P(ReadJobListTest, ListsAreInTheOrderAskedFor) {
  for (const auto& [id, priority] :
       {std::pair{"b", 1}, std::pair{"a", 5}, std::pair{"c", 1}}) {
    Submit(id, priority);
    now_s_ += 1;
  }
  using Key = JobOrder::Key;
  EXPECT_THAT(Ids({}), ElementsAre("c", "a", "b"));
  EXPECT_THAT(Ids({.order = {Key::kSubmitted, false}}),
              ElementsAre("b", "a", "c"));
  EXPECT_THAT(Ids({.order = {Key::kPriority, true}}),
              ElementsAre("a", "c", "b"));
  EXPECT_THAT(Ids({.order = {Key::kId, false}}), ElementsAre("a", "b", "c"));
  for (const JobOrder order :
       {JobOrder{Key::kPriority, true}, JobOrder{Key::kId, true},
        JobOrder{Key::kSubmitted, false}, JobOrder{Key::kStarted, false},
        JobOrder{Key::kFinished, true}}) {
    std::vector<std::string> one_by_one;
    std::optional<JobCursor> after;
    while (true) {
      const auto page =
          store_->List({.limit = 1, .order = order, .after = after});
      ASSERT_THAT(page, IsOk());
      if (page->empty()) break;
      one_by_one.push_back(page->at(0).id);
      after = CursorAt(page->at(0), order);
      ASSERT_LT(one_by_one.size(), 5);
    }
    EXPECT_EQ(one_by_one, Ids({.order = order}));
  }
}

TEST_P(ReadJobListTest, APlaceInAListSurvivesTheDeletionOfItsJob) {
  for (const char* id : {"a", "b", "c"}) {
    Submit(id);
    now_s_ += 1;
  }
  for (int i = 0; i < 3; ++i) End();
  for (const JobOrder order :
       {JobOrder{}, JobOrder{JobOrder::Key::kPriority}}) {
    const JobCursor after = CursorAt(Get("b"), order);
    ASSERT_THAT(store_->Delete("b"), IsOk());
    EXPECT_THAT(Ids({.order = order, .after = after}), ElementsAre("a"));
    now_s_ = 1001;
    Submit("b");
    End();
  }
}

TEST_P(ReadJobListTest, TenantsAreListedAndCountedApart) {
  for (const char* id : {"a/x", "a/y", "ab/x", "x"}) Submit(id);
  EXPECT_THAT(Ids({.tenant = "a"}), ElementsAre("a/y", "a/x"));
  EXPECT_THAT(Ids({}), SizeIs(4));
  EXPECT_THAT(store_->CountUnfinished("a"), IsOkAndHolds(2));
  EXPECT_THAT(store_->CountUnfinished(""), IsOkAndHolds(4));
  EXPECT_THAT(store_->Cancel("a/x"), IsOk());
  EXPECT_EQ(Claim("runner"), "a/y");
  EXPECT_THAT(store_->CountUnfinished("a"), IsOkAndHolds(1));
}

TEST_P(ReadJobListTest, UsageIsCountedByTenant) {
  Submit("a/x");  // Its request has 8 bytes.
  Submit("a/y");
  Submit("b/x");
  ASSERT_THAT(store_->Finish(Lease("me"), {.state = JobState::kSucceeded,
                                           .result = "12345"}),
              IsOk());
  ASSERT_OK_AND_ASSIGN(const TenantUsage usage, store_->Usage("a"));
  EXPECT_EQ(usage.unfinished_jobs, 1);
  EXPECT_EQ(usage.ended_jobs, 1);
  EXPECT_EQ(usage.bytes, 8 + 8 + 5);
}

}  // namespace
}  // namespace tangram
