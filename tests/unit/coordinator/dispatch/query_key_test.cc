#include "coordinator/dispatch/query_key.h"

#include <set>

#include "absl/strings/match.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/builders.h"
#include "tests/testing/fingerprint_attack.h"

namespace tangram {
namespace {

using testing::TestIsland;
using testing::TestModel;
using testing::TestTraining;

const QueryScope kScope{.adapter = {"aceso", "1"}, .tenant = "a"};

PairContext TestContext() {
  return {.training = TestTraining(),
          .slices = SliceByLayer(TestModel(3)),
          .islands = {TestIsland(1, 4), TestIsland(2, 4)}};
}

QueryKey KeyOf(const QueryScope& scope, const QueryContext* context,
               const Query& query) {
  return QuestionsOf(scope, context, {query}, false)[0].key;
}

TEST(QueryKeyTest, EverythingThatChangesTheAnswerChangesTheKey) {
  const QueryContext context(TestContext());
  const PairQuery query{.slice = 1, .island = 0};
  PairContext other_training = TestContext();
  ++other_training.training.sequence_length;
  const QueryContext retrained(other_training);

  std::set<QueryKey> keys = {KeyOf(kScope, &context, query)};
  for (const PairQuery& changed :
       {PairQuery{.slice = 0, .island = 0}, PairQuery{.slice = 1, .island = 1},
        PairQuery{.slice = 1, .pipeline_microbatch_size = 2},
        PairQuery{.slice = 1, .trailing_stages = 1},
        PairQuery{.slice = 1, .max_search_steps = 1},
        PairQuery{.slice = 1, .limit_s = 1}}) {
    EXPECT_TRUE(keys.insert(KeyOf(kScope, &context, changed)).second);
  }
  EXPECT_TRUE(keys.insert(KeyOf(kScope, &retrained, query)).second);
  for (const QueryScope& scope :
       {QueryScope{{"aceso", "2"}, "a"}, QueryScope{{"alpa", "1"}, "a"},
        QueryScope{{"aceso", "1"}, "b"}, QueryScope{{"aceso", "1"}, ""}}) {
    EXPECT_TRUE(keys.insert(KeyOf(scope, &context, query)).second);
  }
  const ProfileQuery profile{.slice = 1, .island = 0};
  EXPECT_TRUE(keys.insert(KeyOf(kScope, &context, profile)).second);
}

TEST(QueryKeyTest, TextsThatContinueEachOtherAreTold) {
  const QueryContext context(TestContext());
  std::set<QueryKey> keys;
  for (const QueryScope& scope :
       {QueryScope{{"ab", "c"}, "d"}, QueryScope{{"a", "bc"}, "d"},
        QueryScope{{"a", "b"}, "cd"}, QueryScope{{"", "abc"}, "d"}}) {
    EXPECT_TRUE(keys.insert(KeyOf(scope, &context, PairQuery())).second);
  }
}

TEST(QueryKeyTest, WhereASliceStandsDoesNotChangeTheKey) {
  const QueryContext context(TestContext());
  // Atoms 1 and 2 are equal layers.
  EXPECT_EQ(KeyOf(kScope, &context, PairQuery{.slice = 1}),
            KeyOf(kScope, &context, PairQuery{.slice = 2}));
}

TEST(QueryKeyTest, QueriesWithoutAContextAreNamedByTheirContent) {
  const std::vector<ModelSlice> atoms = SliceByLayer(TestModel(3));
  EXPECT_NE(KeyOf(kScope, nullptr, SliceModelQuery{TestModel(3)}),
            KeyOf(kScope, nullptr, SliceModelQuery{TestModel(4)}));
  EXPECT_NE(KeyOf(kScope, nullptr, ConcatenateQuery{atoms[0], atoms[1]}),
            KeyOf(kScope, nullptr, ConcatenateQuery{atoms[1], atoms[2]}));
}

TEST(QueryKeyTest, ADeviceWithAForgedFingerprintHasAKeyOfItsOwn) {
  PairContext forged = TestContext();
  PairContext genuine = TestContext();
  genuine.islands[0].device.type = "A100-80 of team blue";
  forged.islands[0].device.type =
      testing::TextWithFingerprintOf(genuine.islands[0].device.type);
  ASSERT_NE(genuine.islands[0], forged.islands[0]);
  ASSERT_EQ(FingerprintOf(genuine.islands[0]), FingerprintOf(forged.islands[0]))
      << "the type is no longer the first field of the fingerprint";

  const QueryContext genuine_context(genuine);
  const QueryContext forged_context(forged);
  EXPECT_NE(genuine_context.id, forged_context.id);
  EXPECT_NE(KeyOf(kScope, &genuine_context, PairQuery()),
            KeyOf(kScope, &forged_context, PairQuery()));
}

TEST(QuestionWriterTest, TheKeyHoldsTheDigestOfTheQuestion) {
  const QueryContext context(TestContext());
  QuestionWriter writer(kScope, &context);
  const Question first = writer.Write(PairQuery{.slice = 1});
  const Question second = writer.Write(PairQuery{.slice = 0});
  EXPECT_EQ(first.key.digest, Sha256()(first.bytes));
  EXPECT_EQ(first.key, KeyOf(kScope, &context, PairQuery{.slice = 1}));
  EXPECT_EQ(second.key.digest, Sha256()(second.bytes));
  EXPECT_NE(first.bytes, second.bytes);
  EXPECT_TRUE(absl::StrContains(first.bytes, "aceso"));
}

TEST(QueryKeyTest, QuestionsOfOneSearchLieSideBySide) {
  const QueryContext context(TestContext());
  const QueryKey key = KeyOf(kScope, &context, PairQuery{.slice = 1});
  for (const PairQuery& near :
       {PairQuery{.slice = 0}, PairQuery{.slice = 1, .max_search_steps = 1},
        PairQuery{.slice = 1, .limit_s = 1}}) {
    EXPECT_EQ(KeyOf(kScope, &context, near).place, key.place);
  }
  for (const PairQuery& far :
       {PairQuery{.slice = 1, .island = 1},
        PairQuery{.slice = 1, .pipeline_microbatch_size = 2},
        PairQuery{.slice = 1, .trailing_stages = 1}}) {
    EXPECT_NE(KeyOf(kScope, &context, far).place, key.place);
  }
  EXPECT_NE(KeyOf({kScope.adapter, "b"}, &context, PairQuery{.slice = 1}).place,
            key.place);
}

TEST(QueryKeyTest, ThePlaceComesFirstInTheKey) {
  const QueryContext context(TestContext());
  const QueryKey key = KeyOf(kScope, &context, PairQuery{.slice = 1});
  EXPECT_EQ(key.view().substr(0, 8),
            absl::string_view(reinterpret_cast<const char*>(key.place.data()),
                              key.place.size()));
  EXPECT_EQ(key.view().substr(8), key.digest.view());
}

TEST(QueryContextTest, EqualContextsHaveEqualIds) {
  PairContext fewer = TestContext();
  fewer.islands.pop_back();
  PairContext moved = TestContext();
  std::swap(moved.slices[1], moved.slices[2]);
  const Digest id = QueryContext(TestContext()).id;
  EXPECT_EQ(QueryContext(TestContext()).id, id);
  EXPECT_NE(QueryContext(fewer).id, id);
  EXPECT_NE(QueryContext(moved).id, id);
}

}  // namespace
}  // namespace tangram
