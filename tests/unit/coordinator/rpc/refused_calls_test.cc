#include "coordinator/rpc/refused_calls.h"

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tangram {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr char kGetJob[] = "/tangram.v1.Jobs/GetJob";
constexpr char kListJobs[] = "/tangram.v1.Jobs/ListJobs";

class RefusedCallsTest : public ::testing::Test {
 protected:
  // Returns "method code times" of each record since the last time.
  std::vector<std::string> Records() {
    std::vector<std::string> lines;
    for (const AuditedCall& call : records_) {
      lines.push_back(
          absl::StrCat(call.method, " ", call.code, " ", call.times));
    }
    records_.clear();
    return lines;
  }

  double now_s_ = 1000;
  std::vector<AuditedCall> records_;
  std::unique_ptr<RefusedCalls> calls_ = std::make_unique<RefusedCalls>(
      [this](const AuditedCall& call) { records_.push_back(call); },
      [this] { return now_s_; });
};

TEST_F(RefusedCallsTest, AKindIsRecordedOnceAMinute) {
  for (int i = 0; i < 1000; ++i) {
    calls_->Take({.method = kGetJob,
                  .peer = absl::StrCat("ipv4:10.0.0.7:", i),
                  .code = "unauthenticated"});
  }
  calls_->Take({.method = kListJobs, .code = "unauthenticated"});
  calls_->Take({.method = kGetJob, .code = "permission_denied"});
  EXPECT_THAT(Records(),
              ElementsAre("/tangram.v1.Jobs/GetJob unauthenticated 1",
                          "/tangram.v1.Jobs/ListJobs unauthenticated 1",
                          "/tangram.v1.Jobs/GetJob permission_denied 1"));
  now_s_ += 59;
  calls_->Tick();
  EXPECT_THAT(Records(), IsEmpty());
  now_s_ += 1;
  calls_->Tick();
  ASSERT_THAT(records_, SizeIs(1));
  EXPECT_EQ(records_[0].peer, "ipv4:10.0.0.7:999");
  EXPECT_THAT(Records(),
              ElementsAre("/tangram.v1.Jobs/GetJob unauthenticated 999"));
  // A minute later the next one is the first again.
  now_s_ += 60;
  calls_->Tick();
  calls_->Take({.method = kGetJob, .code = "unauthenticated"});
  EXPECT_THAT(Records(),
              ElementsAre("/tangram.v1.Jobs/GetJob unauthenticated 1"));
}

TEST_F(RefusedCallsTest, NothingThatWasCountedIsLost) {
  for (int i = 0; i < 3; ++i) {
    calls_->Take({.method = kGetJob, .code = "unauthenticated"});
  }
  Records();
  calls_ = nullptr;
  EXPECT_THAT(Records(),
              ElementsAre("/tangram.v1.Jobs/GetJob unauthenticated 2"));
}

TEST_F(RefusedCallsTest, PathsThatAreNoMethodAreOneKind) {
  for (int i = 0; i < 1000; ++i) {
    calls_->Take({.method = absl::StrCat("/", i, std::string(3900, 'x')),
                  .target = std::string(200, 'x'),
                  .code = "unauthenticated"});
  }
  ASSERT_THAT(records_, SizeIs(1));
  EXPECT_EQ(records_[0].target, "");
  EXPECT_THAT(Records(), ElementsAre("unknown unauthenticated 1"));
}

TEST_F(RefusedCallsTest, ThereAreSoManyKinds) {
  for (int i = 0; i < 1000; ++i) {
    calls_->Take({.method = kGetJob,
                  .caller = absl::StrCat("caller-", i),
                  .tenant = "team-a",
                  .code = "permission_denied"});
  }
  ASSERT_THAT(records_, SizeIs(RefusedCalls::kMaxKinds + 1));
  EXPECT_EQ(records_[0].caller, "caller-0");
  EXPECT_EQ(records_.back().method, "others");
  EXPECT_EQ(records_.back().caller, "");
  Records();
  now_s_ += 60;
  calls_->Tick();
  EXPECT_THAT(Records(), ElementsAre("others permission_denied 899"));
}

TEST_F(RefusedCallsTest, OtherCallsAreRecordedEach) {
  for (const char* code : {"ok", "ok", "not_found"}) {
    calls_->Take({.method = kGetJob, .target = "nightly", .code = code});
  }
  ASSERT_THAT(records_, SizeIs(3));
  EXPECT_EQ(records_[1].target, "nightly");
}

}  // namespace
}  // namespace tangram
