#include "common/band/margin_of_kind.h"

#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"

namespace tangram {
namespace {

ResidualCell MemoryCell(const std::string& framework, int rows,
                        std::vector<double> ratios) {
  return {.quantity = Quantity::kMemory,
          .source = "a source",
          .traits = {.framework = framework},
          .rows = rows,
          .ratios = std::move(ratios)};
}

TEST(MemoryMarginTest, IsWhatNearlyAllRunsNeedBeyondTheirPrediction) {
  ResidualTable table;
  table.cells = {MemoryCell("FSDP", 40, {0.9, 1.0, 1.08}),
                 MemoryCell("Mist", 40, {1.5})};

  // 1 - 1 / 1.08 = 0.074, in whole per cent.
  EXPECT_DOUBLE_EQ(MemoryMarginOf(table, "FSDP"), 0.08);
}

TEST(MemoryMarginTest, HasLeastAndMost) {
  ResidualTable table;
  table.cells = {MemoryCell("FSDP", 40, {0.5}), MemoryCell("Mist", 40, {3})};

  EXPECT_DOUBLE_EQ(MemoryMarginOf(table, "FSDP"), 0.02);
  EXPECT_DOUBLE_EQ(MemoryMarginOf(table, "Mist"), 0.12);
}

TEST(MemoryMarginTest, AFewRunsTellNothing) {
  ResidualTable table;
  table.cells = {MemoryCell("FSDP", 19, {1.1})};
  ResidualCell times = MemoryCell("Alpa", 40, {1.1});
  times.quantity = Quantity::kTime;
  table.cells.push_back(times);

  EXPECT_EQ(MemoryMarginOf(table, "FSDP"), kUsualMemoryMargin);
  EXPECT_EQ(MemoryMarginOf(table, "Alpa"), kUsualMemoryMargin);
}

TEST(MemoryMarginTest, AnUnknownFrameworkHasTheUsualMargin) {
  ResidualTable table;
  table.cells = {MemoryCell("", 40, {1.1})};

  EXPECT_EQ(MemoryMarginOf(table, ""), kUsualMemoryMargin);
}

}  // namespace
}  // namespace tangram
