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

WorkerIdentity Host(const std::string& host) { return {.host = host}; }

TEST(AdapterCensusTest, TheVersionOfMostWorkersIsUsed) {
  AdapterCensus census;
  census.Add({Adapter("mist", "1")}, Host("a"));
  census.Add({Adapter("mist", "2")}, Host("b"));  // 1 and 1: the first.
  EXPECT_EQ(BestVersion(census), "1");
  census.Add({Adapter("mist", "2")}, Host("c"));
  EXPECT_EQ(BestVersion(census), "2");
  census.Remove({Adapter("mist", "2")}, Host("c"));
  EXPECT_EQ(BestVersion(census), "1");
  census.Remove({Adapter("mist", "1")}, Host("a"));
  EXPECT_EQ(BestVersion(census), "2");
  census.Add({Adapter("mist", "1")}, Host("a"));  // Now the later one.
  EXPECT_EQ(BestVersion(census), "2");
  census.Remove({Adapter("mist", "1")}, Host("a"));
  census.Remove({Adapter("mist", "2")}, Host("b"));
  EXPECT_EQ(BestVersion(census), "none");
  EXPECT_THAT(census.Names(), IsEmpty());
}

TEST(AdapterCensusTest, OneWorkerHasOneVoteHoweverOftenItDials) {
  AdapterCensus census;
  census.Add({Adapter("mist", "1")}, Host("a"));
  census.Add({Adapter("mist", "1")}, Host("b"));
  for (int i = 0; i < 5; ++i) census.Add({Adapter("mist", "9")}, Host("liar"));
  EXPECT_EQ(BestVersion(census), "1");
  // Its other connections remain.
  census.Remove({Adapter("mist", "9")}, Host("liar"));
  census.Remove({Adapter("mist", "1")}, Host("a"));
  census.Remove({Adapter("mist", "1")}, Host("b"));
  EXPECT_EQ(BestVersion(census), "9");
}

TEST(AdapterCensusTest, AmongEqualsAVersionThatFailedComesLast) {
  AdapterCensus census;
  census.Add({Adapter("mist", "1")}, Host("a"));
  census.Add({Adapter("mist", "2")}, Host("b"));
  const Digest before = census.DigestOfBest();
  census.NoteFailed({"mist", "1"});
  EXPECT_EQ(BestVersion(census), "2");
  EXPECT_NE(census.DigestOfBest(), before);
  // A failure does not outweigh a vote.
  census.Add({Adapter("mist", "1")}, Host("c"));
  EXPECT_EQ(BestVersion(census), "1");
  census.NoteFailed({"mist", "7"});
  census.NoteFailed({"alpa", "1"});
  EXPECT_EQ(BestVersion(census), "1");
}

// Unlike a failure, it is known of each of its workers.
TEST(AdapterCensusTest, ASilentVersionLosesWhateverItsVotes) {
  AdapterCensus census;
  census.Add({Adapter("mist", "1")}, Host("a"));
  census.Add({Adapter("mist", "1")}, Host("b"));
  census.Add({Adapter("mist", "2")}, Host("c"));
  const Digest before = census.DigestOfBest();
  census.NoteSilent({"mist", "1"});
  EXPECT_EQ(BestVersion(census), "2");
  EXPECT_NE(census.DigestOfBest(), before);
  // If all were, the one that was most often loses.
  census.NoteSilent({"mist", "2"});
  EXPECT_EQ(BestVersion(census), "1");
  census.NoteSilent({"mist", "1"});
  EXPECT_EQ(census.TimesSilent({"mist", "1"}), 2);
  EXPECT_EQ(BestVersion(census), "2");
  EXPECT_TRUE(census.NoteAnswered({"mist", "1"}));
  EXPECT_FALSE(census.NoteAnswered({"mist", "1"}));
  EXPECT_EQ(BestVersion(census), "1");
  census.NoteSilent({"mist", "7"});
  EXPECT_FALSE(census.NoteAnswered({"alpa", "1"}));
}

TEST(AdapterCensusTest, AVersionThatHasAnsweredWinsATie) {
  AdapterCensus census;
  census.Add({Adapter("mist", "1")}, Host("a"));
  census.Add({Adapter("mist", "2")}, Host("b"));
  census.NoteAnswered({"mist", "2"});
  EXPECT_EQ(BestVersion(census), "2");
}

TEST(AdapterCensusTest, SubstitutesHaveNotFailed) {
  AdapterCensus census;
  for (const char* version : {"1", "2", "3"}) {
    census.Add({Adapter("mist", version)}, Host(version));
  }
  census.NoteFailed({"mist", "3"});
  census.NoteAnswered({"mist", "1"});
  EXPECT_THAT(census.SubstitutesOf({"mist", "1"}),
              ElementsAre(AdapterId{"mist", "2"}));
  EXPECT_THAT(census.SubstitutesOf({"mist", "2"}),
              ElementsAre(AdapterId{"mist", "1"}));
  EXPECT_THAT(census.SubstitutesOf({"alpa", "1"}), IsEmpty());
}

// Otherwise a plan would wait for each of the versions that one worker makes
// up.
TEST(AdapterCensusTest, SilenceCountsForAllVersionsOfAWorker) {
  AdapterCensus census;
  census.Add({Adapter("mist", "a"), Adapter("mist", "b")}, Host("silent"));
  census.Add({Adapter("mist", "1")}, Host("good"));
  EXPECT_EQ(BestVersion(census), "a");
  census.NoteSilent({"mist", "a"});
  EXPECT_EQ(census.TimesSilent({"mist", "b"}), 1);
  EXPECT_EQ(BestVersion(census), "1");
  // Dialing again changes nothing.
  census.Remove({Adapter("mist", "a"), Adapter("mist", "b")}, Host("silent"));
  census.Add({Adapter("mist", "c")}, Host("silent"));
  EXPECT_EQ(census.TimesSilent({"mist", "c"}), 1);
  // A version is as silent as its least silent worker.
  census.Add({Adapter("mist", "c")}, Host("other"));
  EXPECT_EQ(census.TimesSilent({"mist", "c"}), 0);
  EXPECT_TRUE(census.NoteAnswered({"mist", "c"}));
  EXPECT_FALSE(census.NoteAnswered({"mist", "c"}));
}

TEST(AdapterCensusTest, UnfitVersionsArePassedOver) {
  AdapterCensus census;
  census.Add({Adapter("mist", "1")}, Host("a"));
  census.Add({Adapter("mist", "2")}, Host("b"));
  EXPECT_EQ(census.Best("mist", {{"mist", "1"}})->id.version, "2");
  EXPECT_FALSE(census.Best("mist", {{"mist", "1"}, {"mist", "2"}}).has_value());
}

TEST(AdapterCensusTest, NamesAreSorted) {
  AdapterCensus census;
  census.Add({Adapter("mist", "1"), Adapter("alpa", "1")}, Host("a"));
  EXPECT_THAT(census.Names(), ElementsAre("alpa", "mist"));
}

TEST(AdapterCensusTest, TheDigestIsOfWhatIsUsed) {
  AdapterCensus census;
  census.Add({Adapter("mist", "1")}, Host("a"));
  const Digest before = census.DigestOfBest();
  census.Add({Adapter("mist", "2")}, Host("b"));  // Not used.
  EXPECT_EQ(census.DigestOfBest(), before);
  census.Add({Adapter("mist", "2")}, Host("c"));
  EXPECT_NE(census.DigestOfBest(), before);
  census.Remove({Adapter("mist", "2")}, Host("c"));
  EXPECT_EQ(census.DigestOfBest(), before);
}

}  // namespace
}  // namespace tangram
