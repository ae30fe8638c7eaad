#include "formats/import_profile/import_profile.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/builders.h"
#include "tests/testing/status_matchers.h"

namespace tangram {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::SizeIs;
using testing::StatusIs;

ImportOptions ForTwoLayers() {
  return {.model = testing::TestModel(2),
          .precision = Precision::kFp16,
          .sequence_length = 512};
}

TEST(ImportMetisTest, ReadsUpstreamFiles) {
  constexpr char kText[] =
      R"({"execution_time": {"layer_compute_total_ms": [1, 30, 30, 9]}})";
  ASSERT_OK_AND_ASSIGN(
      const ImportResult result,
      ImportProfile("metis",
                    {{"d/DeviceType.GPU-X_tp2_bs4.json", kText},
                     {"d/DeviceType.GPU-X_tp2_bs1.json", kText}},
                    ForTwoLayers()));
  EXPECT_EQ(result.profile.device, "GPU-X");
  ASSERT_THAT(result.profile.entries, SizeIs(1));
  const ProfileEntry& entry = result.profile.entries[0];
  EXPECT_EQ(entry.parallelism.tp_degree, 2);
  EXPECT_TRUE(entry.collectives_included);
  ASSERT_THAT(entry.points, SizeIs(2));
  EXPECT_EQ(entry.points[1].samples, 4);
  // 30 ms, split 1 to 2.
  EXPECT_NEAR(entry.points[0].forward_s, 0.010, 1e-12);
  EXPECT_NEAR(entry.points[0].backward_s, 0.020, 1e-12);
  EXPECT_THAT(result.notes, Contains(HasSubstr("split 1 to 2")));
}

TEST(ImportMetisTest, TakesTheChosenGpuOfAGatheredFile) {
  constexpr char kText[] = R"({"profiles": {
    "A": {"tp1": {"mbs1": {"layer_fwd_bwd_ms": [1, 3, 3, 3]}}},
    "B": {"tp1": {"mbs1": {"layer_fwd_bwd_ms": [1, 6, 6, 6]}}}}})";
  ImportOptions options = ForTwoLayers();
  options.device = "B";
  ASSERT_OK_AND_ASSIGN(const ImportResult result,
                       ImportProfile("metis", {{"p.json", kText}}, options));
  ASSERT_THAT(result.profile.entries, SizeIs(1));
  EXPECT_NEAR(result.profile.entries[0].points[0].forward_s, 0.002, 1e-12);
  EXPECT_FALSE(result.profile.entries[0].collectives_included);
  EXPECT_THAT(result.notes,
              Contains(HasSubstr("1 times of other GPUs: left out")));
}

TEST(ImportMetisTest, ErrorsSayWhatIsMissing) {
  constexpr char kText[] =
      R"({"execution_time": {"layer_compute_total_ms": [1, 3]}})";
  const auto import = [&](const char* name, const ImportOptions& options) {
    return ImportProfile("metis", {{name, kText}}, options);
  };
  EXPECT_THAT(import("DeviceType.X_tp1_bs1.json", {}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("expected --model")));
  EXPECT_THAT(import("x.json", ForTwoLayers()),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("x.json: name; expected DeviceType.")));
  EXPECT_THAT(import("DeviceType.X_tp1_bs1.json", ForTwoLayers()),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("2 layers; expected an embedding and the 2")));
}

}  // namespace
}  // namespace tangram
