#include "tests/parity/aceso_search.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "common/cost/measured_layer.h"
#include "common/cost/operator_cost.h"
#include "worker/adapters/aceso/aceso_reassign.h"
#include "worker/adapters/aceso/aceso_refine.h"
#include "worker/adapters/aceso/aceso_search.h"
#include "worker/adapters/aceso/aceso_start.h"
#include "worker/adapters/aceso/aceso_tables.h"

namespace tangram::aceso::reference {
namespace {

constexpr double kMb = 1 << 20;
constexpr int kSequence = 2048;
constexpr int kMicrobatches[] = {1, 2, 4, 8};
// The two formulas disagree on memory by some percent in either direction. So
// our search gets several memory sizes around the limit. Aceso's formula
// decides whether a plan fits.
constexpr double kMemoryGuesses[] = {0.80, 0.85, 0.90, 0.95, 1.0, 1.05, 1.10};
// The payer of a transfer decides the cuts if little else is left to choose.
constexpr double kMemoryGuessesForBothEnds[] = {0.90, 1.0};

// Upstream's operators [begin, end) for each of ours.
struct OpRange {
  int begin = 0;
  int end = 0;
};

std::vector<OpRange> RangesOf(const LayerSpec& layer) {
  switch (layer.kind) {
    case LayerKind::kEmbedding:
      return {{0, 1}};
    case LayerKind::kHead:
      return {{14, 15}, {15, 16}};
    case LayerKind::kTransformer:
      return {{1, 2},  {2, 3},   {3, 7},   {7, 8},   {8, 9},
              {9, 10}, {10, 11}, {11, 12}, {12, 13}, {13, 14}};
  }
  return {};
}

// Returns the number of upstream's operators before a position of our layout.
int OpsBefore(const SliceLayout& layout, int position) {
  if (position == 0) return 0;
  const LayoutOperator& last = layout.at(position - 1);
  const LayerSpec& layer = layout.kinds()[last.kind];
  const int ops = RangesOf(layer)[last.index].end;
  switch (layer.kind) {
    case LayerKind::kEmbedding:
      return ops;
    case LayerKind::kTransformer:
      return ops + kOpsOfLayer * (last.layer - 1);
    case LayerKind::kHead:
      break;
  }
  // `ops` already includes one layer.
  return ops + kOpsOfLayer * (last.layer - 2);
}

ScoredPlan PlanOf(const CostTables& tables, const Configuration& found) {
  ScoredPlan plan = {.microbatch = tables.options().pipeline_microbatch_size};
  for (const ConfiguredStage& stage : found.stages) {
    const Degrees& degrees = tables.space().choices()[stage.shape.degrees];
    const int num_ops = OpsBefore(tables.layout(), stage.shape.end) -
                        OpsBefore(tables.layout(), stage.shape.begin);
    plan.stages.push_back({.num_ops = num_ops,
                           .tp = degrees.tp_degree,
                           .dp = degrees.dp_degree,
                           .recomputed = std::vector<bool>(num_ops, false)});
  }
  return plan;
}

// Aceso has no stage that spans nodes.
bool LiesInNodes(const Setting& setting, const ScoredPlan& plan) {
  return std::all_of(plan.stages.begin(), plan.stages.end(),
                     [&](const ScoredStage& stage) {
                       return stage.num_gpus() <= setting.gpus_per_node;
                     });
}

// Returns a collective that takes no time, because the operators' times include
// it or Aceso leaves it out.
MeasuredCollective FreeCollective(CollectiveOp op, int ranks) {
  constexpr double kNoTimeS = 1e-15;
  return {.op = op,
          .ranks = ranks,
          .points = {{.bytes = 1, .seconds = kNoTimeS},
                     {.bytes = 1e15, .seconds = kNoTimeS}}};
}

MeasuredCollective Transfers(const std::vector<double>& mb_per_us, int nodes) {
  MeasuredCollective table = {
      .op = CollectiveOp::kPointToPoint, .ranks = 2, .nodes = nodes};
  // Aceso uses the bandwidth of half the size.
  double mb = 2;
  for (const double rate : mb_per_us) {
    table.points.push_back({.bytes = mb * kMb, .seconds = mb / rate * 1e-6});
    mb *= 2;
  }
  return table;
}

ModelSlice ModelOf(const Setting& setting, const ModelWidth& width) {
  constexpr int kVocabulary = 51200;
  const LayerSpec embedding = {.kind = LayerKind::kEmbedding,
                               .hidden_size = width.hidden_size,
                               .vocab_size = kVocabulary,
                               .max_position_embeddings = kSequence};
  const int head_dim = width.hidden_size / width.num_heads;
  const LayerSpec transformer = {.kind = LayerKind::kTransformer,
                                 .hidden_size = width.hidden_size,
                                 .num_heads = width.num_heads,
                                 .num_kv_heads = width.num_heads,
                                 .head_dim = head_dim,
                                 .value_head_dim = head_dim,
                                 .ffn_hidden_size = 4 * width.hidden_size};
  const LayerSpec head = {.kind = LayerKind::kHead,
                          .hidden_size = width.hidden_size,
                          .vocab_size = kVocabulary};
  std::vector<LayerSpec> layers = {embedding};
  layers.insert(layers.end(), setting.num_layers, transformer);
  layers.push_back(head);
  return MakeSlice({.begin = 0, .end = setting.num_layers + 2}, layers);
}

// Returns an island with the measured links and collectives. The other values
// do not matter, because every operator is measured at every degree.
IslandSpec IslandOf(const Setting& setting, int num_gpus) {
  const double intra = setting.intra_node_mb_per_us.back() * kMb * 1e6;
  const double inter = setting.inter_node_mb_per_us.back() * kMb * 1e6;
  IslandSpec island = {
      .num_nodes = num_gpus / setting.gpus_per_node,
      .gpus_per_node = setting.gpus_per_node,
      .intra_node = {.bandwidth_bytes_per_s = intra,
                     .pair_bandwidth_bytes_per_s = intra},
      .inter_node = {.bandwidth_bytes_per_s = inter * setting.gpus_per_node,
                     .pair_bandwidth_bytes_per_s = inter}};
  DeviceSpec& device = island.device;
  device.type = "V100-32";
  device.peak_flops = {.fp32 = 15e12, .fp16 = 125e12};
  device.memory_bandwidth_bytes_per_s = 900e9;
  device.efficiency.reserved_bytes = 0;
  device.efficiency.fragmentation = 0;
  std::vector<MeasuredCollective> collectives;
  for (const CollectiveOp op :
       {CollectiveOp::kAllReduce, CollectiveOp::kAllGather,
        CollectiveOp::kReduceScatter}) {
    for (const int ranks : {2, 4, 8}) {
      collectives.push_back(FreeCollective(op, ranks));
    }
  }
  collectives.push_back(Transfers(setting.intra_node_mb_per_us, 1));
  collectives.push_back(Transfers(setting.inter_node_mb_per_us, 2));
  std::sort(collectives.begin(), collectives.end(),
            [](const auto& a, const auto& b) { return ComesBefore(a, b); });
  device.collectives = std::move(collectives);
  return island;
}

}  // namespace

Question::Question(const Setting& setting, const ModelWidth& width,
                   int num_gpus)
    : setting_(setting),
      training_({.global_batch_size = setting.global_batch,
                 .sequence_length = kSequence,
                 .flash_attention = false}),
      slice_(ModelOf(setting, width)),
      island_(IslandOf(setting, num_gpus)) {
  std::vector<MeasuredOperator> operators;
  std::vector<MeasuredLayer> layers;
  for (const LayerRun& run : slice_.runs) {
    AddMeasurements(run.layer, operators, layers);
  }
  std::sort(operators.begin(), operators.end(),
            [](const MeasuredOperator& a, const MeasuredOperator& b) {
              return a.key < b.key;
            });
  std::sort(layers.begin(), layers.end(),
            [](const auto& a, const auto& b) { return ComesBefore(a, b); });
  island_.device.measured = std::move(operators);
  island_.device.measured_layers = std::move(layers);
}

void Question::AddMeasurements(const LayerSpec& layer,
                               std::vector<MeasuredOperator>& operators,
                               std::vector<MeasuredLayer>& layers) const {
  const std::vector<OpRange> ranges = RangesOf(layer);
  for (const auto& [shape, table] : setting_.operators) {
    const auto [samples, tp] = shape;
    const StageParallelism parallelism = {.tp_degree = tp};
    MeasuredLayer whole = {
        .key = LayerMeasurementKey(layer, parallelism, training_, false),
        .samples = samples,
        .collectives_included = true};
    double kept_mb = 0;
    for (size_t i = 0; i < ranges.size(); ++i) {
      MeasuredOperator op = {.key = MeasurementKey(layer, OperatorsOf(layer)[i],
                                                   parallelism, samples,
                                                   training_)};
      for (int k = ranges[i].begin; k < ranges[i].end; ++k) {
        op.forward_s += 1e-6 * table[k].forward_us;
        op.backward_s += 1e-6 * table[k].backward_us;
        if (k != kSoftmax) {
          kept_mb += (k == kDropout ? 1.5 : 1) * table[k].activation_mb;
        }
      }
      operators.push_back(op);
      whole.forward_s += op.forward_s;
      whole.backward_s += op.backward_s;
    }
    whole.saved_bytes = kept_mb * kMb;
    layers.push_back(whole);
  }
}

std::map<int, ScoredPlan> Question::Ask(const std::set<int>& stage_counts,
                                        int64_t max_steps) const {
  std::map<int, ScoredPlan> fastest;
  for (const double guess : kMemoryGuesses) {
    for (const int microbatch : kMicrobatches) {
      const double memory_bytes = guess * setting_.memory_limit_mb * kMb;
      Search(TransferPayer::kSender, microbatch, memory_bytes, stage_counts,
             max_steps, fastest);
    }
  }
  // Only the sender knows links between nodes.
  if (island_.num_nodes > 1) return fastest;
  for (const double guess : kMemoryGuessesForBothEnds) {
    for (const int microbatch : kMicrobatches) {
      const double memory_bytes = guess * setting_.memory_limit_mb * kMb;
      Search(TransferPayer::kBothEnds, microbatch, memory_bytes, stage_counts,
             max_steps, fastest);
    }
  }
  return fastest;
}

void Question::Search(TransferPayer payer, int microbatch, double memory_bytes,
                      const std::set<int>& stage_counts, int64_t max_steps,
                      std::map<int, ScoredPlan>& fastest) const {
  const ParallelizeOptions options = {.training = training_,
                                      .pipeline_microbatch_size = microbatch};
  IslandSpec island = island_;
  island.device.memory_bytes = memory_bytes;
  const SliceLayout layout(slice_);
  const DegreeSpace space(layout, island, microbatch);
  CostTables tables(layout, space, island, options, payer);
  const auto consider = [&](const Configuration& found) {
    if (found.bytes_short > 0) return;
    ScoredPlan plan = PlanOf(tables, found);
    if (!LiesInNodes(setting_, plan)) return;
    ChooseRecompute(setting_, plan);
    const Score score = ScoreOf(setting_, plan);
    if (score.max_memory_mb > setting_.memory_limit_mb) return;
    const auto [it, added] = fastest.try_emplace(found.num_stages(), plan);
    if (!added &&
        score.iteration_ms < ScoreOf(setting_, it->second).iteration_ms) {
      it->second = std::move(plan);
    }
  };
  for (const int num_stages : stage_counts) {
    const auto start = StartConfiguration(tables, num_stages);
    if (!start) continue;
    SearchResult found = aceso::Search(tables, *start, max_steps);
    consider(found.best);
    if (ReassignGpus(tables, std::numeric_limits<double>::infinity(),
                     found.best))
      consider(found.best);
    if (Refine(tables, found.best)) consider(found.best);
    for (const Configuration& other : found.others) consider(other);
  }
}

}  // namespace tangram::aceso::reference
