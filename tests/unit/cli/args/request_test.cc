#include "cli/args/request.h"

#include <filesystem>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "tests/testing/status_matchers.h"

namespace tangram {
namespace {

using ::tangram::testing::StatusIs;
using ::testing::HasSubstr;

class MakePlanRequestTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name =
        (std::filesystem::temp_directory_path() / "tangram-XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
    std::ofstream(folder_ / "c.yaml")
        << "name: c\ngroups:\n"
           "  - {name: a, gpu: T4, nodes: 2, gpus_per_node: 4}\n"
           "  - {name: b, gpu: T4, nodes: 1, gpus_per_node: 2}\n";
    options_.cluster.file = folder_ / "c.yaml";
    options_.model.name_or_file = "gpt3-1.3b";
    options_.training.global_batch_size = 128;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::filesystem::path folder_;
  PlanOptions options_;
};

TEST_F(MakePlanRequestTest, FillsInDefaults) {
  ASSERT_OK_AND_ASSIGN(const PlanRequest request, MakePlanRequest(options_));

  EXPECT_EQ(request.cluster->num_gpus(), 10);
  EXPECT_EQ(request.model.num_layers(), 26);  // 24 + embedding + head.
  EXPECT_EQ(request.training.global_batch_size, 128);
  EXPECT_EQ(request.training.sequence_length, 2048);
  EXPECT_EQ(request.training.precision, Precision::kFp16);
}

TEST_F(MakePlanRequestTest, WithoutAFileTheNodesAreCloudInstances) {
  options_.cluster = {.nodes = "p4d.24xlarge=4,p5.48xlarge=2"};
  ASSERT_OK_AND_ASSIGN(const PlanRequest request, MakePlanRequest(options_));
  EXPECT_EQ(request.cluster->num_gpus(), 48);
}

TEST_F(MakePlanRequestTest, AConfigFileTellsTheSequenceOfItsFirstTraining) {
  options_.model.name_or_file = folder_ / "config.json";
  const auto write = [&](const char* more) {
    std::ofstream(folder_ / "config.json")
        << R"({"model_type": "llama", "hidden_size": 64, "num_hidden_layers": 2,
               "num_attention_heads": 4, "intermediate_size": 128,
               "vocab_size": 100)"
        << more << "}";
  };
  write(R"(, "max_position_embeddings": 4096)");
  ASSERT_OK_AND_ASSIGN(const PlanRequest request, MakePlanRequest(options_));
  EXPECT_EQ(request.training.sequence_length, 4096);
  write(R"(, "max_position_embeddings": 131072)");
  EXPECT_THAT(MakePlanRequest(options_),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("--seq: missing")));
}

TEST_F(MakePlanRequestTest, AModelWithoutDropoutIsPlannedWithout) {
  ASSERT_OK_AND_ASSIGN(const PlanRequest builtin, MakePlanRequest(options_));
  EXPECT_TRUE(builtin.training.dropout);
  options_.model.name_or_file = folder_ / "model.yaml";
  options_.training.sequence_length = 512;
  for (const bool dropout : {false, true}) {
    std::ofstream(folder_ / "model.yaml")
        << "{layers: 2, hidden_size: 64, heads: 4, ffn_hidden_size: 256, "
           "vocab_size: 100, attention_dropout: 0, hidden_dropout: "
        << (dropout ? "0.1" : "0") << "}";
    ASSERT_OK_AND_ASSIGN(const PlanRequest request, MakePlanRequest(options_));
    EXPECT_EQ(request.training.dropout, dropout);
  }
}

// A file with weights of a type, on T4 without units for bf16 or on A100.
class PrecisionOfRequestTest : public MakePlanRequestTest {
 protected:
  Precision PrecisionOf(absl::string_view dtype, absl::string_view gpu,
                        absl::string_view asked = "") {
    std::ofstream(folder_ / "c.yaml")
        << "groups: [{name: a, gpu: " << gpu << ", nodes: 1}]\n";
    std::ofstream(folder_ / "config.json")
        << R"({"model_type": "gpt2", "n_embd": 768, "n_layer": 12,
               "n_head": 12, "n_positions": 1024, "vocab_size": 50257)"
        << (dtype.empty() ? ""
                          : absl::StrCat(", \"torch_dtype\": \"", dtype, "\""))
        << "}";
    options_.model.name_or_file = folder_ / "config.json";
    options_.training.sequence_length = 1024;
    options_.training.precision = std::string(asked);
    const auto request = MakePlanRequest(options_);
    EXPECT_THAT(request, testing::IsOk());
    return request.ok() ? request->training.precision : Precision::kFp32;
  }
};

TEST_F(PrecisionOfRequestTest, IsThatOfTheModelsWeights) {
  EXPECT_EQ(PrecisionOf("bfloat16", "A100-80"), Precision::kBf16);
  EXPECT_EQ(PrecisionOf("float16", "A100-80"), Precision::kFp16);
  EXPECT_EQ(PrecisionOf("", "A100-80"), Precision::kFp16);
}

TEST_F(PrecisionOfRequestTest, IsFp16IfSomeGpuHasNoUnitsOrWeightsAreWider) {
  EXPECT_EQ(PrecisionOf("bfloat16", "T4"), Precision::kFp16);
  EXPECT_EQ(PrecisionOf("float32", "A100-80"), Precision::kFp16);
}

TEST_F(PrecisionOfRequestTest, IsWhatWasAskedFor) {
  EXPECT_EQ(PrecisionOf("bfloat16", "T4", "bf16"), Precision::kBf16);
  EXPECT_EQ(PrecisionOf("bfloat16", "A100-80", "fp32"), Precision::kFp32);
}

TEST_F(MakePlanRequestTest, TakesPartOfTheClusterAndModel) {
  options_.cluster.nodes = "a=1,b=0";
  options_.model.num_layers = 8;
  options_.training.sequence_length = 512;
  ASSERT_OK_AND_ASSIGN(const PlanRequest request, MakePlanRequest(options_));

  EXPECT_EQ(request.cluster->num_gpus(), 4);
  EXPECT_EQ(request.model.num_layers(), 10);
  EXPECT_EQ(request.training.sequence_length, 512);
}

TEST_F(MakePlanRequestTest, MicrobatchDividesTheBatch) {
  options_.pipeline_microbatch_size = 3;

  EXPECT_THAT(MakePlanRequest(options_),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("--microbatch: 3; expected a divisor of the "
                                 "global batch, 128")));
}

TEST_F(MakePlanRequestTest, SequenceFitsLearnedPositions) {
  options_.training.sequence_length = 4096;

  EXPECT_THAT(MakePlanRequest(options_),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("--seq: 4096; expected at most the 2048")));
}

TEST_F(MakePlanRequestTest, NamesAreChecked) {
  options_.training.precision = "fp12";
  EXPECT_THAT(MakePlanRequest(options_),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("fp12")));
}

}  // namespace
}  // namespace tangram
