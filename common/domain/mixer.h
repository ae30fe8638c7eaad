#ifndef TANGRAM_COMMON_DOMAIN_MIXER_H_
#define TANGRAM_COMMON_DOMAIN_MIXER_H_

namespace tangram {

// The part of a transformer layer that mixes tokens.
enum class MixerKind {
  kAttention,
  kMamba,   // Selective state spaces (2312.00752).
  kMamba2,  // State-space duality (2405.21060).
  kNone,    // Nothing: the layer is an MLP, or experts, alone.
};

// "attention", "mamba", "mamba2", "none"; as used in model files.
const char* MixerName(MixerKind kind);

inline bool IsMamba(MixerKind kind) {
  return kind == MixerKind::kMamba || kind == MixerKind::kMamba2;
}

// Dimensions of a Mamba mixer; all 0 in a layer without one. E channels have a
// state of N numbers each. Mamba-2 gathers channels in heads, which share a
// time step, and heads in groups, which share the vectors B and C.
struct MambaDimensions {
  int inner_size = 0;        // E, the channels between both projections.
  int head_dim = 0;          // Mamba-2: channels of a head.
  int groups = 0;            // Mamba-2: groups of heads.
  int state_size = 0;        // N.
  int conv_kernel = 0;       // Tokens that the causal convolution sees.
  int dt_rank = 0;           // Mamba: rank of the projection to the time steps.
  bool inner_norms = false;  // Mamba: norms of time steps, B and C (Jamba).

  int num_heads() const { return head_dim > 0 ? inner_size / head_dim : 0; }
  bool operator==(const MambaDimensions&) const = default;
};

// Numbers of elements of one token in a Mamba mixer, of all ranks together.
struct MambaElements {
  double channels = 0;    // x and the gate z have as many each.
  double matrices = 0;    // B and C together.
  double time_steps = 0;  // In low rank in Mamba, one for each head in
                          // Mamba-2.

  // The first projection makes x and z, and in Mamba-2 all the rest.
  double projected(MixerKind kind) const {
    return 2 * channels +
           (kind == MixerKind::kMamba2 ? matrices + time_steps : 0);
  }
  // The convolution reads x, and in Mamba-2 B and C.
  double convolved(MixerKind kind) const {
    return channels + (kind == MixerKind::kMamba2 ? matrices : 0);
  }
};
MambaElements ElementsOf(MixerKind kind, const MambaDimensions& mamba);

// Returns whether tp ranks can split the mixer's channels, as Megatron-LM
// does: by whole heads and groups in Mamba-2.
bool SplitsForTp(MixerKind kind, const MambaDimensions& mamba, int tp_degree);

// Returns whether cp ranks can then split them again for the scan, which needs
// the whole sequence (Megatron-LM: mamba_context_parallel.py). Groups may be
// repeated. No framework does so for Mamba.
bool SplitsForCp(MixerKind kind, const MambaDimensions& mamba, int tp_degree,
                 int cp_degree);

}  // namespace tangram

#endif  // TANGRAM_COMMON_DOMAIN_MIXER_H_
