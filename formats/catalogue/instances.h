#ifndef TANGRAM_FORMATS_CATALOGUE_INSTANCES_H_
#define TANGRAM_FORMATS_CATALOGUE_INSTANCES_H_

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace tangram {

// A machine that a cloud rents under a name.
struct CloudInstance {
  absl::string_view name;   // "p5.48xlarge"
  absl::string_view cloud;  // "AWS"
  absl::string_view gpu;    // As the device catalogue or the vendor calls it.
  int gpus = 0;
  int nics = 0;                // Network adapters that GPUs use.
  double gigabit_per_s = 0;    // Line rate of one.
  absl::string_view fabric;    // "EFA"
  bool remote_memory = false;  // The fabric has RDMA.
  // Instances that NVLink joins in a rack, as in GB200 NVL72. 0: it joins none.
  int per_rack = 0;
};

// All instances that are known: of AWS, Azure, Google Cloud and Oracle.
absl::Span<const CloudInstance> CloudInstances();

// Returns the instance of that name, ignoring case; null if there is none.
const CloudInstance* FindInstance(absl::string_view name);

}  // namespace tangram

#endif  // TANGRAM_FORMATS_CATALOGUE_INSTANCES_H_
