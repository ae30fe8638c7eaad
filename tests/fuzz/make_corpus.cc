#include <filesystem>
#include <fstream>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "common/base/check.h"
#include "common/wire/cluster_wire.h"
#include "common/wire/model_wire.h"
#include "common/wire/plan_file.h"
#include "common/wire/training_wire.h"
#include "formats/config/cluster_file.h"
#include "formats/config/model_file.h"
#include "formats/import_profile/import_profile.h"
#include "frameworks/export_plan.h"
#include "frameworks/import_plan.h"
#include "tangram/v1/job_service.pb.h"
#include "tangram/v1/worker_pool_service.pb.h"
#include "tests/fuzz/import_seeds.h"

// Writes good inputs from which the fuzzers start, a folder for each:
// make_corpus <out> <source tree>.
namespace tangram {
namespace {

using Path = std::filesystem::path;

void Write(const Path& path, const std::string& content) {
  std::filesystem::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << content;
}

v1::PlanRequest Request(const Cluster& cluster, const std::string& model) {
  v1::PlanRequest request;
  *request.mutable_cluster() = ToProto(cluster);
  const auto spec = LoadModel(model, {.num_layers = 2});
  TANGRAM_CHECK(spec.ok());
  *request.mutable_model() = ToProto(*spec);
  *request.mutable_training() =
      ToProto(TrainingOptions{.global_batch_size = 8, .sequence_length = 128});
  request.set_parallelizer("aceso");
  request.mutable_options()->set_finalist_slack(0.1);
  return request;
}

v1::SlicePlanSet Plans() {
  v1::SlicePlanSet set;
  set.set_search_steps(7);
  v1::SlicePlan& plan = *set.add_plans();
  plan.set_made_by("aceso");
  v1::SliceStage& stage = *plan.add_stages();
  stage.mutable_plan()->mutable_begin();
  stage.mutable_plan()->mutable_end()->set_layer(2);
  stage.mutable_plan()->mutable_parallelism()->set_tp_degree(1);
  stage.mutable_plan()->mutable_parallelism()->set_dp_degree(2);
  return set;
}

// Two stages, one of which recomputes and offloads, and an answer without
// plans.
v1::SlicePlanSet MorePlans() {
  v1::SlicePlanSet set = Plans();
  v1::SlicePlan& plan = *set.add_plans();
  plan.set_made_by("mist");
  plan.set_max_trailing_stages(3);
  for (const int begin : {0, 1}) {
    v1::SliceStage& stage = *plan.add_stages();
    stage.set_time_s(0.5);
    stage.set_backward_s(0.25);
    stage.mutable_plan()->mutable_begin()->set_layer(begin);
    stage.mutable_plan()->mutable_end()->set_layer(begin + 1);
    stage.mutable_plan()->mutable_parallelism()->set_tp_degree(1);
    stage.mutable_plan()->mutable_parallelism()->set_dp_degree(1);
    v1::RecomputeRun& run = *stage.mutable_plan()->add_recompute();
    run.set_num_layers(1);
    run.set_mask(begin);
    stage.mutable_plan()->mutable_offload()->set_optimizer(begin);
  }
  return set;
}

v1::WorkerMessage FromWorker() {
  v1::WorkerMessage message;
  message.mutable_hello()->set_name("w");
  message.mutable_hello()->set_capacity(2);
  message.mutable_hello()->add_adapters()->set_name("aceso");
  *message.add_answers()->mutable_parallelize() = Plans();
  *message.add_answers()->mutable_parallelize() = MorePlans();
  message.add_answers()->mutable_profile()->set_min_gpu_seconds(1.5);
  message.add_answers()->mutable_error()->set_code(3);
  message.add_handed_back(4);
  return message;
}

v1::CoordinatorMessage FromCoordinator(const v1::PlanRequest& request) {
  v1::CoordinatorMessage message;
  v1::PairContext& context = *message.add_contexts();
  context.set_id(5);
  *context.mutable_training() = request.training();
  *context.mutable_slices()->mutable_layer_types() =
      request.model().layer_types();
  v1::ModelSlice& slice = *context.mutable_slices()->add_slices();
  slice.set_end_atom(1);
  *slice.mutable_runs() = request.model().layers();
  v1::IslandSpec& island = *context.add_islands();
  *island.mutable_device() = request.cluster().devices(0);
  island.set_num_nodes(1);
  island.set_gpus_per_node(2);
  *island.mutable_intra_node() = request.cluster().nodes(0).intra_node();
  *island.mutable_inter_node() = request.cluster().nodes(0).intra_node();
  v1::Lease& lease = *message.add_leases();
  lease.set_adapter("aceso");
  lease.set_context(5);
  lease.mutable_parallelize()->set_pipeline_microbatch_size(2);
  lease.mutable_parallelize()->set_max_search_steps(10);
  return message;
}

void WriteRequests(const Path& out, const std::string& name,
                   const v1::PlanRequest& request) {
  Write(out / "inputs_fuzz" / name, request.SerializeAsString());
  v1::SubmitJobRequest submit;
  submit.set_job_id("nightly");
  *submit.mutable_request() = request;
  Write(out / "job_requests_fuzz" / name,
        std::string(1, '\0') + submit.SerializeAsString());
  v1::ListJobsRequest list;
  list.set_filter("state = FAILED AND (labels.run = 7 OR NOT labels:team)");
  list.set_order_by("priority desc");
  list.mutable_read_mask()->add_paths("job_id");
  Write(out / "job_requests_fuzz" / "list",
        std::string(1, '\1') + list.SerializeAsString());
  Write(
      out / "job_requests_fuzz" / "rest",
      "\3{\"job_id\":\"a\",\"request\":{\"training\":{\"sequenceLength\":1}}}");
  Write(out / "coordinator_message_fuzz" / name,
        FromCoordinator(request).SerializeAsString());
}

void WritePlanFile(const Path& out, const Cluster& cluster) {
  PlanFile file{.cluster = cluster,
                .model = *LoadModel("gpt3-1.3b", {.num_layers = 2}),
                .training = {.global_batch_size = 8, .sequence_length = 128}};
  file.result.infeasible = {"does not fit in memory", 3e9};
  Write(out / "plan_file_fuzz" / "none", *PlanFileToJson(file));
  PipelinePlan plan{.pipeline_microbatch_size = 4};
  plan.stages = {{.plan = {.begin = {0, 0},
                           .end = {4, 0},
                           .parallelism = {.tp_degree = 2, .dp_degree = 2}},
                  .gpus = {{0, 0}, {0, 1}, {0, 2}, {0, 3}},
                  .island = 0,
                  .made_by = "aceso"}};
  file.result = {.plan = plan, .evaluation = {.stages = {{.busy_s = 1}}}};
  Write(out / "plan_file_fuzz" / "plan", *PlanFileToJson(file));
  Write(out / "stored_rows_fuzz" / "job",
        std::string(1, '\0') + ToProto(file).SerializeAsString());
}

template <typename Formats>
char IndexOf(const Formats& formats, absl::string_view name) {
  for (size_t i = 0; i < formats.size(); ++i) {
    if (absl::StartsWith(formats[i].name, name)) return static_cast<char>(i);
  }
  return 0;
}

void WriteImports(const Path& out) {
  for (const fuzz::Seed& seed : fuzz::kInventorySeeds) {
    Write(out / "import_cluster_fuzz" / seed.name, seed.text);
  }
  for (const fuzz::Seed& seed : fuzz::kProfileSeeds) {
    Write(out / "import_profile_fuzz" / seed.name,
          IndexOf(ProfileFormats(), seed.name) + std::string(seed.text));
  }
}

// Writes two stages of 2 layers on 4 GPUs each, in the files of every
// framework.
void WriteFrameworkPlans(const Path& out) {
  PlannedTraining planned{
      .cluster = *ParseCluster("name: c\ngroups:\n  - {name: a, gpu: A100-40, "
                               "nodes: 2, gpus_per_node: 4}\n",
                               "c.yaml"),
      .model = *LoadModel("gpt3-1.3b", {.num_layers = 4}),
      .training = {.global_batch_size = 8, .sequence_length = 2048}};
  planned.plan.pipeline_microbatch_size = 2;
  for (const int i : {0, 1}) {
    PlacedStage stage;
    stage.plan = {.begin = {3 * i, 0},
                  .end = {3 * i + 3, 0},
                  .parallelism = {.tp_degree = 2, .dp_degree = 2},
                  .recompute = {{3, kRecomputeNone}}};
    stage.gpus = {{i, 0}, {i, 1}, {i, 2}, {i, 3}};
    planned.plan.stages.push_back(stage);
  }
  for (const PlanFormat& format : PlanFormats()) {
    const auto exported = ExportPlan(format.name, planned);
    TANGRAM_CHECK(exported.ok());
    std::string hosts;
    for (const ExportedFile& file : exported->files) {
      if (file.name == "hostfile") hosts = std::string(1, '\0') + file.content;
    }
    for (const ExportedFile& file : exported->files) {
      const std::string name = absl::StrReplaceAll(file.name, {{"/", "-"}});
      Write(out / "import_plan_fuzz" / absl::StrCat(format.name, "-", name),
            IndexOf(PlanFormats(), format.name) + file.content + hosts);
    }
  }
}

void WriteCorpus(const Path& out, const Path& source) {
  WriteImports(out);
  WriteFrameworkPlans(out);
  v1::ListJobsRequest list;
  list.add_states(v1::Job::RUNNING);
  list.set_page_size(7);
  list.set_page_token("nightly");
  Write(out / "job_requests_fuzz" / "list",
        std::string(1, '\1') + list.SerializeAsString());
  const v1::WorkerMessage message = FromWorker();
  Write(out / "worker_message_fuzz" / "all", message.SerializeAsString());
  for (const v1::Answer& answer : message.answers()) {
    Write(
        out / "stored_rows_fuzz" / absl::StrCat("answer", answer.answer_case()),
        std::string(1, '\1') + answer.SerializeAsString());
  }
  const std::string clusters = source / "deploy/clusters";
  for (const char* name : {"c1-compute-het", "c3-full-het"}) {
    const auto cluster = LoadClusterFile(clusters + "/" + name + ".yaml");
    TANGRAM_CHECK(cluster.ok());
    WriteRequests(out, name, Request(*cluster, "gpt3-1.3b"));
    WriteRequests(out, std::string(name) + "-experts",
                  Request(*cluster, "mixtral-8x7b"));
    WritePlanFile(out, *cluster);
  }
}

}  // namespace
}  // namespace tangram

int main(int argc, char** argv) {
  TANGRAM_CHECK(argc == 3);
  tangram::WriteCorpus(argv[1], argv[2]);
}
