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
// equal runs and equal fingerprints anywhere in the model.
struct ModelSlice {
  AtomRange atoms;
  std::vector<LayerRun> runs;  // Neighbouring runs differ.
  Fingerprint fingerprint = 0;

  int num_layers() const;
  bool operator==(const ModelSlice&) const = default;
};

// Returns a slice of `layers` with canonical runs and its fingerprint.
ModelSlice MakeSlice(AtomRange atoms, absl::Span<const LayerSpec> layers);

// Returns the layers of a slice, one entry per layer.
std::vector<LayerSpec> LayersOf(const ModelSlice& slice);

// Returns one atom per layer. Embedding and head are separate atoms.
std::vector<ModelSlice> SliceByLayer(const ModelSpec& model);

// Returns `head` followed by `tail`; tail.atoms.begin must be head.atoms.end.
ModelSlice JoinSlices(const ModelSlice& head, const ModelSlice& tail);

}  // namespace tangram

#endif  // TANGRAM_COMMON_DOMAIN_MODEL_SLICE_H_
