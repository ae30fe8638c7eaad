#ifndef TANGRAM_COORDINATOR_DISPATCH_ADAPTER_CENSUS_H_
#define TANGRAM_COORDINATOR_DISPATCH_ADAPTER_CENSUS_H_

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "common/digest/sha256.h"
#include "common/parallelizer/query.h"

namespace tangram {

// Counts the adapters that the workers of a pool offer, with their slots. Among
// several versions of one name, the best is the one with most slots. Among
// equals it is the later version. Not thread-safe.
class AdapterCensus {
 public:
  void Add(absl::Span<const AdapterInfo> adapters, int slots);
  void Remove(absl::Span<const AdapterInfo> adapters, int slots);

  // Returns the best version of `name`. Empty: no worker offers it.
  std::optional<AdapterInfo> Best(absl::string_view name) const;
  std::vector<std::string> Names() const;  // Sorted.
  // Returns a digest of the best version of each name. Equal digests mean equal
  // plans.
  Digest DigestOfBest() const;

 private:
  struct Version {
    int slots = 0;
    int workers = 0;
    AdapterInfo info;
  };
  using Versions = std::map<AdapterId, Version>;  // Never empty.

  static const AdapterInfo& BestOf(const Versions& versions);

  std::map<std::string, Versions> by_name_;
};

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_DISPATCH_ADAPTER_CENSUS_H_
