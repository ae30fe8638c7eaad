#include "coordinator/dispatch/adapter_census.h"

#include <optional>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tangram {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

AdapterInfo Adapter(const std::string& name, const std::string& version) {
  return {.id = {name, version}};
}

std::string BestVersion(const AdapterCensus& census) {
  const std::optional<AdapterInfo> best = census.Best("mist");
  return best.has_value() ? best->id.version : "none";
}

TEST(AdapterCensusTest, TheVersionWithMostSlotsIsUsed) {
  AdapterCensus census;
  census.Add({Adapter("mist", "1")}, 2);
  census.Add({Adapter("mist", "2")}, 1);
  EXPECT_EQ(BestVersion(census), "1");
  census.Add({Adapter("mist", "2")}, 1);  // 2 and 2: the later.
  EXPECT_EQ(BestVersion(census), "2");
  census.Remove({Adapter("mist", "2")}, 1);
  EXPECT_EQ(BestVersion(census), "1");
  census.Remove({Adapter("mist", "1")}, 2);
  EXPECT_EQ(BestVersion(census), "2");
  census.Remove({Adapter("mist", "2")}, 1);
  EXPECT_EQ(BestVersion(census), "none");
  EXPECT_THAT(census.Names(), IsEmpty());
}

TEST(AdapterCensusTest, NamesAreSorted) {
  AdapterCensus census;
  census.Add({Adapter("mist", "1"), Adapter("alpa", "1")}, 1);
  EXPECT_THAT(census.Names(), ElementsAre("alpa", "mist"));
}

TEST(AdapterCensusTest, TheDigestIsOfWhatIsUsed) {
  AdapterCensus census;
  census.Add({Adapter("mist", "1")}, 2);
  const Digest before = census.DigestOfBest();
  census.Add({Adapter("mist", "2")}, 1);  // Not used.
  EXPECT_EQ(census.DigestOfBest(), before);
  census.Add({Adapter("mist", "2")}, 2);
  EXPECT_NE(census.DigestOfBest(), before);
  census.Remove({Adapter("mist", "2")}, 2);
  EXPECT_EQ(census.DigestOfBest(), before);
}

}  // namespace
}  // namespace tangram
