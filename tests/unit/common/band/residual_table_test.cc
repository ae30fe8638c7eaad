#include "common/band/residual_table.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/status_matchers.h"

namespace tangram {
namespace {

using ::testing::ElementsAre;
using ::testing::Gt;
using ::testing::HasSubstr;
using testing::kBadInput;
using ::testing::Lt;
using ::testing::SizeIs;
using testing::StatusIs;

constexpr double kExact = 1e-9;

PredictionTraits Ampere() {
  return {.generation = "ampere",
          .framework = "FSDP",
          .fast_fabric = true,
          .scale = 1};
}

ResidualCell Cell(const std::string& source, const PredictionTraits& traits,
                  std::vector<double> ratios) {
  const int rows = static_cast<int>(ratios.size());
  return {.source = source,
          .traits = traits,
          .rows = rows,
          .ratios = std::move(ratios)};
}

double ResidualQuantile(const ResidualTable& table, Quantity quantity,
                        const PredictionTraits& traits, double q) {
  return ResidualDistribution(table, quantity, traits).Quantile(q);
}

TEST(ResidualTableTest, AQuantileIsOfAllRatios) {
  const ResidualTable table{.cells = {Cell("a", Ampere(), {0.9, 1.1}),
                                      Cell("b", Ampere(), {1.0, 1.2})}};

  // 0.9, 1.0, 1.1 and 1.2 weigh the same: each stands at the middle of its
  // quarter.
  EXPECT_NEAR(ResidualQuantile(table, Quantity::kTime, Ampere(), 0.5), 1.05,
              kExact);
  EXPECT_NEAR(ResidualQuantile(table, Quantity::kTime, Ampere(), 0.625), 1.1,
              kExact);
  EXPECT_NEAR(ResidualQuantile(table, Quantity::kTime, Ampere(), 0), 0.9,
              kExact);
  EXPECT_NEAR(ResidualQuantile(table, Quantity::kTime, Ampere(), 1), 1.2,
              kExact);
}

TEST(ResidualTableTest, ASourceCanBeLeftOut) {
  const ResidualTable table{
      .cells = {Cell("a", Ampere(), {0.9, 1.1}), Cell("b", Ampere(), {5})}};

  EXPECT_EQ(
      ResidualDistribution(table, Quantity::kTime, Ampere(), "a").Quantile(0.5),
      5);
}

TEST(ResidualTableTest, BandsGoAsFarAsTheTails) {
  ResidualTable table{.cells = {Cell("a", Ampere(), {1, 2, 3, 4, 5})}};
  table.tails = {0.05, 0, 0};

  const Band band = BandOf(table, Quantity::kTime, Ampere());
  EXPECT_NEAR(band.high, 5, kExact);
  EXPECT_NEAR(band.low, 1.0 / 5, kExact);
}

TEST(ResidualTableTest, ABandIsAsWideOnEitherSide) {
  const ResidualTable slow{
      .cells = {Cell("a", Ampere(), {1.0, 1.1, 1.2, 1.25})}};
  const ResidualTable both{
      .cells = {Cell("a", Ampere(), {1 / 1.25, 1 / 1.1, 1.0, 1.2})}};

  for (const ResidualTable& table : {slow, both}) {
    const Band band = ResidualDistribution(table, Quantity::kTime, Ampere())
                          .BandOfShare(0.75);
    // 1.2 and 1.25 stand at 5/8 and 7/8.
    EXPECT_NEAR(band.high, 1.225, kExact);
    EXPECT_NEAR(band.low, 1 / 1.225, kExact);
  }
}

TEST(ResidualTableTest, OtherQuantitiesDoNotCount) {
  ResidualTable table{.cells = {Cell("a", Ampere(), {2})}};
  table.cells[0].quantity = Quantity::kMemory;

  EXPECT_EQ(ResidualQuantile(table, Quantity::kTime, Ampere(), 0.5), 1);
  EXPECT_EQ(ResidualQuantile(table, Quantity::kMemory, Ampere(), 0.5), 2);
}

TEST(ResidualTableTest, ManyRowsOfOneSourceDoNotDrownAnother) {
  const ResidualTable table{
      .cells = {Cell("many", Ampere(), std::vector<double>(81, 1.0)),
                Cell("one", Ampere(), {2.0})}};

  // 81 rows weigh as 9: one of ten is the other source's.
  EXPECT_NEAR(ResidualQuantile(table, Quantity::kTime, Ampere(), 0.95), 2,
              kExact);
  EXPECT_THAT(ResidualQuantile(table, Quantity::kTime, Ampere(), 0.88),
              Lt(1.1));
}

TEST(ResidualTableTest, SourcesThatShareTraitsCountMore) {
  PredictionTraits other = Ampere();
  other.generation = "hopper";
  other.framework = "Bridge";
  const ResidualTable table{
      .cells = {Cell("a", Ampere(), {1.0}), Cell("b", other, {2.0})}};

  EXPECT_THAT(ResidualQuantile(table, Quantity::kTime, Ampere(), 0.5), Lt(1.3));
  EXPECT_THAT(ResidualQuantile(table, Quantity::kTime, other, 0.5), Gt(1.7));
}

TEST(ResidualTableTest, WhatIsUnknownHasTheBandOfAll) {
  PredictionTraits known = Ampere();
  PredictionTraits other = Ampere();
  other.framework = "Bridge";
  PredictionTraits unknown = Ampere();
  unknown.framework = "";
  const ResidualTable table{.cells = {Cell("a", known, {0.98, 1.0, 1.02}),
                                      Cell("b", other, {1.2, 1.25, 1.3})}};
  const double known_width =
      ResidualQuantile(table, Quantity::kTime, known, 0.8) -
      ResidualQuantile(table, Quantity::kTime, known, 0.2);
  const double unknown_width =
      ResidualQuantile(table, Quantity::kTime, unknown, 0.8) -
      ResidualQuantile(table, Quantity::kTime, unknown, 0.2);

  EXPECT_THAT(unknown_width, Gt(known_width));
}

TEST(ResidualTableTest, ATieIsTheWiderSideOfOrders) {
  ResidualTable table{.cells = {Cell("a", Ampere(), {0.5, 0.8, 1.1, 1.4})}};
  table.cells[0].quantity = Quantity::kOrder;

  // A sixth of the pairs is below 0.55: the four stand at 1/8, 3/8, 5/8 and
  // 7/8.
  const ResidualDistribution orders(table, Quantity::kOrder, Ampere());
  EXPECT_NEAR(orders.Quantile(1.0 / 6), 0.55, kExact);
  EXPECT_NEAR(BandsOf(table, Ampere()).tie, 1 / 0.55, kExact);
  EXPECT_EQ(BandsOf({}, Ampere()).tie, 1);
}

TEST(ResidualTableTest, ACellKeepsTenQuantiles) {
  std::vector<double> ratios;
  for (int i = 100; i > 0; --i) ratios.push_back(i);

  EXPECT_THAT(SummarizeRatios({3, 1, 2}), ElementsAre(1, 2, 3));
  const std::vector<double> kept = SummarizeRatios(ratios);
  ASSERT_THAT(kept, SizeIs(10));
  EXPECT_NEAR(kept[0], 5.5, kExact);
  EXPECT_NEAR(kept[9], 95.5, kExact);
}

TEST(ResidualTableTest, IsWrittenAndReadBack) {
  ResidualTable table{.cells = {Cell("a paper", Ampere(), {0.9, 1.125})},
                      .generations = {{"A100-80", "ampere"}}};
  table.cells[0].traits.experts = true;
  table.cells[0].traits.wide = true;
  table.cells[0].traits.fast_fabric = true;
  table.tails = {0.02, 0.03, 0.04};
  ASSERT_OK_AND_ASSIGN(const ResidualTable read,
                       ParseResiduals(FormatResiduals(table)));

  ASSERT_THAT(read.cells, SizeIs(1));
  EXPECT_EQ(read.cells[0].source, "a paper");
  EXPECT_EQ(read.cells[0].traits, table.cells[0].traits);
  EXPECT_EQ(read.cells[0].rows, 2);
  EXPECT_THAT(read.cells[0].ratios, ElementsAre(0.9, 1.125));
  EXPECT_EQ(read.tails, table.tails);
  EXPECT_EQ(read.GenerationOf("A100-80"), "ampere");
  EXPECT_EQ(read.GenerationOf("XPU-9"), "");
}

TEST(ResidualTableTest, BadLinesAreNamed) {
  for (const char* line :
       {"weight,a,,,dense,narrow,fast,0,1,1",
        "time,a,,,thick,narrow,fast,0,1,1", "time,a,,,dense,narrow,fast,0,0,1",
        "time,a,,,dense,narrow,fast,0,1,-1",
        "time,a,,,dense,narrow,fast,0,2,1.2 1.1", "time,a", "tail,time,0.5"}) {
    EXPECT_THAT(ParseResiduals(std::string("# of\n") + line),
                StatusIs(kBadInput, HasSubstr("line 2: ")));
  }
}

TEST(ShippedResidualsTest, AreOfPublishedRuns) {
  const ResidualTable& table = ShippedResiduals();
  const Band band = BandOf(table, Quantity::kTime, Ampere());

  EXPECT_THAT(table.cells, SizeIs(Gt(20)));
  EXPECT_EQ(table.GenerationOf("A100-80"), "ampere");
  EXPECT_THAT(band.low, Lt(1));
  EXPECT_THAT(band.high, Gt(1));
  EXPECT_THAT(band.half_width(), Lt(0.6));
}

TEST(ScaleOfTest, GrowsWithTheGpus) {
  EXPECT_EQ(ScaleOf(8), 0);
  EXPECT_EQ(ScaleOf(9), 1);
  EXPECT_EQ(ScaleOf(64), 1);
  EXPECT_EQ(ScaleOf(65), 2);
}

}  // namespace
}  // namespace tangram
