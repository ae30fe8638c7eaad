#include "worker/adapters/search/layer_costs.h"

#include <algorithm>

namespace tangram {
namespace {

bool HasMeasurements(const DeviceSpec& device) {
  return !device.measured.empty() || !device.measured_layers.empty() ||
         !device.collectives.empty();
}

// Compares everything but the limits, numbers first.
bool IsLike(const IslandSpec& a, const IslandSpec& b) {
  return a.num_nodes == b.num_nodes && a.gpus_per_node == b.gpus_per_node &&
         a.intra_node == b.intra_node && a.inter_node == b.inter_node &&
         a.device == b.device;
}

}  // namespace

int LayerCosts::Site::KindOf(const LayerSpec& layer) {
  const auto known = std::find(kinds_.begin(), kinds_.end(), layer);
  const int kind = static_cast<int>(known - kinds_.begin());
  if (known == kinds_.end()) kinds_.push_back(layer);
  return kind;
}

LayerCost LayerCosts::Site::Cost(int kind, OpMask recomputed,
                                 const StageParallelism& parallelism,
                                 const StageEnvironment& environment) {
  const Key key{
      .kind = kind, .masks = {recomputed}, .parallelism = parallelism};
  const auto known = costs_.find(key);
  if (known != costs_.end()) return known->second;
  const LayerSpec& layer = kinds_[kind];
  const int num_ops = static_cast<int>(OperatorsOf(layer).size());
  return costs_
      .emplace(key, EstimateLayer(layer, {0, num_ops, recomputed}, parallelism,
                                  environment))
      .first->second;
}

LayerFrontier& LayerCosts::Site::FrontierOf(
    int kind, const Masks& masks, int num_choices,
    const StageParallelism& parallelism) {
  const Key key{.kind = kind,
                .masks = masks,
                .num_choices = num_choices,
                .parallelism = parallelism};
  return frontiers_.try_emplace(key, static_cast<int>(std::size(masks)))
      .first->second;
}

LayerCosts::Site* LayerCosts::SiteOf(const IslandSpec& island,
                                     const TrainingOptions& training,
                                     int microbatch_size) {
  if (HasMeasurements(island.device)) return nullptr;
  if (Bytes() > kMostBytes) sites_.clear();
  for (const std::unique_ptr<Site>& site : sites_) {
    if (site->microbatch_size_ == microbatch_size &&
        IsLike(site->island_, island) && site->training_ == training) {
      return site.get();
    }
  }
  Site& site = *sites_.emplace_back(std::make_unique<Site>());
  site.island_ = island;
  site.training_ = training;
  site.microbatch_size_ = microbatch_size;
  return &site;
}

int64_t LayerCosts::Bytes() const {
  int64_t bytes = 0;
  for (const std::unique_ptr<Site>& site : sites_) {
    bytes +=
        static_cast<int64_t>(site->costs_.size() *
                             (sizeof(Site::Key) + sizeof(LayerCost))) +
        site->num_labels_ * static_cast<int64_t>(sizeof(LayerFrontier::Label));
  }
  return bytes;
}

}  // namespace tangram
