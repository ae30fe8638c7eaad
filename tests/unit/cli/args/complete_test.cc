#include "cli/args/complete.h"

#include "cli/args/command_line.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tangram {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;

Completion CompleteWords(const std::vector<std::string>& words) {
  return Complete(DescribeCommandLine(), words);
}

std::vector<std::string> Candidates(const std::vector<std::string>& words) {
  std::vector<std::string> texts;
  for (const auto& candidate : CompleteWords(words).candidates) {
    texts.push_back(candidate.text);
  }
  return texts;
}

TEST(CompleteTest, OffersCommandsWithTheirHelp) {
  EXPECT_THAT(
      CompleteWords({"ver"}).candidates,
      ElementsAre(Completion::Candidate{"version", "Show the version"}));
  EXPECT_THAT(Candidates({"job", ""}),
              ElementsAre("list", "show", "watch", "trace", "cancel", "wait",
                          "update", "retry", "delete"));
}

TEST(CompleteTest, OffersOptionsOfTheCommandThatWasTyped) {
  EXPECT_THAT(Candidates({"plan", "--glo"}), ElementsAre("--global-batch"));
  EXPECT_THAT(Candidates({"islands", "--glo"}), IsEmpty());
  EXPECT_THAT(Candidates({"job", "list", "--lim"}), ElementsAre("--limit"));
  EXPECT_THAT(Candidates({"run", "--"}),
              IsSupersetOf({"--tiny", "--check", "--steps", "--seed"}));
}

TEST(CompleteTest, OffersValuesThatHaveNames) {
  EXPECT_THAT(Candidates({"plan", "--model", "llama2-7b"}),
              ElementsAre("llama2-7b"));
  EXPECT_THAT(Candidates({"devices", "H100"}), Contains("H100-NVL"));
  EXPECT_THAT(Candidates({"plan", "--parallelizer", "al"}),
              ElementsAre("alpa", "all"));
  EXPECT_THAT(Candidates({"plan", "--runtime", "a"}),
              ElementsAre("any", "auto", "aceso", "alpa"));
  EXPECT_THAT(Candidates({"plan", "--precision", "fp"}),
              ElementsAre("fp32", "fp16", "fp8"));
  EXPECT_THAT(Candidates({"plan", "--optimizer", ""}),
              ElementsAre("adam", "sgd"));
  EXPECT_THAT(Candidates({"export", "--to", "mega"}), ElementsAre("megatron"));
  EXPECT_THAT(Candidates({"import", "plan", "--from", "flag"}),
              ElementsAre("flagscale"));
  EXPECT_THAT(Candidates({"diff", "--from", "nccl"}), IsEmpty());
  EXPECT_THAT(Candidates({"import", "profile", "--from", "nccl"}),
              ElementsAre("nccl-tests"));
}

TEST(CompleteTest, AValueIsNotACommand) {
  // Here "plan" is the name of the cluster file.
  EXPECT_THAT(Candidates({"islands", "--cluster", "plan", "--nod"}),
              ElementsAre("--nodes"));
  // A flag has no value.
  EXPECT_THAT(Candidates({"plan", "--quiet", "--nod"}), ElementsAre("--nodes"));
}

TEST(CompleteTest, OffersFilesWhereOneIsExpected) {
  EXPECT_TRUE(CompleteWords({"plan", "--cluster", ""}).files);
  EXPECT_TRUE(CompleteWords({"plan", "--model", ""}).files);
  EXPECT_TRUE(CompleteWords({"explain", ""}).files);
  EXPECT_TRUE(CompleteWords({"run", ""}).files);
  EXPECT_FALSE(CompleteWords({"plan", "--seq", ""}).files);
  EXPECT_FALSE(CompleteWords({"plan", "--"}).files);
}

TEST(CompleteTest, DoesNotOfferHiddenCommands) {
  EXPECT_THAT(Candidates({"man"}), IsEmpty());
}

}  // namespace
}  // namespace tangram
