#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "cli/commands/commands.h"
#include "cli/print/answer_json.h"
#include "cli/print/table.h"
#include "common/base/format.h"
#include "common/base/status_macros.h"
#include "formats/config/profile_file.h"

namespace tangram {
namespace {

using Json = nlohmann::ordered_json;

std::string NameOf(const Profile& profile, const ProfileEntry& entry) {
  if (entry.op.has_value()) return OpName(*entry.op);
  switch (LayerOf(profile, entry).kind) {
    case LayerKind::kEmbedding:
      return "embedding layer";
    case LayerKind::kTransformer:
      return "transformer layer";
    case LayerKind::kHead:
      return "head layer";
  }
  return "";
}

// Returns the degrees under which the entry was measured: "tp 4 cp 2".
std::string CutOf(const ProfileEntry& entry) {
  const StageParallelism& p = entry.parallelism;
  std::string cut = absl::StrCat("tp ", p.tp_degree);
  if (p.cp_degree > 1) absl::StrAppend(&cut, " cp ", p.cp_degree);
  if (p.ep_degree > 1) absl::StrAppend(&cut, " ep ", p.ep_degree);
  if (p.sequence_parallel) absl::StrAppend(&cut, " sequence parallel");
  if (entry.collectives_included) absl::StrAppend(&cut, ", collectives in");
  return cut;
}

std::string Range(double first, double last) {
  return first == last ? absl::StrCat(first)
                       : absl::StrCat(first, " to ", last);
}

std::string Milliseconds(double first_s, double last_s) {
  return first_s == last_s
             ? absl::StrFormat("%.3g", first_s * 1e3)
             : absl::StrFormat("%.3g to %.3g", first_s * 1e3, last_s * 1e3);
}

void PrintEntries(const Profile& profile, Console& console) {
  if (profile.entries.empty()) return;
  Table table({{"model"},
               {"measured"},
               {"precision"},
               {"tokens", Table::kRight},
               {"cut"},
               {"samples", Table::kRight},
               {"forward ms", Table::kRight},
               {"backward ms", Table::kRight}});
  for (const ProfileEntry& entry : profile.entries) {
    const ProfilePoint& first = entry.points.front();
    const ProfilePoint& last = entry.points.back();
    table.AddRow({profile.models[entry.model].name, NameOf(profile, entry),
                  std::string(PrecisionName(entry.precision)),
                  absl::StrCat(entry.sequence_length), CutOf(entry),
                  Range(first.samples, last.samples),
                  Milliseconds(first.forward_s, last.forward_s),
                  Milliseconds(first.backward_s, last.backward_s)});
  }
  console.out << "\n" << table.ToString();
}

void PrintCollectives(const Profile& profile, Console& console) {
  if (profile.collectives.empty()) return;
  Table table({{"collective"},
               {"ranks", Table::kRight},
               {"nodes", Table::kRight},
               {"bytes", Table::kRight},
               {"ms", Table::kRight}});
  for (const MeasuredCollective& measured : profile.collectives) {
    const CollectivePoint& first = measured.points.front();
    const CollectivePoint& last = measured.points.back();
    table.AddRow({std::string(CollectiveName(measured.op)),
                  absl::StrCat(measured.ranks), absl::StrCat(measured.nodes),
                  absl::StrCat(FormatBytes(first.bytes), " to ",
                               FormatBytes(last.bytes)),
                  Milliseconds(first.seconds, last.seconds)});
  }
  console.out << "\n" << table.ToString();
}

void PrintLinks(const Profile& profile, Console& console) {
  if (profile.links.empty()) return;
  Table table({{"link"},
               {"bandwidth", Table::kRight},
               {"of a pair", Table::kRight},
               {"latency", Table::kRight}});
  for (const ProfileLink& measured : profile.links) {
    const Link& link = measured.link;
    table.AddRow({measured.to.empty() ? "inside a node" : "to " + measured.to,
                  FormatBandwidth(link.bandwidth_bytes_per_s),
                  FormatBandwidth(link.pair_bandwidth_bytes_per_s),
                  FormatSeconds(link.latency_s)});
  }
  console.out << "\n" << table.ToString();
}

Json EntriesJson(const Profile& profile) {
  Json entries = Json::array();
  for (const ProfileEntry& entry : profile.entries) {
    const StageParallelism& p = entry.parallelism;
    Json points = Json::array();
    for (const ProfilePoint& point : entry.points) {
      points.push_back({{"samples", point.samples},
                        {"forward_s", point.forward_s},
                        {"backward_s", point.backward_s}});
    }
    entries.push_back({{"model", profile.models[entry.model].name},
                       {"measured", NameOf(profile, entry)},
                       {"precision", PrecisionName(entry.precision)},
                       {"sequence_length", entry.sequence_length},
                       {"tp_degree", p.tp_degree},
                       {"cp_degree", p.cp_degree},
                       {"ep_degree", p.ep_degree},
                       {"sequence_parallel", p.sequence_parallel},
                       {"collectives_included", entry.collectives_included},
                       {"points", points}});
  }
  return entries;
}

Json CollectivesJson(const Profile& profile) {
  Json collectives = Json::array();
  for (const MeasuredCollective& measured : profile.collectives) {
    Json points = Json::array();
    for (const CollectivePoint& point : measured.points) {
      points.push_back({{"bytes", point.bytes}, {"seconds", point.seconds}});
    }
    collectives.push_back({{"collective", CollectiveName(measured.op)},
                           {"ranks", measured.ranks},
                           {"nodes", measured.nodes},
                           {"points", points}});
  }
  return collectives;
}

Json LinksJson(const Profile& profile) {
  Json links = Json::array();
  for (const ProfileLink& measured : profile.links) {
    const Link& link = measured.link;
    links.push_back(
        {{"to", measured.to},
         {"bandwidth_bytes_per_s", link.bandwidth_bytes_per_s},
         {"pair_bandwidth_bytes_per_s", link.pair_bandwidth_bytes_per_s},
         {"latency_s", link.latency_s}});
  }
  return links;
}

Json ProfileJson(const Profile& profile) {
  Json json = {{"format_version", "tangram.measurements/v1"},
               {"device", profile.device},
               {"source", profile.source},
               {"framework", profile.framework},
               {"layers", EntriesJson(profile)},
               {"collectives", CollectivesJson(profile)},
               {"links", LinksJson(profile)},
               {"matrix_products", profile.gemms.size()}};
  if (profile.context_bytes) json["context_bytes"] = *profile.context_bytes;
  return json;
}

}  // namespace

CommandResult Run(const ShowProfileOptions& options, Console& console) {
  TANGRAM_ASSIGN_OR_RETURN(const Profile profile,
                           ReadProfileFile(options.file));
  if (console.format == OutputFormat::kJson) {
    PrintJson(ProfileJson(profile), console);
    return ExitCode::kOk;
  }
  console.out << Styled(console, Style::kBold, profile.device) << "\n";
  for (const std::string& text : {profile.source, profile.framework}) {
    if (!text.empty()) console.out << WrapText(text, 2, console.width);
  }
  PrintEntries(profile, console);
  PrintCollectives(profile, console);
  PrintLinks(profile, console);
  if (!profile.gemms.empty()) {
    console.out << "\n  " << profile.gemms.size() << " matrix products\n";
  }
  if (profile.context_bytes.has_value()) {
    console.out << "\n  " << FormatBytes(*profile.context_bytes)
                << " taken by the runtime\n";
  }
  return ExitCode::kOk;
}

}  // namespace tangram
