#ifndef TANGRAM_COMMON_DOMAIN_MODEL_SLICE_H_
#define TANGRAM_COMMON_DOMAIN_MODEL_SLICE_H_

#include <vector>

#include "absl/types/span.h"
#include "common/base/fingerprint.h"
#include "common/domain/model_spec.h"

namespace tangram {

// Atoms [begin, end) of a model.
struct AtomRange {
  int begin = 0;
  int end = 0;
  int size() const { return end - begin; }
  auto operator<=>(const AtomRange&) const = default;
};

// A contiguous run of atoms (paper §4.2). An atom is a slice of size one.
// Self-contained: a parallelizer needs nothing else of the model. Everything
// but `atoms` is position-independent, so slices of the same composition have
// equal runs and equal fingerprints wherever they stand in the model.
struct ModelSlice {
  AtomRange atoms;
  std::vector<LayerRun> runs;  // Neighbouring runs differ.
  Fingerprint fingerprint = 0;

  int num_layers() const;
  bool operator==(const ModelSlice&) const = default;
};

// A slice of `layers` with canonical runs and its fingerprint.
ModelSlice MakeSlice(AtomRange atoms, absl::Span<const LayerSpec> layers);

// The layers of a slice, one by one.
std::vector<LayerSpec> LayersOf(const ModelSlice& slice);

// One atom a layer, embedding and head atoms of their own.
std::vector<ModelSlice> SliceByLayer(const ModelSpec& model);

// `head` followed by `tail`; tail.atoms.begin must be head.atoms.end.
ModelSlice JoinSlices(const ModelSlice& head, const ModelSlice& tail);

}  // namespace tangram

#endif  // TANGRAM_COMMON_DOMAIN_MODEL_SLICE_H_
