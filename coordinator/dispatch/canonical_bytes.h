#ifndef TANGRAM_COORDINATOR_DISPATCH_CANONICAL_BYTES_H_
#define TANGRAM_COORDINATOR_DISPATCH_CANONICAL_BYTES_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "common/domain/island.h"
#include "common/domain/model_slice.h"
#include "common/domain/model_spec.h"
#include "common/domain/training_options.h"

// Values as bytes, to be hashed and compared: different values have different
// bytes, and the bytes of one value never begin with those of another. Numbers
// are little-endian and of fixed width; texts and lists begin with their
// length. The same on every machine. Every field is included: a new field does
// not compile until it is added.
//
// Change kQuestionFormat in query_key.cc with the bytes.
namespace tangram {

// Append the fields of a value as bytes. Values whose fields differ have
// different bytes.
void AppendCanonical(std::string& bytes, int32_t value);
void AppendCanonical(std::string& bytes, int64_t value);
// The text must be shorter than 4 GiB.
void AppendCanonical(std::string& bytes, absl::string_view text);
void AppendCanonical(std::string& bytes, AtomRange atoms);
// Appends the runs without their position in the model, as no answer depends on
// it.
void AppendCanonicalRuns(std::string& bytes, const ModelSlice& slice);
// Appends the name, and the layers as runs.
void AppendCanonical(std::string& bytes, const ModelSpec& model);
void AppendCanonical(std::string& bytes, const IslandSpec& island);
void AppendCanonical(std::string& bytes, const TrainingOptions& training);

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_DISPATCH_CANONICAL_BYTES_H_
