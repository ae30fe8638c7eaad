#ifndef TANGRAM_COMMON_DOMAIN_SAME_GPUS_H_
#define TANGRAM_COMMON_DOMAIN_SAME_GPUS_H_

#include <cstring>
#include <type_traits>

#include "absl/types/span.h"
#include "common/domain/cluster.h"

namespace tangram {

// Returns whether the lists are equal. A stage may have thousands of GPUs, and
// searches compare them again and again, so lists are compared as bytes.
inline bool SameGpus(absl::Span<const GpuId> a, absl::Span<const GpuId> b) {
  static_assert(std::has_unique_object_representations_v<GpuId>);
  return a.size() == b.size() &&
         (a.data() == b.data() || a.empty() ||
          std::memcmp(a.data(), b.data(), a.size() * sizeof(GpuId)) == 0);
}

}  // namespace tangram

#endif  // TANGRAM_COMMON_DOMAIN_SAME_GPUS_H_
