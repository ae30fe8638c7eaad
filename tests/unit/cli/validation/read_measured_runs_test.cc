#include "cli/validation/read_measured_runs.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/status_matchers.h"

namespace tangram {
namespace {

using ::testing::ElementsAre;
using ::testing::Eq;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::kBadInput;
using ::testing::Optional;
using ::testing::SizeIs;
using testing::StatusIs;

// The runs of a text that has no bad rows.
absl::StatusOr<std::vector<MeasuredRun>> Runs(const std::string& text,
                                              const std::string& name) {
  absl::StatusOr<MeasuredRuns> read = ParseMeasuredRuns(text, name);
  if (!read.ok()) return read.status();
  EXPECT_THAT(read->bad_rows, IsEmpty());
  return read->runs;
}

// A row with only the required columns and `value` in `column`.
std::string RowWith(const std::string& column, const std::string& value) {
  return absl::StrCat("gpu,num_gpus,gbs,", column, "\nT4,4,8,", value, "\n");
}

TEST(ParseMeasuredRunsTest, ReadsTextColumns) {
  ASSERT_OK_AND_ASSIGN(
      const auto runs,
      Runs(
          "row_id,source,framework,gpu,num_gpus,intra_link,inter_link,model,"
          "gbs,zero,recompute,offload,precision,attn_kernel,plan_json,mem_kind,"
          "flag,notes\n"
          "r1,paper, Megatron-LM ,T4 + V100,4,PCIe,10 Gbps,GPT 1B,8,1,full,"
          "none,fp16,flash,\"{\"\"a\"\": 1}\",max reserved,noisy,SwiGLU\n",
          "runs.csv"));

  ASSERT_THAT(runs, SizeIs(1));
  const MeasuredRun& run = runs[0];
  EXPECT_EQ(run.id, "r1");
  EXPECT_EQ(run.source, "paper");
  EXPECT_EQ(run.framework, "Megatron-LM");
  EXPECT_EQ(run.gpu, "T4 + V100");
  EXPECT_EQ(run.intra_link, "PCIe");
  EXPECT_EQ(run.inter_link, "10 Gbps");
  EXPECT_EQ(run.model, "GPT 1B");
  EXPECT_EQ(run.zero, "1");
  EXPECT_EQ(run.recompute, "full");
  EXPECT_EQ(run.offload, "none");
  EXPECT_EQ(run.precision, "fp16");
  EXPECT_EQ(run.attention, "flash");
  EXPECT_EQ(run.plan_json, R"({"a": 1})");
  EXPECT_EQ(run.memory_kind, "max reserved");
  EXPECT_EQ(run.flag, "noisy");
  EXPECT_EQ(run.notes, "SwiGLU");
}

struct CountColumn {
  const char* column;
  int MeasuredRun::*field;
};

class CountColumnTest : public ::testing::TestWithParam<CountColumn> {};

TEST_P(CountColumnTest, IsReadIntoItsField) {
  ASSERT_OK_AND_ASSIGN(const auto runs,
                       Runs(RowWith(GetParam().column, "37"), "runs.csv"));

  ASSERT_THAT(runs, SizeIs(1));
  EXPECT_EQ(runs[0].*GetParam().field, 37);
}

TEST_P(CountColumnTest, IsZeroWhereTheSourceSaysNothing) {
  ASSERT_OK_AND_ASSIGN(const auto runs,
                       Runs(RowWith(GetParam().column, ""), "runs.csv"));

  EXPECT_EQ(runs[0].*GetParam().field, 0);
}

INSTANTIATE_TEST_SUITE_P(
    Columns, CountColumnTest,
    ::testing::Values(CountColumn{"gpus_per_node", &MeasuredRun::gpus_per_node},
                      CountColumn{"layers", &MeasuredRun::num_layers},
                      CountColumn{"hidden", &MeasuredRun::hidden_size},
                      CountColumn{"heads", &MeasuredRun::num_heads},
                      CountColumn{"kv_heads", &MeasuredRun::num_kv_heads},
                      CountColumn{"ffn", &MeasuredRun::ffn_hidden_size},
                      CountColumn{"vocab", &MeasuredRun::vocab_size},
                      CountColumn{"seq", &MeasuredRun::sequence_length},
                      CountColumn{"experts", &MeasuredRun::num_experts},
                      CountColumn{"topk", &MeasuredRun::experts_per_token},
                      CountColumn{"mbs", &MeasuredRun::microbatch_size},
                      CountColumn{"tp", &MeasuredRun::tp_degree},
                      CountColumn{"pp", &MeasuredRun::pp_degree},
                      CountColumn{"vp", &MeasuredRun::virtual_stages},
                      CountColumn{"dp", &MeasuredRun::dp_degree},
                      CountColumn{"cp", &MeasuredRun::cp_degree},
                      CountColumn{"ep", &MeasuredRun::ep_degree}),
    [](const auto& test) { return std::string(test.param.column); });

TEST(ParseMeasuredRunsTest, ReadsTheCountsThatARowMustHave) {
  ASSERT_OK_AND_ASSIGN(const auto runs,
                       Runs("gbs,num_gpus,gpu\n8,4,T4\n", "x"));

  EXPECT_EQ(runs[0].num_gpus, 4);
  EXPECT_EQ(runs[0].global_batch_size, 8);
}

TEST(ParseMeasuredRunsTest, CountsMayBeInThousandsWithRemarks) {
  ASSERT_OK_AND_ASSIGN(const auto thousands,
                       Runs(RowWith("vocab", "250k (as printed)"), "x"));
  ASSERT_OK_AND_ASSIGN(const auto remark,
                       Runs(RowWith("vocab", "50257 (padded)"), "x"));

  EXPECT_EQ(thousands[0].vocab_size, 250000);
  EXPECT_EQ(remark[0].vocab_size, 50257);
}

TEST(ParseMeasuredRunsTest, MixedDegreesAreLeftToThePlan) {
  ASSERT_OK_AND_ASSIGN(const auto runs, Runs(RowWith("tp", "mixed"), "x"));

  EXPECT_EQ(runs[0].tp_degree, 0);
}

TEST(ParseMeasuredRunsTest, ReadsMeasurementsInTheirUnits) {
  ASSERT_OK_AND_ASSIGN(const auto runs,
                       Runs("gpu,num_gpus,gbs,iteration_s,mem_gib,predicted_s,"
                            "params_b\nT4,4,8,1.5,2,1.25,6.7\n",
                            "x"));

  EXPECT_THAT(runs[0].iteration_s, Optional(1.5));
  EXPECT_THAT(runs[0].memory_bytes, Optional(2147483648.0));  // 2 · 2^30.
  EXPECT_THAT(runs[0].published_prediction_s, Optional(1.25));
}

TEST(ParseMeasuredRunsTest, BlankMeasurementsAreNone) {
  ASSERT_OK_AND_ASSIGN(const auto runs,
                       Runs("gpu,num_gpus,gbs,iteration_s,mem_gib,predicted_s\n"
                            "T4,4,8,,,\n",
                            "x"));

  EXPECT_THAT(runs[0].iteration_s, Eq(std::nullopt));
  EXPECT_THAT(runs[0].memory_bytes, Eq(std::nullopt));
  EXPECT_THAT(runs[0].published_prediction_s, Eq(std::nullopt));
}

TEST(ParseMeasuredRunsTest, TheDerivedTimeStandsInForTheMeasuredOne) {
  ASSERT_OK_AND_ASSIGN(const auto runs,
                       Runs("gpu,num_gpus,gbs,iteration_s,iteration_s_derived\n"
                            "T4,4,8,,3\nT4,4,8,2,3\n",
                            "x"));

  EXPECT_THAT(runs[0].iteration_s, Optional(3.0));
  EXPECT_THAT(runs[1].iteration_s, Optional(2.0));
}

TEST(ParseMeasuredRunsTest, SequenceParallelismMayBeUnsaid) {
  ASSERT_OK_AND_ASSIGN(
      const auto runs,
      Runs("gpu,num_gpus,gbs,sp\nT4,4,8,\nT4,4,8,0\nT4,4,8,1\n", "x"));

  EXPECT_THAT(runs[0].sequence_parallel, Eq(std::nullopt));
  EXPECT_THAT(runs[1].sequence_parallel, Optional(false));
  EXPECT_THAT(runs[2].sequence_parallel, Optional(true));
}

TEST(ParseMeasuredRunsTest, RowsWithoutNamesAreNamedByFileAndLine) {
  ASSERT_OK_AND_ASSIGN(
      const auto runs,
      Runs("# a comment\ngpu,num_gpus,gbs\nT4,4,8\n", "runs.csv"));

  EXPECT_EQ(runs[0].id, "line 3");
  EXPECT_EQ(runs[0].source, "runs.csv");
}

TEST(ParseMeasuredRunsTest, UnknownColumnsAreIgnored) {
  ASSERT_OK_AND_ASSIGN(const auto runs,
                       Runs(RowWith("weather", "fair"), "runs.csv"));

  EXPECT_THAT(runs, SizeIs(1));
}

TEST(ParseMeasuredRunsTest, ATableMayBeEmpty) {
  ASSERT_OK_AND_ASSIGN(const auto runs, Runs("gpu,num_gpus,gbs\n", "runs.csv"));

  EXPECT_THAT(runs, IsEmpty());
}

TEST(ParseMeasuredRunsTest, NeedsSomeColumns) {
  for (const char* header : {"num_gpus,gbs", "gpu,gbs", "gpu,num_gpus"}) {
    EXPECT_THAT(ParseMeasuredRuns(header, "runs.csv"),
                StatusIs(kBadInput, HasSubstr("runs.csv: no column \"")));
  }
}

TEST(ParseMeasuredRunsTest, LinesThatAreNoRowsAreLeftOutToo) {
  ASSERT_OK_AND_ASSIGN(
      const MeasuredRuns read,
      ParseMeasuredRuns("gpu,num_gpus,gbs\nT4,4\nT4,4,8\n", "runs.csv"));

  EXPECT_THAT(read.runs, SizeIs(1));
  EXPECT_THAT(read.bad_rows,
              ElementsAre("runs.csv: line 2: 2 cells; expected 3, as in the "
                          "header"));
}

struct BadCell {
  const char* name;
  const char* column;
  const char* value;
  const char* expected;
};

class BadCellTest : public ::testing::TestWithParam<BadCell> {};

TEST_P(BadCellTest, IsReportedWithLineColumnAndValue) {
  const BadCell& bad = GetParam();
  ASSERT_OK_AND_ASSIGN(
      const MeasuredRuns read,
      ParseMeasuredRuns(RowWith(bad.column, bad.value) + "T4,4,8,\n",
                        "runs.csv"));

  EXPECT_THAT(read.bad_rows, ElementsAre(absl::StrCat(
                                 "runs.csv: line 2: ", bad.column, ": ",
                                 bad.value, "; expected ", bad.expected)));
  EXPECT_THAT(read.runs, SizeIs(1));  // The row after it.
}

constexpr char kCount[] = "a count, or nothing";
constexpr char kNumber[] = "a positive number, or nothing";
INSTANTIATE_TEST_SUITE_P(
    Cells, BadCellTest,
    ::testing::Values(
        BadCell{"Word", "tp", "two", kCount},
        BadCell{"Negative", "tp", "-2", kCount},
        BadCell{"Fraction", "mbs", "1.5", kCount},
        BadCell{"Unit", "seq", "2K", kCount},
        BadCell{"JustTooLarge", "vocab", "2147483648", kCount},
        BadCell{"ThousandsTooLarge", "vocab", "2147484k", kCount},
        BadCell{"FarTooLarge", "vocab", "9223372036854775807k", kCount},
        BadCell{"NotANumber", "iteration_s", "nan", kNumber},
        BadCell{"Infinite", "iteration_s", "inf", kNumber},
        BadCell{"Zero", "mem_gib", "0", kNumber},
        BadCell{"NegativeNumber", "iteration_s_derived", "-1", kNumber},
        BadCell{"NumberWithUnit", "predicted_s", "3 s", kNumber},
        BadCell{"Failed", "iteration_s", "OOM", kNumber}),
    [](const auto& test) { return std::string(test.param.name); });

TEST(MeasuredRunTest, RanOutOfMemoryIfItFailedForThat) {
  EXPECT_TRUE(
      MeasuredRun{.flag = "failed run (OOM or crash)"}.ran_out_of_memory());
  EXPECT_TRUE(MeasuredRun{.flag = "Out of memory"}.ran_out_of_memory());
  EXPECT_FALSE(MeasuredRun{.flag = "noisy"}.ran_out_of_memory());
  EXPECT_FALSE((MeasuredRun{.iteration_s = 1, .flag = "OOM in another run"}
                    .ran_out_of_memory()));
}

}  // namespace
}  // namespace tangram
