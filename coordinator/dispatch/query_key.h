#ifndef TANGRAM_COORDINATOR_DISPATCH_QUERY_KEY_H_
#define TANGRAM_COORDINATOR_DISPATCH_QUERY_KEY_H_

#include <array>
#include <compare>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "common/base/fingerprint.h"
#include "common/digest/sha256.h"
#include "common/parallelizer/query.h"

namespace tangram {

// The context of a batch and the digests of its parts. Immutable.
struct QueryContext {
  explicit QueryContext(PairContext context);

  const PairContext pairs;
  const std::vector<Digest> slice_ids;  // Cover the runs, not the position.
  const std::vector<Digest> island_ids;
  const Digest training_id;
  // Covers everything, also positions, so that equal contexts are sent once.
  const Digest id;
};
using SharedContext = std::shared_ptr<const QueryContext>;

// The scope in which answers are shared: an adapter and a tenant.
struct QueryScope {
  AdapterId adapter;
  std::string tenant;  // Empty: all tenants.
};

// The key of a question: its place, then the digest of its bytes. Questions
// about the same island with the same microbatch and stages behind share a
// place. A database that orders answers by key so keeps those of one search
// side by side, and writes few pages for them.
struct QueryKey {
  std::array<uint8_t, 8> place = {};
  Digest digest;

  // The 40 bytes of the key.
  absl::string_view view() const {
    return {reinterpret_cast<const char*>(this), sizeof(*this)};
  }
  auto operator<=>(const QueryKey&) const = default;

  template <typename H>
  friend H AbslHashValue(H state, const QueryKey& key) {
    return H::combine(std::move(state), key.digest);
  }
};
static_assert(sizeof(QueryKey) == 40);

// A query and everything that its answer may depend on, as bytes: the version
// of the format, the scope, the numbers of the query in full, and the digests
// of the slice, the island and the training options.
struct Question {
  QueryKey key;
  std::string bytes;
};

// Writes the questions of one batch. Not thread-safe.
class QuestionWriter {
 public:
  // `context` may be null for queries that refer to none. Otherwise it must
  // outlive the writer.
  QuestionWriter(const QueryScope& scope, const QueryContext* context);

  Question Write(const Query& query);
  QueryKey KeyOf(const Query& query);

 private:
  absl::string_view Encode(const Query& query);
  std::array<uint8_t, 8> PlaceOf(const Query& query) const;

  const QueryContext* const context_;
  Sha256 sha256_;
  std::string bytes_;
  const size_t prefix_bytes_;  // Length of the part that all questions share.
  // Names that part and the training options.
  const Fingerprint prefix_fingerprint_;
};

// Returns the questions of `queries`, in their order. Without their bytes,
// which only a store needs, they are short.
std::vector<Question> QuestionsOf(const QueryScope& scope,
                                  const QueryContext* context,
                                  absl::Span<const Query> queries,
                                  bool with_bytes);

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_DISPATCH_QUERY_KEY_H_
