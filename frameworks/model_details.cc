#include "frameworks/model_details.h"

#include <cmath>
#include <cstdint>
#include <optional>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"

namespace tangram {
namespace {

// The default of --attention-dropout and --hidden-dropout in Megatron-LM.
constexpr double kUsualDropout = 0.1;

bool IsInteger(double value) { return value == std::floor(value); }

class Lost {
 public:
  void Add(absl::string_view field, absl::string_view given,
           absl::string_view becomes) {
    lines_.push_back(
        absl::StrCat("model.", field, ": ", given, "; becomes ", becomes));
  }

  // `taken`: the framework takes the value. 0 is not given.
  void AddNumber(absl::string_view field, double given, bool taken) {
    if (given == 0 || taken) return;
    Add(field, DetailText(given), "that of the framework's own model");
  }

  std::vector<std::string> Take() { return std::move(lines_); }

 private:
  std::vector<std::string> lines_;
};

bool TakesScaling(const RopeScaling& scaling, const DetailSupport& support) {
  switch (MegatronScalingOf(scaling)) {
    case MegatronRopeScaling::kNone:
      return true;
    case MegatronRopeScaling::kLlama3:
      return support.llama3_scaling;
    case MegatronRopeScaling::kLinear:
      return support.linear_scaling;
    case MegatronRopeScaling::kOther:
      return false;
  }
  return false;
}

void AddDropout(const ModelDetails& details, const TrainingOptions& training,
                bool taken, Lost& lost) {
  if (!training.dropout || taken) return;
  const auto add = [&](const char* field, std::optional<double> rate) {
    if (rate.value_or(kUsualDropout) == kUsualDropout) return;
    lost.Add(field, DetailText(*rate), DetailText(kUsualDropout));
  };
  add("attention_dropout", details.attention_dropout);
  add("hidden_dropout", details.hidden_dropout);
}

// The weights of fp8 training are bf16. Mixed precision keeps weights of fp32
// as its masters.
bool KeepsWeights(Precision weights, Precision training) {
  return weights == training || weights == Precision::kFp32 ||
         (weights == Precision::kBf16 && training == Precision::kFp8);
}

void AddDtype(const ModelDetails& details, const TrainingOptions& training,
              Lost& lost) {
  if (details.dtype.empty()) return;
  const std::optional<Precision> weights = PrecisionOfDtype(details.dtype);
  if (weights.has_value() && KeepsWeights(*weights, training.precision)) return;
  lost.Add("dtype", details.dtype,
           absl::StrCat(PrecisionName(training.precision),
                        ", the plan's --precision"));
}

void AddExpertCapacity(const ModelSpec& model, bool supported, Lost& lost) {
  for (const LayerSpec& layer : model.layers) {
    if (layer.expert_capacity_factor == 0) continue;
    if (!supported) {
      lost.Add("experts.capacity_factor",
               DetailText(layer.expert_capacity_factor), "none");
    }
    if (layer.expert_group_tokens > 0) {
      lost.Add("experts.group_tokens", absl::StrCat(layer.expert_group_tokens),
               "none: tokens are sorted by expert");
    }
    return;
  }
}

}  // namespace

DropoutRates DropoutOf(const ModelSpec& model,
                       const TrainingOptions& training) {
  if (!training.dropout) return {};
  return {.attention = model.details.attention_dropout.value_or(kUsualDropout),
          .hidden = model.details.hidden_dropout.value_or(kUsualDropout)};
}

std::string DetailText(double value) {
  if (IsInteger(value) && std::abs(value) < 1e15) {
    return value == 0 ? "0.0" : absl::StrCat(static_cast<int64_t>(value));
  }
  const std::string text = absl::StrFormat("%g", value);
  // YAML 1.1 reads 1e-05 as a text.
  if (absl::StrContains(text, ".")) return text;
  return absl::StrReplaceAll(text, {{"e", ".0e"}});
}

MegatronRopeScaling MegatronScalingOf(const RopeScaling& scaling) {
  if (scaling.type.empty()) return MegatronRopeScaling::kNone;
  // The figures that Megatron-LM has no options for.
  const bool llama = scaling.low_freq_factor == 1 &&
                     scaling.high_freq_factor == 4 &&
                     scaling.original_positions == 8192;
  if (scaling.type == "llama3" && llama) return MegatronRopeScaling::kLlama3;
  if (scaling.type == "linear" && IsInteger(scaling.factor)) {
    return MegatronRopeScaling::kLinear;
  }
  return MegatronRopeScaling::kOther;
}

std::vector<std::string> LostDetails(const ModelSpec& model,
                                     const TrainingOptions& training,
                                     const DetailSupport& support) {
  const ModelDetails& details = model.details;
  Lost lost;
  // Megatron-LM's --rotary-base is an integer.
  lost.AddNumber("rope_theta", details.rope_theta,
                 support.rope && IsInteger(details.rope_theta));
  lost.AddNumber("rope_fraction", details.rope_fraction,
                 support.rope || details.rope_fraction == 1);
  if (!TakesScaling(details.rope_scaling, support)) {
    lost.Add("rope_scaling",
             absl::StrCat(details.rope_scaling.type, " by ",
                          details.rope_scaling.factor),
             "none");
  }
  lost.AddNumber("norm_epsilon", details.norm_epsilon, support.norm_epsilon);
  AddDropout(details, training, support.dropout_rates, lost);
  AddDtype(details, training, lost);
  if (details.attention_softcap > 0) {
    lost.Add("attention_softcap", DetailText(details.attention_softcap),
             "none");
  }
  if (details.logit_softcap > 0) {
    lost.Add("logit_softcap", DetailText(details.logit_softcap), "none");
  }
  for (const std::string& what : details.unplanned) {
    lost.Add("unplanned", what, "none");
  }
  AddExpertCapacity(model, support.expert_capacity, lost);
  return lost.Take();
}

}  // namespace tangram
