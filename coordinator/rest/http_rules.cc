#include "coordinator/rest/http_rules.h"

#include <google/protobuf/descriptor.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "common/base/status_macros.h"

namespace tangram {
namespace {

using Json = nlohmann::json;

constexpr std::pair<const char*, const char*> kMethods[] = {
    {"get", "GET"}, {"post", "POST"}, {"patch", "PATCH"}, {"delete", "DELETE"}};

std::string TextIn(const Json& rule, const char* name) {
  const auto it = rule.find(name);
  return it != rule.end() && it->is_string() ? it->get<std::string>() : "";
}

// Takes a path apart: "/v1/jobs/{job_id=**}:wait".
absl::Status ParsePath(absl::string_view path, HttpRule& rule) {
  const absl::Status bad = absl::InvalidArgumentError(
      absl::StrCat(rule.selector, ": ", path,
                   "; expected /.../{FIELD}:VERB with at most one field"));
  const size_t slash = path.rfind('/');
  if (!absl::StartsWith(path, "/v1/") || slash == absl::string_view::npos) {
    return bad;
  }
  const size_t colon = path.find(':', slash);
  if (colon != absl::string_view::npos) {
    rule.verb = std::string(path.substr(colon + 1));
    path = path.substr(0, colon);
  }
  const size_t open = path.find('{');
  rule.prefix = std::string(path.substr(0, open));
  if (open == absl::string_view::npos) return absl::OkStatus();
  absl::string_view field = path.substr(open + 1);
  if (!absl::ConsumeSuffix(&field, "}")) return bad;
  rule.takes_slashes = absl::ConsumeSuffix(&field, "=**");
  if (field.empty() || absl::StrContains(field, '{')) return bad;
  rule.field = std::string(field);
  return absl::OkStatus();
}

absl::StatusOr<HttpRule> ParseRule(const Json& json) {
  HttpRule rule{.selector = TextIn(json, "selector"),
                .body = TextIn(json, "body"),
                .response_body = TextIn(json, "response_body")};
  for (const auto& [name, method] : kMethods) {
    const std::string path = TextIn(json, name);
    if (path.empty()) continue;
    rule.method = method;
    TANGRAM_RETURN_IF_ERROR(ParsePath(path, rule));
  }
  if (rule.method.empty() || !absl::StrContains(rule.selector, '.')) {
    return absl::InvalidArgumentError(
        absl::StrCat("rule of \"", rule.selector,
                     "\": expected a selector and get, post, patch or delete"));
  }
  return rule;
}

// Returns whether a path fits a rule, apart from the method.
bool Fits(const HttpRule& rule, absl::string_view path, std::string& value) {
  if (!rule.verb.empty() &&
      !absl::ConsumeSuffix(&path, absl::StrCat(":", rule.verb))) {
    return false;
  }
  if (rule.field.empty()) return path == rule.prefix;
  if (!absl::ConsumePrefix(&path, rule.prefix) || path.empty()) return false;
  // A verb that no rule has is none.
  if (absl::StrContains(path, ':')) return false;
  if (!rule.takes_slashes && absl::StrContains(path, '/')) return false;
  value = std::string(path);
  return true;
}

}  // namespace

std::string HttpRule::grpc_method() const {
  const size_t dot = selector.rfind('.');
  return absl::StrCat("/", selector.substr(0, dot), "/",
                      selector.substr(dot + 1));
}

const google::protobuf::MethodDescriptor* MethodOf(const HttpRule& rule) {
  return google::protobuf::DescriptorPool::generated_pool()->FindMethodByName(
      rule.selector);
}

absl::StatusOr<std::vector<HttpRule>> ParseHttpRules(absl::string_view text) {
  const Json json = Json::parse(text.begin(), text.end(), nullptr,
                                /*allow_exceptions=*/false);
  if (!json.is_object() || !json.contains("http") ||
      !json["http"].is_object() || !json["http"].contains("rules") ||
      !json["http"]["rules"].is_array()) {
    return absl::InvalidArgumentError(
        "rules: expected {\"http\":{\"rules\":[]}}");
  }
  std::vector<HttpRule> rules;
  for (const Json& rule : json["http"]["rules"]) {
    if (!rule.is_object()) {
      return absl::InvalidArgumentError("rules: expected objects");
    }
    TANGRAM_ASSIGN_OR_RETURN(rules.emplace_back(), ParseRule(rule));
  }
  return rules;
}

HttpMatch FindHttpRule(const std::vector<HttpRule>& rules,
                       absl::string_view method, absl::string_view path) {
  HttpMatch match;
  for (const HttpRule& rule : rules) {
    std::string value;
    if (!Fits(rule, path, value)) continue;
    match.path_exists = true;
    if (rule.method != method) continue;
    match.rule = &rule;
    match.value = std::move(value);
    return match;
  }
  return match;
}

}  // namespace tangram
