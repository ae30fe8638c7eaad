#ifndef TANGRAM_COORDINATOR_PLANNERS_RIVALS_SAILOR_STAGE_CHAINS_H_
#define TANGRAM_COORDINATOR_PLANNERS_RIVALS_SAILOR_STAGE_CHAINS_H_

#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "coordinator/planners/rivals/sailor/path_table.h"
#include "coordinator/planners/rivals/sailor/sailor_input.h"
#include "coordinator/planners/rivals/sailor/stage_memory.h"

namespace tangram::sailor {

// How GPUs of one type run a stage.
struct TypeFigures {
  int tp = 0;  // 0: the type runs no stage of this pipeline.
  double pass_s = 0;
  double update_s = 0;
  bool operator==(const TypeFigures&) const = default;
};

// A stage with all stages behind it. Pipelines of different lengths share their
// last stages, so what is known of them too.
struct ChainStage {
  int first_layer = 0;
  int num_layers = 0;
  int num_stages = 0;  // This one and those behind it.
  int next = -1;       // Index of the stage behind it. -1: it is the last.
  int state = 0;       // States of chains with this number are the same.
  double gradient_bytes = 0;
  double boundary_bytes = 0;  // Leave it, for one microbatch.
  std::vector<TypeFigures> types;
  // This stage and those behind it:
  std::vector<int> least_tp;  // By type.
  double passes_s = 0;        // Sum over stages, each on its fastest type.
  double slowest_s = 0;       // The greatest of them.
};

// The pipelines of every length for one size of microbatch: their layers are
// split evenly, and each GPU type has one tp degree a stage. That is the least
// for which it has memory, or the one up to which more GPUs pay.
class StageChains {
 public:
  // Refers to `input`, `rules` and `paths`. Builds pipelines of up to
  // `most_stages`, which is at most the number of layers.
  StageChains(const Input& input, const Rules& rules, const PathTable& paths,
              int samples, int most_stages);

  // Indexes of the first of 1 to `most_stages` stages, one for each choice of
  // degrees. Empty: no type has memory for all stages.
  const std::vector<int>& First(int num_stages) const {
    return first_[num_stages];
  }

  const ChainStage& stage(int index) const { return stages_[index]; }
  int num_chain_stages() const { return static_cast<int>(stages_.size()); }

 private:
  using Key = std::tuple<int, int, int, double, std::vector<int>>;

  // Whether each type has its least degree, for every choice to build.
  std::vector<std::vector<bool>> Choices() const;
  // The degrees of a type for which it has memory and figures, by stage. Empty:
  // a stage has none.
  std::vector<int> DegreesOf(int type, bool least, const Split& split) const;
  bool Fits(int type, int tp, const Split& split, int stage) const;
  int DegreeThatPays(int type, std::pair<int, int> layers) const;
  const Profile* Find(int type, int tp) const;
  TypeFigures FiguresOf(int type, int tp, std::pair<int, int> layers) const;
  void Build(int num_stages);
  // Index of the stage with these degrees by type and stage.
  int Join(const Split& split, const std::vector<std::vector<int>>& degrees,
           int stage, int next);

  const Input& input_;
  const Rules& rules_;
  const int samples_;
  std::vector<bool> has_gpus_;  // By type.
  bool has_one_type_ = false;
  std::vector<std::vector<std::pair<int, const Profile*>>> profiles_;
  std::vector<ChainStage> stages_;
  std::vector<std::vector<int>> first_;  // By number of stages.
  std::map<Key, int> known_;
  std::map<std::pair<int, int>, int> states_;  // By number and first layer.
};

}  // namespace tangram::sailor

#endif  // TANGRAM_COORDINATOR_PLANNERS_RIVALS_SAILOR_STAGE_CHAINS_H_
