#ifndef TANGRAM_WORKER_ADAPTERS_ALPA_ALPA_INTER_OPERATOR_PROBLEM_H_
#define TANGRAM_WORKER_ADAPTERS_ALPA_ALPA_INTER_OPERATOR_PROBLEM_H_

#include <cstddef>
#include <functional>
#include <vector>

#include "absl/types/span.h"

namespace tangram::alpa {

// One way to run some layers as a stage on a submesh. An entry of the paper's
// cost tensor, with the number of stages that may follow by its memory.
struct StageOption {
  double seconds = 0;
  int max_trailing_stages = 0;
  int config = 0;  // The caller's identifier.
  // The part of `seconds` that closed forms count. 0: unknown.
  double pass_s = 0;
};

// The stages that a pipeline may use, as numbers. A stage holds layers [begin,
// end) on submesh m, which takes submesh_sizes[m] neighbouring devices.
// Intervals of equal layers may share a row of options.
class InterOperatorProblem {
 public:
  InterOperatorProblem(int num_layers, int num_devices,
                       std::vector<int> submesh_sizes);

  int num_layers() const { return num_layers_; }
  int num_devices() const { return num_devices_; }
  int num_submeshes() const { return static_cast<int>(submesh_sizes_.size()); }
  int num_rows() const { return num_rows_; }
  int size_of(int submesh) const { return submesh_sizes_[submesh]; }

  // AddRow appends a row without options and returns its index. SetRow assigns
  // a row to an interval.
  int AddRow();
  void SetRow(int begin, int end, int row) {
    if (rows_[begin].empty()) rows_[begin].resize(num_layers_ - begin, -1);
    rows_[begin][end - begin - 1] = row;
  }
  // Returns -1 if no stage may hold these layers.
  int RowOf(int begin, int end) const {
    return rows_[begin].empty() ? -1 : rows_[begin][end - begin - 1];
  }

  // Sets the options of a row on a submesh. Keeps the options that no other
  // equals or beats in both time and trailing stages, the fastest first.
  void SetOptions(int row, int submesh, std::vector<StageOption> options);
  absl::Span<const StageOption> OptionsOf(int row, int submesh) const {
    return options_[row * submesh_sizes_.size() + submesh];
  }

  // Returns the submeshes that may start at `device`. By default, these are all
  // that end at or before the last device.
  absl::Span<const int> SubmeshesAt(int device) const {
    return submeshes_at_[device];
  }
  void RestrictSubmeshes(const std::function<bool(int device, int size)>& fits);

  // Sets the transfer time that a stage pays if it ends before device `device`
  // and sends the input of `layer`. 0 by default. Values are kept for each kind
  // of layer boundary.
  void SetTransfers(std::vector<int> boundary_of_layer,
                    const std::function<double(int boundary, int device,
                                               int from, int to)>& seconds);
  double TransferSeconds(int layer, int device, int from, int to) const {
    if (transfers_.empty()) return 0;
    return transfers_[TransferIndex(boundary_of_layer_[layer], device, from,
                                    to)];
  }

  // Returns an upper bound on the time of any stage with its transfer.
  double MostSeconds() const;

  // Requires the last stage to end at the last device.
  bool use_all_devices = false;

 private:
  size_t TransferIndex(int boundary, int device, int from, int to) const {
    return ((static_cast<size_t>(boundary) * num_devices_ + device) *
                num_submeshes() +
            from) *
               num_submeshes() +
           to;
  }

  int num_layers_;
  int num_devices_;
  std::vector<int> submesh_sizes_;
  int num_rows_ = 0;
  // By begin, then end. Empty: no stage may begin there.
  std::vector<std::vector<int>> rows_;
  std::vector<std::vector<StageOption>> options_;
  std::vector<std::vector<int>> submeshes_at_;
  std::vector<int> boundary_of_layer_;
  std::vector<double> transfers_;
};

}  // namespace tangram::alpa

#endif  // TANGRAM_WORKER_ADAPTERS_ALPA_ALPA_INTER_OPERATOR_PROBLEM_H_
