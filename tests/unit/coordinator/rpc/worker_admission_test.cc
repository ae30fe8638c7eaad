#include "coordinator/rpc/worker_admission.h"

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/status_matchers.h"

namespace tangram {
namespace {

using ::testing::HasSubstr;
using testing::IsOk;
using testing::StatusIs;

const WorkerIdentity kSource{.caller = "w", .host = "10.0.0.7"};
const WorkerIdentity kOther{.caller = "w", .host = "10.0.0.8"};

class WorkerAdmissionTest : public ::testing::Test {
 protected:
  auto Begin(const WorkerIdentity& source) {
    return admission_.Begin(source, [this] { ++num_closed_; });
  }

  double now_s_ = 100;
  int num_closed_ = 0;
  WorkerAdmission admission_{
      {.max_streams = 2, .max_adapters = 3, .hello_s = 10},
      [this] { return now_s_; }};
};

std::vector<AdapterInfo> Adapters(int first, int count) {
  std::vector<AdapterInfo> adapters;
  for (int i = first; i < first + count; ++i) {
    adapters.push_back({.id = {absl::StrCat("a", i), "1"}});
  }
  return adapters;
}

TEST_F(WorkerAdmissionTest, LimitsTheStreamsOfASource) {
  const auto first = Begin(kSource);
  auto second = Begin(kSource);
  ASSERT_THAT(second, IsOk());
  EXPECT_THAT(Begin(kSource).status(),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       HasSubstr("worker source \"w@10.0.0.7\": 3 streams; "
                                 "expected at most 2 "
                                 "(--max_streams_per_source)")));
  EXPECT_THAT(Begin(kOther).status(), IsOk());
  second->reset();
  EXPECT_THAT(Begin(kSource).status(), IsOk());
}

TEST_F(WorkerAdmissionTest, LimitsTheDifferentAdaptersOfASource) {
  const auto first = Begin(kSource);
  auto second = Begin(kSource);
  EXPECT_THAT((*first)->Greet(Adapters(0, 2)), IsOk());
  EXPECT_THAT((*second)->Greet(Adapters(2, 2)),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       HasSubstr("hello.adapters: the workers of "
                                 "\"w@10.0.0.7\" offer 4 names and versions; "
                                 "expected at most 3")));
  second->reset();
  second = Begin(kSource);
  // Those that another stream offers count once.
  EXPECT_THAT((*second)->Greet(Adapters(0, 3)), IsOk());
}

TEST_F(WorkerAdmissionTest, ClosesAStreamThatSaysNoHello) {
  const auto silent = Begin(kSource);
  now_s_ += 5;
  const auto greeted = Begin(kSource);
  EXPECT_THAT((*greeted)->Greet(Adapters(0, 1)), IsOk());
  now_s_ += 4;
  admission_.Tick();
  EXPECT_EQ(num_closed_, 0);
  now_s_ += 100;
  admission_.Tick();
  EXPECT_EQ(num_closed_, 1);
  admission_.Tick();
  EXPECT_EQ(num_closed_, 1);
}

// One that restarts again and again, or that means harm. Each second, it may
// have one more.
TEST_F(WorkerAdmissionTest, RefusesASourceWhoseStreamsEndAtOnce) {
  for (int i = 0; i < 64; ++i) EXPECT_THAT(Begin(kSource).status(), IsOk());
  EXPECT_THAT(Begin(kSource).status(),
              StatusIs(absl::StatusCode::kUnavailable,
                       HasSubstr("worker source \"w@10.0.0.7\": 64 streams "
                                 "ended within 5 s each")));
  EXPECT_THAT(Begin(kOther).status(), IsOk());
  now_s_ += 1;
  auto lasting = Begin(kSource);
  EXPECT_THAT(lasting, IsOk());
  EXPECT_THAT(Begin(kSource).status(), IsOk());
  EXPECT_FALSE(Begin(kSource).ok());
  now_s_ += 6;
  lasting->reset();  // It does not count.
  for (int i = 0; i < 6; ++i) EXPECT_THAT(Begin(kSource).status(), IsOk());
  EXPECT_FALSE(Begin(kSource).ok());
}

}  // namespace
}  // namespace tangram
