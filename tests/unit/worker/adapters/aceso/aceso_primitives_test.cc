#include "worker/adapters/aceso/aceso_primitives.h"

#include "gmock/gmock.h"
#include "tests/unit/worker/adapters/aceso/aceso_query.h"

namespace tangram::aceso {
namespace {

class PrimitivesTest : public ::testing::Test {
 protected:
  Degrees DegreesOf(const Configuration& configuration, int stage) const {
    return query_.space.at(configuration.stages[stage].shape.degrees);
  }

  Query query_{BodySlice(8), testing::TestIsland(1, 4), Options(8)};
  const int one_ = query_.DegreesOf(1, 1);
  const int tp2_ = query_.DegreesOf(2, 1);
  const int dp2_ = query_.DegreesOf(1, 2);
};

TEST_F(PrimitivesTest, MoveOperatorsBalancesTheBottleneckWithItsPartner) {
  const Configuration before = query_.Configure({60, 80}, {one_, one_});

  const auto after = Apply(query_.tables, Primitive::kMoveOperators, before, 0);

  ASSERT_TRUE(after.has_value());
  EXPECT_NEAR(after->stages[0].shape.end, 40, 2);  // Half of 80 operators.
  EXPECT_LT(after->score_s, before.score_s);
}

TEST_F(PrimitivesTest, MoveOperatorsNeedsAPartner) {
  EXPECT_FALSE(Apply(query_.tables, Primitive::kMoveOperators,
                     query_.Configure({80}, {one_}), 0));
}

TEST_F(PrimitivesTest, MoreTakesGpusFromThePartner) {
  const Configuration before = query_.Configure({40, 80}, {one_, dp2_});
  // Three GPUs are in use. The fourth is free; after that, the partner must
  // give one.
  const auto from_spare = Apply(query_.tables, Primitive::kMoreDp, before, 0);
  ASSERT_TRUE(from_spare.has_value());
  EXPECT_EQ(DegreesOf(*from_spare, 0), (Degrees{1, 2}));
  EXPECT_EQ(DegreesOf(*from_spare, 1), (Degrees{1, 2}));

  const Configuration full = query_.Configure({40, 60, 80}, {one_, one_, dp2_});
  const auto from_partner = Apply(query_.tables, Primitive::kMoreTp, full, 0);
  ASSERT_TRUE(from_partner.has_value());
  EXPECT_EQ(DegreesOf(*from_partner, 0), (Degrees{2, 1}));
  EXPECT_EQ(DegreesOf(*from_partner, 1), (Degrees{1, 1}));
  EXPECT_EQ(DegreesOf(*from_partner, 2), (Degrees{1, 1}));
}

TEST_F(PrimitivesTest, MoreIsImpossibleWhereNobodyCanGive) {
  const Configuration before =
      query_.Configure({20, 40, 60, 80}, {one_, one_, one_, one_});

  EXPECT_FALSE(Apply(query_.tables, Primitive::kMoreTp, before, 0));
}

TEST_F(PrimitivesTest, LessGivesGpusToTheSlowest) {
  const Configuration before =
      query_.Configure({20, 50, 80}, {tp2_, one_, one_});

  const auto after = Apply(query_.tables, Primitive::kLessTp, before, 0);

  ASSERT_TRUE(after.has_value());
  EXPECT_EQ(DegreesOf(*after, 0), (Degrees{1, 1}));
  EXPECT_EQ(DegreesOf(*after, 1).num_gpus(), 2);  // Slower by its sends.
  EXPECT_EQ(DegreesOf(*after, 2).num_gpus(), 1);
}

TEST_F(PrimitivesTest, ExchangeKeepsTheGpus) {
  const Configuration before = query_.Configure({40, 80}, {tp2_, dp2_});

  const auto to_dp = Apply(query_.tables, Primitive::kDpForTp, before, 0);
  ASSERT_TRUE(to_dp.has_value());
  EXPECT_EQ(DegreesOf(*to_dp, 0), (Degrees{1, 2}));
  const auto to_tp = Apply(query_.tables, Primitive::kTpForDp, before, 1);
  ASSERT_TRUE(to_tp.has_value());
  EXPECT_EQ(DegreesOf(*to_tp, 1), (Degrees{2, 1}));
  EXPECT_FALSE(Apply(query_.tables, Primitive::kTpForDp, before, 0));
}

TEST_F(PrimitivesTest, NodesAreKept) {
  Query query(BodySlice(8), testing::TestIsland(2, 2), Options(8));
  const int one = query.DegreesOf(1, 1);
  const int dp2 = query.DegreesOf(1, 2);
  // [0] [1] | [2 3]: with a GPU of stage 2, stage 1 would be on both nodes.
  const Configuration before = query.Configure({20, 60, 80}, {one, one, dp2});

  EXPECT_FALSE(Apply(query.tables, Primitive::kMoreDp, before, 1));
}

}  // namespace
}  // namespace tangram::aceso
