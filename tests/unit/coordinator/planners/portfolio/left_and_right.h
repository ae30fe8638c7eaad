#ifndef TANGRAM_TESTS_UNIT_COORDINATOR_PLANNERS_PORTFOLIO_LEFT_AND_RIGHT_H_
#define TANGRAM_TESTS_UNIT_COORDINATOR_PLANNERS_PORTFOLIO_LEFT_AND_RIGHT_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "coordinator/planners/builtin/builtin_planners.h"
#include "coordinator/planners/portfolio/portfolio_planner.h"
#include "frameworks/framework_catalogue.h"
#include "tests/testing/builders.h"
#include "tests/testing/fake_slice_plan_source.h"
#include "tests/testing/silent_observer.h"

// A small request for tests of the portfolio.
namespace tangram::testing {

// One GPU of each type on links so fast that transfers do not matter; 6 layers
// and 8 samples.
inline PlanRequest LeftAndRight() {
  return {
      .cluster = TestCluster(
          {{.name = "left", .gpus_per_node = 1, .device = TestDevice("LEFT")},
           {.name = "right",
            .gpus_per_node = 2,
            .device = TestDevice("RIGHT")}},
          1e15),
      .model = TestModel(4),
      .training = TestTraining(8)};
}

// A parallelizer that plans well for one type of GPU and badly for the other.
inline FakeSlicePlanSource GoodOn(const std::string& type,
                                  double elsewhere_s = 9) {
  FakeSlicePlanSource source;
  source.seconds_per_layer = [=](const IslandSpec& island) {
    return island.device.type == type ? 1.0 : elsewhere_s;
  };
  return source;
}

inline absl::StatusOr<PlanResult> PlanLeftAndRight(
    std::vector<PortfolioMember> members, const std::string& runtime = "",
    const TangramOptions& search = {}) {
  SilentObserver observer;
  PlanRequest request = LeftAndRight();
  request.constraints.runtime = runtime;
  return CreatePortfolioPlanner(std::move(members),
                                *BuiltinPlanners().Choose("", {}, search),
                                FrameworkCatalogue())
      ->Plan(request, observer);
}

}  // namespace tangram::testing

#endif  // TANGRAM_TESTS_UNIT_COORDINATOR_PLANNERS_PORTFOLIO_LEFT_AND_RIGHT_H_
