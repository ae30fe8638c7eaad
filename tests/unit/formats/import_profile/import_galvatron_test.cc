#include "formats/import_profile/import_profile.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/builders.h"
#include "tests/testing/status_matchers.h"

namespace tangram {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;
using testing::StatusIs;

ImportOptions Options() {
  return {.device = "GPU-X", .model = testing::TestModel(2)};
}

TEST(ImportGalvatronTest, ReadsLayersWithTheirActivations) {
  constexpr char kTimes[] = R"({
    "layernum[2]_bsz2_seq512": 30.0, "layertype_0_bsz2_seq512": 5.0,
    "layertype_0_bsz1_seq512": 6.0, "layertype_other_bsz1_seq512": 9.0,
    "layertype_0": 4.0})";
  constexpr char kMemory[] = R"({
    "layertype_0": {"512": {"parameter_size": 1,
      "tp_activation_per_bsz_dict": {"1": 3.0, "2": 2.0, "checkpoint": 1}}}})";
  ASSERT_OK_AND_ASSIGN(
      const ImportResult result,
      ImportProfile("galvatron",
                    {{"computation_profiling_bf16_gpt.json", kTimes},
                     {"memory_profiling_bf16_gpt.json", kMemory}},
                    Options()));
  ASSERT_THAT(result.profile.entries, SizeIs(1));
  const ProfileEntry& entry = result.profile.entries[0];
  EXPECT_EQ(entry.precision, Precision::kBf16);
  EXPECT_EQ(entry.sequence_length, 512);
  EXPECT_TRUE(entry.flash_attention);
  ASSERT_THAT(entry.points, SizeIs(2));
  EXPECT_NEAR(entry.points[0].forward_s, 6e-3, 1e-12);
  EXPECT_NEAR(entry.points[1].forward_s, 2 * 5e-3, 1e-12);
  EXPECT_NEAR(entry.points[1].backward_s, 4 * 5e-3, 1e-12);
  EXPECT_EQ(entry.points[1].saved_bytes, 2 * 3.0 * (1 << 20));
  EXPECT_THAT(result.notes, Contains(HasSubstr("layertype_other: left out")));
  EXPECT_THAT(result.notes,
              Contains(HasSubstr("times without a number of samples")));
}

TEST(ImportGalvatronTest, ReadsTimedCollectives) {
  ASSERT_OK_AND_ASSIGN(
      const ImportResult result,
      ImportProfile("galvatron",
                    {{"sp_time_1nodes_8gpus_per_node.json",
                      R"({"allreduce_size_8_2MB_time": 0.2,
                          "allreduce_size_8_1MB_time": 0.1,
                          "all2all_size_4_1MB_time": 0.3})"},
                     {"p2p_bandwidth_1nodes_8gpus_per_node.json",
                      R"({"pp_size_2": 100})"}},
                    Options()));
  ASSERT_THAT(result.profile.collectives, SizeIs(2));
  const MeasuredCollective& reduce = result.profile.collectives[0];
  EXPECT_EQ(reduce.op, CollectiveOp::kAllReduce);
  EXPECT_EQ(reduce.ranks, 8);
  ASSERT_THAT(reduce.points, SizeIs(2));
  EXPECT_DOUBLE_EQ(reduce.points[0].bytes, 1 << 20);
  EXPECT_DOUBLE_EQ(reduce.points[0].seconds, 1e-4);
  EXPECT_EQ(result.profile.collectives[1].op, CollectiveOp::kAllToAll);
  EXPECT_THAT(result.notes, ElementsAre(HasSubstr("bandwidths without sizes")));
}

TEST(ImportGalvatronTest, ErrorsSayWhatIsMissing) {
  EXPECT_THAT(ImportProfile("galvatron",
                            {{"computation_profiling_bf16_gpt.json",
                              R"({"layertype_0_bsz2_seq512": 5.0})"}},
                            {.device = "X"}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("model; expected --model")));
  EXPECT_THAT(
      ImportProfile("galvatron",
                    {{"computation_profiling_bf16_gpt.json",
                      R"({"layertype_0_bsz2_seq512": "slow"})"}},
                    Options()),
      StatusIs(absl::StatusCode::kInvalidArgument,
               HasSubstr("layertype_0_bsz2_seq512: slow; expected a number")));
}

}  // namespace
}  // namespace tangram
