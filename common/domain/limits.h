#ifndef TANGRAM_COMMON_DOMAIN_LIMITS_H_
#define TANGRAM_COMMON_DOMAIN_LIMITS_H_

#include <cstdint>

// The largest input that Tangram accepts. Files, messages, the command line and
// the planner all check these limits, so a request that passes in one place
// passes in the others. A limit is several times beyond anything that exists.
// It keeps products of sizes inside their types, and it keeps one request below
// 300 MB in the coordinator.
namespace tangram {

// ---- Models ----

// The deepest trained networks have about 1,000 layers. A message spells a
// model in a few bytes (a layer and a count), so this bounds what it unfolds
// to: 2 MB.
inline constexpr int kMaxLayers = 1 << 14;
// The same, without the embedding and the head.
inline constexpr int kMaxTransformerLayers = kMaxLayers - 2;
// The widest models have 2^16 features.
inline constexpr int kMaxHiddenSize = 1 << 20;
// The widest MLP, of T5-11B, has 2^16 features inside.
inline constexpr int kMaxFfnHiddenSize = 1 << 20;
// Models in use have at most 128 heads of at most 576 features.
inline constexpr int kMaxHeads = 1 << 12;
inline constexpr int kMaxHeadDim = 1 << 14;
// The largest mixtures in use have 2^9 experts in a layer.
inline constexpr int kMaxExperts = 1 << 11;
inline constexpr double kMaxExpertCapacityFactor = 64;
// Numbers in the state of a Mamba channel, and tokens of its convolution; those
// in use have 256 and 4.
inline constexpr int kMaxStateSize = 1 << 14;
inline constexpr int kMaxConvKernel = 1 << 10;
// The largest vocabularies have 2^18 tokens.
inline constexpr int kMaxVocabulary = 1 << 24;
// Tokens of one sequence; the longest contexts have 10^7.
inline constexpr int kMaxPositions = 1 << 24;
// Figures of a model without an effect on its cost; the largest bases of rotary
// positions are 10^8.
inline constexpr double kMaxModelDetail = 1e12;

// Differences between a checkpoint and its model; those in use have at most 10.
inline constexpr int kMaxUnplannedParts = 64;

// ---- Training ----

// Sequences of one iteration. Published runs use at most 2^16. Every divisor is
// a microbatch size to try: a number below this limit has at most 504.
inline constexpr int kMaxBatch = 1 << 24;
// Forward passes of a stage before its first backward pass. Schedules run at
// most twice as many as there are devices. The evaluator remembers the arrival
// of each.
inline constexpr int kMaxWarmUpPasses = 1 << 14;

// Microbatches of an iteration times the devices of the pipeline that routes
// them to unlike replicas, over all pipelines of a plan. Each of their passes
// is played, about 50 ns each.
inline constexpr int64_t kMaxRoutedPasses = int64_t{1} << 24;

// Exchanges of gradients between pipelines, times their members: 16 bytes each.
inline constexpr int64_t kMaxReplicaExchanges = int64_t{1} << 22;

// ---- Clusters ----

// Nodes of the largest clusters: 25,000. A node takes 400 bytes.
inline constexpr int kMaxNodes = 100'000;
// Links are kept for every pair of groups, 24 bytes each: 24 MB.
inline constexpr int kMaxGroups = 1000;
// The largest nodes, racks with one NVLink switch, have 72 GPUs.
inline constexpr int kMaxGpusPerNode = 1 << 10;
// GPUs of a cluster, of a stage, and any degree of parallelism.
inline constexpr int kMaxGpus = 1 << 20;
// Measurements of all devices, 88 bytes each: 11 MB. Nodes share those of their
// device. Profiles in use have thousands.
inline constexpr int kMaxMeasurements = 1 << 17;

// Groups of unlike replicas in a stage: types of GPUs, degrees and shares.
// Paths are looked up for each pair of groups.
inline constexpr int kMaxReplicaGroups = 1 << 8;

// ---- Texts ----

// Names of hosts have at most 253 bytes (RFC 1035).
inline constexpr int kMaxNameBytes = 256;
// Texts for people: a full screen of a terminal has 2,000 characters.
inline constexpr int kMaxTextBytes = 1 << 12;

}  // namespace tangram

#endif  // TANGRAM_COMMON_DOMAIN_LIMITS_H_
