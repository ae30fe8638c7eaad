#include "formats/import_cluster/hostfile.h"

#include "formats/import_cluster/inventory_format.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/status_matchers.h"

namespace tangram {
namespace {

using ::tangram::testing::StatusIs;
using ::testing::HasSubstr;

TEST(HostfileTest, ReadsSlotsAndTypes) {
  constexpr char kText[] =
      "# the cluster\nworker-1 slots=8\nworker-2:4\n\n"
      "10.0.0.7 slots=2 type=A800  # spare\n";
  ASSERT_OK_AND_ASSIGN(const std::vector<InventoryNode> nodes,
                       ParseHostfile(kText));
  ASSERT_EQ(nodes.size(), 3u);
  EXPECT_EQ(nodes[0].name, "worker-1");
  EXPECT_EQ(nodes[0].gpus[0], (InventoryGpus{.count = 8}));
  EXPECT_EQ(nodes[1].name, "worker-2");
  EXPECT_EQ(nodes[1].gpus[0].count, 4);
  EXPECT_EQ(nodes[2].gpus[0], (InventoryGpus{.name = "A800", .count = 2}));
  EXPECT_EQ(DetectFormat(kText), InventoryFormat::kHostfile);
}

TEST(HostfileTest, NamesTheLineThatIsNone) {
  EXPECT_THAT(ParseHostfile("a slots=8\nb slots=0\n"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("line 2: b slots=0; expected a host")));
  EXPECT_THAT(ParseHostfile("a slots=2\na slots=2\n"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("line 2: a for the second time")));
  EXPECT_THAT(
      ParseHostfile("worker-1\n"),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("line 1")));
}

TEST(HostfileTest, IsNoOtherText) {
  EXPECT_FALSE(IsHostfile(""));
  EXPECT_FALSE(IsHostfile("a slots=8\nmodel_type: llama\n"));
  // A hostfile with an error.
  EXPECT_TRUE(IsHostfile("a slots=8\nb slots=x\n"));
}

}  // namespace
}  // namespace tangram
