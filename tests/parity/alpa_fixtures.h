#ifndef TANGRAM_TESTS_PARITY_ALPA_FIXTURES_H_
#define TANGRAM_TESTS_PARITY_ALPA_FIXTURES_H_

#include <utility>
#include <vector>

#include "nlohmann/json.hpp"
#include "worker/adapters/alpa/alpa_inter_operator.h"
#include "worker/adapters/alpa/alpa_sharding_problem.h"

// Alpa's own recorded inputs, converted for our kernels.
namespace tangram::testing {

// Reads cost tensors C[begin][last][submesh][config], null if there is no such
// stage, and N of the same shape.
inline alpa::InterOperatorProblem InterOperatorFixture(
    const nlohmann::json& fixture) {
  std::vector<int> sizes;
  for (const auto& submesh : fixture["submeshes"]) {
    sizes.push_back(submesh[0].get<int>() * submesh[1].get<int>());
  }
  const int num_layers = fixture["L"];
  const int num_devices =
      fixture["hosts"].get<int>() * fixture["per_host"].get<int>();
  const int num_submeshes = static_cast<int>(sizes.size());
  alpa::InterOperatorProblem problem(num_layers, num_devices, sizes);
  problem.use_all_devices = true;
  for (int begin = 0; begin < num_layers; ++begin) {
    for (int last = begin; last < num_layers; ++last) {
      const int row = problem.AddRow();
      problem.SetRow(begin, last + 1, row);
      for (int submesh = 0; submesh < num_submeshes; ++submesh) {
        const auto& costs = fixture["compute_cost"][begin][last][submesh];
        const auto& borne = fixture["max_n_succ_stages"][begin][last][submesh];
        std::vector<alpa::StageOption> options;
        for (int config = 0; config < static_cast<int>(costs.size());
             ++config) {
          if (costs[config].is_null() || borne[config].get<int>() < 0) continue;
          options.push_back({.seconds = costs[config],
                             .max_trailing_stages = borne[config],
                             .config = config});
        }
        problem.SetOptions(row, submesh, std::move(options));
      }
    }
  }
  return problem;
}

// Costs from this value on mean "not allowed".
inline constexpr double kAlpaInfinity = 1e10;

inline alpa::ShardingProblem ShardingFixture(const nlohmann::json& instance) {
  alpa::ShardingProblem problem;
  const int num_nodes = instance["N"];
  for (int i = 0; i < num_nodes; ++i) {
    alpa::ShardingNode node = {.costs = instance["c"][i],
                               .bytes = instance["m"][i],
                               .follows = instance["s_follow"][i]};
    const std::vector<double> communication = instance["d"][i];
    for (size_t s = 0; s < node.costs.size(); ++s) {
      node.costs[s] += communication[s];
    }
    problem.nodes.push_back(std::move(node));
  }
  const auto add_edges = [&](const char* pairs, const char* values,
                             auto&& cost_of) {
    for (size_t e = 0; e < instance[pairs].size(); ++e) {
      alpa::ShardingEdge edge = {.from = instance[pairs][e][0],
                                 .to = instance[pairs][e][1]};
      for (const double value : instance[values][e]) {
        edge.costs.push_back(cost_of(value));
      }
      problem.edges.push_back(std::move(edge));
    }
  };
  add_edges("E", "r", [](double cost) {
    return cost < kAlpaInfinity ? cost : alpa::kForbidden;
  });
  // Two tensors that share a buffer.
  add_edges("A", "v", [](double conflict) {
    return conflict > 0.5 ? alpa::kForbidden : 0.0;
  });
  problem.live_sets = instance["L"].get<std::vector<std::vector<int>>>();
  problem.max_live_bytes = instance["M"];
  return problem;
}

}  // namespace tangram::testing

#endif  // TANGRAM_TESTS_PARITY_ALPA_FIXTURES_H_
