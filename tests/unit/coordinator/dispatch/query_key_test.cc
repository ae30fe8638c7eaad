#include "coordinator/dispatch/query_key.h"

#include <set>

#include "gtest/gtest.h"
#include "tests/testing/builders.h"

namespace tangram {
namespace {

using testing::TestIsland;
using testing::TestModel;
using testing::TestTraining;

const AdapterId kAdapter{"aceso", "1"};

PairContext TestContext() {
  return {.training = TestTraining(),
          .slices = SliceByLayer(TestModel(3)),
          .islands = {TestIsland(1, 4), TestIsland(2, 4)}};
}

TEST(QueryKeyTest, EverythingThatChangesTheAnswerChangesTheKey) {
  const QueryContext context(TestContext());
  const PairQuery query{.slice = 1, .island = 0};
  PairContext other_training = TestContext();
  ++other_training.training.sequence_length;
  const QueryContext retrained(other_training);

  std::set<Fingerprint> keys = {KeyOf(kAdapter, &context, query)};
  for (const PairQuery& changed :
       {PairQuery{.slice = 0, .island = 0}, PairQuery{.slice = 1, .island = 1},
        PairQuery{.slice = 1, .pipeline_microbatch_size = 2},
        PairQuery{.slice = 1, .trailing_stages = 1},
        PairQuery{.slice = 1, .max_search_steps = 1}}) {
    EXPECT_TRUE(keys.insert(KeyOf(kAdapter, &context, changed)).second);
  }
  EXPECT_TRUE(keys.insert(KeyOf(kAdapter, &retrained, query)).second);
  EXPECT_TRUE(keys.insert(KeyOf({"aceso", "2"}, &context, query)).second);
  EXPECT_TRUE(keys.insert(KeyOf({"alpa", "1"}, &context, query)).second);
  const ProfileQuery profile{.slice = 1, .island = 0};
  EXPECT_TRUE(keys.insert(KeyOf(kAdapter, &context, profile)).second);
}

TEST(QueryKeyTest, WhereASliceStandsDoesNotChangeTheKey) {
  const QueryContext context(TestContext());
  // Atoms 1 and 2 are equal layers.
  EXPECT_EQ(KeyOf(kAdapter, &context, PairQuery{.slice = 1}),
            KeyOf(kAdapter, &context, PairQuery{.slice = 2}));
}

TEST(QueryKeyTest, QueriesWithoutAContextAreNamedByTheirContent) {
  const std::vector<ModelSlice> atoms = SliceByLayer(TestModel(3));
  EXPECT_NE(KeyOf(kAdapter, nullptr, SliceModelQuery{TestModel(3)}),
            KeyOf(kAdapter, nullptr, SliceModelQuery{TestModel(4)}));
  EXPECT_NE(KeyOf(kAdapter, nullptr, ConcatenateQuery{atoms[0], atoms[1]}),
            KeyOf(kAdapter, nullptr, ConcatenateQuery{atoms[1], atoms[2]}));
}

TEST(QueryContextTest, EqualContextsHaveEqualIds) {
  PairContext other = TestContext();
  other.islands.pop_back();
  EXPECT_EQ(QueryContext(TestContext()).id, QueryContext(TestContext()).id);
  EXPECT_NE(QueryContext(TestContext()).id, QueryContext(other).id);
}

}  // namespace
}  // namespace tangram
