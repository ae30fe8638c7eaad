#ifndef TANGRAM_FORMATS_IMPORT_CLUSTER_RESOURCE_SLICES_H_
#define TANGRAM_FORMATS_IMPORT_CLUSTER_RESOURCE_SLICES_H_

#include "formats/import_cluster/node_set.h"
#include "nlohmann/json.hpp"

// Kubernetes' dynamic resource allocation: `kubectl get resourceslices -o
// json`.
namespace tangram {

// Returns the drivers whose slices are read: "gpu.nvidia.com, gpu.amd.com".
std::string ResourceSliceDrivers();

// Returns whether a Kubernetes object is a ResourceSlice.
bool IsResourceSlice(const nlohmann::json& object);

// Adds the GPUs of a ResourceSlice to its node. A slice of a GPU keeps its
// name, "MIG-1g.10gb", and is no whole GPU. Devices that are no GPUs, slices of
// several nodes and other objects add nothing.
void AddResourceSlice(const nlohmann::json& object, NodeSet& nodes);

}  // namespace tangram

#endif  // TANGRAM_FORMATS_IMPORT_CLUSTER_RESOURCE_SLICES_H_
