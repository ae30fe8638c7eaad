#include <cmath>

#include "formats/import_profile/import_profile.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/status_matchers.h"

namespace tangram {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;
using testing::StatusIs;

TEST(ImportMistTest, ReadsMatrixProducts) {
  constexpr char kText[] = R"({"ops": [
    {"op": "x.fused_dense_func", "fwd_s": [0.5, 0.4, 0.1], "bwd_s": [1, 1, 1],
     "inputs": [{"name": "x", "shape": [2, 8, 16], "dtype": "float16"},
                {"name": "weight", "shape": [32, 16], "dtype": "float16"}]},
    {"op": "torch.gelu", "fwd_s": [1], "inputs": []}]})";
  ASSERT_OK_AND_ASSIGN(
      const ImportResult result,
      ImportProfile("mist", {{"ops.json", kText}}, {.device = "GPU-X"}));
  EXPECT_THAT(result.profile.gemms,
              ElementsAre(ProfiledGemm{16, 16, 32, Precision::kFp16, 0.5}));
  EXPECT_THAT(result.notes, ElementsAre(HasSubstr("torch.gelu (1): left out")));
}

TEST(ImportMistTest, WritesDownCollectiveLines) {
  constexpr char kText[] = R"({"hardware": [
    {"gpu": "a", "gpu_gpu": [
      {"inter": 1, "intra": 4, "bw_GBps": 100, "latency_s": 0.001},
      {"inter": 8, "intra": 1, "bw_GBps": 4.5, "latency_s": 0.0}]},
    {"gpu": "b"}]})";
  ASSERT_OK_AND_ASSIGN(
      const ImportResult result,
      ImportProfile("mist", {{"hw.json", kText}}, {.device = "A"}));
  ASSERT_THAT(result.profile.collectives, SizeIs(3));
  const MeasuredCollective& gather = result.profile.collectives[1];
  EXPECT_EQ(gather.op, CollectiveOp::kAllGather);
  EXPECT_EQ(gather.ranks, 4);
  EXPECT_EQ(gather.nodes, 1);
  // 2^30 bytes at 100 GB/s on 4 ranks: 2^30 / 1e11 · 3/4 + 1 ms.
  EXPECT_NEAR(gather.points.back().seconds, std::exp2(30) / 1e11 * 0.75 + 1e-3,
              1e-9);
  EXPECT_NEAR(result.profile.collectives[0].points.back().seconds,
              2.1 * gather.points.back().seconds, 1e-9);
  EXPECT_THAT(result.notes, Contains(HasSubstr("b: left out; another GPU")));
}

TEST(ImportMistTest, ErrorsNameTheField) {
  EXPECT_THAT(ImportProfile("mist", {{"x.json", "{}"}}, {.device = "X"}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("x.json: ops: missing")));
}

}  // namespace
}  // namespace tangram
