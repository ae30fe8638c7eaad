#include "formats/import_profile/import_profile.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/status_matchers.h"

namespace tangram {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Optional;
using ::testing::SizeIs;
using testing::StatusIs;

// Width 8, vocabulary 100, two transformer layers: embedding, two layers, head
// with 8 · 100 weights. A layer has 12 · 8² + 13 · 8 = 872 parameters.
constexpr char kGathered[] = R"({
  "model": "tiny", "gpu": "GPU-X",
  "geometry": {"hidden": 8, "heads": 2, "layers": 2, "seq": 16, "vocab": 100},
  "profiles": {
    "4": {"1": {"fwd_s": [0.1, 4, 6, 3], "bwd_s": [0, 9, 11, 7],
                "update_s": [2, 2, 2, 2]}},
    "1": {"1": {"fwd_s": [0.1, 1, 2, 1], "bwd_s": [0, 3, 3, 2],
                "update_s": [2, 2, 2, 2]},
          "2": {"fwd_s": [0.1, 1, 1, 1], "bwd_s": [0, 2, 2, 2],
                "update_s": [0, 0, 0, 0]}}},
  "memory": {"1": {"params_floats": [800, 872, 872, 1000],
                   "act_mem_floats": [5, 30, 30, 50]}}})";

TEST(ImportSailorTest, ReadsTransformerLayersAndHead) {
  ASSERT_OK_AND_ASSIGN(const ImportResult result,
                       ImportProfile("sailor", {{"tiny.json", kGathered}}, {}));
  const Profile& profile = result.profile;
  EXPECT_EQ(profile.device, "GPU-X");
  ASSERT_THAT(profile.entries, SizeIs(3));
  const ProfileEntry& layer = profile.entries[0];
  EXPECT_EQ(LayerOf(profile, layer).kind, LayerKind::kTransformer);
  EXPECT_EQ(LayerOf(profile, layer).ffn_hidden_size, 32);
  EXPECT_EQ(layer.precision, Precision::kFp32);
  EXPECT_EQ(layer.sequence_length, 16);
  EXPECT_FALSE(layer.collectives_included);
  // Medians of the two layers; 30 floats of 4 bytes a sample.
  EXPECT_THAT(layer.points, ElementsAre(ProfilePoint{1, 1.5, 3, 120},
                                        ProfilePoint{4, 5, 10, 480}));
  const ProfileEntry& head = profile.entries[1];
  EXPECT_EQ(LayerOf(profile, head).kind, LayerKind::kHead);
  EXPECT_THAT(head.points, ElementsAre(ProfilePoint{1, 1, 2, 200},
                                       ProfilePoint{4, 3, 7, 800}));
}

TEST(ImportSailorTest, SharesTheOptimizerStepByParameters) {
  ASSERT_OK_AND_ASSIGN(const ImportResult result,
                       ImportProfile("sailor", {{"tiny.json", kGathered}}, {}));
  // Four layers of 2 s each over 800 + 2 · 872 + 1000 = 3544 parameters.
  EXPECT_THAT(result.profile.entries[0].optimizer_s,
              Optional(::testing::DoubleEq(872 / 3544. * 8)));
  EXPECT_THAT(result.profile.entries[1].optimizer_s,
              Optional(::testing::DoubleEq(1000 / 3544. * 8)));
}

TEST(ImportSailorTest, TellsWhatIsLeftOut) {
  ASSERT_OK_AND_ASSIGN(const ImportResult result,
                       ImportProfile("sailor", {{"tiny.json", kGathered}}, {}));
  const ProfileEntry& split = result.profile.entries[2];
  EXPECT_EQ(split.parallelism.tp_degree, 2);
  EXPECT_TRUE(split.collectives_included);
  EXPECT_EQ(split.optimizer_s, std::nullopt);
  EXPECT_EQ(split.points[0].saved_bytes, std::nullopt);
  EXPECT_THAT(result.notes,
              ElementsAre(HasSubstr("embedding: left out"),
                          HasSubstr("update: read as the mean"),
                          HasSubstr("without the parameter counts")));
}

TEST(ImportSailorTest, LeavesOutAHeadWithoutProjection) {
  std::string text = kGathered;
  text.replace(text.find("1000]"), 4, "0016");
  ASSERT_OK_AND_ASSIGN(const ImportResult result,
                       ImportProfile("sailor", {{"tiny.json", text}}, {}));
  EXPECT_THAT(result.notes, ::testing::Contains(HasSubstr("final norm alone")));
}

TEST(ImportSailorTest, RefusesAnotherModelThanWasMeasured) {
  std::string text = kGathered;
  text.replace(text.find("872, 872"), 8, "990, 990");
  EXPECT_THAT(ImportProfile("sailor", {{"tiny.json", text}}, {}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("params_floats: 990 in a transformer layer; "
                                 "expected about 872")));
}

TEST(ImportSailorTest, ReadsUpstreamsTwoFiles) {
  constexpr char kTimes[] =
      R"({"1": {"1": {"0": [0.1, 0, 2], "1": [1, 3, 2], "2": [2, 3, 2],
                      "3": [1, 2, 2]}}})";
  constexpr char kMemory[] =
      R"({"tiny": {"1": {"0": {"params_floats": 800, "act_mem_floats": 5},
                         "1": {"params_floats": 872, "act_mem_floats": 30},
                         "2": {"params_floats": 872, "act_mem_floats": 30},
                         "3": {"params_floats": 1000, "act_mem_floats": 50}}}})";
  ASSERT_OK_AND_ASSIGN(const ImportResult gathered,
                       ImportProfile("sailor", {{"tiny.json", kGathered}}, {}));
  ImportOptions options = {.device = "GPU-X", .sequence_length = 16};
  options.model = gathered.profile.models[0];
  ASSERT_OK_AND_ASSIGN(
      const ImportResult upstream,
      ImportProfile("sailor",
                    {{"profile.json", kTimes}, {"llm_info.json", kMemory}},
                    options));
  ASSERT_THAT(upstream.profile.entries, SizeIs(2));
  EXPECT_EQ(upstream.profile.entries[0].points[0],
            gathered.profile.entries[0].points[0]);
  EXPECT_EQ(upstream.profile.entries[1].optimizer_s,
            gathered.profile.entries[1].optimizer_s);
}

TEST(ImportSailorTest, ErrorsNameFileAndField) {
  const auto import = [](const char* text) {
    return ImportProfile("sailor", {{"p.json", text}}, {.device = "X"});
  };
  EXPECT_THAT(import(R"({"1": {"1": {"0": [1, 2]}}})"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("p.json: 1.1.0: a list; expected three "
                                 "numbers: forward, backward, update")));
  EXPECT_THAT(import(R"({"1": {"1": {"0": [1, 2, 3]}}})"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("given by --model")));
}

}  // namespace
}  // namespace tangram
