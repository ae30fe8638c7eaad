#include "worker/adapters/alpa/alpa_inter_operator_problem.h"

#include <algorithm>
#include <utility>

namespace tangram::alpa {

// Intervals have no row until SetRow.
InterOperatorProblem::InterOperatorProblem(int num_layers, int num_devices,
                                           std::vector<int> submesh_sizes)
    : num_layers_(num_layers),
      num_devices_(num_devices),
      submesh_sizes_(std::move(submesh_sizes)),
      rows_(num_layers),
      submeshes_at_(num_devices) {
  RestrictSubmeshes([](int, int) { return true; });
}

int InterOperatorProblem::AddRow() {
  options_.resize(options_.size() + submesh_sizes_.size());
  return num_rows_++;
}

// After sorting by time, an option is useful only if it bears more trailing
// stages than every faster one.
void InterOperatorProblem::SetOptions(int row, int submesh,
                                      std::vector<StageOption> options) {
  std::stable_sort(options.begin(), options.end(),
                   [](const StageOption& a, const StageOption& b) {
                     return a.seconds < b.seconds;
                   });
  std::vector<StageOption>& kept =
      options_[row * submesh_sizes_.size() + submesh];
  kept.clear();
  for (const StageOption& option : options) {
    if (kept.empty() ||
        option.max_trailing_stages > kept.back().max_trailing_stages) {
      kept.push_back(option);
    }
  }
}

// Options are sorted by time, so the last is the slowest.
double InterOperatorProblem::MostSeconds() const {
  double most = 0;
  for (const std::vector<StageOption>& options : options_) {
    if (!options.empty()) most = std::max(most, options.back().seconds);
  }
  double most_transfer = 0;
  for (const double seconds : transfers_) {
    most_transfer = std::max(most_transfer, seconds);
  }
  return most + most_transfer;
}

void InterOperatorProblem::RestrictSubmeshes(
    const std::function<bool(int device, int size)>& fits) {
  for (int device = 0; device < num_devices_; ++device) {
    submeshes_at_[device].clear();
    for (int submesh = 0; submesh < num_submeshes(); ++submesh) {
      const int size = size_of(submesh);
      if (device + size <= num_devices_ && fits(device, size)) {
        submeshes_at_[device].push_back(submesh);
      }
    }
  }
}

// Evaluates `seconds` once for each boundary, device and pair of submeshes.
void InterOperatorProblem::SetTransfers(
    std::vector<int> boundary_of_layer,
    const std::function<double(int boundary, int device, int from, int to)>&
        seconds) {
  boundary_of_layer_ = std::move(boundary_of_layer);
  const int num_boundaries = 1 + *std::max_element(boundary_of_layer_.begin(),
                                                   boundary_of_layer_.end());
  transfers_.assign(TransferIndex(num_boundaries, 0, 0, 0), 0.0);
  for (int boundary = 0; boundary < num_boundaries; ++boundary) {
    for (int device = 1; device < num_devices_; ++device) {
      for (int from = 0; from < num_submeshes(); ++from) {
        if (size_of(from) > device) continue;
        for (const int to : SubmeshesAt(device)) {
          transfers_[TransferIndex(boundary, device, from, to)] =
              seconds(boundary, device, from, to);
        }
      }
    }
  }
}

}  // namespace tangram::alpa
