#ifndef TANGRAM_FORMATS_CONFIG_MODEL_LIMITS_H_
#define TANGRAM_FORMATS_CONFIG_MODEL_LIMITS_H_

namespace tangram {

// Limits of a model's sizes: several times beyond any model that exists, and
// small enough that the product of two sizes of a layer fits an int.
inline constexpr int kMaxModelLayers = 10'000;
inline constexpr int kMaxHiddenSize = 1 << 20;
inline constexpr int kMaxHeads = 1 << 12;
inline constexpr int kMaxHeadDim = 1 << 14;
inline constexpr int kMaxFfnHiddenSize = 1 << 20;
inline constexpr int kMaxExperts = 1 << 11;
inline constexpr int kMaxVocabulary = 1 << 24;
inline constexpr int kMaxPositions = 1 << 24;

}  // namespace tangram

#endif  // TANGRAM_FORMATS_CONFIG_MODEL_LIMITS_H_
