#include "frameworks/import_plan.h"

#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "frameworks/export_plan.h"
#include "tests/testing/mutations.h"
#include "tests/unit/frameworks/two_islands.h"

namespace tangram {
namespace {

using testing::FilesOf;
using testing::ForEachMutation;
using ::testing::HasSubstr;
using testing::NodeGpus;
using testing::OneDp;
using testing::StageOn;
using testing::StatusIs;
using testing::TwoIslands;

absl::StatusOr<ImportedPlan> Import(const std::string& format,
                                    const PlannedTraining& planned,
                                    const std::vector<FrameworkFile>& files) {
  TrainingOptions training = planned.training;
  training.global_batch_size = 0;
  training.sequence_length = 0;
  return ImportPlan(format, {.files = files,
                             .cluster = planned.cluster,
                             .model = planned.model,
                             .training = training});
}

// Exports the plan that the framework runs, and reads the files back.
// FlagScale's experiment file is among them.
void ExpectRoundTrip(const std::string& format,
                     const PlannedTraining& planned) {
  SCOPED_TRACE(format);
  ASSERT_OK_AND_ASSIGN(const FrameworkExport exported,
                       ExportPlan(format, planned));
  ASSERT_OK_AND_ASSIGN(const ImportedPlan imported,
                       Import(format, planned, FilesOf(exported)));
  EXPECT_EQ(imported.plan, CanonicalPlan(planned.model, exported.plan));
  EXPECT_EQ(imported.training, planned.training);
}

TEST(ImportPlanTest, GivesTheExportedPlanBack) {
  for (const PlanFormat& format : PlanFormats()) {
    PlannedTraining planned = TwoIslands();
    // FlexPipe's stages have one dp, and Galvatron's attention is flash
    // attention.
    if (format.name == "aceso") planned = OneDp();
    planned.training.flash_attention = format.name == "galvatron";
    ExpectRoundTrip(std::string(format.name), planned);
  }
}

TEST(ImportPlanTest, GivesOperatorCutsBack) {
  PlannedTraining planned = OneDp();
  planned.plan.stages[0].plan.end = {13, 5};
  planned.plan.stages[0].plan.recompute.push_back({1, OpMask{1} << 2});
  planned.plan.stages[1].plan.begin = {13, 5};
  ExpectRoundTrip("aceso", planned);
}

TEST(ImportPlanTest, GivesVirtualStagesBack) {
  PlannedTraining planned = TwoIslands();
  const StageParallelism dp4{.dp_degree = 4, .zero_stage = 1};
  planned.plan.schedule = PipelineSchedule::kInterleaved;
  planned.plan.virtual_stages = 2;
  planned.plan.stages = {StageOn(0, 9, dp4, NodeGpus(0, 4)),
                         StageOn(9, 17, dp4, NodeGpus(2, 4, 4)),
                         StageOn(17, 26, dp4, NodeGpus(0, 4)),
                         StageOn(26, 34, dp4, NodeGpus(2, 4, 4))};
  ExpectRoundTrip("megatron", planned);
}

TEST(ImportPlanTest, ReadsAnEditedFile) {
  const PlannedTraining planned = TwoIslands();
  ASSERT_OK_AND_ASSIGN(const FrameworkExport exported,
                       ExportPlan("flagscale", planned));
  std::vector<FrameworkFile> files = FilesOf(exported);
  files[1].content =
      absl::StrReplaceAll(files[1].content, {{"[12, 20]", "[11, 21]"}});
  ASSERT_OK_AND_ASSIGN(const ImportedPlan imported,
                       Import("flagscale", planned, files));
  EXPECT_EQ(imported.plan.stages[1].plan.begin, (OperatorCut{12, 0}));
  files[1].content =
      absl::StrReplaceAll(files[1].content, {{"[11, 21]", "[11, 20]"}});
  EXPECT_THAT(
      Import("flagscale", planned, files).status(),
      StatusIs(absl::StatusCode::kInvalidArgument,
               HasSubstr("11 20; expected numbers that add up to 32, not 31")));
}

TEST(ImportPlanTest, ReadsMegatronsOwnWays) {
  const PlannedTraining planned = TwoIslands();
  const std::vector<FrameworkFile> files = {
      {"run.txt",
       "torchrun pretrain_gpt.py --tensor-model-parallel-size=2 \\\n"
       "  --pipeline-model-parallel-size 2 --recompute-granularity full \\\n"
       "  --recompute-method uniform --recompute-num-layers 1 \\\n"
       "  --micro-batch-size 2 --global-batch-size 64 --seq-length 1024 "
       "--fp16"}};
  ASSERT_OK_AND_ASSIGN(const ImportedPlan imported,
                       Import("megatron", planned, files));
  // 16 GPUs over tp 2 and pp 2; 32 layers in halves.
  EXPECT_EQ(imported.plan.stages[0].plan.parallelism.dp_degree, 4);
  EXPECT_EQ(imported.plan.stages[0].plan.end, (OperatorCut{17, 0}));
  EXPECT_EQ(imported.plan.pipeline_microbatch_size, 8);
  EXPECT_EQ(imported.training.global_batch_size, 64);
  EXPECT_EQ(RecomputedLayers(planned.model, imported.plan.stages[1].plan), 16);
}

TEST(ImportPlanTest, TakesTheUsualSequenceLengthWhereNothingSaysOne) {
  const PlannedTraining planned = TwoIslands();
  TrainingOptions training = planned.training;
  training.sequence_length = 0;
  const auto length_of = [&](const char* options) {
    const std::vector<FrameworkFile> files = {
        {"run.txt", absl::StrCat("--micro-batch-size 1 ", options)}};
    const auto imported =
        ImportPlan("megatron", {.files = files,
                                .cluster = planned.cluster,
                                .model = planned.model,
                                .training = training,
                                .usual_sequence_length = 512});
    EXPECT_TRUE(imported.ok()) << imported.status();
    return imported.ok() ? imported->training.sequence_length : 0;
  };
  EXPECT_EQ(length_of(""), 512);
  EXPECT_EQ(length_of("--seq-length 1024"), 1024);
}

TEST(ImportPlanTest, RefusesWhatIsNoPlan) {
  const PlannedTraining planned = TwoIslands();
  constexpr struct {
    const char* format;
    const char* text;
    const char* message;
  } kCases[] = {
      {"flagscale", "system: {}", "sections system, model and data"},
      {"flagscale",
       "{system: {enable_hetero: true}, model: {seq_length: 1}, data: {}}",
       "hetero_process_meshes: missing; expected tp, cp, ep, dp, pp"},
      {"flagscale",
       "{system: {enable_hetero: true, hetero_process_meshes: [1, 1, 1, 1, "
       "1000000]}, model: {seq_length: 1}, data: {}}",
       "no more stages than the 16 GPUs"},
      {"flagscale",
       "{system: {enable_hetero: true, untie_embeddings_and_output_weights: "
       "true, hetero_process_meshes: [1048576, 1048576, 1, 1048576, 1], "
       "hetero_device_types: [T4], hetero_current_device_type: T4}, model: "
       "{seq_length: 1}, data: {}}",
       "tp x cp"},
      {"aceso", "{}", "num_ops_in_each_stage"},
      {"aceso", "{\"num_ops_in_each_stage\": [1, 2]}", "419 operators"},
      {"megatron", "--pipeline-model-parallel-size 3 --seq-length 1",
       "expected a multiple of tp x cp x pp, 3"},
      {"megatron",
       "--pipeline-model-parallel-size 2 --pipeline-model-parallel-layout "
       "Et*12|x*20L --seq-length 1",
       "expected stages of E, t and L"},
      {"megatron",
       "--pipeline-model-parallel-size 2 --pipeline-model-parallel-layout "
       "Et*12|t*20EL --seq-length 1",
       "one E, which is first, and one L, last"},
      {"megatron", "--seq-length 1 --tensor-model-parallel-size 0",
       "a positive integer"},
      {"nothing", "", "expected one of flagscale, aceso, megatron"},
  };
  for (const auto& test : kCases) {
    SCOPED_TRACE(test.text);
    EXPECT_THAT(
        Import(test.format, planned, {{"file", test.text}}).status(),
        StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(test.message)));
  }
}

// A damaged file is refused, naming the mistake, or read as another plan.
TEST(ImportPlanTest, SurvivesDamagedFiles) {
  const PlannedTraining planned = OneDp();
  int read = 0;
  for (const PlanFormat& format : PlanFormats()) {
    const std::string name(format.name);
    SCOPED_TRACE(name);
    ASSERT_OK_AND_ASSIGN(const FrameworkExport exported,
                         ExportPlan(name, planned));
    const std::vector<FrameworkFile> files = FilesOf(exported);
    for (size_t i = 0; i < files.size(); ++i) {
      ForEachMutation(files[i].content, 80, [&](const std::string& text) {
        std::vector<FrameworkFile> damaged = files;
        damaged[i].content = text;
        const auto imported = Import(name, planned, damaged);
        if (imported.ok()) {
          ++read;
          return;
        }
        EXPECT_THAT(imported.status(),
                    StatusIs(absl::StatusCode::kInvalidArgument,
                             ::testing::Not(::testing::IsEmpty())));
      });
    }
  }
  // Four formats with three or four files each; launch scripts do not matter.
  EXPECT_GT(read, 300);
  EXPECT_LT(read, 1000);
}

}  // namespace
}  // namespace tangram
