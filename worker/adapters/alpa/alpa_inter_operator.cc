#include "worker/adapters/alpa/alpa_inter_operator.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "common/base/infinity.h"
#include "common/base/stop_poll.h"
#include "common/domain/closed_form.h"
#include "worker/adapters/alpa/alpa_pipeline_bounds.h"
#include "worker/adapters/search/search_limit.h"

namespace tangram::alpa {
namespace {

// A partial solution: the stages of a pipeline from some layer to the end.
struct Label {
  double slowest_s = 0;
  double latency_s = 0;
  double total_s = 0;  // latency_s + (B - 1) * slowest_s
  int end = 0;         // End of its first stage.
  int submesh = 0;     // Submesh of its first stage.
  int next = -1;       // Index of the label without the first stage.
  // The slowest stage and the latency by StageOption::pass_s.
  PipelineBound passes = {};
};

// Labels of which none is at least as good as another in both total and
// latency. Sorted by ascending total; latency then descends and the slowest
// stage ascends.
class Front {
 public:
  void Clear() { labels_.clear(); }
  absl::Span<const Label> labels() const { return labels_; }

  // Returns whether one of the labels is at least as good as `label` in both.
  bool Covers(const Label& label) const {
    const auto after = After(label);
    return after != labels_.begin() &&
           std::prev(after)->latency_s <= label.latency_s;
  }

  // Adds a label and removes those that it dominates. The first of equals
  // stays.
  void Add(const Label& label) {
    if (Covers(label)) return;
    auto first = After(label);
    auto last = first;
    if (first != labels_.begin() &&
        std::prev(first)->total_s == label.total_s) {
      --first;
    }
    while (last != labels_.end() && last->latency_s >= label.latency_s) ++last;
    if (first == last) {
      labels_.insert(first, label);
    } else {
      *first = label;
      labels_.erase(first + 1, last);
    }
  }

 private:
  // Returns the first label with a larger total.
  std::vector<Label>::const_iterator After(const Label& label) const {
    return std::upper_bound(
        labels_.begin(), labels_.end(), label.total_s,
        [](double s, const Label& other) { return s < other.total_s; });
  }
  std::vector<Label>::iterator After(const Label& label) {
    return labels_.begin() +
           (std::as_const(*this).After(label) - labels_.cbegin());
  }

  std::vector<Label> labels_;
};

// Rounds seconds to a power of two far below any relevant difference, so that
// sums are exact in any order. Pipelines with the same stages in another order
// then tie. The first one found stays: its first stages are the shortest, and
// so hold the fewest activations.
class Grid {
 public:
  // Chooses the grid for sums up to `most`, which is at least 2^49 steps.
  explicit Grid(double most)
      : shift_(std::ldexp(1.5, std::ilogb(std::max(most, 1e-200)) + 2)) {}
  // `shift_` is so large that the sum drops every bit below the grid.
  double Round(double seconds) const { return (seconds + shift_) - shift_; }

 private:
  double shift_;
};

// Runs the dynamic program backwards over (layer, device, submesh of the first
// stage), one level for each number of stages. See SolveInterOperator.
class Solver {
 public:
  Solver(const InterOperatorProblem& problem,
         const InterOperatorOptions& options)
      : problem_(problem),
        options_(options),
        num_layers_(problem.num_layers()),
        num_devices_(problem.num_devices()),
        num_submeshes_(problem.num_submeshes()),
        max_stages_(std::min(num_layers_, num_devices_)),
        grid_(max_stages_ * problem.MostSeconds()),
        poll_(options.should_stop),
        bounds_(problem, options.trailing_stages, &poll_),
        most_s_(WithRoundingRoom(options.limit_s)),
        pass_bounds_(problem, options.trailing_stages, &poll_,
                     &StageOption::pass_s),
        with_fewer_stages_(StateOf(num_layers_, 0, 0)) {}

  InterOperatorAnswer Run() {
    for (int stages = 1; stages <= max_stages_; ++stages) {
      if (poll_.stopped() || (options_.should_stop && options_.should_stop())) {
        answer_.truncated = true;
        break;
      }
      const bool found = AddLevel(stages);
      answer_.truncated |= poll_.stopped();
      if (!found || answer_.truncated) break;
      Collect(stages);
    }
    return std::move(answer_);
  }

 private:
  struct Range {
    int begin = 0;
    int end = 0;
    bool empty() const { return begin == end; }
  };

  size_t StateOf(int layer, int device, int submesh) const {
    return (static_cast<size_t>(layer) * num_devices_ + device) *
               num_submeshes_ +
           submesh;
  }

  // The labels of one number of stages.
  struct Level {
    std::vector<Range> labels;  // Indices into labels_, by state.
    std::vector<Range>
        layers;  // By device: the layers at which some label begins.
  };

  // Fills the states of pipelines with `stages` stages. Returns false if there
  // are none.
  bool AddLevel(int stages) {
    const size_t num_labels = labels_.size();
    PriceStages(stages - 1 + options_.trailing_stages);
    Level level = {.labels = std::vector<Range>(with_fewer_stages_.size()),
                   .layers = std::vector<Range>(num_devices_)};
    for (int begin = num_layers_ - stages; begin >= 0 && !poll_.stopped();
         --begin) {
      // A pipeline begins at layer 0 on device 0; every other rest begins on a
      // later device.
      const int device_begin = begin == 0 ? 0 : 1;
      const int device_end = begin == 0 ? 1 : num_devices_;
      for (int device = device_begin; device < device_end; ++device) {
        const size_t before = labels_.size();
        for (const int submesh : problem_.SubmeshesAt(device)) {
          level.labels[StateOf(begin, device, submesh)] =
              FillState(stages, begin, device, submesh);
        }
        if (labels_.size() == before) continue;
        Range& layers = level.layers[device];
        layers = {begin, layers.empty() ? begin + 1 : layers.end};
      }
    }
    level_ = std::move(level);
    return labels_.size() > num_labels;
  }

  // Appends the non-dominated labels of one state.
  Range FillState(int stages, int begin, int device, int submesh) {
    passes_before_ = pass_bounds_.Before(begin, device);
    if (IsTooSlow(pass_bounds_.From(begin, num_devices_ - device))) return {};
    Front& with_fewer_stages =
        with_fewer_stages_[StateOf(begin, device, submesh)];
    fewer_ = &with_fewer_stages;
    before_ = bounds_.Before(begin, device);
    front_.Clear();
    if (stages == 1) {
      AddLastStage(begin, device, submesh);
    } else {
      AddStages(begin, device, submesh, num_layers_ - stages + 1);
    }
    const int first = static_cast<int>(labels_.size());
    for (const Label& label : front_.labels()) {
      labels_.push_back(label);
      if (!options_.each_depth) with_fewer_stages.Add(label);
    }
    return {first, static_cast<int>(labels_.size())};
  }

  // Fills the time of the fastest option that bears `stages_behind` stages, for
  // each row and submesh.
  void PriceStages(int stages_behind) {
    seconds_.assign(static_cast<size_t>(problem_.num_rows()) * num_submeshes_,
                    kInfinity);
    pass_s_.assign(seconds_.size(), 0);
    for (int row = 0; row < problem_.num_rows(); ++row) {
      for (int submesh = 0; submesh < num_submeshes_; ++submesh) {
        const StageOption* option = OptionFor(row, submesh, stages_behind);
        if (option == nullptr) continue;
        const size_t i = static_cast<size_t>(row) * num_submeshes_ + submesh;
        seconds_[i] = grid_.Round(option->seconds);
        pass_s_[i] = option->pass_s;
      }
    }
  }

  // Options are sorted by time, so the first that bears enough stages is the
  // fastest.
  const StageOption* OptionFor(int row, int submesh, int stages_behind) const {
    for (const StageOption& option : problem_.OptionsOf(row, submesh)) {
      if (option.max_trailing_stages >= stages_behind) return &option;
    }
    return nullptr;
  }

  double StageSeconds(int begin, int end, int submesh) const {
    const int row = problem_.RowOf(begin, end);
    return row < 0
               ? kInfinity
               : seconds_[static_cast<size_t>(row) * num_submeshes_ + submesh];
  }

  // Returns what of StageSeconds counts for the limit. The stage exists.
  double PassSeconds(int begin, int end, int submesh) const {
    const size_t row = problem_.RowOf(begin, end);
    return pass_s_[row * num_submeshes_ + submesh];
  }

  void AddLastStage(int begin, int device, int submesh) {
    ++answer_.steps;
    if (problem_.use_all_devices &&
        device + problem_.size_of(submesh) < num_devices_) {
      return;
    }
    const double seconds = StageSeconds(begin, num_layers_, submesh);
    if (seconds == kInfinity) return;
    const double pass_s = PassSeconds(begin, num_layers_, submesh);
    AddLabel({.slowest_s = seconds,
              .latency_s = seconds,
              .end = num_layers_,
              .submesh = submesh,
              .passes = {.slowest_s = pass_s, .latency_s = pass_s}});
  }

  // Adds labels whose first stage runs from `begin` to at most `last_end`,
  // followed by labels of the level below.
  void AddStages(int begin, int device, int submesh, int last_end) {
    const int next_device = device + problem_.size_of(submesh);
    if (next_device >= num_devices_) return;
    const Range layers = level_.layers[next_device];
    for (int end = std::max(begin + 1, layers.begin);
         end < std::min(last_end + 1, layers.end); ++end) {
      if (poll_.After(1)) return;
      const double seconds = StageSeconds(begin, end, submesh);
      if (seconds == kInfinity) continue;
      const PipelineBound after = bounds_.From(end, num_devices_ - next_device);
      if (IsBeaten({.slowest_s = std::max(seconds, after.slowest_s),
                    .latency_s = seconds + after.latency_s})) {
        continue;
      }
      const double pass_s = PassSeconds(begin, end, submesh);
      const PipelineBound passes =
          pass_bounds_.From(end, num_devices_ - next_device);
      if (IsTooSlow({.slowest_s = std::max(pass_s, passes.slowest_s),
                     .latency_s = pass_s + passes.latency_s})) {
        continue;
      }
      for (const int next : problem_.SubmeshesAt(next_device)) {
        const Range rest = level_.labels[StateOf(end, next_device, next)];
        if (rest.empty()) continue;
        const double transfer_s =
            problem_.TransferSeconds(end, next_device, submesh, next);
        AddBefore(rest, end, submesh, seconds + grid_.Round(transfer_s),
                  pass_s + transfer_s);
      }
    }
  }

  // Adds one stage before each label of `rest`. Among the labels that are
  // faster than this stage, only the last can be optimal: it has the least
  // latency.
  void AddBefore(Range rest, int end, int submesh, double seconds,
                 double pass_s) {
    answer_.steps += rest.end - rest.begin;
    poll_.After(rest.end - rest.begin);
    int next = rest.begin;
    while (next + 1 < rest.end && labels_[next + 1].slowest_s <= seconds) {
      ++next;
    }
    for (; next < rest.end; ++next) {
      const PipelineBound& passes = labels_[next].passes;
      AddLabel({.slowest_s = std::max(seconds, labels_[next].slowest_s),
                .latency_s = seconds + labels_[next].latency_s,
                .end = end,
                .submesh = submesh,
                .next = next,
                .passes = {.slowest_s = std::max(pass_s, passes.slowest_s),
                           .latency_s = pass_s + passes.latency_s}});
    }
  }

  double TotalSeconds(const Label& label) const {
    return ClosedFormSeconds(label.latency_s, label.slowest_s,
                             options_.num_microbatches);
  }

  // Returns whether a whole pipeline of fewer stages beats every pipeline that
  // ends with `rest`.
  bool IsBeaten(Label rest) const {
    rest.slowest_s = std::max(rest.slowest_s, before_.slowest_s);
    rest.latency_s += before_.latency_s;
    rest.total_s = TotalSeconds(rest);
    return whole_.Covers(rest);
  }

  // Returns whether every pipeline that ends with stages of such passes
  // exceeds the limit.
  bool IsTooSlow(const PipelineBound& passes) const {
    return most_s_ < kInfinity &&
           ClosedFormSeconds(
               passes_before_.latency_s + passes.latency_s,
               std::max(passes_before_.slowest_s, passes.slowest_s),
               options_.num_microbatches) > most_s_;
  }

  void AddLabel(Label label) {
    if (IsTooSlow(label.passes)) return;
    label.total_s = TotalSeconds(label);
    if (!fewer_->Covers(label) && !IsBeaten(label)) front_.Add(label);
  }

  // Appends the pipelines of `stages` stages over all layers.
  void Collect(int stages) {
    front_.Clear();
    for (const int submesh : problem_.SubmeshesAt(0)) {
      const Range range = level_.labels[StateOf(0, 0, submesh)];
      for (int i = range.begin; i < range.end; ++i) {
        Label whole = labels_[i];
        whole.next = i;
        front_.Add(whole);
      }
    }
    for (const Label& whole : front_.labels()) {
      if (!options_.each_depth) whole_.Add(whole);
      answer_.pipelines.push_back(PipelineFrom(whole.next, stages));
    }
  }

  // Traces the stages of a label.
  ChosenPipeline PipelineFrom(int label, int stages) const {
    ChosenPipeline pipeline = {.slowest_s = labels_[label].slowest_s,
                               .latency_s = labels_[label].latency_s};
    int begin = 0;
    int device = 0;
    for (int behind = stages - 1; behind >= 0; --behind) {
      const Label& first = labels_[label];
      const int row = problem_.RowOf(begin, first.end);
      pipeline.stages.push_back(
          {.begin = begin,
           .end = first.end,
           .first_device = device,
           .submesh = first.submesh,
           .config =
               OptionFor(row, first.submesh, behind + options_.trailing_stages)
                   ->config});
      begin = first.end;
      device += problem_.size_of(first.submesh);
      label = first.next;
    }
    return pipeline;
  }

  const InterOperatorProblem& problem_;
  const InterOperatorOptions& options_;
  const int num_layers_;
  const int num_devices_;
  const int num_submeshes_;
  const int max_stages_;
  const Grid grid_;
  StopPoll poll_;
  const PipelineBounds bounds_;
  const double most_s_;  // The limit, with room for rounding.
  const PipelineBounds pass_bounds_;

  std::vector<Label> labels_;
  Level level_;                  // The level computed last.
  std::vector<double> seconds_;  // For the present level, by row and submesh.
  std::vector<double> pass_s_;   // Likewise.
  Front front_;                  // For the present state.
  // By state: labels of all levels before. The next two belong to the present
  // state.
  std::vector<Front> with_fewer_stages_;
  const Front* fewer_ = nullptr;
  PipelineBound before_;
  PipelineBound passes_before_;
  Front whole_;  // Whole pipelines of all levels before.
  InterOperatorAnswer answer_;
};

}  // namespace

InterOperatorAnswer SolveInterOperator(const InterOperatorProblem& problem,
                                       const InterOperatorOptions& options) {
  return Solver(problem, options).Run();
}

}  // namespace tangram::alpa
