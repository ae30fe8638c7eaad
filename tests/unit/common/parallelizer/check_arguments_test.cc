#include "common/parallelizer/check_arguments.h"

#include <cmath>
#include <functional>
#include <limits>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/builders.h"
#include "tests/testing/status_matchers.h"

namespace tangram {
namespace {

using ::tangram::testing::IsOk;
using ::tangram::testing::kBadInput;
using ::tangram::testing::StatusIs;
using ::tangram::testing::TestIsland;
using ::tangram::testing::TestModel;
using ::tangram::testing::TestMoeModel;
using ::tangram::testing::TestTraining;

ModelSlice WholeModel() { return MakeSlice({0, 4}, TestModel(2).layers); }

TEST(CheckGoodSliceTest, AcceptsAtomsAndJoinedSlices) {
  EXPECT_THAT(CheckSlice(WholeModel(), "slice"), IsOk());
  for (const ModelSlice& atom : SliceByLayer(TestMoeModel(2))) {
    EXPECT_THAT(CheckSlice(atom, "slice"), IsOk());
  }
}

struct SliceCase {
  std::string name;
  std::function<void(ModelSlice&)> spoil;
  std::string message;
};

class CheckSliceTest : public ::testing::TestWithParam<SliceCase> {};

TEST_P(CheckSliceTest, NamesFieldValueAndExpectation) {
  ModelSlice slice = WholeModel();
  GetParam().spoil(slice);

  EXPECT_THAT(CheckSlice(slice, "slice"),
              StatusIs(kBadInput, GetParam().message));
}

INSTANTIATE_TEST_SUITE_P(
    Bad, CheckSliceTest,
    ::testing::Values(
        SliceCase{"NoAtoms",
                  [](ModelSlice& s) {
                    s.atoms = {4, 4};
                  },
                  "slice.atoms: [4, 4); expected a non-empty range from 0 on"},
        SliceCase{"NegativeAtom",
                  [](ModelSlice& s) {
                    s.atoms = {-1, 4};
                  },
                  "slice.atoms: [-1, 4); expected a non-empty range from 0 on"},
        SliceCase{"NoRuns", [](ModelSlice& s) { s.runs.clear(); },
                  "slice.runs: none; expected at least one"},
        SliceCase{"ZeroCount", [](ModelSlice& s) { s.runs[1].count = 0; },
                  "slice.runs[1].count: 0; expected a positive integer"},
        SliceCase{"TooManyLayers",
                  [](ModelSlice& s) {
                    s.runs[0].count = s.runs[1].count =
                        std::numeric_limits<int>::max();
                  },
                  "slice.runs: 4294967295 layers; expected fewer"},
        SliceCase{"NotCanonical",
                  [](ModelSlice& s) { s.runs.push_back(s.runs.back()); },
                  "slice.runs: neighbouring runs of equal layers; expected "
                  "them joined"},
        SliceCase{"BadLayer",
                  [](ModelSlice& s) { s.runs[1].layer.num_heads = 0; },
                  "slice.runs[1].layer.num_heads: 0; expected a positive "
                  "integer"},
        SliceCase{"BadHead",
                  [](ModelSlice& s) { s.runs[2].layer.vocab_size = -5; },
                  "slice.runs[2].layer.vocab_size: -5; expected a positive "
                  "integer"}),
    [](const auto& test) { return test.param.name; });

TEST(CheckSliceFingerprintTest, MustBeThatOfTheRuns) {
  ModelSlice slice = WholeModel();
  slice.fingerprint += 1;

  EXPECT_THAT(CheckSlice(slice, "tail"),
              StatusIs(kBadInput, ::testing::HasSubstr("tail.fingerprint: ")));
}

TEST(CheckModelTest, NamesTheLayer) {
  ModelSpec model = TestMoeModel(3);
  EXPECT_THAT(CheckModel(model, "model"), IsOk());

  model.layers[2].experts_per_token = 9;
  EXPECT_THAT(CheckModel(model, "model"),
              StatusIs(kBadInput,
                       "model.layers[2].experts_per_token: 9; expected at most "
                       "num_experts, 8"));
  EXPECT_THAT(CheckModel(ModelSpec(), "model"),
              StatusIs(kBadInput, "model.layers: none; expected at least one"));
}

TEST(CheckConcatenationTest, TailStartsWhereHeadEnds) {
  const std::vector<ModelSlice> atoms = SliceByLayer(TestModel(2));

  EXPECT_THAT(CheckConcatenation(atoms[0], atoms[1]), IsOk());
  EXPECT_THAT(
      CheckConcatenation(atoms[0], atoms[2]),
      StatusIs(kBadInput, "tail.atoms.begin: 2; expected 1, the end of head"));
}

struct IslandCase {
  std::string name;
  std::function<void(IslandSpec&)> spoil;
  std::string message;
};

class CheckIslandSpecTest : public ::testing::TestWithParam<IslandCase> {};

TEST_P(CheckIslandSpecTest, NamesFieldValueAndExpectation) {
  IslandSpec island = TestIsland(2, 4);
  ASSERT_THAT(CheckIslandSpec(island, "island"), IsOk());
  GetParam().spoil(island);

  EXPECT_THAT(CheckIslandSpec(island, "island"),
              StatusIs(kBadInput, GetParam().message));
}

INSTANTIATE_TEST_SUITE_P(
    Bad, CheckIslandSpecTest,
    ::testing::Values(
        IslandCase{"NoNodes", [](IslandSpec& i) { i.num_nodes = 0; },
                   "island.num_nodes: 0; expected a positive integer"},
        IslandCase{"TooManyGpus",
                   [](IslandSpec& i) {
                     i.num_nodes = std::numeric_limits<int>::max();
                   },
                   "island.num_nodes: 2147483647; expected fewer"},
        IslandCase{"NoMemory", [](IslandSpec& i) { i.device.memory_bytes = 0; },
                   "island.device.memory_bytes: 0; expected a positive number"},
        IslandCase{"NoCompute", [](IslandSpec& i) { i.device.peak_flops = {}; },
                   "island.device.peak_flops: 0 in all precisions; expected a "
                   "positive peak in one of them"},
        IslandCase{
            "NegativeReserve",
            [](IslandSpec& i) { i.device.efficiency.reserved_bytes = -1; },
            "island.device.efficiency.reserved_bytes: -1; expected a "
            "number that is not negative"},
        IslandCase{"InfiniteBandwidth",
                   [](IslandSpec& i) {
                     i.intra_node.bandwidth_bytes_per_s =
                         std::numeric_limits<double>::infinity();
                   },
                   "island.intra_node.bandwidth_bytes_per_s: inf; expected a "
                   "positive number"},
        IslandCase{"NoNetwork", [](IslandSpec& i) { i.inter_node = {}; },
                   "island.inter_node.bandwidth_bytes_per_s: 0; expected a "
                   "positive number"}),
    [](const auto& test) { return test.param.name; });

TEST(CheckGoodIslandSpecTest, LinksThatNothingUsesMayBeUnset) {
  IslandSpec island = TestIsland(1, 1);
  island.intra_node = {};
  island.inter_node = {};

  EXPECT_THAT(CheckIslandSpec(island, "island"), IsOk());
}

struct OptionsCase {
  std::string name;
  std::function<void(ParallelizeOptions&)> spoil;
  std::string message;
};

class CheckParallelizeOptionsTest
    : public ::testing::TestWithParam<OptionsCase> {};

TEST_P(CheckParallelizeOptionsTest, NamesFieldValueAndExpectation) {
  ParallelizeOptions options{.training = TestTraining(32),
                             .pipeline_microbatch_size = 4};
  ASSERT_THAT(CheckParallelizeOptions(options, "options"), IsOk());
  GetParam().spoil(options);

  EXPECT_THAT(CheckParallelizeOptions(options, "options"),
              StatusIs(kBadInput, GetParam().message));
}

INSTANTIATE_TEST_SUITE_P(
    Bad, CheckParallelizeOptionsTest,
    ::testing::Values(
        OptionsCase{
            "NoBatch",
            [](ParallelizeOptions& o) { o.training.global_batch_size = 0; },
            "options.training.global_batch_size: 0; expected a "
            "positive integer"},
        OptionsCase{
            "NoSequence",
            [](ParallelizeOptions& o) { o.training.sequence_length = 0; },
            "options.training.sequence_length: 0; expected a positive "
            "integer"},
        OptionsCase{
            "NoMicrobatch",
            [](ParallelizeOptions& o) { o.pipeline_microbatch_size = 0; },
            "options.pipeline_microbatch_size: 0; expected a positive "
            "integer"},
        OptionsCase{
            "MicrobatchDoesNotDivide",
            [](ParallelizeOptions& o) { o.pipeline_microbatch_size = 5; },
            "options.pipeline_microbatch_size: 5; expected a divisor "
            "of the global batch size, 32"},
        OptionsCase{"NegativeTrailing",
                    [](ParallelizeOptions& o) { o.trailing_stages = -1; },
                    "options.trailing_stages: -1; expected 0 or a positive "
                    "integer"},
        OptionsCase{"NegativeSteps",
                    [](ParallelizeOptions& o) { o.max_search_steps = -1; },
                    "options.max_search_steps: -1; expected 0 or a positive "
                    "integer"},
        OptionsCase{"NoTimeAllowed",
                    [](ParallelizeOptions& o) { o.limit_s = 0; },
                    "options.limit_s: 0; expected a positive number of "
                    "seconds"},
        OptionsCase{"LimitIsNotANumber",
                    [](ParallelizeOptions& o) { o.limit_s = std::nan(""); },
                    "options.limit_s: nan; expected a positive number of "
                    "seconds"}),
    [](const auto& test) { return test.param.name; });

TEST(CheckProfileOptionsTest, ChecksTheMicrobatch) {
  ProfileOptions options{.training = TestTraining(32),
                         .pipeline_microbatch_size = 8};
  EXPECT_THAT(CheckProfileOptions(options, "options"), IsOk());

  options.pipeline_microbatch_size = 64;
  EXPECT_THAT(CheckProfileOptions(options, "options"),
              StatusIs(kBadInput,
                       "options.pipeline_microbatch_size: 64; expected a "
                       "divisor of the global batch size, 32"));
}

}  // namespace
}  // namespace tangram
