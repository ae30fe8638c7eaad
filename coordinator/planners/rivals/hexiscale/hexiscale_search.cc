#include "coordinator/planners/rivals/hexiscale/hexiscale_search.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "common/base/infinity.h"
#include "coordinator/planners/rivals/hexiscale/hexiscale_costs.h"
#include "coordinator/planners/rivals/hexiscale/hexiscale_layout.h"
#include "coordinator/planners/rivals/hexiscale/numpy_random.h"

namespace tangram {
namespace {

constexpr int kLeastGpusOfPipeline = 5;

// METIS's seeds are numbers of 31 bits, one for each iteration.
constexpr uint32_t kSeeds = 1u << 30;

// The groups of a pipeline are 1 + Binomial(kMoreGroups, kGroupChance).
constexpr int kMoreGroups = 2;
constexpr double kGroupChance = 0.2;

// A share of what is left of the batch is dealt out at once.
constexpr int kBlocks = 4096;

// The samples of a microbatch, and the microbatches of each pipeline, or of
// all.
struct Microbatches {
  int samples = 0;
  int number = 0;
};

Microbatches MicrobatchesOf(const HexiscaleInput& input) {
  const int number =
      std::max(1, input.global_batch_size / input.microbatch_size);
  if (!input.defects.constant_microbatches) {
    return {.samples = input.microbatch_size, .number = number};
  }
  return {.samples = std::max(1, input.microbatch_size / input.first_pipelines),
          .number = number};
}

// Sets the microbatches of all pipelines.
void SetMicrobatches(const HexiscaleInput& input, HexiscalePlan& plan) {
  const Microbatches microbatches = MicrobatchesOf(input);
  plan.microbatch_size = microbatches.samples;
  const int p = static_cast<int>(plan.pipelines.size());
  std::vector<int> shares;
  if (input.defects.constant_microbatches) {
    shares.assign(p, microbatches.number);
  } else if (input.defects.even_shares) {
    for (int r = 0; r < p; ++r) {
      shares.push_back((microbatches.number + p - 1 - r) / p);
    }
  } else {
    shares = ShareMicrobatches(input, plan.pipelines, microbatches.samples,
                               microbatches.number);
  }
  for (int r = 0; r < p; ++r) plan.pipelines[r].num_microbatches = shares[r];
}

// Chooses the numbers of pipelines and groups.
class Numbers {
 public:
  explicit Numbers(const HexiscaleInput& input)
      : random_(input.seed),
        least_(input.num_gpus() / input.model.num_layers + 1),
        most_(std::max(least_, input.num_gpus() / kLeastGpusOfPipeline)),
        pipelines_(std::max(1, input.first_pipelines)) {
    if (input.defects.random_walk) return;
    // Constant microbatches make few pipelines look too good.
    const int first = input.defects.constant_microbatches ? least_ : 1;
    for (int p = first; p <= most_; p += std::max(1, p / 4)) {
      for (int groups = 1; groups <= 1 + kMoreGroups; ++groups) {
        in_turn_.emplace_back(p, groups);
      }
    }
  }

  // Begins the next iteration, and returns its number of pipelines.
  int NextPipelines() {
    const size_t i = next_++;
    groups_ = 0;
    if (i < in_turn_.size()) {
      groups_ = in_turn_[i].second;
      return in_turn_[i].first;
    }
    if (i > 0) pipelines_ += random_.Bit() ? 1 : -1;
    pipelines_ = std::clamp(pipelines_, least_, most_);
    return pipelines_;
  }

  // Returns the number of groups of the next pipeline.
  int NextGroups() {
    if (groups_ > 0) return groups_;
    return 1 + random_.Binomial(kMoreGroups, kGroupChance);
  }

 private:
  NumpyRandom random_;
  const int least_;
  const int most_;
  std::vector<std::pair<int, int>> in_turn_;  // Pipelines and groups.
  size_t next_ = 0;
  int pipelines_;   // The walk's.
  int groups_ = 0;  // In this iteration; 0: random.
};

// The groups of GPUs of each pipeline.
using DividedGpus = std::vector<std::vector<std::vector<int>>>;

DividedGpus DivideAll(const HexiscaleInput& input, Numbers& numbers, int seed) {
  DividedGpus divided;
  for (const std::vector<int>& gpus :
       DivideGpus(input, numbers.NextPipelines(), seed)) {
    divided.push_back(
        DivideIntoGroups(input, gpus, numbers.NextGroups(), seed));
  }
  return divided;
}

// Returns the plan of these groups. Sets the bytes that the fullest GPU lacks.
HexiscalePlan PlanOf(const HexiscaleInput& input, const DividedGpus& divided,
                     StageChoice choice, double& bytes_short) {
  HexiscalePlan plan;
  const Microbatches microbatches = MicrobatchesOf(input);
  for (const auto& groups : divided) {
    plan.pipelines.push_back(LayOutPipeline(
        input, groups, choice, microbatches.samples, microbatches.number));
  }
  SetMicrobatches(input, plan);
  // Pipelines without microbatches are of no use.
  std::erase_if(plan.pipelines, [](const HexiscalePipeline& pipeline) {
    return pipeline.num_microbatches == 0;
  });
  bytes_short = 0;
  for (HexiscalePipeline& pipeline : plan.pipelines) {
    bytes_short =
        std::max(bytes_short, MakeFit(input, plan.microbatch_size, pipeline));
  }
  plan.iteration_s = PlanSeconds(input, plan);
  return plan;
}

// Adds the plans of these groups for one input.
void AddPlans(const HexiscaleInput& input, size_t index,
              const DividedGpus& divided, HexiscalePlans& found) {
  std::vector<StageChoice> choices = {StageChoice::kAlone};
  if (!input.defects.stages_alone) choices.push_back(StageChoice::kInPipeline);
  for (const StageChoice choice : choices) {
    double bytes_short = 0;
    HexiscalePlan plan = PlanOf(input, divided, choice, bytes_short);
    plan.input = index;
    found.bytes_short = std::min(found.bytes_short, bytes_short);
    if (bytes_short > 0 || absl::c_linear_search(found.plans, plan)) continue;
    found.plans.push_back(std::move(plan));
  }
}

}  // namespace

std::vector<int> ShareMicrobatches(
    const HexiscaleInput& input,
    const std::vector<HexiscalePipeline>& pipelines, int samples,
    int num_microbatches) {
  std::vector<int> shares(pipelines.size(), 0);
  std::vector<double> next_s;  // With one more microbatch.
  for (const HexiscalePipeline& pipeline : pipelines) {
    next_s.push_back(PipelineSeconds(input, pipeline, samples, 1));
  }
  // One by one, the first to end takes the next microbatch. Huge batches are
  // dealt out in blocks that become smaller.
  for (int left = num_microbatches; left > 0;) {
    const int block = std::max(1, left / kBlocks);
    left -= block;
    const size_t r =
        std::min_element(next_s.begin(), next_s.end()) - next_s.begin();
    shares[r] += block;
    next_s[r] = PipelineSeconds(input, pipelines[r], samples, shares[r] + 1);
  }
  return shares;
}

HexiscalePlans SearchHexiscale(absl::Span<const HexiscaleInput> inputs,
                               const std::function<bool()>& should_stop) {
  HexiscalePlans found{.bytes_short = kInfinity};
  const HexiscaleInput& first = inputs.front();
  Numbers numbers(first);
  for (int i = 0; i < first.iterations; ++i) {
    if (should_stop()) {
      found.stopped = true;
      return found;
    }
    const DividedGpus divided =
        DivideAll(first, numbers, static_cast<int>(first.seed % kSeeds) + i);
    for (size_t index = 0; index < inputs.size(); ++index) {
      AddPlans(inputs[index], index, divided, found);
    }
  }
  absl::c_stable_sort(found.plans,
                      [](const HexiscalePlan& a, const HexiscalePlan& b) {
                        return a.iteration_s < b.iteration_s;
                      });
  return found;
}

}  // namespace tangram
