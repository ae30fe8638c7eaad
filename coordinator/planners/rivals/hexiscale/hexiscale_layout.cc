#include "coordinator/planners/rivals/hexiscale/hexiscale_layout.h"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "common/base/infinity.h"
#include "coordinator/planners/rivals/hexiscale/graph_partition.h"
#include "coordinator/planners/rivals/hexiscale/hexiscale_costs.h"

namespace tangram {
namespace {

constexpr int kMostInMenu = 8;  // GPUs.

// Returns the tp degrees of stages to try on n ≤ kMostInMenu GPUs of a machine.
const std::vector<std::vector<int>>& MenuOf(int n) {
  static const std::vector<std::vector<int>> kMenus[kMostInMenu + 1] = {
      {{}},
      {{1}},
      {{2}, {1, 1}},
      {{2, 1}, {1, 1, 1}},
      {{4}, {2, 2}, {2, 1, 1}},
      {{4, 1}, {2, 2, 1}},
      {{4, 2}, {2, 2, 2}},
      {{4, 2, 1}, {2, 2, 2, 1}},
      {{8}, {4, 4}, {4, 2, 2}},
  };
  return kMenus[n];
}

// Returns the machine of each GPU.
std::vector<int> MachinesOf(const HexiscaleInput& input) {
  std::vector<int> machines;
  for (int m = 0; m < static_cast<int>(input.machines.size()); ++m) {
    machines.insert(machines.end(), input.machines[m].num_gpus, m);
  }
  return machines;
}

// Divides `gpus` into parts. Edges weigh as much as their bandwidth, or its
// inverse.
std::vector<std::vector<int>> Divide(const HexiscaleInput& input,
                                     absl::Span<const int> gpus, int num_parts,
                                     bool by_inverse, int seed) {
  const std::vector<int> machines = MachinesOf(input);
  CompleteGraph graph;
  for (const int gpu : gpus) {
    graph.vertex_weights.push_back(input.machines[machines[gpu]].flops_per_s);
  }
  graph.edge_weight = [&](int a, int b) {
    const double bandwidth =
        input.Bandwidth(machines[gpus[a]], machines[gpus[b]]);
    return by_inverse ? 1 / bandwidth : bandwidth;
  };
  const int most = static_cast<int>(gpus.size());
  const std::vector<int> parts =
      PartitionGraph(graph, std::min(num_parts, most), seed);
  std::vector<std::vector<int>> divided(num_parts);
  for (size_t i = 0; i < gpus.size(); ++i) {
    divided[parts[i]].push_back(gpus[i]);
  }
  std::erase_if(divided, [](const auto& part) { return part.empty(); });
  std::sort(divided.begin(), divided.end());  // By the first GPU.
  return divided;
}

// Returns the mean bandwidth between two groups of GPUs.
double BandwidthBetween(const HexiscaleInput& input,
                        const std::vector<int>& machines,
                        absl::Span<const int> a, absl::Span<const int> b) {
  double sum = 0;
  for (const int i : a) {
    for (const int j : b) sum += input.Bandwidth(machines[i], machines[j]);
  }
  return sum / static_cast<double>(a.size() * b.size());
}

// Returns the sum of bandwidths between groups that follow each other.
double ChainBandwidth(const HexiscaleInput& input,
                      absl::Span<const std::vector<int>> groups,
                      absl::Span<const int> order) {
  const std::vector<int> machines = MachinesOf(input);
  double sum = 0;
  for (size_t i = 0; i + 1 < order.size(); ++i) {
    sum += BandwidthBetween(input, machines, groups[order[i]],
                            groups[order[i + 1]]);
  }
  return sum;
}

// Sets the layers of all stages.
void SetLayers(const HexiscaleInput& input, HexiscalePipeline& pipeline) {
  std::vector<double> memory;
  for (const HexiscaleStage& stage : pipeline.stages) {
    memory.push_back(stage.tp_degree() *
                     input.machines[stage.machine].memory_bytes);
  }
  const std::vector<int> layers = ShareLayers(input.model.num_layers, memory);
  for (size_t s = 0; s < layers.size(); ++s) {
    pipeline.stages[s].num_layers = layers[s];
  }
}

// GPUs of a group in one machine, at most kMostInMenu.
struct Block {
  int machine = 0;
  absl::Span<const int> gpus;
  int choice = 0;  // From the menu.
};

// Whether the blocks are equal but for the names of their GPUs.
bool IsLike(const HexiscaleInput& input, const Block& a, const Block& b) {
  const HexiscaleMachine& x = input.machines[a.machine];
  const HexiscaleMachine& y = input.machines[b.machine];
  return a.gpus.size() == b.gpus.size() && x.flops_per_s == y.flops_per_s &&
         x.memory_bytes == y.memory_bytes && x.bytes_per_s == y.bytes_per_s;
}

int NumChoices(const Block& block) {
  return static_cast<int>(MenuOf(static_cast<int>(block.gpus.size())).size());
}

// Adds the stages of a block. A degree that does not split the model becomes
// several stages.
void AddStages(const HexiscaleInput& input, const Block& block,
               HexiscalePipeline& pipeline) {
  size_t next = 0;
  for (int degree : MenuOf(static_cast<int>(block.gpus.size()))[block.choice]) {
    const int tp = std::min(degree, input.max_tp_degree);
    for (; degree > 0; degree -= tp) {
      const absl::Span<const int> gpus = block.gpus.subspan(next, tp);
      pipeline.stages.push_back(
          {.machine = block.machine, .gpus = {gpus.begin(), gpus.end()}});
      next += tp;
    }
  }
}

// The choices by which a pipeline is made.
class PipelineMaker {
 public:
  PipelineMaker(const HexiscaleInput& input, int samples, int num_microbatches)
      : input_(input), samples_(samples), num_microbatches_(num_microbatches) {}

  HexiscalePipeline Make(absl::Span<const Block> blocks) const {
    HexiscalePipeline pipeline;
    for (const Block& block : blocks) AddStages(input_, block, pipeline);
    SetLayers(input_, pipeline);
    return pipeline;
  }

  double SecondsOf(absl::Span<const Block> blocks) const {
    return PipelineSeconds(input_, Make(blocks), samples_, num_microbatches_);
  }

  // Makes the choice of the block with which it runs the model fastest alone.
  void ChooseAlone(Block& block) const {
    std::vector<double> seconds;
    for (block.choice = 0; block.choice < NumChoices(block); ++block.choice) {
      seconds.push_back(SecondsOf({&block, 1}));
    }
    block.choice = static_cast<int>(
        std::min_element(seconds.begin(), seconds.end()) - seconds.begin());
  }

  // Changes the choices of like blocks together, while the pipeline becomes
  // faster.
  void ChooseTogether(std::vector<Block>& blocks) const {
    double best_s = SecondsOf(blocks);
    for (bool changed = true; changed;) {
      changed = false;
      for (size_t b = 0; b < blocks.size(); ++b) {
        for (int choice = 0; choice < NumChoices(blocks[b]); ++choice) {
          std::vector<Block> others = blocks;
          for (Block& other : others) {
            if (IsLike(input_, other, blocks[b])) other.choice = choice;
          }
          const double seconds = SecondsOf(others);
          if (seconds >= best_s) continue;
          best_s = seconds;
          blocks = std::move(others);
          changed = true;
        }
      }
    }
  }

 private:
  const HexiscaleInput& input_;
  const int samples_;
  const int num_microbatches_;
};

// Returns the blocks of a group, by machine.
std::vector<Block> BlocksOf(const std::vector<int>& machines,
                            absl::Span<const int> group) {
  std::vector<Block> blocks;
  for (size_t begin = 0; begin < group.size();) {
    size_t end = begin;
    while (end < group.size() && end < begin + kMostInMenu &&
           machines[group[end]] == machines[group[begin]]) {
      ++end;
    }
    blocks.push_back({.machine = machines[group[begin]],
                      .gpus = group.subspan(begin, end - begin)});
    begin = end;
  }
  return blocks;
}

// Returns the bytes that a GPU of stage s has left; negative: that it lacks.
double RoomOf(const HexiscaleInput& input, const HexiscalePipeline& pipeline,
              int s, int samples) {
  return input.machines[pipeline.stages[s].machine].memory_bytes -
         StageBytes(input, pipeline, s, samples);
}

}  // namespace

std::vector<std::vector<int>> DivideGpus(const HexiscaleInput& input,
                                         int num_pipelines, int seed) {
  std::vector<int> gpus(input.num_gpus());
  std::iota(gpus.begin(), gpus.end(), 0);
  return Divide(input, gpus, num_pipelines, /*by_inverse=*/true, seed);
}

std::vector<std::vector<int>> DivideIntoGroups(const HexiscaleInput& input,
                                               absl::Span<const int> gpus,
                                               int num_groups, int seed) {
  return Divide(input, gpus, num_groups, /*by_inverse=*/false, seed);
}

std::vector<int> ShareLayers(int num_layers, absl::Span<const double> memory) {
  const int num_stages = static_cast<int>(memory.size());
  const double all = std::accumulate(memory.begin(), memory.end(), 0.0);
  std::vector<int> layers(num_stages, 0);
  int left = num_layers;
  const auto is_full = [&](int s) {
    return (layers[s] + 1.0) / num_layers > memory[s] / all;
  };
  for (bool took = true; took && left > 0;) {
    took = false;
    for (int s = 0; s < num_stages && left > 0; ++s) {
      if (is_full(s)) continue;
      ++layers[s];
      --left;
      took = true;
    }
  }
  std::vector<int> order(num_stages);
  std::iota(order.rbegin(), order.rend(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](int a, int b) { return memory[a] > memory[b]; });
  for (int i = 0; left > 0; i = (i + 1) % num_stages, --left) {
    ++layers[order[i]];
  }
  return layers;
}

// Groups are few, so all orders of them are tried.
HexiscalePipeline LayOutPipeline(const HexiscaleInput& input,
                                 absl::Span<const std::vector<int>> groups,
                                 StageChoice choice, int samples,
                                 int num_microbatches) {
  const PipelineMaker maker(input, samples, num_microbatches);
  const std::vector<int> machines = MachinesOf(input);
  std::vector<std::vector<Block>> blocks_of_groups;
  for (const std::vector<int>& group : groups) {
    blocks_of_groups.push_back(BlocksOf(machines, group));
    for (Block& block : blocks_of_groups.back()) maker.ChooseAlone(block);
  }
  std::vector<int> order(groups.size());
  std::iota(order.begin(), order.end(), 0);
  std::vector<Block> best;
  double least = kInfinity;
  do {
    std::vector<Block> blocks;
    for (const int g : order) {
      blocks.insert(blocks.end(), blocks_of_groups[g].begin(),
                    blocks_of_groups[g].end());
    }
    if (choice == StageChoice::kInPipeline) maker.ChooseTogether(blocks);
    const double measure = input.defects.slow_order
                               ? ChainBandwidth(input, groups, order)
                               : maker.SecondsOf(blocks);
    if (measure >= least) continue;
    least = measure;
    best = std::move(blocks);
  } while (std::next_permutation(order.begin(), order.end()));
  return maker.Make(best);
}

double MakeFit(const HexiscaleInput& input, int samples,
               HexiscalePipeline& pipeline) {
  const int num_stages = static_cast<int>(pipeline.stages.size());
  while (true) {
    int fullest = 0;
    int emptiest = 0;
    std::vector<double> room;
    for (int s = 0; s < num_stages; ++s) {
      room.push_back(RoomOf(input, pipeline, s, samples));
      if (room[s] < room[fullest]) fullest = s;
      if (room[s] > room[emptiest]) emptiest = s;
    }
    if (room[fullest] >= 0) return 0;
    HexiscaleStage& from = pipeline.stages[fullest];
    HexiscaleStage& to = pipeline.stages[emptiest];
    if (from.num_layers == 0) return -room[fullest];
    --from.num_layers;
    ++to.num_layers;
    // One more layer must fit there, or the next move would be back.
    if (RoomOf(input, pipeline, emptiest, samples) >= 0) continue;
    ++from.num_layers;
    --to.num_layers;
    return -room[fullest];
  }
}

}  // namespace tangram
