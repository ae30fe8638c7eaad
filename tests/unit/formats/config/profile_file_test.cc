#include "formats/config/profile_file.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/builders.h"
#include "tests/testing/status_matchers.h"

namespace tangram {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;
using testing::StatusIs;

constexpr char kCompleteProfile[] = R"({
  "tangram_profile": 1, "device": "GPU-X", "source": "a node",
  "framework": "some",
  "models": [
    {"name": "m", "layers": 3, "hidden_size": 64, "heads": 4, "kv_heads": 2,
     "ffn_hidden_size": 256, "gated_mlp": true, "vocab_size": 1000,
     "experts": {"count": 8, "per_token": 2, "ffn_hidden_size": 32,
                 "first_layer": 1}}],
  "layers": [
    {"model": "m", "kind": "transformer", "layer": 2, "precision": "bf16",
     "sequence_length": 128, "tp": 2, "tp_y": 2, "cp": 3, "ep": 4,
     "fsep": true, "sequence_parallel": true, "flash_attention": true,
     "collectives_included": true,
     "points": [
       {"samples": 1, "forward_s": 0.5, "backward_s": 1, "saved_bytes": 100},
       {"samples": 4, "forward_s": 2, "backward_s": 4, "saved_bytes": 400}],
     "optimizer_s": 0.25, "state_bytes": 1e6},
    {"model": "m", "kind": "head", "precision": "fp16", "sequence_length": 128,
     "points": [{"samples": 1, "forward_s": 3, "backward_s": 6}]}],
  "operators": [
    {"model": "m", "op": "mlp_up", "precision": "fp32", "sequence_length": 128,
     "points": [{"samples": 2, "forward_s": 0.1, "backward_s": 0.2}]}],
  "gemms": [{"m": 1, "k": 2, "n": 3, "precision": "fp8", "seconds": 0.5}],
  "collectives": [
    {"op": "all_gather", "ranks": 4, "nodes": 2,
     "points": [{"bytes": 1000, "seconds": 0.001},
                {"bytes": 4000, "seconds": 0.002}]}],
  "p2p": [{"points": [{"bytes": 1000, "seconds": 0.5}]}],
  "links": [
    {"bandwidth_bytes_per_s": 1e9, "pair_bandwidth_bytes_per_s": 2e9,
     "latency_s": 1e-5},
    {"to": "GH-96", "bandwidth_bytes_per_s": 3e9, "latency_s": 0}],
  "memory": {"context_bytes": 3e8}})";

TEST(ParseProfileTest, ReadsEveryField) {
  ASSERT_OK_AND_ASSIGN(const Profile profile,
                       ParseProfile(kCompleteProfile, "p"));
  EXPECT_EQ(profile.device, "GPU-X");
  EXPECT_EQ(profile.source, "a node");
  EXPECT_EQ(profile.framework, "some");
  EXPECT_THAT(profile.models, SizeIs(1));
  EXPECT_THAT(
      profile.entries,
      ElementsAre(ProfileEntry{.layer = 3,
                               .precision = Precision::kBf16,
                               .sequence_length = 128,
                               .parallelism = {.tp_degree = 2,
                                               .cp_degree = 3,
                                               .ep_degree = 4,
                                               .fsep = true,
                                               .sequence_parallel = true,
                                               .tp_y_degree = 2},
                               .flash_attention = true,
                               .collectives_included = true,
                               .points = {{1, 0.5, 1, 100.0}, {4, 2, 4, 400.0}},
                               .optimizer_s = 0.25,
                               .state_bytes = 1e6},
                  ProfileEntry{.layer = 4,
                               .precision = Precision::kFp16,
                               .sequence_length = 128,
                               .points = {{1, 3, 6, std::nullopt}}},
                  ProfileEntry{.layer = 1,
                               .op = OpKind::kMlpUp,
                               .precision = Precision::kFp32,
                               .sequence_length = 128,
                               .points = {{2, 0.1, 0.2, std::nullopt}}}));
  EXPECT_TRUE(LayerOf(profile, profile.entries[0]).is_moe());
  EXPECT_THAT(profile.gemms,
              ElementsAre(ProfiledGemm{1, 2, 3, Precision::kFp8, 0.5}));
  EXPECT_THAT(
      profile.collectives,
      ElementsAre(MeasuredCollective{.op = CollectiveOp::kAllGather,
                                     .ranks = 4,
                                     .nodes = 2,
                                     .points = {{1000, 1e-3}, {4000, 2e-3}}},
                  MeasuredCollective{.op = CollectiveOp::kPointToPoint,
                                     .ranks = 2,
                                     .points = {{1000, 0.5}}}));
  EXPECT_THAT(profile.links, ElementsAre(ProfileLink{"", {1e9, 2e9, 1e-5}},
                                         ProfileLink{"GH200", {3e9, 3e9, 0}}));
  EXPECT_EQ(profile.context_bytes, 3e8);
}

TEST(ParseProfileTest, ReadsWhatIsWritten) {
  ASSERT_OK_AND_ASSIGN(const Profile profile,
                       ParseProfile(kCompleteProfile, "p"));
  ASSERT_OK_AND_ASSIGN(const Profile again,
                       ParseProfile(ProfileToJson(profile), "written"));
  EXPECT_EQ(again.device, profile.device);
  EXPECT_EQ(again.source, profile.source);
  EXPECT_EQ(again.framework, profile.framework);
  EXPECT_EQ(again.models[0].name, profile.models[0].name);
  EXPECT_EQ(again.models[0].layers, profile.models[0].layers);
  EXPECT_EQ(again.entries, profile.entries);
  EXPECT_EQ(again.gemms, profile.gemms);
  EXPECT_EQ(again.collectives, profile.collectives);
  EXPECT_EQ(again.links, profile.links);
  EXPECT_EQ(again.context_bytes, profile.context_bytes);
}

TEST(ParseProfileTest, ReadsADenseModelThatIsWritten) {
  Profile profile = {.device = "X", .models = {testing::TestModel(2)}};
  ASSERT_OK_AND_ASSIGN(const Profile again,
                       ParseProfile(ProfileToJson(profile), "written"));
  EXPECT_EQ(again.models[0].layers, profile.models[0].layers);
}

TEST(ParseProfileTest, TakesTheCataloguesNameOfTheDevice) {
  ASSERT_OK_AND_ASSIGN(
      const Profile profile,
      ParseProfile(R"({"tangram_profile": 1, "device": "tesla t4"})", "p"));
  EXPECT_EQ(profile.device, "T4");
}

TEST(ParseProfileTest, ExpandsAFit) {
  // 1000 + 100 · log2(bytes) bytes/s from 2 to 10: points at both ends, 4
  // and 8.
  ASSERT_OK_AND_ASSIGN(const Profile profile, ParseProfile(R"({
    "tangram_profile": 1, "device": "X",
    "collectives": [{"op": "all_reduce", "ranks": 2,
      "bandwidth_fit": {"coefficients": [1000, 100],
                        "min_bytes": 2, "max_bytes": 10}}]})",
                                                           "p"));
  const MeasuredCollective& table = profile.collectives[0];
  ASSERT_THAT(table.points, SizeIs(4));
  EXPECT_DOUBLE_EQ(table.points[0].seconds, 2 / 1100.);
  EXPECT_DOUBLE_EQ(table.points[1].bytes, 4);
  EXPECT_DOUBLE_EQ(table.points[1].seconds, 4 / 1200.);
  EXPECT_DOUBLE_EQ(table.points[2].seconds, 8 / 1300.);
  EXPECT_DOUBLE_EQ(table.points[3].bytes, 10);
}

struct BadProfile {
  const char* from;
  const char* to;
  const char* message;
};

TEST(ParseProfileTest, ErrorsNameFieldValueAndExpectation) {
  constexpr BadProfile kCases[] = {
      {R"("tangram_profile": 1,)", "",
       "p: tangram_profile: missing; expected 1, the version"},
      {R"("tangram_profile": 1)", R"("tangram_profile": 2)",
       "p: tangram_profile: 2; expected 1, the version"},
      {R"("device": "GPU-X",)", "", "p: device: missing; expected a GPU type"},
      {R"("gemms")", R"("gems")", "p: gems: unknown key; did you mean gemms?"},
      {R"("model": "m", "kind": "head")", R"("model": "x", "kind": "head")",
       "p: layers[1].model: x; expected one of m"},
      {R"("kind": "head")", R"("kind": "tail")",
       "p: layers[1].kind: tail; expected embedding, transformer or head"},
      {R"("kind": "head")", R"("kind": "head", "layer": 1)",
       "p: layers[1].layer: 1; expected no layer number"},
      {R"("layer": 2)", R"("layer": 3)",
       "p: layers[0].layer: 3; expected a non-negative integer, at most 2"},
      {R"("precision": "bf16")", R"("precision": "int8")",
       "p: layers[0].precision: int8; expected fp32, fp16, bf16 or fp8"},
      {R"("tp_y": 2)", R"("tp_y": 3)",
       "p: layers[0].tp_y: 3; expected a divisor of tp, 2"},
      {R"("collectives_included": true,)", "",
       "p: layers[0].collectives_included: missing; expected true or false"},
      {R"("samples": 4)", R"("samples": 1)",
       "p: layers[0].points[1].samples: 1; expected more than"},
      {R"("backward_s": 4, "saved_bytes": 400)", R"("backward_s": 4)",
       "p: layers[0].points[1].saved_bytes: missing; expected it in all"},
      {R"("forward_s": 0.5)", R"("forward_s": -1)",
       "p: layers[0].points[0].forward_s: -1; expected a number from 0"},
      {R"("op": "mlp_up")", R"("op": "expert_up")",
       "p: operators[0].op: expert_up; expected an operator of the layer: "
       "attention_norm"},
      {R"("op": "all_gather")", R"("op": "gather")",
       "p: collectives[0].op: gather; expected all_reduce, all_gather"},
      {R"("nodes": 2)", R"("nodes": 3)",
       "p: collectives[0].nodes: 3; expected a divisor of ranks (4)"},
      {R"("bytes": 4000)", R"("bytes": 10)",
       "p: collectives[0].points[1].bytes: 10; expected more than"},
      {R"("seconds": 0.002)", R"("seconds": 0)",
       "p: collectives[0].points[1].seconds: 0; expected a number from"},
      {R"("p2p": [{)", R"("p2p": [{"nodes": 3, )",
       "p: p2p[0].nodes: 3; expected 1 or 2"},
      {R"("bandwidth_bytes_per_s": 3e9, )", "",
       "p: links[1].bandwidth_bytes_per_s: missing; expected a positive"},
      {R"("latency_s": 0)", R"("latency_s": -1)",
       "p: links[1].latency_s: -1; expected a number from 0"},
      {R"("to": "GH-96", )", "",
       "p: links[1]: a mapping; expected a GPU type no other link is to"},
  };
  for (const BadProfile& c : kCases) {
    ASSERT_THAT(kCompleteProfile, HasSubstr(c.from));
    const std::string text =
        absl::StrReplaceAll(kCompleteProfile, {{c.from, c.to}});
    EXPECT_THAT(
        ParseProfile(text, "p"),
        StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(c.message)))
        << c.to;
  }
}

TEST(ParseProfileTest, RefusesAFitThatIsNotPositive) {
  EXPECT_THAT(ParseProfile(R"({
    "tangram_profile": 1, "device": "X",
    "p2p": [{"bandwidth_fit": {"coefficients": [-10, 1],
             "min_bytes": 16, "max_bytes": 4096}}]})",
                           "p"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("p2p[0].bandwidth_fit: a mapping; expected a "
                                 "positive bandwidth")));
}

}  // namespace
}  // namespace tangram
