#include "frameworks/pipeline_layout.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/base/status_macros.h"
#include "frameworks/import_parts.h"

namespace tangram {
namespace {

constexpr char kLayout[] = "pipeline-model-parallel-layout";
constexpr char kLayersPerChunk[] = "num-layers-per-virtual-pipeline-stage";
constexpr char kChunks[] = "num-virtual-stages-per-pipeline-rank";
constexpr char kFirstLayers[] = "decoder-first-pipeline-num-layers";
constexpr char kLastLayers[] = "decoder-last-pipeline-num-layers";

// Removes "*12" from the front of `text` and returns 12; nullopt, and no
// change, if there is none or if it is too large.
std::optional<int> TakeFactor(absl::string_view& text) {
  absl::string_view rest = text;
  if (!absl::ConsumePrefix(&rest, "*")) return std::nullopt;
  const size_t digits =
      std::min(rest.find_first_not_of("0123456789"), rest.size());
  int factor = 0;
  if (!absl::SimpleAtoi(rest.substr(0, digits), &factor)) return std::nullopt;
  text = rest.substr(digits);
  return factor;
}

// Returns what `text` has at its front to be repeated: "(tt|)", if `groups`, or
// one character. Without the parentheses.
absl::string_view TakeRepeated(absl::string_view& text, bool groups) {
  if (groups && text.front() == '(') {
    const size_t end = text.find(')');
    if (end != absl::string_view::npos && end > 1) {
      absl::string_view rest = text.substr(end + 1);
      if (TakeFactor(rest).has_value()) {
        const absl::string_view inner = text.substr(1, end - 1);
        text = text.substr(end + 1);
        return inner;
      }
    }
  }
  const absl::string_view character = text.substr(0, 1);
  text.remove_prefix(1);
  return character;
}

// Writes out one kind of repetition, as Megatron-LM does: first "(...)*n"
// everywhere, which do not nest, then "x*n". Without "*n" the text stays as it
// is. nullopt if the result is longer than kMaxNumber.
std::optional<std::string> Unrolled(absl::string_view text, bool groups) {
  std::string unrolled;
  while (!text.empty()) {
    const bool is_group = groups && text.front() == '(';
    const absl::string_view part = TakeRepeated(text, groups);
    const std::optional<int> factor =
        !groups || (is_group && part != "(") ? TakeFactor(text) : std::nullopt;
    const int count = factor.value_or(1);
    if (unrolled.size() + part.size() * count > kMaxNumber) return std::nullopt;
    for (int i = 0; i < count; ++i) absl::StrAppend(&unrolled, part);
  }
  return unrolled;
}

absl::StatusOr<std::vector<LayoutStage>> ParseStages(
    const LaunchArguments& arguments, absl::string_view text) {
  std::vector<LayoutStage> stages;
  int embeddings = 0;
  int heads = 0;
  for (const absl::string_view part : absl::StrSplit(text, '|')) {
    LayoutStage& stage = stages.emplace_back();
    for (const char kind : part) {
      if (kind == 't') {
        ++stage.num_layers;
      } else if (kind == 'E') {
        stage.embedding = true;
        ++embeddings;
      } else if (kind == 'L') {
        stage.head = true;
        ++heads;
      } else if (kind == 'm') {
        return arguments.Error(
            kLayout, "no m, as plans cannot hold multi-token prediction");
      } else {
        return arguments.Error(kLayout,
                               "stages of E, t and L between |, and (...)*n");
      }
    }
    if (part.empty()) {
      return arguments.Error(kLayout,
                             absl::StrCat("at least one layer in stage ",
                                          stages.size() - 1, ", as in plans"));
    }
  }
  if (embeddings != 1 || text.front() != 'E' || heads != 1 ||
      text.back() != 'L') {
    return arguments.Error(kLayout, "one E, which is first, and one L, last");
  }
  return stages;
}

absl::StatusOr<std::vector<LayoutStage>> ReadLayoutText(
    LaunchArguments& arguments, int num_layers, int num_devices) {
  TANGRAM_ASSIGN_OR_RETURN(std::string text, arguments.Text(kLayout, ""));
  text = absl::StrReplaceAll(text, {{",", ""}});
  for (const bool groups : {true, false}) {
    std::optional<std::string> unrolled = Unrolled(text, groups);
    if (!unrolled.has_value()) {
      return arguments.Error(kLayout,
                             absl::StrCat("at most ", kMaxNumber, " layers"));
    }
    text = *std::move(unrolled);
  }
  TANGRAM_ASSIGN_OR_RETURN(std::vector<LayoutStage> stages,
                           ParseStages(arguments, text));
  if (stages.size() % num_devices != 0) {
    return arguments.Error(
        kLayout, absl::StrCat("a multiple of ", num_devices, " stages, not ",
                              stages.size()));
  }
  int found = 0;
  for (const LayoutStage& stage : stages) found += stage.num_layers;
  if (found == num_layers) return stages;
  return arguments.Error(
      kLayout, absl::StrCat(num_layers, " layers in all, not ", found));
}

// Returns the layers of each device, with embedding and head counted where the
// options say so.
absl::StatusOr<std::vector<int>> LayersPerDevice(LaunchArguments& arguments,
                                                 int num_layers,
                                                 int num_devices) {
  std::vector<int> layers(num_devices, 0);
  int left = num_layers;
  int devices_left = num_devices;
  for (const char* name : {kFirstLayers, kLastLayers}) {
    if (!arguments.Has(name)) continue;
    TANGRAM_ASSIGN_OR_RETURN(const int given,
                             arguments.Int(name, std::nullopt));
    int& device = name == kFirstLayers ? layers.front() : layers.back();
    if (given > left || device > 0) {
      return arguments.Error(name, absl::StrCat("at most ", left, " layers"));
    }
    device = given;
    left -= given;
    --devices_left;
  }
  if (devices_left == 0 ? left != 0 : left % devices_left != 0) {
    return arguments.Error(
        "pipeline-model-parallel-size",
        absl::StrCat(
            "a divisor of ", left,
            devices_left == num_devices ? " layers" : " layers that are left"));
  }
  for (int& device : layers) {
    if (device == 0) device = left / devices_left;
  }
  return layers;
}

// Returns the chunks on each device.
absl::StatusOr<int> ReadChunks(LaunchArguments& arguments, int per_device) {
  if (arguments.Has(kChunks)) return arguments.Int(kChunks, std::nullopt);
  if (!arguments.Has(kLayersPerChunk)) return 1;
  if (arguments.Has(kFirstLayers) || arguments.Has(kLastLayers)) {
    return arguments.Error(
        kLayersPerChunk,
        absl::StrCat(arguments.Field(kChunks), " with an uneven pipeline"));
  }
  TANGRAM_ASSIGN_OR_RETURN(const int layers,
                           arguments.Int(kLayersPerChunk, std::nullopt));
  if (per_device % layers == 0) return per_device / layers;
  return arguments.Error(
      kLayersPerChunk,
      absl::StrCat("a divisor of the ", per_device, " layers of a stage"));
}

absl::StatusOr<std::vector<LayoutStage>> SplitLayers(LaunchArguments& arguments,
                                                     int num_layers,
                                                     int num_devices) {
  const int embedding =
      arguments.Has("account-for-embedding-in-pipeline-split");
  const int head = arguments.Has("account-for-loss-in-pipeline-split");
  if (embedding + head > 0 &&
      (arguments.Has(kFirstLayers) || arguments.Has(kLastLayers))) {
    return arguments.Error(
        arguments.Has(kFirstLayers) ? kFirstLayers : kLastLayers,
        "no such option if embedding or loss count as layers");
  }
  TANGRAM_ASSIGN_OR_RETURN(
      const std::vector<int> per_device,
      LayersPerDevice(arguments, num_layers + embedding + head, num_devices));
  TANGRAM_ASSIGN_OR_RETURN(const int chunks,
                           ReadChunks(arguments, per_device.front()));
  std::vector<LayoutStage> stages;
  for (int chunk = 0; chunk < chunks; ++chunk) {
    for (const int layers : per_device) {
      if (layers % chunks != 0) {
        return arguments.Error(
            kChunks, absl::StrCat("a divisor of ", layers, " layers"));
      }
      stages.push_back({.num_layers = layers / chunks});
    }
  }
  stages.front().embedding = true;
  stages.front().num_layers -= embedding;
  stages.back().head = true;
  stages.back().num_layers -= head;
  return stages;
}

}  // namespace

absl::StatusOr<std::vector<LayoutStage>> ReadPipelineLayout(
    LaunchArguments& arguments, int num_layers, int num_devices) {
  const int ways = arguments.Has(kLayout) + arguments.Has(kLayersPerChunk) +
                   arguments.Has(kChunks);
  if (ways > 1) {
    return arguments.Error(
        arguments.Has(kLayout) ? kLayout : kChunks,
        "one of layout, layers and number of virtual stages");
  }
  TANGRAM_ASSIGN_OR_RETURN(
      std::vector<LayoutStage> stages,
      arguments.Has(kLayout)
          ? ReadLayoutText(arguments, num_layers, num_devices)
          : SplitLayers(arguments, num_layers, num_devices));
  // Without overlap, two neighbours would send to each other at once.
  const int least = arguments.Has("no-overlap-p2p-communication") ? 3 : 2;
  if (static_cast<int>(stages.size()) > num_devices && num_devices < least) {
    return arguments.Error(
        "pipeline-model-parallel-size",
        absl::StrCat("at least ", least, " with virtual stages"));
  }
  return stages;
}

}  // namespace tangram
