#include "common/domain/model_slice.h"

#include "common/base/check.h"

namespace tangram {
namespace {

// Appends a run and merges it with an equal neighbour, so runs are canonical.
void AppendRun(const LayerRun& run, std::vector<LayerRun>& runs) {
  if (!runs.empty() && runs.back().layer == run.layer) {
    runs.back().count += run.count;
  } else {
    runs.push_back(run);
  }
}

Fingerprint FingerprintOfRuns(absl::Span<const LayerRun> runs) {
  Fingerprinter fp;
  for (const LayerRun& run : runs) {
    fp.Add(FingerprintOf(run.layer)).Add(run.count);
  }
  return fp.Finish();
}

}  // namespace

int ModelSlice::num_layers() const {
  int total = 0;
  for (const LayerRun& run : runs) total += run.count;
  return total;
}

ModelSlice MakeSlice(AtomRange atoms, absl::Span<const LayerSpec> layers) {
  ModelSlice slice{.atoms = atoms};
  for (const LayerSpec& layer : layers) {
    AppendRun({.layer = layer, .count = 1}, slice.runs);
  }
  slice.fingerprint = FingerprintOfRuns(slice.runs);
  return slice;
}

std::vector<LayerSpec> LayersOf(const ModelSlice& slice) {
  std::vector<LayerSpec> layers;
  for (const LayerRun& run : slice.runs) {
    layers.insert(layers.end(), run.count, run.layer);
  }
  return layers;
}

std::vector<ModelSlice> SliceByLayer(const ModelSpec& model) {
  std::vector<ModelSlice> atoms;
  for (int i = 0; i < model.num_layers(); ++i) {
    atoms.push_back(MakeSlice({i, i + 1}, {&model.layers[i], 1}));
  }
  return atoms;
}

ModelSlice JoinSlices(const ModelSlice& head, const ModelSlice& tail) {
  TANGRAM_CHECK(head.atoms.end == tail.atoms.begin);
  ModelSlice joined{.atoms = {head.atoms.begin, tail.atoms.end},
                    .runs = head.runs};
  for (const LayerRun& run : tail.runs) AppendRun(run, joined.runs);
  joined.fingerprint = FingerprintOfRuns(joined.runs);
  return joined;
}

}  // namespace tangram
