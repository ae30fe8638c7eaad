#include <bit>
#include <cstdint>
#include <cstring>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "formats/export_profile/export_profile.h"

// Files of AMP (NeurIPS 2022): for each GPU type and tp degree, the forward
// seconds of one sample of each layer, as an array of NumPy.
namespace tangram {
namespace {

// Returns an array of doubles in NumPy's format 1.0: a header of a multiple of
// 64 bytes, then the values, the least significant byte first.
std::string NpyOf(const std::vector<double>& values) {
  std::string shape =
      absl::StrCat("{'descr': '<f8', 'fortran_order': False, 'shape': (",
                   values.size(), ",), }");
  constexpr size_t kPreamble = 10;  // Magic, version, length of the header.
  constexpr size_t kAlignment = 64;
  while ((kPreamble + shape.size() + 1) % kAlignment != 0) shape += ' ';
  shape += '\n';
  std::string text("\x93NUMPY\x01\x00", 8);
  text += static_cast<char>(shape.size() & 0xff);
  text += static_cast<char>(shape.size() >> 8);
  text += shape;
  for (const double value : values) {
    const auto bits = std::bit_cast<uint64_t>(value);
    for (int byte = 0; byte < 8; ++byte) {
      text += static_cast<char>(bits >> (8 * byte) & 0xff);
    }
  }
  return text;
}

}  // namespace

ProfileExport ExportAmp(const ProfiledJob& job) {
  ProfileExport result;
  for (const auto& [key, layers] : job.profiles.layers) {
    if (key.samples != 1) continue;
    std::vector<double> forward_s;
    for (const LayerProfile& layer : layers) {
      // AMP takes the backward pass as twice the forward pass.
      forward_s.push_back((layer.forward_s + layer.backward_s) / 3);
    }
    result.files.push_back({absl::StrCat("known_cost/", job.model.name, "_",
                                         job.profiles.types[key.type].name, "_",
                                         key.tp_degree, ".npy"),
                            NpyOf(forward_s)});
  }
  result.notes = {
      "amp: a third of both passes stands for the forward pass, as AMP counts "
      "three of them",
      "amp: the cluster and the model are written in AMP's own script; "
      "bandwidths there are bits/s divided by 32"};
  return result;
}

}  // namespace tangram
