#include "common/parallelizer/check_answer.h"
#include "common/wire/parallelizer_wire.h"
#include "common/wire/worker_pool_wire.h"
#include "formats/config/cluster_file.h"
#include "formats/config/model_file.h"
#include "tangram/v1/worker_pool_service.pb.h"
#include "tests/fuzz/fuzz_checks.h"

namespace tangram {
namespace {

// The first two layers of a model on two GPUs of a node.
PairContext Context() {
  const Cluster cluster = *ParseCluster(
      "name: c\ngroups:\n  - {name: t4, gpu: T4, nodes: 1, gpus_per_node: 2}\n",
      "c.yaml");
  const ModelSpec model = *LoadModel("gpt3-1.3b", {.num_layers = 2});
  const Node& node = cluster.nodes[0];
  return {.training = {.global_batch_size = 8, .sequence_length = 128},
          .slices = {MakeSlice({0, 2}, {model.layers[0], model.layers[1]})},
          .islands = {{.device = node.device,
                       .num_nodes = 1,
                       .gpus_per_node = 2,
                       .intra_node = node.intra_node,
                       .inter_node = node.intra_node}}};
}

// Any answer is judged, and a refusal says why.
void CheckBorder(const Answer& answer) {
  static const PairContext& context = *new PairContext(Context());
  for (const Query& query : {Query(ProfileQuery{.pipeline_microbatch_size = 2}),
                             Query(PairQuery{.pipeline_microbatch_size = 2})}) {
    const absl::Status status = CheckAnswer(context, query, answer);
    TANGRAM_CHECK(status.ok() || !status.message().empty());
  }
}

}  // namespace
}  // namespace tangram

// Fuzzes messages that workers, or adapter programs through them, send to a
// coordinator.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tangram;
  v1::WorkerMessage message;
  if (!message.ParseFromArray(data, static_cast<int>(size))) return 0;
  for (const v1::Adapter& adapter : message.hello().adapters()) {
    fuzz::CheckBlame(FromProto(adapter).status());
  }
  for (const v1::Answer& encoded : message.answers()) {
    // Any error is fine.
    const auto answer = DecodeAnswer(encoded);
    if (!answer.ok()) continue;
    CheckBorder(*answer);
    v1::Answer again;
    EncodeAnswer(answer, again);
    TANGRAM_CHECK(DecodeAnswer(again).ok());
  }
  return 0;
}
