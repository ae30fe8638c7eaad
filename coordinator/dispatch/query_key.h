#ifndef TANGRAM_COORDINATOR_DISPATCH_QUERY_KEY_H_
#define TANGRAM_COORDINATOR_DISPATCH_QUERY_KEY_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "common/parallelizer/query.h"
#include "coordinator/dispatch/sha256.h"

namespace tangram {

// The context of a batch, with the digests of its parts.
struct QueryContext {
  explicit QueryContext(PairContext context);

  const PairContext pairs;
  const std::vector<Digest> slice_ids;  // Of the runs, not of the position.
  const std::vector<Digest> island_ids;
  const Digest training_id;
  // Of all of it, positions included, so that equal contexts travel once.
  const Digest id;
};
using SharedContext = std::shared_ptr<const QueryContext>;

// Who asks what. Answers are shared within a scope and never between two.
struct QueryScope {
  AdapterId adapter;
  std::string tenant;  // Empty: everybody.
};

using QueryKey = Digest;

// A query and all that its answer may depend on, as bytes: the format's
// version, the scope, the numbers of the query in full, and the digests of the
// slice, the island and the training options.
struct Question {
  QueryKey key;  // The digest of `bytes`.
  std::string bytes;
};

// Writes the questions of one batch. Not thread-safe.
class QuestionWriter {
 public:
  // `context` may be null for queries that refer to none; otherwise it must
  // outlive this.
  QuestionWriter(const QueryScope& scope, const QueryContext* context);

  Question Write(const Query& query);
  QueryKey KeyOf(const Query& query);

 private:
  absl::string_view Encode(const Query& query);

  const QueryContext* const context_;
  Sha256 sha256_;
  std::string bytes_;
  const size_t prefix_bytes_;  // The part that is the same for all.
};

// The keys of `queries`, in their order.
std::vector<QueryKey> KeysOf(const QueryScope& scope,
                             const QueryContext* context,
                             absl::Span<const Query> queries);

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_DISPATCH_QUERY_KEY_H_
