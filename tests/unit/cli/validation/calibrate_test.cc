#include "cli/validation/calibrate.h"

#include <cmath>
#include <set>
#include <string>
#include <vector>

#include "common/sim/evaluate_plan.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/builders.h"
#include "tests/testing/measured_runs.h"
#include "tests/testing/status_matchers.h"

namespace tangram {
namespace {

using ::testing::Each;
using ::testing::Field;
using testing::GptRun;
using ::testing::IsEmpty;
using testing::TestCluster;
using testing::TestDevice;

double SecondsOf(const ExpressedRun& run, const Cluster& cluster) {
  return EvaluatePlan(run.model, cluster, run.training, run.plan)
      ->iteration_time_s;
}

// Seconds on a cluster whose constants are `truth` times the catalogue's.
double SecondsUnder(const Calibration& truth, const ExpressedRun& run) {
  Cluster cluster = run.cluster;
  ApplyCalibration(truth, cluster);
  return SecondsOf(run, cluster);
}

// A run of a model of that width, with degrees tp · pp · dp, on nodes of four
// A100-80.
ExpressedRun RunOf(int hidden, int tp, int pp, int dp) {
  MeasuredRun run = GptRun();
  run.hidden_size = hidden;
  run.num_heads = hidden / 128;
  run.gpus_per_node = 4;
  run.inter_link = "100 Gbps";
  run.num_gpus = tp * pp * dp;
  run.tp_degree = tp;
  run.pp_degree = pp;
  run.dp_degree = dp;
  return *ExpressRun(run);
}

std::vector<ExpressedRun> RunsOnTwoNodes() {
  return {RunOf(2048, 1, 1, 8), RunOf(2048, 2, 2, 2), RunOf(2048, 4, 2, 1),
          RunOf(4096, 4, 1, 2), RunOf(4096, 2, 1, 4), RunOf(4096, 1, 2, 4)};
}

std::vector<CalibrationSample> Measured(const std::vector<ExpressedRun>& runs,
                                        const Calibration& truth) {
  std::vector<CalibrationSample> samples;
  for (const ExpressedRun& run : runs) {
    samples.push_back({&run, SecondsUnder(truth, run)});
  }
  return samples;
}

double FactorOf(const Calibration& calibration, Constant constant) {
  for (const CalibratedConstant& calibrated : calibration) {
    if (calibrated.constant == constant) return calibrated.factor;
  }
  return 0;
}

TEST(CalibrateTest, ExplainsMeasurementsOfKnownConstants) {
  const std::vector<ExpressedRun> runs = RunsOnTwoNodes();
  const auto samples =
      Measured(runs, {{"A100-80", Constant::kGemmMaxFraction, 0.75},
                      {"A100-80", Constant::kInterNodeBandwidth, 0.5}});
  const Calibration calibration = Calibrate(samples);

  double before = 0;
  double after = 0;
  for (const CalibrationSample& sample : samples) {
    before += std::abs(
        SecondsOf(*sample.run, sample.run->cluster) / sample.iteration_s - 1);
    after += std::abs(
        SecondsUnder(calibration, *sample.run) / sample.iteration_s - 1);
  }
  const double n = static_cast<double>(samples.size());
  EXPECT_GT(before / n, 0.15);
  EXPECT_LT(after / n, 0.02);
  EXPECT_LT(FactorOf(calibration, Constant::kInterNodeBandwidth), 0.7);
}

std::vector<ExpressedRun> TwelveRuns() {
  std::vector<ExpressedRun> runs;
  for (const int hidden : {1024, 2048, 4096}) {
    runs.push_back(RunOf(hidden, 1, 1, 8));
    runs.push_back(RunOf(hidden, 2, 2, 2));
    runs.push_back(RunOf(hidden, 4, 1, 2));
    runs.push_back(RunOf(hidden, 1, 2, 4));
  }
  return runs;
}

TEST(CalibrateTest, ManySamplesThatAgreeMoveConstantsAllTheWay) {
  const std::vector<ExpressedRun> runs = TwelveRuns();
  const auto samples =
      Measured(runs, {{"A100-80", Constant::kGemmMaxFraction, 0.75},
                      {"A100-80", Constant::kMemoryFraction, 0.75}});
  const Calibration calibration = Calibrate(samples);

  for (const CalibrationSample& sample : samples) {
    EXPECT_NEAR(SecondsUnder(calibration, *sample.run) / sample.iteration_s, 1,
                0.05);
  }
}

TEST(CalibrateTest, ManySamplesThatDisagreeMoveLittle) {
  const std::vector<ExpressedRun> runs = TwelveRuns();
  std::vector<CalibrationSample> samples = Measured(runs, {});
  // Errors of half of the runs, without a pattern that a constant explains.
  for (size_t i = 0; i < samples.size(); i += 2) {
    samples[i].iteration_s *= i % 4 == 0 ? 1.3 : 0.7;
  }
  const Calibration calibration = Calibrate(samples);

  double moved = 0;
  for (const ExpressedRun& run : runs) {
    moved += std::abs(
        std::log(SecondsUnder(calibration, run) / SecondsOf(run, run.cluster)));
  }
  // All the way to the fit would be 0.028.
  EXPECT_LT(moved / static_cast<double>(runs.size()), 0.02);
}

TEST(CalibrateTest, ListsEveryConstantOfEveryType) {
  const std::vector<ExpressedRun> runs = {RunOf(2048, 1, 1, 4)};
  const Calibration calibration = Calibrate(Measured(runs, {}));

  std::set<std::string> names;
  for (const CalibratedConstant& constant : calibration) {
    EXPECT_EQ(constant.device, "A100-80");
    names.insert(ConstantName(constant.constant));
  }
  EXPECT_EQ(calibration.size(), 9);
  EXPECT_EQ(names.size(), 9);
}

TEST(CalibrateTest, ChangesNothingThatIsRightAlready) {
  const std::vector<ExpressedRun> runs = {RunOf(2048, 1, 1, 4)};

  EXPECT_THAT(Calibrate(Measured(runs, {})),
              Each(Field(&CalibratedConstant::factor, 1)));
}

TEST(CalibrateTest, LeavesConstantsThatNoSampleDependsOn) {
  // One GPU: no link is used.
  const std::vector<ExpressedRun> runs = {RunOf(4096, 1, 1, 1)};
  const auto samples =
      Measured(runs, {{"A100-80", Constant::kGemmMaxFraction, 0.75}});
  const Calibration calibration = Calibrate(samples);

  for (const Constant link :
       {Constant::kIntraNodeBandwidth, Constant::kIntraNodeLatency,
        Constant::kInterNodeBandwidth, Constant::kInterNodeLatency}) {
    EXPECT_EQ(FactorOf(calibration, link), 1) << ConstantName(link);
  }
  const double measured = samples[0].iteration_s;
  EXPECT_GT(measured / SecondsOf(runs[0], runs[0].cluster), 1.1);
  // With its prior, one sample explains most of its error, but not all.
  const double left = 1 - SecondsUnder(calibration, runs[0]) / measured;
  EXPECT_LT(left, 0.1);
}

TEST(CalibrateTest, OneOddSampleMovesAConstantOnlySoFar) {
  // The run is ten times too slow; no constant is that far off.
  const std::vector<ExpressedRun> runs = {RunOf(4096, 1, 1, 1)};
  const Calibration calibration =
      Calibrate({{&runs[0], 10 * SecondsOf(runs[0], runs[0].cluster)}});

  EXPECT_GT(FactorOf(calibration, Constant::kGemmMaxFraction), 0.2);
}

TEST(CalibrateTest, IsDeterministic) {
  const std::vector<ExpressedRun> runs = RunsOnTwoNodes();
  const auto samples =
      Measured(runs, {{"A100-80", Constant::kMemoryFraction, 0.8}});
  const Calibration first = Calibrate(samples);
  const Calibration second = Calibrate(samples);

  ASSERT_EQ(first.size(), second.size());
  for (size_t i = 0; i < first.size(); ++i) {
    EXPECT_EQ(first[i].factor, second[i].factor);
  }
}

TEST(CalibrateTest, WithoutSamplesThereIsNothingToFit) {
  EXPECT_THAT(Calibrate({}), IsEmpty());
}

// Makes two nodes of A and one of B.
Cluster TwoTypes() {
  DeviceSpec device = TestDevice("A");
  device.efficiency.gemm_max_fraction = 0.5;
  device.efficiency.gemm_half_flops = 1e9;
  device.efficiency.host_launch_s = 1e-5;
  Cluster cluster = TestCluster({{"a", 2, 4, device}, {"b", 1, 4, device}});
  cluster.nodes[2].device.type = "B";
  for (Node& node : cluster.nodes) node.intra_node.latency_s = 1e-5;
  return cluster;
}

TEST(ApplyCalibrationTest, ScalesTheDevicesOfOneType) {
  Cluster cluster = TwoTypes();
  ApplyCalibration({{"A", Constant::kGemmMaxFraction, 0.5},
                    {"A", Constant::kGemmHalfFlops, 2},
                    {"A", Constant::kAttentionFraction, 0.25},
                    {"A", Constant::kMemoryFraction, 0.75},
                    {"A", Constant::kHostLaunch, 3}},
                   cluster);

  for (const int node : {0, 1}) {
    const DeviceEfficiency& e = cluster.nodes[node].device.efficiency;
    EXPECT_DOUBLE_EQ(e.gemm_max_fraction, 0.25);
    EXPECT_DOUBLE_EQ(e.gemm_half_flops, 2e9);
    EXPECT_DOUBLE_EQ(e.attention_fraction, 0.25);
    EXPECT_DOUBLE_EQ(e.memory_fraction, 0.75);
    EXPECT_DOUBLE_EQ(e.host_launch_s, 3e-5);
  }
  EXPECT_EQ(cluster.nodes[2].device, TwoTypes().nodes[2].device);
}

TEST(ApplyCalibrationTest, ScalesTheLinksInsideItsNodes) {
  Cluster cluster = TwoTypes();
  ApplyCalibration({{"A", Constant::kIntraNodeBandwidth, 0.5},
                    {"A", Constant::kIntraNodeLatency, 2}},
                   cluster);

  const Link want = {.bandwidth_bytes_per_s = 50e9,
                     .pair_bandwidth_bytes_per_s = 50e9,
                     .latency_s = 2e-5};
  EXPECT_EQ(cluster.nodes[1].intra_node, want);
  EXPECT_EQ(cluster.nodes[2].intra_node, TwoTypes().nodes[2].intra_node);
  EXPECT_EQ(cluster.links, TwoTypes().links);
}

TEST(ApplyCalibrationTest, ALinkBetweenTypesIsHalfOfEach) {
  Cluster cluster = TwoTypes();
  ApplyCalibration({{"A", Constant::kInterNodeBandwidth, 0.25}}, cluster);

  // 10 GB/s · 0.25 between nodes of A, 1 GB/s · √0.25 to and from B.
  EXPECT_DOUBLE_EQ(cluster.links[0][0].bandwidth_bytes_per_s, 2.5e9);
  EXPECT_DOUBLE_EQ(cluster.links[0][1].bandwidth_bytes_per_s, 0.5e9);
  EXPECT_DOUBLE_EQ(cluster.links[1][0].pair_bandwidth_bytes_per_s, 0.5e9);
  EXPECT_DOUBLE_EQ(cluster.links[1][1].bandwidth_bytes_per_s, 10e9);
}

TEST(ApplyCalibrationTest, ScalesTheLatencyBetweenNodes) {
  Cluster cluster = TwoTypes();
  for (auto& from : cluster.links) {
    for (Link& link : from) link.latency_s = 1e-5;
  }
  ApplyCalibration({{"B", Constant::kInterNodeLatency, 4}}, cluster);

  EXPECT_DOUBLE_EQ(cluster.links[0][0].latency_s, 1e-5);
  EXPECT_DOUBLE_EQ(cluster.links[1][1].latency_s, 4e-5);
  EXPECT_DOUBLE_EQ(cluster.links[0][1].latency_s, 2e-5);
  EXPECT_DOUBLE_EQ(cluster.links[0][1].bandwidth_bytes_per_s, 1e9);
}

}  // namespace
}  // namespace tangram
