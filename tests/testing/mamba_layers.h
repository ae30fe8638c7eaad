#ifndef TANGRAM_TESTS_TESTING_MAMBA_LAYERS_H_
#define TANGRAM_TESTS_TESTING_MAMBA_LAYERS_H_

#include "common/domain/model_spec.h"

namespace tangram::testing {

// A layer of Mamba-2 alone: 32 heads of 64 in 8 groups.
inline LayerSpec Mamba2Layer() {
  return {.hidden_size = 1024,
          .mixer = MixerKind::kMamba2,
          .no_mlp = true,
          .mamba = {.inner_size = 2048,
                    .head_dim = 64,
                    .groups = 8,
                    .state_size = 128,
                    .conv_kernel = 4}};
}

}  // namespace tangram::testing

#endif  // TANGRAM_TESTS_TESTING_MAMBA_LAYERS_H_
