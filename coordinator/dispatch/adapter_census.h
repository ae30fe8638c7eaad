#ifndef TANGRAM_COORDINATOR_DISPATCH_ADAPTER_CENSUS_H_
#define TANGRAM_COORDINATOR_DISPATCH_ADAPTER_CENSUS_H_

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "common/parallelizer/query.h"
#include "coordinator/dispatch/sha256.h"

namespace tangram {

// Which adapters the workers of a pool offer, and with how many slots. Of
// several versions of one name the one with most slots is used; of equals, the
// later. Not thread-safe.
class AdapterCensus {
 public:
  void Add(absl::Span<const AdapterInfo> adapters, int slots);
  void Remove(absl::Span<const AdapterInfo> adapters, int slots);

  std::optional<AdapterInfo> Best(absl::string_view name) const;
  std::vector<std::string> Names() const;  // Sorted.
  // Of the best of each name: equal ones plan alike.
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
