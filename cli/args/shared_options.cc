#include "cli/args/shared_options.h"

#include <cstdint>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "cli/args/exit_code.h"
#include "cli/args/option_checks.h"
#include "common/band/margin_of_kind.h"
#include "formats/config/memory_margin.h"

namespace tangram {
namespace {

std::optional<ProgressMode> ProgressModeOf(const std::string& name) {
  if (name == "auto") return ProgressMode::kAuto;
  if (name == "always") return ProgressMode::kAlways;
  if (name == "never") return ProgressMode::kNever;
  return std::nullopt;
}

}  // namespace

std::string HelpFooter() {
  std::string footer =
      "\nWith --format json, anywhere on the line, errors and the answer of "
      "diff are JSON:\n"
      "  {\"error\":{\"code\",\"exit_code\",\"message\"}}\n\nExit codes:\n";
  for (const ExitCodeMeaning& entry : ExitCodeMeanings()) {
    absl::StrAppendFormat(&footer, "  %-5d%s\n", static_cast<int>(entry.code),
                          entry.meaning);
  }
  return footer;
}

void AddCluster(CLI::App& app, ClusterChoice& cluster, bool required) {
  app.add_option("--cluster", cluster.file,
                 "Read the cluster from this YAML or JSON file")
      ->type_name("FILE");
  app.add_option("--nodes", cluster.nodes,
                 "Keep only N nodes of each of these groups, 0: none; without "
                 "--cluster, plan for N cloud instances of each of these types")
      ->type_name("GROUP=N,...");
  if (!required) return;
  app.parse_complete_callback([&cluster] {
    if (!cluster.file.empty() || !cluster.nodes.empty()) return;
    throw CLI::RequiredError("--cluster, or --nodes with cloud instances,");
  });
}

void AddModel(CLI::App& app, ModelChoice& model, bool required) {
  app.add_option("--model", model.name_or_file,
                 "Use this built-in model, Hugging Face config or model file")
      ->required(required)
      ->type_name("NAME|FILE");
  AddOptional(app, "--layers", model.num_layers,
              "Change the number of transformer layers")
      ->check(PositiveInteger());
}

void AddTraining(CLI::App& app, TrainingChoice& training, bool required) {
  app.add_option("--global-batch", training.global_batch_size,
                 "Train with this many sequences per iteration")
      ->required(required)
      ->check(PositiveInteger());
  AddOptional(app, "--seq", training.sequence_length,
              "Train with this many tokens per sequence [the model's usual]")
      ->check(PositiveInteger());
  app.add_option(
      "--precision", training.precision,
      "Train in fp32, fp16, bf16 or fp8 [that of the model's weights, "
      "else fp16]");
  app.add_option("--optimizer", training.optimizer, "Train with adam or sgd")
      ->capture_default_str();
  AddOffSwitch(app, "--no-flash-attention", training.flash_attention,
               "Plan without flash attention even where GPUs support it");
  AddOffSwitch(app, "--no-dropout", training.dropout,
               "Train without dropout, so that no masks are kept [as the "
               "model's config.json says]");
  app.add_flag("--accumulate-allreduce-grads-in-fp32", training.fp32_gradients,
               "Keep and reduce gradients in fp32");
  app.add_flag("--overlap-grad-reduce", training.overlap_grad_reduce,
               "Reduce gradients during the last backward pass");
  app.add_flag("--blocking-transfers", training.blocking_transfers,
               "Stall both stages while they exchange a large tensor");
  app.add_flag("--keep-16-bit-grads", training.gradient_copy,
               "Keep 16-bit gradients in memory beside their fp32 sums");
  app.add_flag("--bf16-moments", training.bf16_moments,
               "Keep Adam's moments in 16 bits");
  app.add_flag("--cross-entropy-loss-fusion", training.fused_loss,
               "Keep 16-bit logits for the loss instead of an fp32 softmax");
}

void AddTolerances(CLI::App& app, IslandTolerances& tolerances) {
  const auto add = [&app](const char* name, double& value, const char* help) {
    app.add_option(name, value, help)
        ->capture_default_str()
        ->check(NumberAbove(0, /*inclusive=*/true, "a number of at least 0"))
        ->group("Islands");
  };
  add("--compute-tolerance", tolerances.compute,
      "Allow this relative spread of peak throughput inside an island");
  add("--memory-tolerance", tolerances.memory,
      "Allow this relative spread of memory per GPU inside an island");
  add("--intra-node-tolerance", tolerances.intra_node,
      "Allow this relative spread of bandwidth inside the nodes of an island");
  add("--inter-node-tolerance", tolerances.inter_node,
      "Allow links in an island to be this much slower than links leaving it");
}

void AddProgress(CLI::App& app, ProgressMode& progress) {
  app.add_option_function<std::string>(
         "--progress",
         [&progress](const std::string& name) {
           progress = *ProgressModeOf(name);
         },
         "Show a progress line: always, never or auto, on a terminal only "
         "[auto]")
      ->check(Check(
          [](const std::string& name) {
            return ProgressModeOf(name).has_value();
          },
          "auto, always or never"))
      ->type_name("WHEN");
}

void AddMemoryMargin(CLI::App& app, std::optional<double>& margin) {
  app.add_option("--memory-margin", margin,
                 absl::StrCat("Leave this share of each GPU's memory free [",
                              kUsualMemoryMargin, "; that of the framework]"))
      ->check(NumberWithin(0, kMostMemoryMargin))
      ->type_name("FRACTION");
}

void AddProfiles(CLI::App& app, ClusterChoice& cluster) {
  app.add_option("--profile", cluster.profiles,
                 "Use these measurements for GPUs of their type; may be given "
                 "several times")
      ->type_name("FILE")
      ->allow_extra_args(false);
  app.add_option("--constants", cluster.constants_file,
                 "Correct the constants of GPUs and links by this file of "
                 "tangram validate --calibrate")
      ->type_name("FILE");
}

void AddEffort(CLI::App& app, PlanOptions& plan) {
  app.add_option("--threads", plan.num_threads,
                 "Search with this many threads; 0: one per core")
      ->check(WholeNumber(0, 1024, "0 to 1024"))
      ->group("Search");
  app.add_option("--effort", plan.search.max_search_steps,
                 "Spend this many steps on the whole model, fewer on slices")
      ->capture_default_str()
      ->check(WholeNumber(1, INT64_MAX, "a positive integer"))
      ->group("Search");
}

void AddAnswer(CLI::App& app, AnswerChoice& answer) {
  constexpr char kAnswer[] = "Answer";
  AddOptional(app, "--tokens", answer.tokens,
              "Say what training on so many tokens takes [1e9]")
      ->check(NumberAbove(0, /*inclusive=*/false, "a positive number"))
      ->type_name("N")
      ->group(kAnswer);
  app.add_option(
         "--prices", answer.prices,
         "Say what it costs at these prices of a node of each group for "
         "an hour, in any currency")
      ->type_name("GROUP=X,...")
      ->group(kAnswer);
  CLI::Option* brief =
      app.add_flag_callback(
             "--brief", [&answer] { answer.detail = Detail::kBrief; },
             "Print the headline alone")
          ->group(kAnswer);
  app.add_flag_callback(
         "--verbose", [&answer] { answer.detail = Detail::kAll; },
         "Print also everything that was assumed, proven and searched")
      ->excludes(brief)
      ->group(kAnswer);
}

void AddOutput(CLI::App& app, std::string& file) {
  app.add_option("-o,--output", file,
                 "Write the plan as JSON; -: to standard output")
      ->type_name("FILE");
}

void AddTraceFormat(CLI::App& app, const std::string& name,
                    TraceFormat& format) {
  app.add_option_function<std::string>(
         name,
         [&format](const std::string& text) {
           format = text == "otlp" ? TraceFormat::kOtlp : TraceFormat::kChrome;
         },
         "Write the trace as chrome, which Perfetto opens, or otlp [chrome]")
      ->check(Check(
          [](const std::string& text) {
            return text == "chrome" || text == "otlp";
          },
          "chrome or otlp"))
      ->type_name("FORM");
}

}  // namespace tangram
