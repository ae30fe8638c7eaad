#ifndef TANGRAM_TESTS_UNIT_COORDINATOR_COMPOSITION_COMPOSE_INSTANCE_H_
#define TANGRAM_TESTS_UNIT_COORDINATOR_COMPOSITION_COMPOSE_INSTANCE_H_

#include <algorithm>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

#include "common/base/infinity.h"
#include "common/domain/model_slice.h"
#include "coordinator/composition/candidate.h"
#include "coordinator/composition/compose_pipeline.h"

namespace tangram::testing {

inline Candidate OneStage(double seconds, int max_trailing_stages = 100) {
  return {.slowest_s = seconds,
          .latency_s = seconds,
          .last_stage_s = seconds,
          .backward_s = seconds * 2 / 3,
          .num_stages = 1,
          .max_trailing_stages = max_trailing_stages,
          .first_stage_gpus = 1,
          .last_stage_gpus = 1};
}

// Holds a problem and the pairs that it points to.
struct Instance {
  ComposeProblem problem;
  std::vector<PairCandidates> pairs;

  Instance(int num_atoms, int num_islands, int num_microbatches) {
    problem.num_atoms = num_atoms;
    problem.num_islands = num_islands;
    problem.num_microbatches = num_microbatches;
    problem.transfer_s = [](int, int, int, int, int) { return 0.0; };
    problem.atom_work.assign(num_atoms, 1.0);
    pairs.reserve(1000);  // problem.pairs points into it.
  }

  void Add(AtomRange atoms, int island, std::vector<Candidate> candidates,
           int covers = kUnlimitedTrailingStages) {
    pairs.push_back({std::move(candidates), covers});
    problem.pairs.push_back({atoms, island, &pairs.back()});
  }

  // Adds a pair on each of some islands, with the same candidates.
  void AddAlike(AtomRange atoms, const std::vector<int>& islands,
                std::vector<Candidate> candidates) {
    pairs.push_back({std::move(candidates), kUnlimitedTrailingStages});
    for (const int island : islands) {
      problem.pairs.push_back({atoms, island, &pairs.back()});
    }
  }
};

inline Candidate RandomCandidate(std::mt19937& rng, int atoms) {
  std::uniform_real_distribution<double> unit(0.5, 1.5);
  Candidate candidate{.num_stages = 1 + static_cast<int>(rng() % 3)};
  candidate.num_gpus = candidate.num_stages << (atoms % 2);
  const double sync_s = 3.0 * static_cast<int>(rng() % 3);
  double before_s = 0;
  for (int s = 0; s < candidate.num_stages; ++s) {
    const double stage_s = atoms * unit(rng) / candidate.num_stages;
    candidate.latency_s += stage_s;
    candidate.slowest_s = std::max(candidate.slowest_s, stage_s);
    candidate.last_stage_s = stage_s;
    candidate.exposed_sync_s =
        std::max(candidate.exposed_sync_s, sync_s * unit(rng) - before_s);
    before_s += stage_s * 2 / 3;
  }
  candidate.backward_s = before_s;
  const auto trailing = static_cast<int>(rng() % 8);
  candidate.max_trailing_stages =
      trailing < 6 ? trailing : kUnlimitedTrailingStages;
  candidate.first_stage_gpus = 1 << (rng() % 3);
  candidate.last_stage_gpus = 1 << (rng() % 3);
  return candidate;
}

// Adds all pairs to an instance, with `per_pair` random candidates each.
inline void FillAtRandom(Instance& instance, int per_pair, std::mt19937& rng) {
  const int num_atoms = instance.problem.num_atoms;
  for (int i = 0; i < instance.problem.num_islands; ++i) {
    for (int begin = 0; begin < num_atoms; ++begin) {
      for (int end = begin + 1; end <= num_atoms; ++end) {
        std::vector<Candidate> candidates;
        for (int c = 0; c < per_pair; ++c) {
          candidates.push_back(RandomCandidate(rng, end - begin));
        }
        instance.Add({begin, end}, i, candidates);
      }
    }
  }
}

// Tries every sequence of slices from the back, by the definition of J and
// without the algorithm under test.
struct BruteForce {
  const ComposeProblem& problem;
  double best_s = kInfinity;

  struct State {
    int atom;
    uint32_t islands = 0;
    double latency_s = 0, slowest_s = 0, exposed_s = 0;
    int num_stages = 0, num_gpus = 0;
    int front_island = -1, front_gpus = 0;
  };

  void Extend(const State& tail) {
    if (tail.num_stages > problem.max_stages) return;
    if (tail.atom == 0) {
      if (problem.accepts_gpus && !problem.accepts_gpus(tail.num_gpus)) return;
      if (tail.num_stages < problem.min_stages) return;
      if (problem.divided_by_stages % tail.num_stages != 0) return;
      best_s =
          std::min(best_s, tail.latency_s + tail.exposed_s +
                               (problem.num_microbatches - 1) * tail.slowest_s);
      return;
    }
    for (const PlacedPair& placed : problem.pairs) {
      const uint32_t bit = uint32_t{1} << placed.island;
      if (placed.atoms.end != tail.atom || (tail.islands & bit)) continue;
      for (const Candidate& head : placed.pair->candidates) {
        if (head.max_trailing_stages < tail.num_stages) continue;
        const double transfer_s =
            tail.front_island < 0
                ? 0
                : problem.transfer_s(tail.atom, placed.island,
                                     head.last_stage_gpus, tail.front_island,
                                     tail.front_gpus);
        Extend({.atom = placed.atoms.begin,
                .islands = tail.islands | bit,
                .latency_s = tail.latency_s + head.latency_s + transfer_s,
                .slowest_s = std::max({tail.slowest_s, head.slowest_s,
                                       head.last_stage_s + transfer_s}),
                .exposed_s = std::max(head.exposed_sync_s,
                                      tail.exposed_s - head.backward_s),
                .num_stages = tail.num_stages + head.num_stages,
                .num_gpus = tail.num_gpus + head.num_gpus,
                .front_island = placed.island,
                .front_gpus = head.first_stage_gpus});
      }
    }
  }
};

}  // namespace tangram::testing

#endif  // TANGRAM_TESTS_UNIT_COORDINATOR_COMPOSITION_COMPOSE_INSTANCE_H_
