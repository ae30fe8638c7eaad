#include "frameworks/read_training_options.h"

#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/status_macros.h"
#include "common/domain/device.h"
#include "frameworks/check_model_options.h"

namespace tangram {
namespace {

absl::Status CheckPrecision(LaunchArguments& arguments, Precision known) {
  const bool fp16 = arguments.Has("fp16");
  const bool bf16 = arguments.Has("bf16");
  const bool fp8 = arguments.Has("fp8-format");
  if (fp16 && bf16) {
    return arguments.Error("fp16", "no such flag beside bf16");
  }
  if (fp8 && !bf16) {
    return arguments.Error("fp8-format", "bf16 for the rest of the model");
  }
  const Precision found = fp8    ? Precision::kFp8
                          : bf16 ? Precision::kBf16
                          : fp16 ? Precision::kFp16
                                 : Precision::kFp32;
  if (found == known) return absl::OkStatus();
  if (found == Precision::kFp32 && !DescribesModel(arguments)) {
    return absl::OkStatus();
  }
  const char* option = fp8 ? "fp8-format" : fp16 ? "fp16" : "bf16";
  return arguments.Error(
      option,
      absl::StrCat("the precision that the plan is imported for, ",
                   PrecisionName(known), " instead of ", PrecisionName(found)));
}

// Reads a flag; without it the value is false, or `known` in arguments without
// a model.
bool ReadFlag(LaunchArguments& arguments, absl::string_view name, bool known) {
  return arguments.Has(name) || (known && !DescribesModel(arguments));
}

absl::Status ReadDropout(LaunchArguments& arguments, TrainingOptions& training,
                         std::vector<std::string>& notes) {
  const double fallback =
      DescribesModel(arguments) || training.dropout ? 0.1 : 0;
  TANGRAM_ASSIGN_OR_RETURN(const double attention,
                           arguments.Number("attention-dropout", fallback));
  TANGRAM_ASSIGN_OR_RETURN(const double hidden,
                           arguments.Number("hidden-dropout", fallback));
  training.dropout = attention > 0 || hidden > 0;
  if ((attention > 0) != (hidden > 0)) {
    notes.push_back(absl::StrCat(
        arguments.Field("attention-dropout"), " ", attention, " and ",
        arguments.Field("hidden-dropout"), " ", hidden,
        ": plans know dropout in both places or in none; both is assumed"));
  }
  return absl::OkStatus();
}

// Adam's moments are 16-bit if both are.
absl::Status ReadMoments(LaunchArguments& arguments, TrainingOptions& training,
                         std::vector<std::string>& notes) {
  if (!ReadFlag(arguments, "use-precision-aware-optimizer",
                training.bf16_moments)) {
    training.bf16_moments = false;
    return absl::OkStatus();
  }
  int halves = 0;
  for (const char* name : {"exp-avg-dtype", "exp-avg-sq-dtype"}) {
    TANGRAM_ASSIGN_OR_RETURN(
        const std::string type,
        arguments.OneOf(name, training.bf16_moments ? "bf16" : "fp32",
                        {"fp32", "fp16", "bf16", "fp8"}));
    halves += type == "bf16" || type == "fp16";
    if (type == "fp8") {
      notes.push_back(absl::StrCat(arguments.Field(name),
                                   " fp8 is read as fp32, which is larger"));
    }
  }
  training.bf16_moments = halves == 2;
  if (halves == 1) {
    notes.push_back(
        "one of Adam's moments has 16 bits; both are read as fp32, which is "
        "larger");
  }
  return absl::OkStatus();
}

absl::Status ReadAttention(LaunchArguments& arguments,
                           TrainingOptions& training) {
  const char* fallback = DescribesModel(arguments) || training.flash_attention
                             ? "auto"
                             : "unfused";
  TANGRAM_ASSIGN_OR_RETURN(
      const std::string backend,
      arguments.OneOf("attention-backend", fallback,
                      {"auto", "flash", "fused", "unfused", "local"}));
  training.flash_attention = backend != "unfused" && backend != "local";
  return absl::OkStatus();
}

// Gradients of bf16 training are summed in fp32 by default.
bool ReadFp32Gradients(LaunchArguments& arguments, bool known) {
  const bool asked = arguments.Has("accumulate-allreduce-grads-in-fp32");
  const bool refused = arguments.Has("grad-reduce-in-bf16");
  if (refused && arguments.Has("bf16")) return false;
  if (asked) return true;
  return DescribesModel(arguments) ? arguments.Has("bf16") : known;
}

}  // namespace

absl::Status CheckSequenceLength(
    int found, int known,
    absl::FunctionRef<absl::Status(absl::string_view expected)> error) {
  if (known == 0 || found == known) return absl::OkStatus();
  return error(absl::StrCat(known,
                            ", the sequence length that the plan is imported "
                            "for"));
}

absl::StatusOr<TrainingOptions> ReadTrainingOptions(
    LaunchArguments& arguments, const TrainingOptions& known,
    std::vector<std::string>& notes) {
  TrainingOptions training = known;
  TANGRAM_RETURN_IF_ERROR(CheckPrecision(arguments, known.precision));
  const std::optional<int> known_length =
      DescribesModel(arguments) ? std::nullopt
                                : std::optional<int>(known.sequence_length);
  TANGRAM_ASSIGN_OR_RETURN(training.sequence_length,
                           arguments.Int("seq-length", known_length));
  TANGRAM_RETURN_IF_ERROR(
      CheckSequenceLength(training.sequence_length, known.sequence_length,
                          [&](absl::string_view expected) {
                            return arguments.Error("seq-length", expected);
                          }));
  const bool keeps_sgd =
      known.optimizer == Optimizer::kSgd && !DescribesModel(arguments);
  TANGRAM_ASSIGN_OR_RETURN(
      const std::string optimizer,
      arguments.OneOf("optimizer", keeps_sgd ? "sgd" : "adam",
                      {"adam", "sgd"}));
  training.optimizer = optimizer == "adam" ? Optimizer::kAdam : Optimizer::kSgd;
  TANGRAM_RETURN_IF_ERROR(ReadDropout(arguments, training, notes));
  TANGRAM_RETURN_IF_ERROR(ReadAttention(arguments, training));
  TANGRAM_RETURN_IF_ERROR(ReadMoments(arguments, training, notes));
  training.fp32_gradients = ReadFp32Gradients(arguments, known.fp32_gradients);
  training.overlap_grad_reduce =
      ReadFlag(arguments, "overlap-grad-reduce", known.overlap_grad_reduce);
  training.fused_loss =
      ReadFlag(arguments, "cross-entropy-loss-fusion", known.fused_loss);
  NoteChangedTraining(known, training, notes);
  return training;
}

absl::StatusOr<int> ReadGlobalBatch(LaunchArguments& arguments,
                                    int pipeline_microbatch_size,
                                    std::vector<std::string>& notes) {
  if (!arguments.Has("global-batch-size")) {
    notes.push_back(absl::StrCat("no ", arguments.Field("global-batch-size"),
                                 ": one microbatch of all replicas, ",
                                 pipeline_microbatch_size));
  }
  TANGRAM_ASSIGN_OR_RETURN(
      const int batch,
      arguments.Int("global-batch-size", pipeline_microbatch_size));
  if (batch % pipeline_microbatch_size != 0) {
    return arguments.Error(
        "global-batch-size",
        absl::StrCat("a multiple of ", pipeline_microbatch_size,
                     ", a microbatch of all replicas"));
  }
  constexpr char kRampup[] = "rampup-batch-size";
  if (!arguments.Has(kRampup)) return batch;
  TANGRAM_ASSIGN_OR_RETURN(const std::vector<int> ramp,
                           arguments.Ints(kRampup, /*min=*/0));
  if (ramp.size() != 3 || ramp[0] < 1 || ramp[1] < 1) {
    return arguments.Error(kRampup, "first batch, increment and samples");
  }
  if (ramp[0] > batch || (batch - ramp[0]) % ramp[1] != 0) {
    return arguments.Error(
        kRampup, absl::StrCat("steps that reach the global batch, ", batch));
  }
  notes.push_back(absl::StrCat(
      arguments.Field(kRampup), ": the batch grows from ", ramp[0], " by ",
      ramp[1], " for ", ramp[2], " samples; the plan is for ", batch));
  return batch;
}

void NoteChangedTraining(const TrainingOptions& known,
                         const TrainingOptions& found,
                         std::vector<std::string>& notes) {
  std::vector<std::string> changes;
  const auto compare = [&](absl::string_view name, bool before, bool after) {
    if (before != after) {
      changes.push_back(absl::StrCat(name, after ? " on" : " off"));
    }
  };
  if (known.optimizer != found.optimizer) {
    changes.push_back(found.optimizer == Optimizer::kAdam ? "optimizer adam"
                                                          : "optimizer sgd");
  }
  compare("dropout", known.dropout, found.dropout);
  compare("flash attention", known.flash_attention, found.flash_attention);
  compare("fp32 gradients", known.fp32_gradients, found.fp32_gradients);
  compare("overlap of gradient reduction", known.overlap_grad_reduce,
          found.overlap_grad_reduce);
  compare("16-bit moments", known.bf16_moments, found.bf16_moments);
  compare("fused loss", known.fused_loss, found.fused_loss);
  if (changes.empty()) return;
  notes.push_back(
      absl::StrCat("training as in the files: ", absl::StrJoin(changes, ", ")));
}

}  // namespace tangram
