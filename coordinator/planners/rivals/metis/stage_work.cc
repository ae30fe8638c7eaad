#include "coordinator/planners/rivals/metis/stage_work.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "common/base/infinity.h"

namespace tangram {
namespace {

double SumOf(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

void AddTo(const std::vector<double>& values, std::vector<double>& sums) {
  for (size_t i = 0; i < values.size(); ++i) sums[i] += values[i];
}

// The powers of two that add up to n, greatest first.
std::vector<int> ChunksOf(int n) {
  std::vector<int> chunks;
  for (int chunk = 1 << 30; chunk > 0; chunk /= 2) {
    if ((n & chunk) != 0) chunks.push_back(chunk);
  }
  return chunks;
}

// Divides `samples` in proportion to `speeds`: largest remainders first.
std::vector<int> DivideBySpeed(const std::vector<double>& speeds, int samples) {
  const double total = SumOf(speeds);
  std::vector<int> shares;
  std::vector<double> remainders;
  for (const double speed : speeds) {
    const double wanted = samples * speed / total;
    shares.push_back(static_cast<int>(wanted));
    remainders.push_back(wanted - shares.back());
  }
  std::vector<int> order(speeds.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](int a, int b) { return remainders[a] > remainders[b]; });
  const int left = samples - std::accumulate(shares.begin(), shares.end(), 0);
  for (int i = 0; i < left; ++i) ++shares[order[i]];
  return shares;
}

}  // namespace

StageWorks::StageWorks(const MetisInput& input, const MetisSettings& settings,
                       std::vector<int> types)
    : input_(input), settings_(settings), types_(std::move(types)) {
  memory_mb_.assign(input.num_types, kInfinity);
  for (const MetisHost& host : input.hosts) {
    memory_mb_[host.type] = std::min(memory_mb_[host.type], host.memory_mb);
  }
  std::vector<int> hosts;
  for (const int type : types_) {
    for (int host = 0; host < static_cast<int>(input.hosts.size()); ++host) {
      if (input.hosts[host].type != type) continue;
      hosts.push_back(host);
      type_of_rank_.insert(type_of_rank_.end(), input.hosts[host].num_gpus,
                           type);
      host_of_rank_.insert(host_of_rank_.end(), input.hosts[host].num_gpus,
                           host);
    }
  }
  shown_host_of_rank_ = host_of_rank_;
  if (!settings.defects.equal_hosts) return;
  for (size_t rank = 0; rank < host_of_rank_.size(); ++rank) {
    const size_t host = rank / input.hosts.front().num_gpus;
    shown_host_of_rank_[rank] = hosts[std::min(host, hosts.size() - 1)];
  }
}

bool StageWorks::TpStaysInHosts(const StagePlace& place) const {
  const int end = place.first_rank + place.num_gpus;
  for (int rank = place.first_rank; rank < end; rank += place.tp) {
    if (host_of_rank_[rank] != host_of_rank_[rank + place.tp - 1]) return false;
  }
  return true;
}

double StageWorks::Bandwidth(int first_rank, int num_ranks, int stride) const {
  const int first_host = shown_host_of_rank_[first_rank];
  const bool as_inside = settings_.defects.inter_is_intra;
  bool one_host = true;
  double slowest = 0;
  for (int i = 0; i < num_ranks; ++i) {
    const int index = shown_host_of_rank_[first_rank + i * stride];
    const MetisHost& host = input_.hosts[index];
    const double link = as_inside ? host.intra_bandwidth : host.inter_bandwidth;
    one_host = one_host && index == first_host;
    slowest = i == 0 ? link : std::min(slowest, link);
  }
  return one_host ? input_.hosts[first_host].intra_bandwidth : slowest;
}

// Replica i has the speed of the GPU at first_rank + i · width.
std::vector<int> StageWorks::Shares(int first_rank, int width, int dp, int tp,
                                    int samples, bool& profiled) const {
  std::vector<double> speeds;
  for (int i = 0; i < dp; ++i) {
    const auto found =
        input_.profiles.find({type_of(first_rank + i * width), tp, 1});
    if (found == input_.profiles.end()) {
      profiled = false;
      return {};
    }
    speeds.push_back(1 / SumOf(found->second.layer_ms));
  }
  return DivideBySpeed(speeds, samples);
}

// Adds the chunks of key.samples. Returns false if one is not profiled.
bool StageWorks::AddChunks(const MetisKey& key, ReplicaWork& work) const {
  const size_t layers = input_.num_layers();
  work.type = key.type;
  for (std::vector<double>* values :
       {&work.ms, &work.state_mb, &work.activation_mb, &work.optimizer_ms,
        &work.transient_mb}) {
    values->assign(layers, 0);
  }
  bool first = true;
  for (const int chunk : ChunksOf(key.samples)) {
    const auto found = input_.profiles.find({key.type, key.tp, chunk});
    if (found == input_.profiles.end()) return false;
    const MetisProfile& profile = found->second;
    AddTo(profile.layer_ms, work.ms);
    AddTo(profile.activation_mb, work.activation_mb);
    for (size_t i = 0; i < profile.transient_mb.size(); ++i) {
      work.transient_mb[i] =
          std::max(work.transient_mb[i], profile.transient_mb[i]);
    }
    if (!std::exchange(first, false)) continue;
    AddTo(profile.state_mb, work.state_mb);
    AddTo(profile.optimizer_ms, work.optimizer_ms);
  }
  return true;
}

// Adds the memory of a replica by the profile of `type`.
bool StageWorks::AddUpstreamMemory(int type, int tp, int samples,
                                   std::vector<double>& mb) const {
  for (const int chunk : ChunksOf(samples)) {
    const auto found = input_.profiles.find({type, tp, chunk});
    if (found == input_.profiles.end()) return false;
    AddTo(found->second.state_mb, mb);
    AddTo(found->second.activation_mb, mb);
  }
  return true;
}

StageWork StageWorks::Make(const StagePlace& place, int samples) const {
  StageWork work;
  bool profiled = true;
  std::vector<int> shares(1, samples / place.dp);  // Equal replicas.
  const bool mixed = IsMixed(place.first_rank, place.num_gpus);
  if (mixed) {
    shares = Shares(place.first_rank, place.tp, place.dp, place.tp, samples,
                    profiled);
    work.shares = shares;
  }
  std::vector<std::pair<int, int>> seen;  // Type and share.
  for (size_t i = 0; i < shares.size(); ++i) {
    const int type = type_of(place.first_rank + static_cast<int>(i) * place.tp);
    work.idle_replica |= shares[i] == 0;
    if (std::find(seen.begin(), seen.end(), std::pair(type, shares[i])) !=
        seen.end()) {
      continue;
    }
    seen.emplace_back(type, shares[i]);
    ReplicaWork& kind = work.kinds.emplace_back();
    profiled &= AddChunks({type, place.tp, shares[i]}, kind);
    work.total_ms = std::max(work.total_ms, SumOf(kind.ms));
  }
  for (int rank = place.first_rank; rank < place.first_rank + place.num_gpus;
       ++rank) {
    const auto found =
        input_.profiles.find({type_of(rank), place.tp, samples / place.dp});
    if (found == input_.profiles.end()) continue;
    work.sync_ms = std::max(work.sync_ms, found->second.sync_ms);
  }
  if (settings_.defects.memory_once_a_stage) {
    work.upstream_mb.assign(input_.num_layers(), 0);
    if (mixed && settings_.defects.whole_cluster_shares) {
      const int width = static_cast<int>(type_of_rank_.size()) / place.dp;
      shares = Shares(0, width, place.dp, place.tp, samples, profiled);
    }
    for (const int share : shares) {
      profiled &=
          AddUpstreamMemory(types_.front(), place.tp, share, work.upstream_mb);
    }
  }
  work.profiled = profiled;
  return work;
}

const StageWork& StageWorks::Find(const StagePlace& place, int samples) {
  // Stages of one type differ by tp and share alone.
  const bool mixed = IsMixed(place.first_rank, place.num_gpus);
  const uint64_t where = mixed ? place.first_rank + 1 : 0;
  const uint64_t many =
      mixed ? place.dp : (1 << 20) + type_of(place.first_rank);
  const uint64_t size = mixed ? samples : samples / place.dp;
  const uint64_t key =
      where << 48 ^ many << 24 ^ size << 8 ^ static_cast<uint64_t>(place.tp);
  std::unique_ptr<StageWork>& work = works_[key];
  if (work == nullptr) work = std::make_unique<StageWork>(Make(place, samples));
  return *work;
}

}  // namespace tangram
