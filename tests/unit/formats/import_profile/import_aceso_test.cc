#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
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

constexpr char kColumns[] =
    "forward-compute,backward-compute,input_size,output_size,weights,"
    "activations,fwd_reserved,bwd_reserved\n";

// The sixteen operators of a GPT of width 1024, 16 heads, an MLP of 4096 and a
// vocabulary of 51,200, at one sample of 2,048 tokens in fp16. Each takes
// `forward_us` forward and twice that backward. Sizes in MiB: qkv 3 · 1024² · 2
// B, input 2048 · 1024 · 2 B, scores 16 · 2048² · 2 B, MLP 1024 · 4096 · 2 B,
// head 51200 · 1024 · 2 B.
std::string Operators(const std::string& prefix, double forward_us) {
  constexpr struct {
    const char* name;
    double weights;
    double activations;
  } kOperators[] = {{"encoder-embedding", 104, 6},
                    {"enc-1st-layernorm", 0, 4},
                    {"enc-attention-qkv", 6, 12},
                    {"enc-attention-score", 0, 128},
                    {"enc-attention-softmax", 0, 128},
                    {"enc-attention-dropout", 0, 192},
                    {"enc-attention-context", 0, 4},
                    {"enc-attention-dense", 2, 4},
                    {"enc-post-attention-dropout", 0, 6},
                    {"enc-2nd-layernorm", 0, 4},
                    {"enc-MLP-GEMM-1", 8, 16},
                    {"enc-MLP-gelu", 0, 16},
                    {"enc-MLP-GEMM-2", 8, 4},
                    {"enc-post-MLP-dropout", 0, 6},
                    {"final-layernorm", 0, 4},
                    {"gpt-post-process", 100, 200}};
  std::string rows;
  for (const auto& op : kOperators) {
    absl::StrAppend(&rows, prefix, op.name, ",", forward_us, ",",
                    2 * forward_us, ",4,0,", op.weights, ",", op.activations,
                    ",0,0\n");
  }
  return rows;
}

std::string Upstream(double forward_us) {
  return absl::StrCat("op_name,", kColumns, Operators("", forward_us));
}

TEST(ImportAcesoTest, TellsTheModelByTheSizesOfItsOperators) {
  ASSERT_OK_AND_ASSIGN(
      const ImportResult result,
      ImportProfile("aceso", {{"x/gpt_1_mbs1_tp1_algo0.csv", Upstream(100)}},
                    {.device = "GPU-X"}));
  ASSERT_THAT(result.profile.models, SizeIs(1));
  EXPECT_EQ(result.profile.models[0].name, "gpt_1");
  const LayerSpec& layer = result.profile.models[0].layers[1];
  EXPECT_EQ(layer.hidden_size, 1024);
  EXPECT_EQ(layer.num_heads, 16);
  EXPECT_EQ(layer.ffn_hidden_size, 4096);
  EXPECT_EQ(result.profile.models[0].layers[0].vocab_size, 51200);
  EXPECT_EQ(result.profile.entries[0].sequence_length, 2048);
}

TEST(ImportAcesoTest, SumsOperatorsToLayers) {
  ASSERT_OK_AND_ASSIGN(
      const ImportResult result,
      ImportProfile("aceso",
                    {{"gpt_1_mbs2_tp1_algo0.csv", Upstream(200)},
                     {"gpt_1_mbs1_tp1_algo0.csv", Upstream(100)}},
                    {.device = "GPU-X"}));
  // Three layers; one operator of the embedding, ten of the layer, two of the
  // head.
  ASSERT_THAT(result.profile.entries, SizeIs(3 + 13));
  const ProfileEntry& layer = result.profile.entries[1];
  EXPECT_EQ(layer.precision, Precision::kFp16);
  EXPECT_EQ(layer.sequence_length, 2048);
  ASSERT_THAT(layer.points, SizeIs(2));
  EXPECT_EQ(layer.points[0].samples, 1);
  EXPECT_NEAR(layer.points[0].forward_s, 13 * 100e-6, 1e-12);
  EXPECT_NEAR(layer.points[0].backward_s, 13 * 200e-6, 1e-12);
  EXPECT_EQ(layer.points[0].saved_bytes, std::nullopt);
  EXPECT_NEAR(layer.points[1].forward_s, 13 * 200e-6, 1e-12);
  for (const ProfileEntry& entry : result.profile.entries) {
    if (entry.op != OpKind::kAttentionCore) continue;
    EXPECT_NEAR(entry.points[0].forward_s, 4 * 100e-6, 1e-12);
  }
}

TEST(ImportAcesoTest, TakesAllReducesOutOfOperators) {
  // At tp 2, operators take 60 µs forward and 120 backward. An all-reduce of 30
  // is in the backward pass of products split by columns, and in the forward
  // pass of the others. At tp 1 backward takes twice as long as forward.
  const std::string split =
      absl::StrReplaceAll(Operators("gpt_1,1,2,0,", 60),
                          {{"attention-qkv,60,120", "attention-qkv,60,150"},
                           {"attention-dense,60,120", "attention-dense,90,120"},
                           {"MLP-GEMM-1,60,120", "MLP-GEMM-1,60,150"},
                           {"MLP-GEMM-2,60,120", "MLP-GEMM-2,90,120"}});
  const std::string rows = absl::StrCat("model,mbs,tp,algo,op_name,", kColumns,
                                        Operators("gpt_1,1,1,0,", 100), split,
                                        Operators("gpt_1,1,2,1,", 60));
  ASSERT_OK_AND_ASSIGN(
      const ImportResult result,
      ImportProfile("aceso", {{"ops.csv", rows}}, {.device = "GPU-X"}));
  ASSERT_THAT(result.profile.entries, SizeIs(6 + 26));
  const ProfileEntry& layer = result.profile.entries[4];
  EXPECT_EQ(layer.parallelism.tp_degree, 2);
  EXPECT_FALSE(layer.collectives_included);
  EXPECT_NEAR(layer.points[0].forward_s, 13 * 60e-6, 1e-12);
  EXPECT_NEAR(layer.points[0].backward_s, 13 * 120e-6, 1e-12);
  // 2048 tokens of 1024 elements in two bytes.
  ASSERT_THAT(result.profile.collectives, SizeIs(1));
  const MeasuredCollective& table = result.profile.collectives[0];
  EXPECT_EQ(table.op, CollectiveOp::kAllReduce);
  EXPECT_EQ(table.ranks, 2);
  ASSERT_THAT(table.points, SizeIs(1));
  EXPECT_EQ(table.points[0].bytes, 4 << 20);
  EXPECT_NEAR(table.points[0].seconds, 30e-6, 1e-12);
  EXPECT_THAT(result.notes, Contains(HasSubstr("16 rows of algo 1: left out")));
}

TEST(ImportAcesoTest, PrefersAllReducesThatWereMeasuredAlone) {
  const std::string rows = absl::StrCat(
      "model,mbs,tp,algo,op_name,", kColumns, Operators("gpt_1,1,1,0,", 100),
      absl::StrReplaceAll(Operators("gpt_1,1,2,0,", 60),
                          {{"attention-qkv,60,120", "attention-qkv,60,150"}}));
  ASSERT_OK_AND_ASSIGN(const ImportResult result,
                       ImportProfile("aceso",
                                     {{"ops.csv", rows},
                                      {"prim_gpt_1_all_reduce_2gpus.csv",
                                       "data_size(MB),time(ms)\n1,2\n"}},
                                     {.device = "GPU-X"}));
  EXPECT_THAT(
      result.profile.collectives,
      ElementsAre(MeasuredCollective{.ranks = 2, .points = {{1 << 20, 2e-3}}}));
}

TEST(ImportAcesoTest, AddsWeightGradientsThatAreNotMeasured) {
  std::string text = Upstream(100);
  for (size_t at = 0; (at = text.find(",200,4,0", at)) != std::string::npos;) {
    text.replace(at, 8, ",90,4,0");
  }
  ASSERT_OK_AND_ASSIGN(
      const ImportResult result,
      ImportProfile("aceso", {{"gpt_1_mbs1_tp1_algo0.csv", text}},
                    {.device = "GPU-X"}));
  // 13 · 90; the two products split by columns add 100 each, the two split by
  // rows 90 each.
  EXPECT_NEAR(result.profile.entries[1].points[0].backward_s,
              (13 * 90 + 2 * 100 + 2 * 90) * 1e-6, 1e-12);
  EXPECT_THAT(result.notes,
              Contains(HasSubstr("lacks the weights' gradients")));
}

TEST(ImportAcesoTest, LeavesOutWhatDidNotRun) {
  std::string text = Upstream(100);
  const std::string softmax = "enc-attention-softmax,100,200";
  text.replace(text.find(softmax), softmax.size(),
               "enc-attention-softmax,10000000,10000000");
  ASSERT_OK_AND_ASSIGN(
      const ImportResult result,
      ImportProfile("aceso", {{"gpt_1_mbs1_tp1_algo0.csv", text}},
                    {.device = "GPU-X"}));
  EXPECT_THAT(result.profile.entries, SizeIs(2 + 3));
  EXPECT_THAT(result.notes,
              Contains(HasSubstr("gpt_1, tp 1, 1 samples: "
                                 "enc-attention-softmax: did not run")));
}

TEST(ImportAcesoTest, ReadsCollectivesAndTransfers) {
  ASSERT_OK_AND_ASSIGN(const ImportResult result,
                       ImportProfile("aceso",
                                     {{"prim_gpt_1_all_gather_4gpus.csv",
                                       "data_size(MB),time(ms)\n2,3\n1,2\n"},
                                      {"p2p_intra_node.csv", "1,2\n8,16\n"}},
                                     {.device = "GPU-X"}));
  // An all-gather of shards of 1 MiB on 4 ranks gathers 4 MiB. 1 MiB at 8 GiB/s
  // takes 1/8192 s.
  EXPECT_THAT(
      result.profile.collectives,
      ElementsAre(
          MeasuredCollective{.op = CollectiveOp::kAllGather,
                             .ranks = 4,
                             .points = {{4 << 20, 2e-3}, {8 << 20, 3e-3}}},
          MeasuredCollective{
              .op = CollectiveOp::kPointToPoint,
              .ranks = 2,
              .points = {{1 << 20, 1 / 8192.}, {2 << 20, 1 / 8192.}}}));
}

TEST(ImportAcesoTest, TakesTheChosenGpuOfAGatheredFile) {
  const std::string rows =
      "set,gpu,dtype,model_size,collective,num_gpus,size_mb,time_ms,ok\n"
      "s,A,fp16,m,all_reduce,2,1,5,1\n"
      "s,B,fp16,m,all_reduce,2,1,7,1\n"
      "s,B,fp16,m,all_reduce,4,1,1000000,0\n";
  ASSERT_OK_AND_ASSIGN(
      const ImportResult result,
      ImportProfile("aceso", {{"c.csv", rows}}, {.device = "B"}));
  ASSERT_THAT(result.profile.collectives, SizeIs(1));
  EXPECT_DOUBLE_EQ(result.profile.collectives[0].points[0].seconds, 7e-3);
  EXPECT_THAT(ImportProfile("aceso", {{"c.csv", rows}}, {}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("c.csv: of A, B; expected one")));
}

TEST(ImportAcesoTest, ErrorsNameFileAndLine) {
  const auto import = [](const char* name, const std::string& text) {
    return ImportProfile("aceso", {{name, text}}, {.device = "X"});
  };
  EXPECT_THAT(import("ops.csv", Upstream(100)),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("ops.csv: name; expected <model>_mbs")));
  EXPECT_THAT(
      import("gpt_mbs1_tp1_algo0.csv",
             absl::StrCat("op_name,", kColumns, "x,fast,1,1,1,1,1,1,1\n")),
      StatusIs(absl::StatusCode::kInvalidArgument,
               HasSubstr("line 2: forward-compute: fast; expected a number")));
  EXPECT_THAT(import("a.csv", "a,b\n1\n"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("a.csv: line 2: 1 cells; expected 2")));
}

}  // namespace
}  // namespace tangram
