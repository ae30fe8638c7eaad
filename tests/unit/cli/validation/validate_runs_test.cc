#include "cli/validation/validate_runs.h"

#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "cli/validation/express_run.h"
#include "cli/validation/predict_run.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/measured_runs.h"

namespace tangram {
namespace {

using ::testing::ElementsAre;
using testing::GptRun;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using testing::Took;

// Makes runs of several batch sizes, each `slowdown` times slower than
// predicted.
std::vector<MeasuredRun> SlowRuns(int count, double slowdown) {
  std::vector<MeasuredRun> runs;
  for (int i = 0; i < count; ++i) {
    MeasuredRun run = GptRun();
    run.id = absl::StrCat("gpt-", i);
    run.global_batch_size = 16 * (i + 1);
    run.iteration_s = slowdown * PredictRun(run, *ExpressRun(run))->iteration_s;
    runs.push_back(run);
  }
  return runs;
}

std::set<std::string> ScoredIds(const ValidatedGroup& group) {
  std::set<std::string> ids;
  for (const PredictedRun& run : group.runs) ids.insert(run.run->id);
  return ids;
}

TEST(ValidateRunsTest, PredictsAndScores) {
  const std::vector<MeasuredRun> runs = SlowRuns(2, 1.25);
  const ValidationReport report = ValidateRuns(runs, {});

  ASSERT_THAT(report.groups, SizeIs(1));
  const ValidatedGroup& group = report.groups[0];
  ASSERT_THAT(group.runs, SizeIs(2));
  EXPECT_EQ(group.runs[0].run, &runs[0]);
  EXPECT_EQ(group.score.time.n, 2);
  EXPECT_NEAR(group.score.time.bias, -0.2, 1e-9);  // 1 / 1.25 − 1.
  EXPECT_THAT(group.calibration, IsEmpty());
  EXPECT_THAT(report.skipped, IsEmpty());
}

TEST(ValidateRunsTest, GroupsAreSourcesOnOneGpuInOrderOfAppearance) {
  std::vector<MeasuredRun> runs(5, Took(1));
  runs[1].source = "blog";
  runs[2].gpu = "H100";
  runs[4].source = "blog";
  const ValidationReport report = ValidateRuns(runs, {});

  ASSERT_THAT(report.groups, SizeIs(3));
  EXPECT_EQ(report.groups[0].source, "paper");
  EXPECT_EQ(report.groups[0].gpu, "A100-80");
  EXPECT_THAT(report.groups[0].runs, SizeIs(2));
  EXPECT_EQ(report.groups[1].source, "blog");
  EXPECT_THAT(report.groups[1].runs, SizeIs(2));
  EXPECT_EQ(report.groups[2].gpu, "H100");
}

TEST(ValidateRunsTest, SaysWhyRowsAreSkipped) {
  std::vector<MeasuredRun> runs = {GptRun(), Took(1), Took(1)};
  runs[1].flag = "noisy";
  runs[2].offload = "full cpu";
  const ValidationReport report = ValidateRuns(runs, {});

  EXPECT_THAT(report.groups, IsEmpty());
  ASSERT_THAT(report.skipped, SizeIs(3));
  EXPECT_EQ(report.skipped[0].run, &runs[0]);
  EXPECT_EQ(report.skipped[0].reason, "no time and no memory measured");
  EXPECT_EQ(report.skipped[1].reason, "flagged: noisy");
  EXPECT_EQ(report.skipped[2].reason,
            "offload: full cpu; expected some of weights, gradients, "
            "optimizer, activations, each perhaps with the fraction");
}

TEST(ValidateRunsTest, FlaggedRowsCanBeScored) {
  MeasuredRun run = Took(1);
  run.flag = "noisy";
  const ValidationReport report =
      ValidateRuns({run}, {.include_flagged = true});

  ASSERT_THAT(report.groups, SizeIs(1));
  EXPECT_EQ(report.groups[0].score.time.n, 1);
}

TEST(ValidateRunsTest, RowsThatRanOutOfMemorySayWhetherAPlanFits) {
  MeasuredRun run = GptRun();
  run.flag = "OOM";
  const ValidationReport report = ValidateRuns({run}, {});

  ASSERT_THAT(report.groups, SizeIs(1));
  EXPECT_EQ(report.groups[0].score.time.n, 0);
  EXPECT_EQ(report.groups[0].score.fit.n, 1);
  EXPECT_EQ(report.groups[0].score.fit.falsely_fits, 1);
}

TEST(ValidateRunsTest, ListsTheWorstRowsOfEachGroup) {
  std::vector<MeasuredRun> runs = SlowRuns(3, 1.25);
  *runs[1].iteration_s *= 2;
  const ValidationReport report = ValidateRuns(runs, {.worst_rows = 1});

  EXPECT_THAT(report.groups[0].score.worst,
              ElementsAre(&report.groups[0].runs[1]));
}

TEST(ValidateRunsTest, ScoresWhatTheSourceItselfPredicts) {
  std::vector<MeasuredRun> runs(3, Took(2));
  runs[0].published_prediction_s = 3;  // +50 %.
  runs[1].published_prediction_s = 1.8;
  const ValidationReport report = ValidateRuns(runs, {});

  EXPECT_EQ(report.groups[0].published.n, 2);
  EXPECT_NEAR(report.groups[0].published.mean_abs, 0.3, 1e-12);
}

TEST(ValidateRunsTest, CalibrationRowsAreNotScored) {
  const std::vector<MeasuredRun> runs = SlowRuns(6, 1.25);
  const ValidationReport report = ValidateRuns(runs, {.calibration_rows = 2});

  const ValidatedGroup& group = report.groups[0];
  EXPECT_EQ(group.calibration_rows, 2);
  EXPECT_THAT(ScoredIds(group), SizeIs(4));
  EXPECT_THAT(group.calibration, SizeIs(9));
  EXPECT_LT(group.score.time.mean_abs, 0.02);  // From 20 %.
}

TEST(ValidateRunsTest, AtMostHalfTheRowsCalibrate) {
  const std::vector<MeasuredRun> runs = SlowRuns(5, 1.25);
  const ValidationReport report = ValidateRuns(runs, {.calibration_rows = 99});

  EXPECT_EQ(report.groups[0].calibration_rows, 2);
  EXPECT_THAT(report.groups[0].runs, SizeIs(3));
}

TEST(ValidateRunsTest, OneRowIsScoredRatherThanFitted) {
  const ValidationReport report =
      ValidateRuns(SlowRuns(1, 1.25), {.calibration_rows = 4});

  EXPECT_THAT(report.groups[0].runs, SizeIs(1));
  EXPECT_THAT(report.groups[0].calibration, IsEmpty());
}

TEST(ValidateRunsTest, OnlyTimesCalibrate) {
  std::vector<MeasuredRun> runs = SlowRuns(2, 1.25);
  runs[0].iteration_s.reset();
  runs[0].memory_bytes = 1e9;
  const ValidationReport report = ValidateRuns(runs, {.calibration_rows = 4});

  EXPECT_THAT(report.groups[0].runs, SizeIs(2));
}

TEST(ValidateRunsTest, TheSeedAloneChoosesTheCalibrationRows) {
  const std::vector<MeasuredRun> runs = SlowRuns(6, 1.25);
  const std::vector<MeasuredRun> reversed(runs.rbegin(), runs.rend());
  std::set<std::set<std::string>> scored;
  for (uint64_t seed = 0; seed < 4; ++seed) {
    const ValidationOptions options = {.calibration_rows = 2, .seed = seed};
    const auto ids = ScoredIds(ValidateRuns(runs, options).groups[0]);
    EXPECT_EQ(ScoredIds(ValidateRuns(reversed, options).groups[0]), ids);
    scored.insert(ids);
  }

  EXPECT_GT(scored.size(), 1);
}

// Runs of four sources, the last of which is off by as much as no other.
std::vector<MeasuredRun> RunsOfFourSources() {
  std::vector<MeasuredRun> runs;
  for (const double slowdown : {1.1, 1.2, 1.3, 3.0}) {
    for (MeasuredRun run : SlowRuns(4, slowdown)) {
      run.source = absl::StrCat("slower by ", slowdown);
      run.id = absl::StrCat(run.source, run.id);
      runs.push_back(run);
    }
  }
  return runs;
}

TEST(ValidateRunsTest, BandsDoNotKnowTheSourceThatTheyAreScoredOn) {
  const std::vector<MeasuredRun> runs = RunsOfFourSources();
  const ValidationReport report =
      ValidateRuns(runs, {.leave_one_source_out = true});

  ASSERT_THAT(report.sources, SizeIs(5));
  EXPECT_EQ(report.sources[1].source, "slower by 1.2");
  EXPECT_EQ(report.sources[1].time_bands.coverage(), 1);  // 1.1 to 3.0.
  EXPECT_EQ(report.sources[3].time_bands.coverage(), 0);  // 1.1 to 1.3.
  EXPECT_EQ(report.sources[4].source, "all");
  EXPECT_EQ(report.sources[4].score.time.n, 16);
  EXPECT_THAT(report.residuals.cells, SizeIs(8));  // Time and order of each.
}

TEST(ValidateRunsTest, ConstantsDoNotKnowTheSourceThatTheyAreScoredOn) {
  const std::vector<MeasuredRun> runs = RunsOfFourSources();
  const ValidationReport report =
      ValidateRuns(runs, {.calibration_rows = 4, .leave_one_source_out = true});

  for (const ValidatedGroup& group : report.groups) {
    EXPECT_THAT(group.runs, SizeIs(4));
    EXPECT_THAT(group.calibration, SizeIs(9));
  }
  // Fitted to 1.2, 1.3 and 3.0, which two of three rows are near.
  EXPECT_NEAR(
      report.groups[0].runs[0].prediction.iteration_s / *runs[0].iteration_s,
      1.25 / 1.1, 0.1);
}

TEST(ValidateRunsTest, NamesRowsThatSayTheSame) {
  std::vector<MeasuredRun> runs = SlowRuns(3, 1.25);
  runs.push_back(runs[1]);
  runs.back().id = "again";
  runs.push_back(runs[2]);
  *runs.back().iteration_s *= 2;  // Another measurement of the same plan.
  const ValidationReport report = ValidateRuns(runs, {});

  ASSERT_THAT(report.repeated, SizeIs(1));
  EXPECT_EQ(report.repeated[0].run, &runs[3]);
  EXPECT_EQ(report.repeated[0].first, &runs[1]);
  EXPECT_THAT(report.groups[0].runs, SizeIs(5));
}

// A profile without times, of a device on which this model was measured.
Profile ProfileOf(const std::string& model, int vocabulary) {
  MeasuredRun run = GptRun();
  run.vocab_size = vocabulary;
  Profile profile{.device = "A100-80"};
  profile.models.push_back(ExpressRun(run)->model);
  profile.models[0].name = model;
  return profile;
}

TEST(ValidateRunsTest, AProfilesModelOfThatNameIsWhatRan) {
  const std::vector<MeasuredRun> runs = {Took(1)};
  MeasuredRun wide = Took(1);
  wide.vocab_size = 102400;
  const auto seconds = [&runs](std::vector<Profile> profiles) {
    return ValidateRuns(runs, {.profiles = std::move(profiles)})
        .groups[0]
        .runs[0]
        .prediction.iteration_s;
  };

  EXPECT_EQ(seconds({ProfileOf("gpt", 102400)}),
            PredictRun(wide, *ExpressRun(wide))->iteration_s);
  EXPECT_EQ(seconds({ProfileOf("other", 102400)}), seconds({}));
  EXPECT_NE(seconds({ProfileOf("gpt", 102400)}), seconds({}));
}

TEST(ValidateRunsTest, AProfilesMeasurementsOverrideTheModel) {
  const std::vector<MeasuredRun> runs = {Took(1)};
  Profile profile = ProfileOf("gpt", 51200);
  // One second forward for each layer and microbatch of two samples.
  ProfileEntry entry{.layer = 1,
                     .precision = Precision::kBf16,
                     .sequence_length = 1024,
                     .parallelism = {.tp_degree = 2}};
  entry.points = {{.samples = 2, .forward_s = 1, .backward_s = 2}};
  profile.entries.push_back(entry);
  const ValidationReport report = ValidateRuns(runs, {.profiles = {profile}});

  // Four layers a stage, eight microbatches: at least 4 · 3 s · (8 + 1).
  const RunPrediction& prediction = report.groups[0].runs[0].prediction;
  EXPECT_GT(prediction.iteration_s, 108);
  EXPECT_GT(prediction.measured_fraction, 0.9);
}

TEST(ValidateRunsTest, SkipsWhatAProfilesModelMakesImpossible) {
  Profile profile = ProfileOf("gpt", 51200);
  for (LayerSpec& layer : profile.models[0].layers) layer.num_heads = 15;
  const ValidationReport report =
      ValidateRuns({Took(1)}, {.profiles = {profile}});

  ASSERT_THAT(report.skipped, SizeIs(1));
  EXPECT_THAT(report.skipped[0].reason, HasSubstr("the number of heads, 15"));
  EXPECT_THAT(report.groups[0].runs, IsEmpty());
}

}  // namespace
}  // namespace tangram
