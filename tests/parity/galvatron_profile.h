#ifndef TANGRAM_TESTS_PARITY_GALVATRON_PROFILE_H_
#define TANGRAM_TESTS_PARITY_GALVATRON_PROFILE_H_

#include <map>
#include <string>
#include <utility>
#include <vector>

// Galvatron 3.0's measurements of a model and of eight GPUs, and the searches
// that it ran with them.
namespace tangram::parity {

struct LinearFit {
  double slope = 0;
  double offset = 0;
  double At(double x) const { return slope * x + offset; }
};

// Milliseconds by size, in MB or samples.
using MeasuredPoints = std::map<double, double>;

LinearFit FitLine(const MeasuredPoints& points);

// Sizes for the embedding, the head or both, by tensor (and sequence) parallel
// degree.
struct EndMegabytes {
  std::map<int, double> model_states;
  std::map<int, double> activation;  // For one sample.
};

struct GalvatronProfile {
  int hidden_size = 0;
  int sequence_length = 0;
  int num_gpus = 0;
  LinearFit layer_forward_ms;  // By samples.
  LinearFit ends_forward_ms;   // Embedding and head together.
  double layer_parameter_mb = 0;
  std::map<int, double> layer_activation_mb;  // For one sample, by degree.
  double checkpoint_activation_mb = 0;
  EndMegabytes both_ends;  // Without a pipeline.
  EndMegabytes first_end;
  EndMegabytes last_end;
  // Milliseconds for each megabyte, by number of ranks and whether they are
  // consecutive.
  std::map<std::pair<int, bool>, double> allreduce_ms_per_mb;
  std::map<int, double> p2p_ms_per_mb;
  double overlap_slowdown = 1;
  std::map<int, MeasuredPoints> allreduce_ms;
  std::map<int, MeasuredPoints> all_to_all_ms;
};

// One search, with the settings in its name.
struct GalvatronRun {
  std::string name;
  int memory_gb = 0;
  int global_batch = 0;
  int num_layers = 0;
  int chunks = 0;  // 0: any number.
  bool ulysses = true;
  bool checkpoints = true;
  bool zero2 = true;         // For weights that are not sharded; else plain.
  bool fine_grained = true;  // Else all layers alike.

  // The plan that upstream found.
  double time_s = 0;
  int num_layer_strategies = 0;
  int num_tasks = 0;
  double search_s = 0;
  int found_chunks = 0;
  // By layer: "pp-tp[*]-dp[f][-c][-sp]".
  std::vector<std::string> strategies;
  std::string ends_strategy;  // For embedding and head, in the same form.
};

// Returns no runs without the reference data.
std::vector<GalvatronRun> ReadGalvatronRuns();
// Returns LLaMA2-7B in bfloat16 on one node of eight GPUs. Requires that there
// are runs.
GalvatronProfile ReadGalvatronProfile();

}  // namespace tangram::parity

#endif  // TANGRAM_TESTS_PARITY_GALVATRON_PROFILE_H_
