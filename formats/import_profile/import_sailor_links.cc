#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "formats/import_profile/formats.h"
#include "formats/import_profile/import_parts.h"
#include "formats/import_profile/text_table.h"

// Imports the link tables of Sailor (2504.17096). n GPUs of a node each send to
// a GPU of their own; the tables have their total rate, as a parabola
// c + b·l + a·l² GB/s in l = log2 of each message in MB, and the highest rate
// measured.
//   upstream: multizone_bandwidths_het.json {zone: {gpu: {n: {zone: {gpu: {n:
//             [[a, b, c], bytes/s]}}}}}}
//             intra_node_bandwidths.json {gpu: {n: [[a, b, c], bytes/s]}}, half
//             of the n GPUs of one node sending to the other half
//   gathered: CSV with send_gpu, send_n, recv_gpu or else gpu, n_gpus; and
//             c, max_GBps
//             c, max_GBps
namespace tangram {
namespace {

struct SailorRate {
  std::string from;
  std::string to;    // Empty: inside a node.
  int num_gpus = 0;  // GPUs of the sending node; inside a node, of both halves.
  double small_bytes_per_s = 0;  // Total rate at messages of 1 MB.
  double most_bytes_per_s = 0;   // Highest total rate.

  int num_pairs() const { return to.empty() ? num_gpus / 2 : num_gpus; }
};

// The smallest message in Sailor's tables: 1 MB.
constexpr double kSmallBytes = 1e6;
constexpr double kGiga = 1e9;

absl::StatusOr<std::vector<SailorRate>> ReadTable(const ImportedFile& file) {
  TANGRAM_ASSIGN_OR_RETURN(const TextTable table,
                           TextTable::Parse(file.text, file.name));
  const bool between = table.Has("send_gpu");
  std::vector<SailorRate> rates;
  for (int row = 0; row < table.num_rows(); ++row) {
    SailorRate& rate = rates.emplace_back();
    rate.from = KnownDevice(table.Text(row, between ? "send_gpu" : "gpu"));
    if (between) rate.to = KnownDevice(table.Text(row, "recv_gpu"));
    TANGRAM_ASSIGN_OR_RETURN(rate.num_gpus,
                             table.Count(row, between ? "send_n" : "n_gpus"));
    TANGRAM_ASSIGN_OR_RETURN(const double small, table.Number(row, "c"));
    TANGRAM_ASSIGN_OR_RETURN(const double most, table.Number(row, "max_GBps"));
    rate.small_bytes_per_s = small * kGiga;
    rate.most_bytes_per_s = most * kGiga;
  }
  return rates;
}

// Reads [[a, b, c], bytes/s].
absl::Status ReadRate(const ConfigField& field, SailorRate rate,
                      std::vector<SailorRate>& rates) {
  constexpr absl::string_view kExpected = "[[a, b, c], bytes/s]";
  TANGRAM_ASSIGN_OR_RETURN(const std::vector<ConfigField> two,
                           field.Elements());
  if (two.size() != 2) return field.Error(kExpected);
  TANGRAM_ASSIGN_OR_RETURN(const std::vector<ConfigField> three,
                           two[0].Elements());
  if (three.size() != 3) return field.Error(kExpected);
  TANGRAM_ASSIGN_OR_RETURN(const double small, three[2].AsNumber(0, 1e6));
  TANGRAM_ASSIGN_OR_RETURN(rate.most_bytes_per_s, two[1].AsNumber(0, 1e15));
  rate.small_bytes_per_s = small * kGiga;
  rates.push_back(std::move(rate));
  return absl::OkStatus();
}

// Reads the rates at which one node type sends; keys are numbers of GPUs.
absl::Status ReadReceivers(const ConfigField& by_zone, const SailorRate& sender,
                           std::vector<SailorRate>& rates) {
  TANGRAM_ASSIGN_OR_RETURN(const auto zones, Members(by_zone));
  for (const auto& [zone, by_gpu] : zones) {
    TANGRAM_ASSIGN_OR_RETURN(const auto gpus, Members(by_gpu));
    for (const auto& [gpu, by_count] : gpus) {
      SailorRate rate = sender;
      rate.to = KnownDevice(gpu);
      TANGRAM_ASSIGN_OR_RETURN(const auto counts, NumberedMembers(by_count));
      for (const auto& [count, field] : counts) {
        TANGRAM_RETURN_IF_ERROR(ReadRate(field, rate, rates));
      }
    }
  }
  return absl::OkStatus();
}

absl::Status ReadGpus(const ConfigField& by_gpu,
                      std::vector<SailorRate>& rates) {
  TANGRAM_ASSIGN_OR_RETURN(const auto gpus, Members(by_gpu));
  for (const auto& [gpu, by_count] : gpus) {
    TANGRAM_ASSIGN_OR_RETURN(const auto counts, NumberedMembers(by_count));
    for (const auto& [count, field] : counts) {
      const SailorRate rate = {.from = KnownDevice(gpu), .num_gpus = count};
      TANGRAM_RETURN_IF_ERROR(field.is_mapping()
                                  ? ReadReceivers(field, rate, rates)
                                  : ReadRate(field, rate, rates));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<SailorRate>> ReadJson(const ImportedFile& file) {
  TANGRAM_ASSIGN_OR_RETURN(const ConfigValue value,
                           ParseConfigText(file.text, file.name));
  const ConfigField root(value, file.name);
  std::vector<SailorRate> rates;
  TANGRAM_ASSIGN_OR_RETURN(const auto members, Members(root));
  for (const auto& [name, field] : members) {
    TANGRAM_ASSIGN_OR_RETURN(const auto counts, NumberedMembers(field));
    if (!counts.empty()) {
      TANGRAM_RETURN_IF_ERROR(ReadGpus(root, rates));
      break;
    }
    TANGRAM_RETURN_IF_ERROR(ReadGpus(field, rates));  // The member is a zone.
  }
  return rates;
}

absl::StatusOr<std::vector<SailorRate>> ReadRates(const ImportedFile& file) {
  const absl::string_view text = absl::StripLeadingAsciiWhitespace(file.text);
  return !text.empty() && text[0] == '{' ? ReadJson(file) : ReadTable(file);
}

// Extra time of messages of 1 MB compared with the rate of large messages:
//   latency = max(0, bytes / small rate − bytes / highest rate)
double LatencyOf(const SailorRate& rate) {
  const double bytes = rate.num_pairs() * kSmallBytes;
  return std::max(
      0.0, bytes / rate.small_bytes_per_s - bytes / rate.most_bytes_per_s);
}

// Takes the best rate over all numbers of GPUs and all zones. Upstream fills
// pairs that were not measured with the rates of slower ones.
void AddRate(const SailorRate& rate, std::vector<ProfileLink>& links) {
  auto known =
      std::find_if(links.begin(), links.end(),
                   [&rate](const ProfileLink& l) { return l.to == rate.to; });
  if (known == links.end()) {
    links.push_back({.to = rate.to, .link = {.latency_s = LatencyOf(rate)}});
    known = links.end() - 1;
  }
  Link& link = known->link;
  link.latency_s = std::min(link.latency_s, LatencyOf(rate));
  link.bandwidth_bytes_per_s =
      std::max(link.bandwidth_bytes_per_s, rate.most_bytes_per_s);
  link.pair_bandwidth_bytes_per_s =
      std::max(link.pair_bandwidth_bytes_per_s,
               rate.most_bytes_per_s / rate.num_pairs());
}

// Sets the bandwidth of one pair while the most GPUs send or receive, as if all
// of the node did.
void SetNodeBandwidth(const std::vector<SailorRate>& rates, ProfileLink& link) {
  int most_gpus = 0;
  for (const SailorRate& rate : rates) {
    if (!rate.to.empty() || rate.num_gpus <= most_gpus) continue;
    most_gpus = rate.num_gpus;
    link.link.bandwidth_bytes_per_s = rate.most_bytes_per_s / rate.num_pairs();
  }
}

}  // namespace

absl::StatusOr<ImportResult> ImportSailorLinks(Files files,
                                               const ImportOptions& options) {
  ImportResult result;
  TANGRAM_RETURN_IF_ERROR(
      SetDevice("", files[0].name, options, result.profile));
  std::vector<SailorRate> rates;
  for (const ImportedFile& file : files) {
    TANGRAM_ASSIGN_OR_RETURN(const std::vector<SailorRate> read,
                             ReadRates(file));
    for (const SailorRate& rate : read) {
      const bool usable = rate.small_bytes_per_s > 0 &&
                          rate.most_bytes_per_s > 0 && rate.num_pairs() > 0;
      if (usable && rate.from == result.profile.device) rates.push_back(rate);
    }
  }
  for (const SailorRate& rate : rates) AddRate(rate, result.profile.links);
  for (ProfileLink& link : result.profile.links) {
    if (link.to.empty()) SetNodeBandwidth(rates, link);
  }
  result.profile.source = absl::StrCat("Sailor link tables, ", files[0].name);
  return result;
}

}  // namespace tangram
