#include "common/sim/unlike_ring.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>

#include "common/cost/collectives.h"

namespace tangram {
namespace {

// No model has more parameters, and the product of two such numbers of pieces
// is checked before it is made.
constexpr int64_t kMaxPieces = int64_t{1} << 60;

// Returns min(lcm(a, b), kMaxPieces).
int64_t CommonPieces(int64_t a, int64_t b) {
  const int64_t step = a / std::gcd(a, b);
  return step > kMaxPieces / b ? kMaxPieces : step * b;
}

}  // namespace

RingMember MemberOf(const Cluster& cluster, const PlacedStage& stage) {
  RingMember member = {.gpus = PathEndOf(cluster, stage.gpus),
                       .fewest_shards = stage.plan.parallelism.tp_degree,
                       .pieces = stage.plan.parallelism.tp_degree};
  for (size_t g = 0; g < stage.mixed.groups.size(); ++g) {
    const int64_t shards = stage.mixed.groups[g].parallelism.tp_degree;
    member.fewest_shards =
        g == 0 ? shards : std::min(member.fewest_shards, shards);
    member.pieces = g == 0 ? shards : CommonPieces(member.pieces, shards);
  }
  return member;
}

RingMember MemberOf(const Cluster& cluster, const StagePart& part) {
  return {.gpus = PathEndOf(cluster, part.gpus),
          .fewest_shards = part.parallelism.tp_degree,
          .pieces = part.parallelism.tp_degree};
}

RingTraffic AllReduceTraffic(double parameters, double parameter_bytes,
                             int num_members) {
  const int steps = num_members - 1;
  return {.parameters = parameters,
          .parameter_bytes = parameter_bytes,
          .rate_share = 2.0 * steps / num_members,
          .steps = 2 * steps};
}

double RingSeconds(const Cluster& cluster,
                   absl::Span<const RingMember* const> members,
                   const RingTraffic& traffic) {
  if (traffic.parameters <= 0) return 0;
  int64_t pieces = 1;
  int64_t fewest_shards = members[0]->fewest_shards;
  for (const RingMember* member : members) {
    pieces = CommonPieces(pieces, member->pieces);
    fewest_shards = std::min(fewest_shards, member->fewest_shards);
  }
  // Whole rings: a GPU with the fewest shards is in at least one.
  const double rings = std::max(
      1.0,
      std::floor(std::min(static_cast<double>(pieces), traffic.parameters) /
                 static_cast<double>(fewest_shards)));
  const double messages = traffic.steps * rings;
  const double bytes = traffic.parameters * traffic.parameter_bytes;
  double slowest_s = 0;
  for (size_t r = 0; r < members.size(); ++r) {
    const TransferPath path = PathBetween(
        cluster, members[r]->gpus, members[(r + 1) % members.size()]->gpus);
    // TransferSeconds counts one latency.
    const double hop_s = TransferSeconds(traffic.rate_share * bytes, path) +
                         (messages - 1) * path.link.latency_s;
    slowest_s = std::max(slowest_s, hop_s);
  }
  return slowest_s;
}

double ParametersOf(const ModelSpec& model, OperatorCut begin,
                    OperatorCut end) {
  const bool has_tied_matrix =
      begin == OperatorCut{} && model.layers.front().tied_embeddings;
  double parameters = 0;
  for (int layer = begin.layer; layer < model.num_layers(); ++layer) {
    const absl::Span<const OpKind> ops = OperatorsOf(model.layers[layer]);
    for (int op = 0; op < static_cast<int>(ops.size()); ++op) {
      const OperatorCut cut = {layer, op};
      if (cut >= end) return parameters;
      if (cut < begin) continue;
      if (ops[op] == OpKind::kHead && has_tied_matrix) continue;
      parameters += ParameterCount(model.layers[layer], ops[op]);
    }
  }
  return parameters;
}

}  // namespace tangram
