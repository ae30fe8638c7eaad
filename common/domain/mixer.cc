#include "common/domain/mixer.h"

namespace tangram {

const char* MixerName(MixerKind kind) {
  switch (kind) {
    case MixerKind::kAttention:
      return "attention";
    case MixerKind::kMamba:
      return "mamba";
    case MixerKind::kMamba2:
      return "mamba2";
    case MixerKind::kNone:
      return "none";
  }
  return "unknown";
}

MambaElements ElementsOf(MixerKind kind, const MambaDimensions& mamba) {
  const bool grouped = kind == MixerKind::kMamba2;
  const double groups = grouped ? mamba.groups : 1;
  return {.channels = 1.0 * mamba.inner_size,
          .matrices = 2.0 * groups * mamba.state_size,
          .time_steps = 1.0 * (grouped ? mamba.num_heads() : mamba.dt_rank)};
}

bool SplitsForTp(MixerKind kind, const MambaDimensions& mamba, int tp_degree) {
  switch (kind) {
    case MixerKind::kMamba:
      return mamba.inner_size % tp_degree == 0;
    case MixerKind::kMamba2:
      return mamba.num_heads() % tp_degree == 0 &&
             mamba.groups % tp_degree == 0;
    case MixerKind::kAttention:
    case MixerKind::kNone:
      return true;
  }
  return true;
}

bool SplitsForCp(MixerKind kind, const MambaDimensions& mamba, int tp_degree,
                 int cp_degree) {
  if (cp_degree == 1 || !IsMamba(kind)) return true;
  if (kind == MixerKind::kMamba) return false;
  const int heads = mamba.num_heads() / tp_degree;
  const int groups = mamba.groups / tp_degree;
  return heads % cp_degree == 0 && groups > 0 &&
         (groups % cp_degree == 0 || cp_degree % groups == 0);
}

}  // namespace tangram
