#include "formats/import_profile/import_profile.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/status_matchers.h"

namespace tangram {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using testing::StatusIs;

constexpr char kFourRanks[] = R"(
# nccl-tests version 2.18.0
# Collective test starting: all_gather_perf
# Using devices
#  Rank  0 Group  0 Pid 12 on node-a device  0 [0000:16:00] Some GPU
#  Rank  1 Group  0 Pid 12 on node-a device  1 [0000:17:00] Some GPU
#  Rank  2 Group  0 Pid 13 on node-b device  0 [0000:16:00] Some GPU
#  Rank  3 Group  0 Pid 13 on node-b device  1 [0000:17:00] Some GPU
#       size  count   type  redop  root   time  algbw  busbw #wrong   time  algbw  busbw #wrong
#        (B)  (elements)                  (us) (GB/s) (GB/s)          (us) (GB/s) (GB/s)
     4000000  250000  float  none    -1  100.0  40.00  30.00      0   90.0  40.00  30.00      0
     2000000  125000  float  none    -1   60.0  33.33  25.00      0   50.0  33.33  25.00      0
     8000000  500000  float  none    -1  150.0  53.33  40.00      7  150.0  53.33  40.00      7
# Avg bus bandwidth    : 30
)";

TEST(ImportNcclTest, ReadsOutOfPlaceTimes) {
  ASSERT_OK_AND_ASSIGN(
      const ImportResult result,
      ImportProfile("nccl-tests", {{"out.txt", kFourRanks}}, {}));
  EXPECT_EQ(result.profile.device, "Some GPU");
  ASSERT_THAT(result.profile.collectives, SizeIs(1));
  const MeasuredCollective& table = result.profile.collectives[0];
  EXPECT_EQ(table.op, CollectiveOp::kAllGather);
  EXPECT_EQ(table.ranks, 4);
  EXPECT_EQ(table.nodes, 2);
  ASSERT_THAT(table.points, SizeIs(2));
  EXPECT_DOUBLE_EQ(table.points[0].bytes, 2e6);
  EXPECT_DOUBLE_EQ(table.points[0].seconds, 60e-6);
  EXPECT_DOUBLE_EQ(table.points[1].seconds, 100e-6);
  EXPECT_THAT(result.notes,
              ElementsAre(HasSubstr("1 sizes with wrong results: left out")));
}

TEST(ImportNcclTest, ReadsOldOutputThroughMpirun) {
  constexpr char kOld[] =
      "[1,0]<stdout>:# Using devices\n"
      "[1,0]<stdout>:#   Rank  0 Pid 10 on a device 0 [0x35] Some GPU\n"
      "[1,1]<stdout>:#   Rank  1 Pid 10 on b device 0 [0xf5] Some GPU\n"
      "[1,0]<stdout>:#  size  count  type  redop  time  algbw  busbw  error\n"
      "[1,0]<stdout>:   1000  250  float  sum  43.0  3.12  3.12  2e-07\n";
  ASSERT_OK_AND_ASSIGN(
      const ImportResult result,
      ImportProfile("nccl-tests", {{"all_reduce.txt", kOld}}, {}));
  const MeasuredCollective& table = result.profile.collectives[0];
  EXPECT_EQ(table.op, CollectiveOp::kAllReduce);
  EXPECT_EQ(table.ranks, 2);
  EXPECT_EQ(table.nodes, 2);
  EXPECT_DOUBLE_EQ(table.points[0].seconds, 43e-6);
  EXPECT_THAT(result.notes, IsEmpty());
}

TEST(ImportNcclTest, TellsRanksByTheRatioOfBandwidths) {
  // 70 / 40 = 2 · 7/8.
  constexpr char kBare[] =
      "#  size  count  type  redop  root  time  algbw  busbw  #wrong\n"
      "   1000  250  float  sum  -1  10  40  70  0\n";
  ASSERT_OK_AND_ASSIGN(const ImportResult result,
                       ImportProfile("nccl-tests", {{"all_reduce.txt", kBare}},
                                     {.device = "Some GPU"}));
  EXPECT_EQ(result.profile.collectives[0].ranks, 8);
  EXPECT_THAT(result.notes, ElementsAre(HasSubstr("taken for 8")));
}

TEST(ImportNcclTest, ErrorsSayWhatIsMissing) {
  const auto import = [](const char* name, const char* text) {
    return ImportProfile("nccl-tests", {{name, text}}, {.device = "X"});
  };
  EXPECT_THAT(import("a.txt", "hello"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("a.txt: no times")));
  EXPECT_THAT(import("a.txt",
                     "# size count type redop root time algbw busbw\n"
                     "1000 250 float none -1 10 40 35\n"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("no collective in the output")));
}

}  // namespace
}  // namespace tangram
