#include "cli/args/command_line.h"

#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "tests/testing/status_matchers.h"

namespace tangram {
namespace {

using ::tangram::testing::StatusIs;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr char kPlan[] = "plan --cluster c --model m --global-batch 128";

absl::StatusOr<Command> Parse(const std::string& line) {
  return ParseCommandLine(absl::StrSplit(line, ' ', absl::SkipWhitespace()));
}

absl::StatusOr<PlanOptions> ParsePlan(const std::string& more) {
  const absl::StatusOr<Command> command = Parse(std::string(kPlan) + more);
  if (!command.ok()) return command.status();
  return std::get<PlanOptions>(*command);
}

TEST(ParseCommandLineTest, PlanHasDefaults) {
  ASSERT_OK_AND_ASSIGN(const PlanOptions plan, ParsePlan(""));

  EXPECT_EQ(plan.cluster.file, "c");
  EXPECT_EQ(plan.model.name_or_file, "m");
  EXPECT_EQ(plan.model.num_layers, std::nullopt);
  EXPECT_EQ(plan.training.global_batch_size, 128);
  EXPECT_EQ(plan.training.sequence_length, std::nullopt);
  EXPECT_TRUE(plan.training.flash_attention);
  EXPECT_EQ(plan.pipeline_microbatch_size, 0);
  EXPECT_EQ(plan.progress, ProgressMode::kAuto);
  EXPECT_EQ(plan.timeout_s, std::nullopt);
  EXPECT_TRUE(plan.search.pruning.redundancy);
  EXPECT_EQ(plan.search.max_search_steps, TangramOptions().max_search_steps);
}

TEST(ParseCommandLineTest, PlanTakesEveryOption) {
  ASSERT_OK_AND_ASSIGN(
      const PlanOptions plan,
      ParsePlan(" --nodes t4=2,v100=1 --layers 8 --seq 512 --microbatch 4"
                " --precision bf16 --optimizer sgd --no-flash-attention"
                " --no-dropout --accumulate-allreduce-grads-in-fp32 "
                "--overlap-grad-reduce --blocking-transfers"
                " --parallelizer uniform --threads 3 --effort 77"
                " --compute-tolerance 0.5 --no-prune-redundant"
                " --no-prune-imbalanced --no-prune-infeasible"
                " --no-prune-incompatible --no-early-stop"
                " --coordinator h:1 --timeout 2.5 --output o --timeline t"
                " --verbose --quiet --progress never"));

  EXPECT_EQ(plan.cluster.nodes, "t4=2,v100=1");
  EXPECT_EQ(plan.model.num_layers, 8);
  EXPECT_EQ(plan.training.sequence_length, 512);
  EXPECT_EQ(plan.pipeline_microbatch_size, 4);
  EXPECT_EQ(plan.training.precision, "bf16");
  EXPECT_EQ(plan.training.optimizer, "sgd");
  EXPECT_FALSE(plan.training.flash_attention);
  EXPECT_FALSE(plan.training.dropout);
  EXPECT_TRUE(plan.training.fp32_gradients);
  EXPECT_TRUE(plan.training.overlap_grad_reduce);
  EXPECT_TRUE(plan.training.blocking_transfers);
  EXPECT_EQ(plan.parallelizer, "uniform");
  EXPECT_EQ(plan.num_threads, 3);
  EXPECT_EQ(plan.search.max_search_steps, 77);
  EXPECT_EQ(plan.search.tolerances.compute, 0.5);
  EXPECT_FALSE(plan.search.pruning.redundancy);
  EXPECT_FALSE(plan.search.pruning.imbalance);
  EXPECT_FALSE(plan.search.pruning.infeasibility);
  EXPECT_FALSE(plan.search.pruning.incompatibility);
  EXPECT_FALSE(plan.search.pruning.early_stop);
  EXPECT_EQ(plan.coordinator.address, "h:1");
  EXPECT_EQ(plan.timeout_s, 2.5);
  EXPECT_EQ(plan.output_file, "o");
  EXPECT_EQ(plan.timeline_file, "t");
  EXPECT_EQ(plan.answer.detail, Detail::kAll);
  EXPECT_TRUE(plan.quiet);
  EXPECT_EQ(plan.progress, ProgressMode::kNever);
}

TEST(ParseCommandLineTest, AnAnswerIsAskedForInDetail) {
  ASSERT_OK_AND_ASSIGN(
      const PlanOptions plan,
      ParsePlan(" --tokens 3e12 --prices a=1,b=2.5 --brief -o p.json"));
  EXPECT_EQ(plan.answer.tokens, 3e12);
  EXPECT_EQ(plan.answer.prices, "a=1,b=2.5");
  EXPECT_EQ(plan.answer.detail, Detail::kBrief);
  EXPECT_EQ(plan.output_file, "p.json");
  ASSERT_OK_AND_ASSIGN(const Command explain, Parse("explain p.json"));
  EXPECT_EQ(std::get<ExplainOptions>(explain).answer.detail, Detail::kAll);
}

TEST(ParseCommandLineTest, EverySubcommandHasItsOptions) {
  const auto parse = [](const char* line) { return *Parse(line); };

  EXPECT_EQ(std::get<IslandsOptions>(parse("islands --cluster c")).cluster.file,
            "c");
  EXPECT_EQ(
      std::get<EvaluateOptions>(parse("evaluate p.json --cluster c")).plan_file,
      "p.json");
  EXPECT_EQ(std::get<ExplainOptions>(parse("explain p.json --against q.json"))
                .against_file,
            "q.json");
  EXPECT_EQ(std::get<HealthOptions>(parse("health --coordinator h:1"))
                .coordinator.address,
            "h:1");
  EXPECT_TRUE(std::holds_alternative<ModelsOptions>(parse("models")));
  EXPECT_EQ(std::get<DevicesOptions>(parse("devices")).device, "");
  EXPECT_EQ(std::get<DevicesOptions>(parse("devices t4")).device, "t4");
  EXPECT_TRUE(
      std::holds_alternative<ParallelizersOptions>(parse("parallelizers")));
  EXPECT_TRUE(std::holds_alternative<VersionOptions>(parse("version")));
  EXPECT_TRUE(std::holds_alternative<VersionOptions>(parse("--version")));
}

TEST(ParseCommandLineTest, SeveralBatchSizesAreKept) {
  ASSERT_OK_AND_ASSIGN(
      const Command command,
      Parse("plan --cluster c --model m --global-batch 64,128,256"));
  const PlanOptions& plan = std::get<PlanOptions>(command);
  EXPECT_EQ(plan.global_batch_sizes, std::vector<int>({64, 128, 256}));
  EXPECT_EQ(plan.training.global_batch_size, 64);
}

TEST(ParseCommandLineTest, HelpIsACommand) {
  ASSERT_OK_AND_ASSIGN(const Command help, Parse("help job list"));
  ASSERT_OK_AND_ASSIGN(const Command option, Parse("job list --help"));
  EXPECT_EQ(std::get<HelpOptions>(help).text,
            std::get<HelpOptions>(option).text);
}

TEST(ParseCommandLineTest, FilesGoToStandardOutputByDefault) {
  EXPECT_EQ(std::get<ReportOptions>(*Parse("report p.json")).output_file, "-");
  EXPECT_EQ(std::get<ImportModelOptions>(*Parse("import model c")).output_file,
            "-");
  EXPECT_EQ(
      std::get<ExportOptions>(*Parse("export p.json --to mist")).output_folder,
      "");
}

TEST(ParseCommandLineTest, HelpListsExitCodes) {
  for (const char* line : {"--help", "plan --help", "evaluate -h"}) {
    SCOPED_TRACE(line);
    ASSERT_OK_AND_ASSIGN(const Command command, Parse(line));
    EXPECT_THAT(std::get<HelpOptions>(command).text, HasSubstr("no plan fits"));
  }
}

struct BadLine {
  std::string name;
  std::string line;
  std::string message;
};

class BadCommandLineTest : public ::testing::TestWithParam<BadLine> {};

TEST_P(BadCommandLineTest, IsExplained) {
  EXPECT_THAT(Parse(GetParam().line),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       StartsWith(GetParam().message)));
}

std::string PlanWith(const std::string& more) {
  return std::string(kPlan) + " " + more;
}

INSTANTIATE_TEST_SUITE_P(
    ParseCommandLine, BadCommandLineTest,
    ::testing::Values(
        BadLine{"NoCommand", "", "A subcommand is required"},
        BadLine{"UnknownCommand", "paln",
                "paln: unknown command; did you mean plan?; see tangram "
                "--help"},
        BadLine{"UnknownOption", "plan --clutser c",
                "--clutser: unknown option or argument; did you mean "
                "--cluster?; see tangram plan --help"},
        BadLine{"UnknownOptionOfAGroup", "job list --limt=3",
                "--limt=3: unknown option or argument; did you mean --limit?; "
                "see tangram job list --help"},
        BadLine{"ExtraArgument", PlanWith("more"), "more: unknown"},
        BadLine{"NoCluster", "plan --model m --global-batch 1",
                "--cluster, or --nodes with cloud instances, is required"},
        BadLine{"NoModelNorBatch", "plan --cluster c",
                "--model and --global-batch are required"},
        BadLine{"NoPlanFile", "evaluate", "plan is required"},
        BadLine{"ZeroBatch", "plan --cluster c --model m --global-batch 0",
                "--global-batch: 0; expected a positive integer"},
        BadLine{"TextForNumber", PlanWith("--layers many"),
                "--layers: many; expected a positive integer"},
        BadLine{"NegativeMicrobatch", PlanWith("--microbatch -1"),
                "--microbatch: -1; expected 0 or a positive integer"},
        BadLine{"HugeNumber", PlanWith("--seq 99999999999"),
                "--seq: 99999999999; expected a positive integer"},
        BadLine{"LargerNumber", PlanWith("--pp 3000000000"),
                "--pp: 3000000000; expected a positive integer, at most "
                "2147483647"},
        BadLine{"MarginInPercent", PlanWith("--memory-margin 5%"),
                "--memory-margin: 5%; expected a number from 0 to 0.9"},
        BadLine{"OptionAfterTheLast", PlanWith("-- --seq 1"),
                "--seq: unknown option or argument; options end at --; see "
                "tangram plan --help"},
        BadLine{"HelpOfNoCommand", "help import foo",
                "foo: unknown command; see tangram import --help"},
        BadLine{"NanTimeout", PlanWith("--timeout nan"),
                "--timeout: nan; expected a positive number"},
        BadLine{"InfiniteTolerance", PlanWith("--memory-tolerance inf"),
                "--memory-tolerance: inf; expected a number of at least 0"},
        BadLine{"NoPort", PlanWith("--coordinator host"),
                "--coordinator: host; expected host:port"},
        BadLine{"PortTooLarge", "health --coordinator h:65536",
                "--coordinator: h:65536; expected host:port"},
        BadLine{"BadProgress", PlanWith("--progress maybe"),
                "--progress: maybe; expected auto, always or never"}),
    [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace tangram
