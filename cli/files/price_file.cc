#include "cli/files/price_file.h"

#include <cmath>
#include <optional>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "formats/config/csv_table.h"
#include "formats/config/device_catalogue.h"

namespace tangram {
namespace {

// More for an hour of a node is a slip.
constexpr double kMostPrice = 1e12;

class PriceTable {
 public:
  PriceTable(CsvTable table, const std::string& file, const PriceChoice& choice)
      : table_(std::move(table)),
        file_(file),
        choice_(choice),
        group_(table_.ColumnIndex("group")),
        instance_(table_.ColumnIndex("InstanceType")),
        accelerator_(table_.ColumnIndex("AcceleratorName")),
        accelerators_(table_.ColumnIndex("AcceleratorCount")),
        region_(table_.ColumnIndex(group_ >= 0 ? "region" : "Region")),
        price_(table_.ColumnIndex(PriceColumn())) {}

  absl::Status Check() const {
    if (group_ < 0 && instance_ < 0 && accelerator_ < 0) {
      return absl::InvalidArgumentError(absl::StrCat(
          file_,
          ": no column group; expected group and price, or SkyPilot's "
          "InstanceType or AcceleratorName"));
    }
    if (price_ < 0) {
      return absl::InvalidArgumentError(
          absl::StrCat(file_, ": no column ", PriceColumn(), "; expected one"));
    }
    if (region_ < 0 && !choice_.region.empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat("--region: ", file_, " has no regions; expected none"));
    }
    if (!table_.bad_rows.empty()) {
      return absl::InvalidArgumentError(table_.bad_rows.front());
    }
    return absl::OkStatus();
  }

  // Returns the least price of the rows for the group. Rows of its own name
  // count before those with its GPUs.
  absl::StatusOr<double> PriceOf(const PricedGroup& group) const {
    for (const bool by_name : {true, false}) {
      std::optional<double> least;
      for (const CsvTable::Row& row : table_.rows) {
        if (!IsInRegion(row)) continue;
        if (by_name ? !IsNamed(group, row) : !HasGpusOf(group, row)) continue;
        TANGRAM_ASSIGN_OR_RETURN(const std::optional<double> price,
                                 PriceIn(row));
        if (!price.has_value() || (least.has_value() && *price >= *least)) {
          continue;
        }
        least = price;
      }
      if (least.has_value()) return *least;
    }
    return absl::InvalidArgumentError(absl::StrCat(
        "--prices: ", file_, ": no ", PriceColumn(), " of ", group.name,
        group_ >= 0 || group.device.empty()
            ? ""
            : absl::StrCat(" or of ", group.gpus_per_node, " x ", group.device),
        choice_.region.empty() ? "" : absl::StrCat(" in ", choice_.region),
        "; expected a row for each group"));
  }

 private:
  const char* PriceColumn() const {
    if (group_ >= 0) return choice_.spot ? "spot_price" : "price";
    return choice_.spot ? "SpotPrice" : "Price";
  }

  static std::string Cell(const CsvTable::Row& row, int column) {
    return column < 0
               ? std::string()
               : std::string(absl::StripAsciiWhitespace(row.cells[column]));
  }

  bool IsInRegion(const CsvTable::Row& row) const {
    return choice_.region.empty() || Cell(row, region_) == choice_.region;
  }

  bool IsNamed(const PricedGroup& group, const CsvTable::Row& row) const {
    return Cell(row, group_ >= 0 ? group_ : instance_) == group.name;
  }

  bool HasGpusOf(const PricedGroup& group, const CsvTable::Row& row) const {
    double count = 0;
    if (group.device.empty() || group_ >= 0 ||
        !absl::SimpleAtod(Cell(row, accelerators_), &count) ||
        count != group.gpus_per_node) {
      return false;
    }
    std::string name = Cell(row, accelerator_);
    // SkyPilot's names of the smaller ones have no size.
    if (name == "A100") name = "A100-40";
    if (name == "V100") name = "V100-16";
    const CatalogueDevice* const device = FindDevice(name);
    return device != nullptr && device == FindDevice(group.device);
  }

  // An empty cell is no price.
  absl::StatusOr<std::optional<double>> PriceIn(
      const CsvTable::Row& row) const {
    const std::string text = Cell(row, price_);
    if (text.empty()) return std::nullopt;
    double price = 0;
    if (!absl::SimpleAtod(text, &price) || !(price >= 0) ||
        price > kMostPrice) {
      return absl::InvalidArgumentError(
          absl::StrCat(file_, ": line ", row.line, ": ", PriceColumn(), ": ",
                       text, "; expected a price of at least 0"));
    }
    return price;
  }

  const CsvTable table_;
  const std::string& file_;
  const PriceChoice& choice_;
  const int group_;
  const int instance_;
  const int accelerator_;
  const int accelerators_;
  const int region_;
  const int price_;
};

}  // namespace

absl::StatusOr<std::vector<double>> ReadPrices(
    absl::string_view text, const std::string& file,
    absl::Span<const PricedGroup> groups, const PriceChoice& choice) {
  TANGRAM_ASSIGN_OR_RETURN(CsvTable table, ParseCsv(text, file));
  const PriceTable prices(std::move(table), file, choice);
  TANGRAM_RETURN_IF_ERROR(prices.Check());
  std::vector<double> by_group;
  for (const PricedGroup& group : groups) {
    TANGRAM_ASSIGN_OR_RETURN(by_group.emplace_back(), prices.PriceOf(group));
  }
  return by_group;
}

}  // namespace tangram
