#ifndef TANGRAM_TESTS_UNIT_COMMON_FRAMEWORKS_TWO_ISLANDS_H_
#define TANGRAM_TESTS_UNIT_COMMON_FRAMEWORKS_TWO_ISLANDS_H_

#include <gmock/gmock.h>

#include <algorithm>
#include <string>
#include <vector>

#include "common/domain/recompute_masks.h"
#include "formats/catalogue/models.h"
#include "frameworks/framework_export.h"
#include "frameworks/framework_import.h"
#include "frameworks/lower_plan.h"
#include "tests/testing/builders.h"
#include "tests/testing/plan_builders.h"
#include "tests/testing/status_matchers.h"

namespace tangram::testing {

inline ModelSpec Gpt32Layers() {
  ModelSpec model = *BuiltinModel("gpt3-6.7b");
  model.layers.front().tied_embeddings = false;
  model.layers.back().tied_embeddings = false;
  return model;
}

inline void RecomputeLayers(int first, int last, PlannedTraining& planned) {
  for (PlacedStage& stage : planned.plan.stages) {
    ChangeMasks(
        [&](int layer, OpMask mask) {
          return layer >= first && layer < last
                     ? WholeLayerMask(planned.model.layers[layer])
                     : mask;
        },
        stage.plan);
  }
}

// GPT-3 6.7B with untied embeddings on 8 T4 (tp 4, dp 2, 12 recomputed layers)
// and 8 V100 (tp 2, dp 4, 20 layers); 32 microbatches of 4.
inline PlannedTraining TwoIslands() {
  PlannedTraining planned{
      .cluster = TestCluster({{"t4", 2, 4, TestDevice("T4")},
                              {"v100", 1, 8, TestDevice("V100-16")}}),
      .model = Gpt32Layers(),
      .training = TestTraining(128)};
  planned.training.flash_attention = false;
  planned.training.sequence_length = 2048;
  std::vector<GpuId> t4 = NodeGpus(0, 4);
  const std::vector<GpuId> more = NodeGpus(1, 4);
  t4.insert(t4.end(), more.begin(), more.end());
  planned.plan.pipeline_microbatch_size = 4;
  planned.plan.stages = {
      StageOn(0, 13, {.tp_degree = 4, .dp_degree = 2}, t4),
      StageOn(13, 34, {.tp_degree = 2, .dp_degree = 4}, NodeGpus(2, 8))};
  RecomputeLayers(1, 13, planned);
  return planned;
}

// The same with tp 4 and dp 2 in both stages.
inline PlannedTraining OneDp() {
  PlannedTraining planned = TwoIslands();
  planned.plan.stages[1].plan.parallelism = {.tp_degree = 4, .dp_degree = 2};
  return planned;
}

inline std::string ContentOf(const FrameworkExport& exported,
                             const std::string& name) {
  for (const ExportedFile& file : exported.files) {
    if (file.name == name) return file.content;
  }
  return "no file " + name;
}

inline std::vector<FrameworkFile> FilesOf(const FrameworkExport& exported) {
  std::vector<FrameworkFile> files;
  for (const ExportedFile& file : exported.files) {
    files.push_back({"out/" + file.name, file.content});
  }
  return files;
}

}  // namespace tangram::testing

#endif  // TANGRAM_TESTS_UNIT_COMMON_FRAMEWORKS_TWO_ISLANDS_H_
