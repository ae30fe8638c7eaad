#include "coordinator/dispatch/packed_answer.h"

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "common/base/check.h"

namespace tangram {
namespace {

// Writes values one after another. A number has its sign in the lowest bit, and
// 7 bits in each byte; the highest bit says that another byte follows.
class Writer {
 public:
  std::string Take() { return std::string(bytes_); }

  void Put(int64_t value) {
    uint64_t rest = (static_cast<uint64_t>(value) << 1) ^
                    static_cast<uint64_t>(value >> 63);
    for (; rest >= 0x80; rest >>= 7) {
      bytes_.push_back(static_cast<char>(rest | 0x80));
    }
    bytes_.push_back(static_cast<char>(rest));
  }
  void PutByte(uint8_t value) { bytes_.push_back(static_cast<char>(value)); }
  void Put(double value) {
    std::array<char, sizeof(value)> raw;
    std::memcpy(raw.data(), &value, sizeof(value));
    bytes_.append(raw.data(), raw.size());
  }
  void Put(const std::string& text) {
    Put(static_cast<int64_t>(text.size()));
    bytes_ += text;
  }

 private:
  std::string bytes_;
};

// Reads what Writer wrote.
class Reader {
 public:
  explicit Reader(absl::string_view bytes) : rest_(bytes) {}

  void Get(int64_t& value) {
    uint64_t bits = 0;
    for (int shift = 0;; shift += 7) {
      const auto byte = static_cast<uint8_t>(Next(1).front());
      bits |= uint64_t{byte & 0x7Fu} << shift;
      if (byte < 0x80) break;
    }
    value = static_cast<int64_t>((bits >> 1) ^ (~(bits & 1) + 1));
  }
  template <typename Small>
  void Get(Small& value) {
    int64_t number = 0;
    Get(number);
    value = static_cast<Small>(number);
  }
  void Get(double& value) {
    std::memcpy(&value, Next(sizeof(value)).data(), sizeof(value));
  }
  void Get(std::string& text) {
    const absl::string_view found = Next(Count());
    text.assign(found.data(), found.size());
  }
  uint8_t GetByte() { return static_cast<uint8_t>(Next(1).front()); }
  size_t Count() {
    int64_t count = 0;
    Get(count);
    return static_cast<size_t>(count);
  }

 private:
  absl::string_view Next(size_t length) {
    TANGRAM_CHECK(length <= rest_.size());
    const absl::string_view next = rest_.substr(0, length);
    rest_.remove_prefix(length);
    return next;
  }

  absl::string_view rest_;
};

// Structured bindings must name every field, so a new field does not compile
// until it is added here.

void Put(const StageParallelism& parallelism, Writer& out) {
  const auto& [tp, cp, dp, ep, fsep, zero_stage, zero_degree, sequence_parallel,
               tp_y] = parallelism;
  for (const int64_t value :
       {int64_t{tp}, int64_t{cp}, int64_t{dp}, int64_t{ep}, int64_t{fsep},
        int64_t{zero_stage}, int64_t{zero_degree}, int64_t{sequence_parallel},
        int64_t{tp_y}}) {
    out.Put(value);
  }
}

void Get(Reader& in, StageParallelism& parallelism) {
  auto& [tp, cp, dp, ep, fsep, zero_stage, zero_degree, sequence_parallel,
         tp_y] = parallelism;
  in.Get(tp);
  in.Get(cp);
  in.Get(dp);
  in.Get(ep);
  in.Get(fsep);
  in.Get(zero_stage);
  in.Get(zero_degree);
  in.Get(sequence_parallel);
  in.Get(tp_y);
}

void Put(const HostOffload& offload, Writer& out) {
  const auto& [weights, gradients, optimizer, activations] = offload;
  out.Put(int64_t{!offload.none()});
  if (offload.none()) return;
  for (const double part : {weights, gradients, optimizer, activations}) {
    out.Put(part);
  }
}

void Get(Reader& in, HostOffload& offload) {
  bool is_given = false;
  in.Get(is_given);
  offload = {};
  if (!is_given) return;
  auto& [weights, gradients, optimizer, activations] = offload;
  in.Get(weights);
  in.Get(gradients);
  in.Get(optimizer);
  in.Get(activations);
}

void Put(const std::vector<RecomputeRun>& runs, Writer& out) {
  out.Put(static_cast<int64_t>(runs.size()));
  for (const auto& [num_layers, mask] : runs) {
    out.Put(int64_t{num_layers});
    out.Put(int64_t{mask});
  }
}

void Get(Reader& in, std::vector<RecomputeRun>& runs) {
  runs.resize(in.Count());
  for (auto& [num_layers, mask] : runs) {
    in.Get(num_layers);
    in.Get(mask);
  }
}

void Put(OperatorCut cut, Writer& out) {
  out.Put(int64_t{cut.layer});
  out.Put(int64_t{cut.op});
}

void Get(Reader& in, OperatorCut& cut) {
  in.Get(cut.layer);
  in.Get(cut.op);
}

// The parts of a stage that are often those of the stage before it.
enum Part : uint8_t {
  kBegin = 1,  // Where that one ends.
  kParallelism = 2,
  kRecompute = 4,
  kOffload = 8,
  kTime = 16,
  kBackward = 32,
  kSync = 64,
};

// Also tells zeros of unlike signs apart.
bool IsSame(double a, double b) {
  return std::bit_cast<uint64_t>(a) == std::bit_cast<uint64_t>(b);
}

bool IsSame(const HostOffload& a, const HostOffload& b) {
  return IsSame(a.weights, b.weights) && IsSame(a.gradients, b.gradients) &&
         IsSame(a.optimizer, b.optimizer) &&
         IsSame(a.activations, b.activations);
}

// Returns the parts of `stage` that need not be written: those of `last`, the
// stage before it in the plan. The first stage of a plan is compared with that
// of the plan before, and begins where that one does.
uint8_t SameParts(const SliceStage& stage, const SliceStage& last,
                  OperatorCut expected_begin) {
  const auto& [plan, time_s, backward_s, sync_s] = stage;
  const auto& [begin, end, parallelism, recompute, offload] = plan;
  uint8_t parts = 0;
  const auto add = [&parts](bool is_same, Part part) {
    if (is_same) parts |= part;
  };
  add(begin == expected_begin, kBegin);
  add(parallelism == last.plan.parallelism, kParallelism);
  add(recompute == last.plan.recompute, kRecompute);
  add(IsSame(offload, last.plan.offload), kOffload);
  add(IsSame(time_s, last.time_s), kTime);
  add(IsSame(backward_s, last.backward_s), kBackward);
  add(IsSame(sync_s, last.sync_s), kSync);
  return parts;
}

void Put(const SliceStage& stage, uint8_t same, Writer& out) {
  out.PutByte(same);
  Put(stage.plan.end, out);
  if (!(same & kBegin)) Put(stage.plan.begin, out);
  if (!(same & kParallelism)) Put(stage.plan.parallelism, out);
  if (!(same & kRecompute)) Put(stage.plan.recompute, out);
  if (!(same & kOffload)) Put(stage.plan.offload, out);
  if (!(same & kTime)) out.Put(stage.time_s);
  if (!(same & kBackward)) out.Put(stage.backward_s);
  if (!(same & kSync)) out.Put(stage.sync_s);
}

// `stage` is the stage before, with the begin that is expected.
void Get(Reader& in, SliceStage& stage) {
  const uint8_t same = in.GetByte();
  Get(in, stage.plan.end);
  if (!(same & kBegin)) Get(in, stage.plan.begin);
  if (!(same & kParallelism)) Get(in, stage.plan.parallelism);
  if (!(same & kRecompute)) Get(in, stage.plan.recompute);
  if (!(same & kOffload)) Get(in, stage.plan.offload);
  if (!(same & kTime)) in.Get(stage.time_s);
  if (!(same & kBackward)) in.Get(stage.backward_s);
  if (!(same & kSync)) in.Get(stage.sync_s);
}

// `last` is the plan before. The name is nearly always the same.
void Put(const SlicePlan& plan, const SlicePlan& last, Writer& out) {
  const auto& [stages, max_trailing_stages, made_by] = plan;
  out.Put(static_cast<int64_t>(stages.size()));
  const SliceStage none;
  const SliceStage* before = last.stages.empty() ? &none : &last.stages[0];
  OperatorCut begin = before->plan.begin;
  for (const SliceStage& stage : stages) {
    Put(stage, SameParts(stage, *before, begin), out);
    before = &stage;
    begin = stage.plan.end;
  }
  out.Put(int64_t{max_trailing_stages});
  out.Put(int64_t{made_by != last.made_by});
  if (made_by != last.made_by) out.Put(made_by);
}

void Get(Reader& in, const SlicePlan& last, SlicePlan& plan) {
  auto& [stages, max_trailing_stages, made_by] = plan;
  const size_t num_stages = in.Count();
  stages.reserve(num_stages);
  SliceStage stage = last.stages.empty() ? SliceStage() : last.stages[0];
  while (stages.size() < num_stages) {
    Get(in, stage);
    stages.push_back(stage);
    stage.plan.begin = stage.plan.end;
  }
  in.Get(max_trailing_stages);
  bool is_other = false;
  in.Get(is_other);
  made_by = last.made_by;
  if (is_other) in.Get(made_by);
}

void Put(const std::optional<Infeasible>& infeasible, Writer& out) {
  out.Put(int64_t{infeasible.has_value()});
  if (!infeasible.has_value()) return;
  const auto& [reason, bytes_short] = *infeasible;
  out.Put(reason);
  out.Put(bytes_short);
}

void Get(Reader& in, std::optional<Infeasible>& infeasible) {
  bool is_given = false;
  in.Get(is_given);
  if (!is_given) return;
  auto& [reason, bytes_short] = infeasible.emplace();
  in.Get(reason);
  in.Get(bytes_short);
}

std::string Pack(const SlicePlanSet& set) {
  const auto& [plans, infeasible, covers_trailing_stages, search_steps,
               truncated] = set;
  Writer out;
  out.Put(static_cast<int64_t>(plans.size()));
  const SlicePlan none;
  const SlicePlan* last = &none;
  for (const SlicePlan& plan : plans) {
    Put(plan, *last, out);
    last = &plan;
  }
  Put(infeasible, out);
  out.Put(int64_t{covers_trailing_stages});
  out.Put(search_steps);
  out.Put(int64_t{truncated});
  return out.Take();
}

SlicePlanSet UnpackSet(absl::string_view bytes) {
  SlicePlanSet set;
  auto& [plans, infeasible, covers_trailing_stages, search_steps, truncated] =
      set;
  Reader in(bytes);
  plans.resize(in.Count());
  const SlicePlan none;
  const SlicePlan* last = &none;
  for (SlicePlan& plan : plans) {
    Get(in, *last, plan);
    last = &plan;
  }
  Get(in, infeasible);
  in.Get(covers_trailing_stages);
  in.Get(search_steps);
  in.Get(truncated);
  return set;
}

// Returns the bytes that an answer holds outside itself.
struct HeapCounter {
  int64_t operator()(const ModelSlice& slice) const {
    return static_cast<int64_t>(slice.runs.size() * sizeof(LayerRun));
  }
  int64_t operator()(const std::vector<ModelSlice>& slices) const {
    int64_t total = 0;
    for (const ModelSlice& slice : slices) {
      total += static_cast<int64_t>(sizeof(slice)) + (*this)(slice);
    }
    return total;
  }
  int64_t operator()(const PerformanceProfile&) const { return 0; }
  int64_t operator()(const SlicePlanSet&) const { return 0; }  // As bytes.
};

}  // namespace

PackedAnswer::PackedAnswer(const Answer& answer) {
  if (const auto* set = std::get_if<SlicePlanSet>(&answer)) {
    content_ = Pack(*set);
  } else {
    content_ = answer;
  }
}

Answer PackedAnswer::Unpack() const {
  if (const auto* bytes = std::get_if<std::string>(&content_)) {
    return UnpackSet(*bytes);
  }
  return std::get<Answer>(content_);
}

int64_t PackedAnswer::num_bytes() const {
  const auto* bytes = std::get_if<std::string>(&content_);
  return static_cast<int64_t>(sizeof(*this)) +
         (bytes != nullptr
              ? static_cast<int64_t>(bytes->capacity())
              : std::visit(HeapCounter(), std::get<Answer>(content_)));
}

}  // namespace tangram
