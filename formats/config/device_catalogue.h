#ifndef TANGRAM_FORMATS_CONFIG_DEVICE_CATALOGUE_H_
#define TANGRAM_FORMATS_CONFIG_DEVICE_CATALOGUE_H_

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "formats/config/device_list.h"

namespace tangram {

// Returns the built-in devices, formats/catalogue/devices.yaml, parsed on first
// use.
absl::Span<const CatalogueDevice> DeviceCatalogue();

// Returns the entry of that type or alias, ignoring case; null if there is
// none.
const CatalogueDevice* FindDevice(absl::string_view type);

// Returns the efficiency of a GPU that nobody measured, by the general block of
// the catalogue. The block states the constants of an A100; gemm_half_flops is
// in proportion to the largest peak, and faster GPUs reach less of their peak
// and of their memory bandwidth.
DeviceEfficiency GeneralEfficiency(const PeakFlops& peak,
                                   double memory_bandwidth_bytes_per_s);

// Returns the link between nodes of the entry's GPUs, if nodes have that many:
// a node with fewer of them has fewer of their network cards.
Link InterNodeLink(const CatalogueDevice& entry, int gpus_per_node);

}  // namespace tangram

#endif  // TANGRAM_FORMATS_CONFIG_DEVICE_CATALOGUE_H_
