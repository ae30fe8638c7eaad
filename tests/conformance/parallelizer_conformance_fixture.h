#ifndef TANGRAM_TESTS_CONFORMANCE_PARALLELIZER_CONFORMANCE_FIXTURE_H_
#define TANGRAM_TESTS_CONFORMANCE_PARALLELIZER_CONFORMANCE_FIXTURE_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/algorithm/container.h"
#include "common/base/infinity.h"
#include "common/cost/stage_cost.h"
#include "common/domain/closed_form.h"
#include "common/parallelizer/parallelizer.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/builders.h"
#include "tests/testing/status_matchers.h"

namespace tangram::testing {

struct ConformanceSubject {
  std::string name;  // Name of the test: letters and digits.
  std::function<std::unique_ptr<Parallelizer>()> create;
  // Whether it rejects all malformed arguments. Bare adapters rely on a
  // ValidatingParallelizer for that.
  bool validates_arguments = true;
  // The reason why it cannot be created here; its cases are then skipped.
  std::string missing;
};

inline std::string ConformanceName(
    const ::testing::TestParamInfo<ConformanceSubject>& test) {
  return test.param.name;
}

// Prints a failing case by its name.
inline void PrintTo(const ConformanceSubject& subject, std::ostream* out) {
  *out << subject.name;
}

class ParallelizerConformanceTest
    : public ::testing::TestWithParam<ConformanceSubject> {
 protected:
  void SetUp() override {
    if (!GetParam().missing.empty()) GTEST_SKIP() << GetParam().missing;
    parallelizer_ = GetParam().create();
  }

  static constexpr int kGlobalBatch = 32;
  static constexpr int64_t kSearchSteps = 200;

  struct Query {
    std::string name;
    ModelSlice slice;
    IslandSpec island;
    ParallelizeOptions options;
  };

  const Parallelizer& parallelizer() const { return *parallelizer_; }
  ParallelizerFeatures features() const { return parallelizer_->features(); }

  static ParallelizeOptions Options(int microbatch, int trailing_stages = 0) {
    return {.training = TestTraining(kGlobalBatch),
            .pipeline_microbatch_size = microbatch,
            .trailing_stages = trailing_stages,
            .max_search_steps = kSearchSteps};
  }

  static ProfileOptions ProfileOptionsOf(const ParallelizeOptions& options) {
    return {.training = options.training,
            .pipeline_microbatch_size = options.pipeline_microbatch_size};
  }

  static ModelSlice SliceOf(const ModelSpec& model, int begin, int end) {
    return MakeSlice({begin, end},
                     absl::MakeSpan(model.layers).subspan(begin, end - begin));
  }

  static IslandSpec Island(int num_nodes, int gpus_per_node,
                           double memory_bytes) {
    IslandSpec island = TestIsland(num_nodes, gpus_per_node);
    // Launches, reserve and fragmentation as on a real device.
    island.device.efficiency = DeviceEfficiency();
    island.device.memory_bytes = memory_bytes;
    return island;
  }

  // Returns an island whose hosts have room: 32 GB for each GPU at 20 GB/s.
  static IslandSpec IslandWithHosts(int num_nodes, int gpus_per_node,
                                    double memory_bytes) {
    IslandSpec island = Island(num_nodes, gpus_per_node, memory_bytes);
    island.device.host = {.bandwidth_bytes_per_s = 20e9, .memory_bytes = 32e9};
    return island;
  }

  // Returns a model half of whose parameters are the matrix of both ends.
  static ModelSpec TiedModel() {
    ModelSpec model = TestModel(4);
    for (LayerSpec* end : {&model.layers.front(), &model.layers.back()}) {
      end->vocab_size = 50000;
      end->tied_embeddings = true;
    }
    return model;
  }

  static double ClosedFormOf(const Query& query, const SlicePlan& plan) {
    return ClosedFormSeconds(plan.latency_s(), plan.slowest_stage_s(),
                             query.options.training.global_batch_size /
                                 query.options.pipeline_microbatch_size);
  }

  // Slices with and without embedding and head, one node and several, ample
  // and scarce memory, with and without hosts, small and large microbatches.
  std::vector<Query> Queries() const {
    const ModelSpec model = TestModel(8);
    const ModelSpec tied = TiedModel();
    std::vector<Query> queries = {
        {"WholeModel", SliceOf(model, 0, 10), Island(2, 4, 16e9), Options(8)},
        {"OneLayer", SliceOf(model, 1, 2), Island(1, 4, 16e9), Options(4)},
        {"OneGpu", SliceOf(model, 5, 10), Island(1, 1, 16e9), Options(1, 2)},
        {"OneSample", SliceOf(model, 0, 5), Island(2, 2, 16e9), Options(1)},
        {"Trailing", SliceOf(model, 2, 9), Island(2, 2, 4e9), Options(4, 5)},
        {"Scarce", SliceOf(model, 0, 10), Island(1, 4, 2.2e9), Options(8, 1)},
        // 16 bytes for each of 102 million parameters, and 0.6 GB beside them.
        {"TiedOneGpu", SliceOf(tied, 0, 6), Island(1, 1, 3.6e9), Options(1)},
        {"TiedStages", SliceOf(tied, 0, 6), Island(1, 4, 3.6e9), Options(4)},
        {"Hosts", SliceOf(model, 2, 9), IslandWithHosts(1, 1, 1.8e9),
         Options(1, 1)},
        {"WholeBatch", SliceOf(model, 0, 5), Island(1, 8, 8e9),
         Options(kGlobalBatch, 3)}};
    if (features().moe_models) {
      queries.push_back({"Moe", SliceOf(TestMoeModel(4), 0, 6),
                         Island(2, 4, 8e9), Options(8)});
    }
    return queries;
  }

  SlicePlanSet Ask(const ModelSlice& slice, const IslandSpec& island,
                   const ParallelizeOptions& options) const {
    const auto answer = parallelizer().Parallelize(slice, island, options);
    EXPECT_THAT(answer, IsOk());
    return answer.ok() ? *answer : SlicePlanSet();
  }
  SlicePlanSet Ask(const Query& query) const {
    return Ask(query.slice, query.island, query.options);
  }

  static StageMemory MemoryOf(const Query& query, const StagePlan& stage) {
    const StageEnvironment environment = {
        .device = query.island.device,
        .training = query.options.training,
        .wiring = WiringOf(query.island, stage.parallelism.num_gpus()),
        .pipeline_microbatch_size = query.options.pipeline_microbatch_size};
    return EstimateStage(query.slice.runs, stage, environment).memory;
  }

  // Returns the microbatches that stage `i` holds with `trailing` stages behind
  // the slice.
  static int InFlight(const Query& query, const SlicePlan& plan, int i,
                      int trailing) {
    return InFlightMicrobatches(plan.num_stages() - 1 - i + trailing,
                                query.options.training.global_batch_size /
                                    query.options.pipeline_microbatch_size);
  }

  static bool AnyStage(const SlicePlanSet& answer,
                       const std::function<bool(const StagePlan&)>& holds) {
    return absl::c_any_of(answer.plans, [&](const SlicePlan& plan) {
      return absl::c_any_of(plan.stages, [&](const SliceStage& stage) {
        return holds(stage.plan);
      });
    });
  }

 private:
  std::unique_ptr<Parallelizer> parallelizer_;
};

}  // namespace tangram::testing

#endif  // TANGRAM_TESTS_CONFORMANCE_PARALLELIZER_CONFORMANCE_FIXTURE_H_
