#include "tests/bench/challenger/instances/variations.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "coordinator/planners/constraints/microbatch_sizes.h"

namespace tangram::bench {
namespace {

constexpr int kFewStages = 3;

void Scale(double factor, double DrawnGroup::*field, DrawnGroup& group) {
  group.*field *= factor;
}

class Variations {
 public:
  explicit Variations(const Instance& instance) : instance_(instance) {}

  std::vector<Variation> All() && {
    AddNodesAndIslands();
    AddFaster("memory", "memory x2", 2, &DrawnGroup::memory_gb, 2);
    AddFaster("compute", "compute x2", 2, &DrawnGroup::fp16_tflops, 1.3);
    AddLinks();
    AddConstraints();
    return std::move(variations_);
  }

 private:
  void AddMore(const char* check, std::string what, Instance more) {
    variations_.push_back({check, std::move(what), instance_, std::move(more)});
  }

  void AddLess(const char* check, std::string what, Instance less) {
    variations_.push_back({check, std::move(what), std::move(less), instance_});
  }

  void AddNodesAndIslands() {
    for (size_t g = 0; g < instance_.groups.size(); ++g) {
      Instance more = instance_;
      ++more.groups[g].num_nodes;
      AddMore("node", absl::StrCat("a node more in g", g), std::move(more));
    }
    for (size_t g = 0; g < instance_.groups.size(); ++g) {
      Instance less = instance_;
      less.groups.erase(less.groups.begin() + static_cast<std::ptrdiff_t>(g));
      AddLess("island", absl::StrCat("g", g, " beside the others"),
              std::move(less));
    }
  }

  // Scales all groups, and the first alone by another factor.
  void AddFaster(const char* check, const char* what, double factor,
                 double DrawnGroup::*field, double factor_of_one) {
    Instance all = instance_;
    for (DrawnGroup& group : all.groups) Scale(factor, field, group);
    AddMore(check, absl::StrCat(what, " everywhere"), std::move(all));
    Instance one = instance_;
    Scale(factor_of_one, field, one.groups.front());
    AddMore(check, absl::StrCat(check, " x", factor_of_one, " in g0"),
            std::move(one));
  }

  void AddLinks() {
    Instance all = instance_;
    all.between_gb_per_s *= 2;
    AddMore("links", "links between groups x2", all);
    for (DrawnGroup& group : all.groups) {
      Scale(2, &DrawnGroup::intra_gb_per_s, group);
      Scale(2, &DrawnGroup::inter_gb_per_s, group);
    }
    AddMore("links", "all links x2", std::move(all));
  }

  void AddConstraints() {
    for (const int size : DivisorsOf(instance_.batch)) {
      Instance fixed = instance_;
      fixed.microbatch = size;
      AddLess("microbatch", absl::StrCat("any microbatch, not ", size),
              std::move(fixed));
    }
    Instance less = instance_;
    less.tp = 1;
    AddLess("tp1", "any tp, not 1", less);
    less = instance_;
    less.dp = 1;
    AddLess("dp1", "any dp, not 1", less);
    less = instance_;
    less.max_stages = kFewStages;
    AddLess("stages3", absl::StrCat("more than ", kFewStages, " stages"), less);
  }

  const Instance& instance_;
  std::vector<Variation> variations_;
};

}  // namespace

std::vector<std::string> Checks() {
  return {"node",       "island", "memory", "compute", "links",
          "microbatch", "tp1",    "dp1",    "stages3"};
}

std::vector<Variation> VariationsOf(const Instance& instance) {
  return Variations(instance).All();
}

}  // namespace tangram::bench
