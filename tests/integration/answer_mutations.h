#ifndef TANGRAM_TESTS_INTEGRATION_ANSWER_MUTATIONS_H_
#define TANGRAM_TESTS_INTEGRATION_ANSWER_MUTATIONS_H_

#include <cmath>
#include <string>
#include <variant>
#include <vector>

#include "absl/strings/match.h"
#include "common/parallelizer/query.h"
#include "gtest/gtest.h"
#include "tests/testing/builders.h"
#include "tests/testing/number_from_environment.h"

// Questions, and judgements of changed answers to them, for tests that change
// genuine answers at random.
namespace tangram::testing {

inline constexpr const char* kMutatedAdapters[] = {"aceso", "mist"};

inline PairContext MutationContext() {
  IslandSpec island = TestIsland(2, 4);
  island.device.host = {.bandwidth_bytes_per_s = 16e9, .memory_bytes = 256e9};
  // Little memory, so that answers recompute, offload and allow few trailing
  // stages.
  island.device.memory_bytes = 3e9;
  return {.training = TestTraining(32),
          .slices = {MakeSlice({0, 8}, TestModel(6).layers)},
          .islands = {island}};
}

// Returns a query of each kind. `variant` makes different ones.
inline Query MutationQuery(int kind, int variant) {
  const std::vector<ModelSlice> atoms = SliceByLayer(TestModel(6));
  switch (kind % 6) {
    case 0:
      return SliceModelQuery{TestModel(2 + variant)};
    case 1:
      return ConcatenateQuery{atoms[variant], atoms[variant + 1]};
    case 2:
      return ProfileQuery{.pipeline_microbatch_size = 4 << variant};
    default:
      return PairQuery{.pipeline_microbatch_size = 4 << variant,
                       .trailing_stages = kind % 3};
  }
}

// Returns the number of mutations. TANGRAM_MUTATIONS=1000 takes longer.
inline int NumMutations() {
  return NumberFromEnvironment("TANGRAM_MUTATIONS", 150);
}

// Returns a path without its indices: "plans.stages.time_s".
inline std::string FieldOf(const std::string& path) {
  std::string field;
  bool in_index = false;
  for (const char c : path) {
    if (c == '[') in_index = true;
    if (!in_index) field.push_back(c);
    if (c == ']') in_index = false;
  }
  return field;
}

// Returns whether two answers are equal except for rounding of times. The law
// allows that, because searches add layers up in different orders.
inline bool IsSame(Answer found, const Answer& expected) {
  auto* const set = std::get_if<SlicePlanSet>(&found);
  const auto* const other = std::get_if<SlicePlanSet>(&expected);
  if (set == nullptr || other == nullptr ||
      set->plans.size() != other->plans.size()) {
    return found == expected;
  }
  const auto round = [](double& value, double to) {
    if (std::abs(value - to) <= 1e-9 * to) value = to;
  };
  for (size_t i = 0; i < set->plans.size(); ++i) {
    std::vector<SliceStage>& stages = set->plans[i].stages;
    if (stages.size() != other->plans[i].stages.size()) return false;
    for (size_t k = 0; k < stages.size(); ++k) {
      const SliceStage& stage = other->plans[i].stages[k];
      round(stages[k].time_s, stage.time_s);
      round(stages[k].backward_s, stage.backward_s);
      round(stages[k].sync_s, stage.sync_s);
    }
  }
  return found == expected;
}

// Fields that are taken at the worker's word. Nobody else can tell which plans
// a search left out, how hard it searched, or how tight its bound is. docs/adr
// has the decision on checking answers.
inline bool IsTheWorkersWord(const std::string& field) {
  for (const char* prefix :
       {"profile.", "parallelize.plans (dropped)",
        "parallelize.plans (repeated)", "parallelize.plans (swapped)",
        "parallelize.covers_trailing_stages", "parallelize.search_steps",
        "parallelize.truncated", "parallelize.infeasible", "error", "id",
        "waited_s", "search_s",
        // Irrelevant for a stage with one replica.
        "parallelize.plans.stages.plan.parallelism.zero_stage",
        "parallelize.plans.stages.plan.parallelism.sequence_parallel",
        "parallelize.plans.stages.plan.recompute"}) {
    if (absl::StartsWith(field, prefix)) return true;
  }
  return false;
}

}  // namespace tangram::testing

#endif  // TANGRAM_TESTS_INTEGRATION_ANSWER_MUTATIONS_H_
