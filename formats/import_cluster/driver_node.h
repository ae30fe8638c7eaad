#ifndef TANGRAM_FORMATS_IMPORT_CLUSTER_DRIVER_NODE_H_
#define TANGRAM_FORMATS_IMPORT_CLUSTER_DRIVER_NODE_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "formats/import_cluster/inventory.h"

// Parts of the readers of what drivers print about the GPUs of one node; for
// formats/import_cluster only.
namespace tangram {

// Memory of NVIDIA's and AMD's tools is in units of 2^20 bytes.
inline constexpr double kMebibyte = 1 << 20;

// Adds a GPU of that name.
void CountNamed(absl::string_view name, InventoryNode& node);

// Keeps the least positive value.
template <typename T>
void KeepSmaller(T value, T& least) {
  if (value > 0 && (least == 0 || value < least)) least = value;
}

// Returns the name of a GPU in MIG mode, whose slices are not known.
std::string NameInMigMode(absl::string_view name);

// Returns the name of a GPU that AMD's compute partition cuts into parts, which
// is none of the catalogue. SPX: it is whole.
std::string NameInPartition(absl::string_view name, absl::string_view mode);

// Returns the name of a GPU of AMD's with that many compute units (0: not
// told). With fewer than a whole one has, it is a part, which is none of the
// catalogue.
std::string NameWithUnits(absl::string_view name, int compute_units);

// Returns the positive number in a text such as "256"; 0 for anything else.
int NumberOf(absl::string_view text);

// The GPUs of one output. A text in which one occurs again is of several nodes,
// or was printed again and again.
class SeenGpus {
 public:
  // Remembers the GPU of that number or address.
  void Add(absl::string_view gpu);

  // Returns kInvalidArgument if a GPU was added twice.
  absl::Status Check() const;

 private:
  absl::flat_hash_set<std::string> gpus_;
  std::string again_;
};

// Returns the node if it has GPUs, but not too many for one node. Otherwise
// kInvalidArgument, with the command whose output is expected.
absl::StatusOr<InventoryNode> CheckedNode(InventoryNode node,
                                          absl::string_view command);

// Returns the lines of the text, without blanks at their ends.
std::vector<absl::string_view> LinesOf(absl::string_view text);

// Returns the words of a line or of a cell of a table.
std::vector<absl::string_view> WordsIn(absl::string_view cell);

// Returns what follows "<key>:" in a line, whatever stands before the key.
// `key` is in lower case.
std::optional<absl::string_view> ValueOf(absl::string_view line,
                                         absl::string_view key);

}  // namespace tangram

#endif  // TANGRAM_FORMATS_IMPORT_CLUSTER_DRIVER_NODE_H_
