#include "coordinator/bounds/any_plan_bound.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/algorithm/container.h"
#include "common/base/infinity.h"
#include "common/cost/least_work.h"
#include "common/domain/model_slice.h"
#include "common/domain/weaker.h"
#include "coordinator/bounds/fractional_assignment.h"

namespace tangram {
namespace {

// State fractions of several pipelines add up to 1 within 1e-6
// (ValidateReplicatedPlan), and the simulator adds the same seconds in another
// order.
constexpr double kRounding = 1 - 2e-6;

// The devices of a cluster, each once, with the number of their GPUs.
struct DeviceKinds {
  std::vector<const DeviceSpec*> devices;
  std::vector<double> num_gpus;
};

// Nodes of a group are identical, so each group is looked at once.
DeviceKinds KindsOf(const Cluster& cluster, absl::Span<const int> left_out) {
  std::vector<double> gpus_of_group(cluster.groups.size());
  std::vector<const DeviceSpec*> device_of_group(cluster.groups.size());
  for (int n = 0; n < static_cast<int>(cluster.nodes.size()); ++n) {
    if (absl::c_binary_search(left_out, n)) continue;
    const Node& node = cluster.nodes[n];
    gpus_of_group[node.group] += node.num_gpus;
    device_of_group[node.group] = &node.device;
  }
  DeviceKinds kinds;
  for (size_t g = 0; g < gpus_of_group.size(); ++g) {
    if (gpus_of_group[g] == 0) continue;
    const auto known =
        absl::c_find_if(kinds.devices, [&](const DeviceSpec* device) {
          return *device == *device_of_group[g];
        });
    const size_t k = known - kinds.devices.begin();
    if (known == kinds.devices.end()) {
      kinds.devices.push_back(device_of_group[g]);
      kinds.num_gpus.push_back(0);
    }
    kinds.num_gpus[k] += gpus_of_group[g];
  }
  return kinds;
}

// The work of an iteration, by job and kind of device: each operator of each
// run of layers for all samples, then the optimizer.
class JobTable {
 public:
  JobTable(const ModelSpec& model, size_t num_kinds,
           const TrainingOptions& training)
      : runs_(MakeSlice({0, model.num_layers()}, model.layers).runs),
        parameters_(ParameterCount(model)),
        training_(training),
        num_kinds_(num_kinds) {}

  // Lowers the times of the kinds in `set`, a bit each, to those on `device`.
  void Add(uint32_t set, const DeviceSpec& device) {
    size_t job = 0;
    for (const LayerRun& run : runs_) {
      const double samples = 1.0 * training_.global_batch_size * run.count;
      for (const LeastWork& work : LeastWorkOf(run.layer, device, training_)) {
        Lower(set, work.gpu_s * samples,
              run.count * (work.forward_host_s + work.backward_host_s / 2),
              job++);
      }
    }
    Lower(set, LeastOptimizerSeconds(device, training_) * parameters_,
          /*issue_s=*/0, job);
  }

  absl::Span<const std::vector<double>> gpu_s() const { return gpu_s_; }
  // The sum over jobs of the least issue_s of all devices.
  double issue_s() const { return absl::c_accumulate(issue_s_, 0.0); }

 private:
  void Lower(uint32_t set, double gpu_s, double issue_s, size_t job) {
    if (job == gpu_s_.size()) {
      gpu_s_.emplace_back(num_kinds_, kInfinity);
      issue_s_.push_back(kInfinity);
    }
    issue_s_[job] = std::min(issue_s_[job], issue_s);
    for (size_t k = 0; k < num_kinds_; ++k) {
      double& least_s = gpu_s_[job][k];
      if (set >> k & 1) least_s = std::min(least_s, gpu_s);
    }
  }

  const std::vector<LayerRun> runs_;
  const double parameters_;
  const TrainingOptions& training_;
  const size_t num_kinds_;
  std::vector<std::vector<double>> gpu_s_;  // [job][kind]
  std::vector<double> issue_s_;             // [job]
};

// Returns the device as which GPUs of all kinds in `set` run one stage.
DeviceSpec DeviceOfSet(const DeviceKinds& kinds, uint32_t set) {
  std::vector<const DeviceSpec*> members;
  for (size_t k = 0; k < kinds.devices.size(); ++k) {
    if (set >> k & 1) members.push_back(kinds.devices[k]);
  }
  DeviceSpec weakest = *members.front();
  for (const DeviceSpec* device : members) {
    if (device != members.front()) weakest = Weaker(weakest, *device);
  }
  return weakest;
}

}  // namespace

// Every GPU runs its passes and then its optimizer, one after the other, so the
// iteration takes at least the GPU-seconds of both on each GPU. Together the
// GPUs run every operator on every sample, and own every parameter, at least
// once. Dealt out at will, that takes at least LeastDividedSeconds.
//
// A GPU in a stage with GPUs of other kinds runs as the weaker of both in every
// respect (WeakestDevice). That is not always slower: the weaker device may
// have no flash attention, or other units. So the least of a kind is that over
// all sets of kinds that it is in.
//
// Besides, a microbatch passes all operators forward and back. Each pass takes
// at least the time in which the host issues its kernels. Half of a backward
// pass, the weight gradients, may run later (WeightGradientSeconds).
double AnyPlanSeconds(const ModelSpec& model, const Cluster& cluster,
                      absl::Span<const int> left_out,
                      const TrainingOptions& training) {
  const DeviceKinds kinds = KindsOf(cluster, left_out);
  const size_t num_kinds = kinds.devices.size();
  if (num_kinds == 0 || num_kinds > kMostDeviceKinds) return 0;
  for (const DeviceSpec* device : kinds.devices) {
    if (!HasLeastWork(*device)) return 0;
  }
  JobTable jobs(model, num_kinds, training);
  for (uint32_t set = 1; set < uint32_t{1} << num_kinds; ++set) {
    jobs.Add(set, DeviceOfSet(kinds, set));
  }
  const double seconds = std::max(
      LeastDividedSeconds(jobs.gpu_s(), kinds.num_gpus), jobs.issue_s());
  return std::isfinite(seconds) ? seconds * kRounding : 0;
}

}  // namespace tangram
