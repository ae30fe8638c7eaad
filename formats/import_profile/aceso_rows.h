#ifndef TANGRAM_FORMATS_IMPORT_PROFILE_ACESO_ROWS_H_
#define TANGRAM_FORMATS_IMPORT_PROFILE_ACESO_ROWS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "common/domain/measurements.h"
#include "formats/import_profile/import_profile.h"

// The content of the files of Aceso's profiler (EuroSys 2024), before it is
// interpreted; for formats/import_profile only. Sizes in the files are MiB. The
// files:
//   gathered  the same with the columns model, mbs, tp, algo; or with set, gpu,
//             dtype, ..., ok, in ms
//   upstream  prim_<model>_<collective>_<n>gpus.csv, p2p_<intra|inter>_node.csv
//   gathered  tables with the columns collective, num_gpus or link
namespace tangram {

// One operator of one layer at one batch size and tp degree.
struct AcesoOperator {
  std::string gpu;    // Empty: not in the file.
  std::string dtype;  // Empty: not in the file.
  std::string model;
  int samples = 0;  // Sequences of a batch.
  int tp = 0;       // GPUs that the operator was split over.
  int algo = 0;     // 0: products split by columns, then rows; 1: rows first.
  std::string op;
  double forward_s = 0;    // Includes the tp collective, if any.
  double backward_s = 0;   // Includes the tp collective, if any.
  double input_bytes = 0;  // On one GPU, as are the next two.
  double weight_bytes = 0;
  double activation_bytes = 0;
  bool ran = false;  // False: out of memory or not measured.
};

// One measurement of a collective or transfer.
struct AcesoCollective {
  std::string gpu;           // Empty: not in the file.
  std::string dtype;         // Empty: not in the file.
  MeasuredCollective shape;  // Has no points.
  CollectivePoint point;     // Bytes as our tables count them.
};

struct AcesoRows {
  std::vector<AcesoOperator> operators;
  std::vector<AcesoCollective> collectives;
};

// Appends the rows of one file.
absl::Status ReadAcesoFile(const ImportedFile& file, AcesoRows& rows);

}  // namespace tangram

#endif  // TANGRAM_FORMATS_IMPORT_PROFILE_ACESO_ROWS_H_
