#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/status_macros.h"
#include "formats/config/training_names.h"
#include "formats/import_profile/aceso_collectives.h"
#include "formats/import_profile/aceso_rows.h"
#include "formats/import_profile/formats.h"
#include "formats/import_profile/import_parts.h"

// Imports operator profiles of Aceso (EuroSys 2024). Its profiler ran operators
// one by one on tp GPUs, without recomputation. The times include the tp
// collectives: an operator that has one has it in one of its passes. The other
// pass and the ratio of both at tp 1 give its compute. The rest is an
// all-reduce of the tokens; the median of those of one size becomes a point of
// a table. The dimensions of the model follow from the sizes of weights and
// scores.
namespace tangram {
namespace {

// An operator as Aceso names it, and the operator of ours that it is part of.
struct Part {
  absl::string_view name;
  OpKind op;
  // The pass that ends in an all-reduce when tp is above 1.
  ReducedPass reduced = ReducedPass::kNone;
  // A product with weights, split by columns or by rows.
  bool product = false;
};

constexpr Part kEmbeddingParts[] = {
    {"encoder-embedding", OpKind::kEmbedding, ReducedPass::kForward}};
constexpr Part kTransformerParts[] = {
    {"enc-1st-layernorm", OpKind::kAttentionNorm},
    {"enc-attention-qkv", OpKind::kQkvProjection, ReducedPass::kBackward, true},
    {"enc-attention-score", OpKind::kAttentionCore},
    {"enc-attention-softmax", OpKind::kAttentionCore},
    {"enc-attention-dropout", OpKind::kAttentionCore},
    {"enc-attention-context", OpKind::kAttentionCore},
    {"enc-attention-dense", OpKind::kOutputProjection, ReducedPass::kForward,
     true},
    {"enc-post-attention-dropout", OpKind::kAttentionResidual},
    {"enc-2nd-layernorm", OpKind::kMlpNorm},
    {"enc-MLP-GEMM-1", OpKind::kMlpUp, ReducedPass::kBackward, true},
    {"enc-MLP-gelu", OpKind::kMlpActivation},
    {"enc-MLP-GEMM-2", OpKind::kMlpDown, ReducedPass::kForward, true},
    {"enc-post-MLP-dropout", OpKind::kMlpResidual}};
constexpr Part kHeadParts[] = {
    {"final-layernorm", OpKind::kFinalNorm},
    {"gpt-post-process", OpKind::kHead, ReducedPass::kBackward}};

// The operators of one model at one batch size and tp degree; keys are names.
using Batch = std::map<std::string, AcesoOperator>;
using BatchKey = std::tuple<std::string, int, int>;  // Model, tp, samples.

bool IsDevice(absl::string_view name, absl::string_view chosen) {
  return absl::EqualsIgnoreCase(KnownDevice(name), KnownDevice(chosen));
}

// Chooses rows of files with several GPU types or precisions: those of the
// device and precision in the options.
class Selection {
 public:
  explicit Selection(const ImportOptions& options) : options_(options) {}

  bool Keeps(const std::string& gpu, const std::string& dtype) {
    const bool is_device = gpu.empty() || options_.device.empty() ||
                           IsDevice(gpu, options_.device);
    const absl::StatusOr<Precision> precision = ParsePrecision(dtype);
    const bool is_precision = !precision.ok() ||
                              !options_.precision.has_value() ||
                              *precision == *options_.precision;
    if (!is_device || !is_precision) {
      ++num_others_;
      return false;
    }
    if (!gpu.empty()) gpus_.insert(gpu);
    if (precision.ok()) dtypes_.insert(dtype);
    return true;
  }

  // OK if all rows that were kept are of one device and precision.
  absl::Status CheckOne(const std::string& file) const {
    if (gpus_.size() > 1) {
      return absl::InvalidArgumentError(
          absl::StrCat(file, ": of ", absl::StrJoin(gpus_, ", "),
                       "; expected one, chosen by --device"));
    }
    if (dtypes_.size() > 1) {
      return absl::InvalidArgumentError(
          absl::StrCat(file, ": in ", absl::StrJoin(dtypes_, ", "),
                       "; expected one, chosen by --precision"));
    }
    return absl::OkStatus();
  }

  std::string gpu() const { return gpus_.empty() ? "" : *gpus_.begin(); }
  // Upstream measures GPT in fp16 without saying so in the files.
  Precision precision() const {
    if (options_.precision.has_value()) return *options_.precision;
    return dtypes_.empty() ? Precision::kFp16
                           : *ParsePrecision(*dtypes_.begin());
  }
  int num_others() const { return num_others_; }

 private:
  const ImportOptions& options_;
  std::set<std::string> gpus_;
  std::set<std::string> dtypes_;
  int num_others_ = 0;
};

int Rounded(double value) { return static_cast<int>(std::lround(value)); }

// Computes the dimensions from sizes in elements (bytes / element_bytes):
//   h         = sqrt(qkv weights · tp / 3)
//   ffn       = weights of the MLP's first product · tp / h
//   vocabulary = weights of the last operator · tp / h
//   sequence  = input of the first norm / (samples · h)
//   heads     = scores · tp / (samples · sequence²)
absl::StatusOr<GptDimensions> DimensionsOf(const Batch& batch,
                                           const std::string& name,
                                           double element_bytes,
                                           std::optional<int> sequence_length) {
  for (const char* needed :
       {"enc-1st-layernorm", "enc-attention-qkv", "enc-attention-score",
        "enc-MLP-GEMM-1", "gpt-post-process"}) {
    if (batch.count(needed) == 0) {
      return absl::InvalidArgumentError(absl::StrCat(
          name, ": no operator ", needed, "; expected the operators of a GPT"));
    }
  }
  const auto weights = [&](const char* op) {
    const AcesoOperator& row = batch.at(op);
    return row.weight_bytes * row.tp / element_bytes;
  };
  const AcesoOperator& norm = batch.at("enc-1st-layernorm");
  const AcesoOperator& score = batch.at("enc-attention-score");
  const double hidden = std::sqrt(weights("enc-attention-qkv") / 3);
  const double sequence =
      sequence_length.has_value()
          ? *sequence_length
          : norm.input_bytes / element_bytes / norm.samples / hidden;
  const double heads = score.activation_bytes * score.tp / element_bytes /
                       score.samples / sequence / sequence;
  const GptDimensions dimensions = {
      .name = name,
      .num_layers = 1,
      .hidden_size = Rounded(hidden),
      .num_heads = Rounded(heads),
      .ffn_hidden_size = Rounded(weights("enc-MLP-GEMM-1") / hidden),
      .vocab_size = Rounded(weights("gpt-post-process") / hidden),
      .sequence_length = Rounded(sequence)};
  const bool plausible =
      dimensions.hidden_size > 0 && dimensions.num_heads > 0 &&
      dimensions.hidden_size % dimensions.num_heads == 0 &&
      dimensions.ffn_hidden_size > 0 && dimensions.vocab_size > 0 &&
      dimensions.sequence_length > 0;
  if (plausible) return dimensions;
  return absl::InvalidArgumentError(absl::StrCat(
      name, ": sizes of a width of ", dimensions.hidden_size, ", ",
      dimensions.num_heads, " heads and ", dimensions.sequence_length,
      " tokens; expected some that fit together, or another --precision or "
      "--seq"));
}

// Returns whether backward times lack the gradients of the weights, as in some
// published profiles. Both products of the MLP are equally large. Without
// collectives, the backward pass of one takes twice the forward pass of the
// other: a product for the input's gradient and one for the weights'. A median
// ratio below 1.5 shows that one of these is missing.
bool LacksWeightGradients(const std::map<BatchKey, Batch>& batches) {
  // Half-way between one product and two.
  constexpr double kBetweenOneAndTwo = 1.5;
  std::vector<double> ratios;
  for (const auto& [key, batch] : batches) {
    const auto up = batch.find("enc-MLP-GEMM-1");
    const auto down = batch.find("enc-MLP-GEMM-2");
    if (up == batch.end() || down == batch.end() || !up->second.ran ||
        !down->second.ran || up->second.forward_s <= 0) {
      continue;
    }
    ratios.push_back(down->second.backward_s / up->second.forward_s);
  }
  return !ratios.empty() && Median(std::move(ratios)) < kBetweenOneAndTwo;
}

// Adds the layers and operators of one model, batch by batch.
class AcesoImporter {
 public:
  AcesoImporter(ProfileEntry shape, bool add_weight_gradients,
                const BackwardRatios& ratios, AllReduceSamples& all_reduces,
                ImportResult& result)
      : shape_(std::move(shape)),
        add_weight_gradients_(add_weight_gradients),
        ratios_(ratios),
        all_reduces_(all_reduces),
        result_(result) {}

  void AddBatch(const Batch& batch) {
    AddLayer(batch, kEmbeddingParts, 0);
    AddLayer(batch, kTransformerParts, 1);
    const ModelSpec& model = result_.profile.models[shape_.model];
    AddLayer(batch, kHeadParts, model.num_layers() - 1);
  }

 private:
  void Note(std::string note) {
    std::vector<std::string>& notes = result_.notes;
    if (std::find(notes.begin(), notes.end(), note) == notes.end()) {
      notes.push_back(std::move(note));
    }
  }

  std::string NameOf(const AcesoOperator& row) const {
    return absl::StrCat(row.model, ", tp ", row.tp, ", ", row.samples,
                        " samples: ", row.op);
  }

  // Bytes of all tokens of a batch, over the full width.
  double BlockBytes(int samples) const {
    return ElementBytes(shape_.precision) * samples * shape_.sequence_length *
           result_.profile.models[shape_.model].layers[1].hidden_size;
  }

  // Returns an operator's compute, and records its all-reduce.
  SplitTimes TimesOf(const Part& part, const AcesoOperator& op) {
    SplitTimes times = SplitAllReduce(
        op, part.reduced, ratios_.Of(op, add_weight_gradients_ ? 1 : 2));
    if (!part.product) return times;
    all_reduces_.Add(op.tp, BlockBytes(op.samples), times.all_reduce_s);
    // The missing product takes as long as the pass without a collective.
    if (add_weight_gradients_) {
      times.backward_s += part.reduced == ReducedPass::kBackward
                              ? times.forward_s
                              : op.backward_s;
    }
    return times;
  }

  void AddLayer(const Batch& batch, absl::Span<const Part> parts, int layer) {
    ProfileEntry entry = shape_;
    entry.layer = layer;
    ProfilePoint whole;
    std::map<OpKind, ProfilePoint> by_op;
    for (const Part& part : parts) {
      const auto row = batch.find(std::string(part.name));
      if (row == batch.end()) {
        return Note(absl::StrCat(batch.begin()->second.model, ": ", part.name,
                                 ": missing, so its layer is left out"));
      }
      if (!row->second.ran) {
        return Note(absl::StrCat(NameOf(row->second),
                                 ": did not run, so its layer is left out"));
      }
      const AcesoOperator& op = row->second;
      const SplitTimes times = TimesOf(part, op);
      entry.parallelism.tp_degree = op.tp;
      ProfilePoint& point = by_op[part.op];
      point.samples = whole.samples = op.samples;
      point.forward_s += times.forward_s;
      point.backward_s += times.backward_s;
      whole.forward_s += times.forward_s;
      whole.backward_s += times.backward_s;
    }
    AddPoint(entry, whole, result_.profile);
    for (const auto& [op, point] : by_op) {
      entry.op = op;
      AddPoint(entry, point, result_.profile);
    }
  }

  const ProfileEntry shape_;
  const bool add_weight_gradients_;
  const BackwardRatios& ratios_;
  AllReduceSamples& all_reduces_;
  ImportResult& result_;
};

std::map<BatchKey, Batch> BatchesOf(const AcesoRows& rows,
                                    Selection& selection) {
  std::map<BatchKey, Batch> batches;
  for (const AcesoOperator& row : rows.operators) {
    if (row.algo != 0 || !selection.Keeps(row.gpu, row.dtype)) continue;
    batches[{row.model, row.tp, row.samples}].emplace(row.op, row);
  }
  return batches;
}

absl::Status AddOperators(const std::map<BatchKey, Batch>& batches,
                          const BackwardRatios& ratios,
                          const ImportOptions& options, Precision precision,
                          ImportResult& result) {
  const bool add_weight_gradients = LacksWeightGradients(batches);
  if (add_weight_gradients) {
    result.notes.push_back(
        "backward of the products takes about as long as forward, so it lacks "
        "the weights' gradients: their time is added, except the head's");
  }
  if (!batches.empty()) {
    result.notes.push_back(
        "activations: left out; they include outputs that are not kept for "
        "the backward pass");
  }
  AllReduceSamples all_reduces;
  // Keys are names of models; dimensions are from the first batch of each.
  std::map<std::string, ProfileEntry> shapes;
  for (const auto& [key, batch] : batches) {
    const std::string& name = std::get<0>(key);
    if (shapes.count(name) == 0) {
      TANGRAM_ASSIGN_OR_RETURN(
          const GptDimensions dimensions,
          DimensionsOf(batch, name, ElementBytes(precision),
                       options.sequence_length));
      shapes[name] = {
          .model = AddModel(options.model.value_or(GptModel(dimensions)),
                            result.profile),
          .precision = precision,
          .sequence_length = dimensions.sequence_length};
    }
    AcesoImporter(shapes[name], add_weight_gradients, ratios, all_reduces,
                  result)
        .AddBatch(batch);
  }
  if (all_reduces.AddTo(result.profile)) {
    result.notes.push_back(
        "all-reduces with tp above 1: taken out of the operators' times, by "
        "their other pass, into tables");
  }
  return absl::OkStatus();
}

void AddCollectives(const AcesoRows& rows, Selection& selection,
                    ImportResult& result) {
  for (const AcesoCollective& row : rows.collectives) {
    if (!selection.Keeps(row.gpu, row.dtype)) continue;
    AddPoint(row.shape, row.point, result.profile);
  }
  if (!result.profile.collectives.empty()) {
    result.notes.push_back(
        "collectives: assumed to have run inside one node, as in upstream's "
        "profiler");
  }
}

}  // namespace

absl::StatusOr<ImportResult> ImportAceso(Files files,
                                         const ImportOptions& options) {
  AcesoRows rows;
  for (const ImportedFile& file : files) {
    TANGRAM_RETURN_IF_ERROR(ReadAcesoFile(file, rows));
  }
  ImportResult result;
  Selection selection(options);
  const std::map<BatchKey, Batch> batches = BatchesOf(rows, selection);
  AddCollectives(rows, selection, result);
  TANGRAM_RETURN_IF_ERROR(AddOperators(batches, BackwardRatios(rows.operators),
                                       options, selection.precision(), result));
  TANGRAM_RETURN_IF_ERROR(selection.CheckOne(files[0].name));
  TANGRAM_RETURN_IF_ERROR(
      SetDevice(selection.gpu(), files[0].name, options, result.profile));
  if (selection.num_others() > 0) {
    result.notes.push_back(absl::StrCat(selection.num_others(),
                                        " rows of other GPUs or precisions: "
                                        "left out"));
  }
  const auto num_other_splits =
      std::count_if(rows.operators.begin(), rows.operators.end(),
                    [](const AcesoOperator& row) { return row.algo != 0; });
  if (num_other_splits > 0) {
    result.notes.push_back(
        absl::StrCat(num_other_splits,
                     " rows of algo 1: left out; products are split by "
                     "rows first, which plans never do"));
  }
  result.profile.source = absl::StrCat("Aceso profile, ", files[0].name);
  result.profile.framework = "Megatron-LM (Aceso)";
  return result;
}

}  // namespace tangram
