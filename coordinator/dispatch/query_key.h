#ifndef TANGRAM_COORDINATOR_DISPATCH_QUERY_KEY_H_
#define TANGRAM_COORDINATOR_DISPATCH_QUERY_KEY_H_

#include <memory>
#include <vector>

#include "common/base/fingerprint.h"
#include "common/parallelizer/query.h"

namespace tangram {

// What the queries of a batch refer to, with the names of its parts.
struct QueryContext {
  explicit QueryContext(PairContext context);

  const PairContext pairs;
  // Of slices, islands and training, so that equal contexts travel once.
  const Fingerprint id;
  const std::vector<Fingerprint> island_ids;
  const Fingerprint training_id;
};
using SharedContext = std::shared_ptr<const QueryContext>;

// Names a query by its content: equal keys have equal answers. `context` may
// be null for queries that refer to none.
Fingerprint KeyOf(const AdapterId& adapter, const QueryContext* context,
                  const Query& query);

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_DISPATCH_QUERY_KEY_H_
