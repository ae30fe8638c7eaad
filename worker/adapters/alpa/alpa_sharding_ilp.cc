#include "worker/adapters/alpa/alpa_sharding_ilp.h"

#include <algorithm>
#include <cmath>
#include <coin/CbcModel.hpp>
#include <coin/CoinPackedMatrix.hpp>
#include <coin/CoinPackedVector.hpp>
#include <coin/OsiClpSolverInterface.hpp>
#include <map>
#include <utility>
#include <vector>

#include "worker/adapters/alpa/alpa_sharding_elimination.h"

namespace tangram::alpa {
namespace {

// Distance from 0 or 1 within which a binary of the solver counts as integral.
constexpr double kIntegral = 1e-6;

// Builds the program of SolveShardingIlp. Columns are s_i[a], then e_ij[a][b].
class IntegerProgram {
 public:
  explicit IntegerProgram(const ShardingProblem& problem)
      : problem_(problem), merged_(Merge(problem)) {
    AddStrategies();
    for (const auto& [pair, costs] : merged_.pair_costs) {
      AddPair(pair.first, pair.second, costs);
    }
    if (std::isfinite(problem.max_live_bytes)) AddLiveBytes();
  }

  // Uses CbcModel's classes, which keep their state to themselves. CbcMain does
  // not, and gives wrong answers when several threads use it.
  std::optional<Sharding> Solve() const {
    OsiClpSolverInterface solver;
    solver.messageHandler()->setLogLevel(0);
    CoinPackedMatrix matrix(/*colordered=*/false, 0, 0);
    matrix.setDimensions(0, num_columns());
    for (const CoinPackedVector& row : rows_) matrix.appendRow(row);
    const std::vector<double> zeros(costs_.size(), 0.0);
    solver.loadProblem(matrix, zeros.data(), most_.data(), costs_.data(),
                       row_least_.data(), row_most_.data());
    solver.setInteger(binaries_.data(), static_cast<int>(binaries_.size()));
    solver.initialSolve();
    if (!solver.isProvenOptimal()) return std::nullopt;
    const double* relaxed = solver.getColSolution();
    if (IsIntegral(relaxed)) return Read(relaxed);
    CbcModel model(solver);
    model.setLogLevel(0);
    model.branchAndBound();
    if (!model.isProvenOptimal()) return std::nullopt;
    return Read(model.bestSolution());
  }

 private:
  int NumStrategies(int node) const {
    return static_cast<int>(merged_.costs[node].size());
  }
  bool IsFree(int node) const { return !merged_.costs[node].empty(); }

  int num_columns() const { return static_cast<int>(costs_.size()); }

  // Appends a variable in [0, 1]. A forbidden one is fixed at 0.
  int AddColumn(double cost) {
    const bool allowed = cost < kForbidden;
    costs_.push_back(allowed ? cost : 0.0);
    most_.push_back(allowed ? 1.0 : 0.0);
    return num_columns() - 1;
  }

  // Adds the binaries s_i and  Σ_a s_i[a] = 1.
  void AddStrategies() {
    for (int i = 0; i < problem_.num_nodes(); ++i) {
      first_column_.push_back(num_columns());
      if (!IsFree(i)) continue;
      CoinPackedVector one;
      for (const double cost : merged_.costs[i]) {
        binaries_.push_back(AddColumn(cost));
        one.insert(binaries_.back(), 1.0);
      }
      AddRow(one, 1.0, 1.0);
    }
  }

  // Adds e_ij, whose rows sum to s_i and whose columns sum to s_j.
  void AddPair(int i, int j, const std::vector<double>& costs) {
    const int first = num_columns();
    for (const double cost : costs) AddColumn(cost);
    const int columns = NumStrategies(j);
    for (int a = 0; a < NumStrategies(i); ++a) {
      CoinPackedVector row;
      row.insert(first_column_[i] + a, -1.0);
      for (int b = 0; b < columns; ++b) {
        row.insert(first + a * columns + b, 1.0);
      }
      AddRow(row, 0.0, 0.0);
    }
    for (int b = 0; b < columns; ++b) {
      CoinPackedVector row;
      row.insert(first_column_[j] + b, -1.0);
      for (int a = 0; a < NumStrategies(i); ++a) {
        row.insert(first + a * columns + b, 1.0);
      }
      AddRow(row, 0.0, 0.0);
    }
  }

  // Adds the limit of each live set, in units of max_live_bytes.
  void AddLiveBytes() {
    for (const std::vector<int>& live : problem_.live_sets) {
      std::map<int, double> shares;
      for (const int i : live) {
        const ShardingNode& node = problem_.nodes[i];
        const int first = first_column_[node.follows < 0 ? i : node.follows];
        for (int s = 0; s < static_cast<int>(node.bytes.size()); ++s) {
          shares[first + s] += node.bytes[s] / problem_.max_live_bytes;
        }
      }
      CoinPackedVector row;
      for (const auto& [column, share] : shares) row.insert(column, share);
      AddRow(row, -COIN_DBL_MAX, 1.0);
    }
  }

  void AddRow(const CoinPackedVector& row, double least, double most) {
    rows_.push_back(row);
    row_least_.push_back(least);
    row_most_.push_back(most);
  }

  bool IsIntegral(const double* solution) const {
    return std::all_of(binaries_.begin(), binaries_.end(), [&](int column) {
      const double value = solution[column];
      return std::abs(value - std::round(value)) <= kIntegral;
    });
  }

  // Reads the strategy of each free operator: the largest of its binaries.
  Sharding Read(const double* solution) const {
    std::vector<int> strategies(problem_.num_nodes(), 0);
    for (int i = 0; i < problem_.num_nodes(); ++i) {
      if (!IsFree(i)) continue;
      const double* begin = solution + first_column_[i];
      strategies[i] = static_cast<int>(
          std::max_element(begin, begin + NumStrategies(i)) - begin);
    }
    return ExpandSharding(problem_, std::move(strategies));
  }

  const ShardingProblem& problem_;
  const MergedProblem merged_;
  std::vector<int> first_column_;  // By node: its first strategy.
  std::vector<double> costs_;      // By column.
  std::vector<double> most_;
  std::vector<int> binaries_;  // Columns.
  std::vector<CoinPackedVector> rows_;
  std::vector<double> row_least_;
  std::vector<double> row_most_;
};

}  // namespace

std::optional<Sharding> SolveShardingIlp(const ShardingProblem& problem) {
  return IntegerProgram(problem).Solve();
}

std::optional<Sharding> SolveSharding(const ShardingProblem& problem) {
  std::optional<Sharding> sharding = EliminateSharding(problem);
  if (sharding && sharding->cost == kForbidden) return std::nullopt;
  if (sharding && FitsLiveBytes(problem, sharding->strategies)) return sharding;
  return SolveShardingIlp(problem);
}

}  // namespace tangram::alpa
