#include "common/cost/operator_work.h"

namespace tangram {
namespace {

// Collectives of 2-D tensor parallelism. A first product has h elements of a
// token at its input and f at its output; the second goes back from f to h. For
// n tokens, the forward passes take
//   AG_x(n·h / tp_y) + RS_y(n·f / tp_x)  and
//   AG_y(n·f / tp_x) + RS_x(n·h / tp_y).
// The backward passes are the mirror image. There the kept shard of a product's
// input is also gathered again, beside the product for that input's gradient.
// With tp_y = 1, these are Megatron's collectives with sequence parallelism.
// Our derivation after SUMMA. The vocabulary stays split in one dimension.
struct PlanarSweeps {
  double gather_x_s = 0;
  double reduce_x_s = 0;
  double gather_y_s = 0;
  double reduce_y_s = 0;
  // Bytes of f on tp_x ranks, which are whole during a product.
  double inner_bytes = 0;
};

PlanarSweeps SweepsOf(const LayerScope& scope, double inner) {
  const StageWiring& wiring = scope.environment.wiring;
  const double outer_bytes = BlockBytes(scope) / scope.tp_y;
  const double inner_bytes = scope.tokens * inner * scope.element_bytes;
  return {
      .gather_x_s = AllGatherSeconds(outer_bytes, scope.tp_x_group, wiring),
      .reduce_x_s = ReduceScatterSeconds(outer_bytes, scope.tp_x_group, wiring),
      .gather_y_s = AllGatherSeconds(inner_bytes, scope.tp_y_group, wiring),
      .reduce_y_s = ReduceScatterSeconds(inner_bytes, scope.tp_y_group, wiring),
      .inner_bytes = inner_bytes};
}

}  // namespace

void AddColumnParallelComm(const LayerScope& scope, OperatorWork& work) {
  if (scope.tp_group.size == 1) return;
  const StageWiring& wiring = scope.environment.wiring;
  const double bytes = BlockBytes(scope);
  if (scope.residual_tp == 1) {
    work.backward_comm_s += AllReduceSeconds(bytes, scope.tp_group, wiring);
    return;
  }
  const double gather_s = AllGatherSeconds(bytes, scope.tp_group, wiring);
  work.forward_comm_s += gather_s;
  work.backward_comm_s += ReduceScatterSeconds(bytes, scope.tp_group, wiring);
  // The kept shard of the input is gathered again, beside the product for the
  // input's gradient.
  work.backward_hidden_s += gather_s;
}

void AddRowParallelComm(const LayerScope& scope, OperatorWork& work) {
  if (scope.tp_group.size == 1) return;
  const StageWiring& wiring = scope.environment.wiring;
  const double bytes = BlockBytes(scope);
  if (scope.residual_tp == 1) {
    work.forward_comm_s += AllReduceSeconds(bytes, scope.tp_group, wiring);
    return;
  }
  work.forward_comm_s += ReduceScatterSeconds(bytes, scope.tp_group, wiring);
  work.backward_comm_s += AllGatherSeconds(bytes, scope.tp_group, wiring);
}

void AddFirstProductComm(const LayerScope& scope, double inner,
                         OperatorWork& work) {
  if (scope.tp_y_group.size == 1) return AddColumnParallelComm(scope, work);
  const PlanarSweeps sweeps = SweepsOf(scope, inner);
  work.forward_comm_s += sweeps.gather_x_s + sweeps.reduce_y_s;
  work.backward_comm_s += sweeps.gather_y_s + sweeps.reduce_x_s;
  work.backward_hidden_s += sweeps.gather_x_s;
  work.workspace_bytes = sweeps.inner_bytes;
}

void AddSecondProductComm(const LayerScope& scope, double inner,
                          OperatorWork& work) {
  if (scope.tp_y_group.size == 1) return AddRowParallelComm(scope, work);
  const PlanarSweeps sweeps = SweepsOf(scope, inner);
  work.forward_comm_s += sweeps.gather_y_s + sweeps.reduce_x_s;
  work.backward_comm_s += sweeps.gather_x_s + sweeps.reduce_y_s;
  work.backward_hidden_s += sweeps.gather_y_s;
  work.workspace_bytes = sweeps.inner_bytes;
}

}  // namespace tangram
