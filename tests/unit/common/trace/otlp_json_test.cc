#include <nlohmann/json.hpp>
#include <regex>
#include <string>

#include "common/trace/trace_formats.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tangram {
namespace {

using Json = nlohmann::json;

Trace Example() {
  return {.name = "job a",
          .began_unix_ns = 1'700'000'000'123'456'789,
          .spans = {{.id = 1, .name = "plan", .lane = "planner", .end_s = 2},
                    {.id = 2,
                     .parent = 1,
                     .name = "parallelize",
                     .start_s = 0.5,
                     .end_s = 1.25,
                     .error = "INTERNAL",
                     .attributes = {{"adapter", std::string("mist")},
                                    {"island", int64_t{3}},
                                    {"wait_s", 0.25},
                                    {"cached", false}}}},
          .num_dropped = 7};
}

TEST(OtlpJsonTest, IsAnExportRequest) {
  const Json request = Json::parse(ToOtlpJson(Example()));
  ASSERT_EQ(request["resourceSpans"].size(), 1u);
  const Json& resource = request["resourceSpans"][0];
  EXPECT_EQ(
      resource["resource"]["attributes"][0],
      (Json{{"key", "service.name"}, {"value", {{"stringValue", "tangram"}}}}));
  ASSERT_EQ(resource["scopeSpans"].size(), 1u);
  EXPECT_EQ(resource["scopeSpans"][0]["spans"].size(), 2u);
}

TEST(OtlpJsonTest, EncodesSpansAsTheProtocolSays) {
  const Json request = Json::parse(ToOtlpJson(Example()));
  const Json& spans = request["resourceSpans"][0]["scopeSpans"][0]["spans"];
  const Json& root = spans[0];
  const Json& query = spans[1];
  EXPECT_TRUE(std::regex_match(root["traceId"].get<std::string>(),
                               std::regex("[0-9a-f]{32}")));
  EXPECT_EQ(query["traceId"], root["traceId"]);
  EXPECT_EQ(query["spanId"], "0000000000000002");
  EXPECT_EQ(query["parentSpanId"], root["spanId"]);
  EXPECT_FALSE(root.contains("parentSpanId"));
  // 1.7e18 + 123,456,789 ns + 0.5 s; + 1.25 s.
  EXPECT_EQ(query["startTimeUnixNano"], "1700000000623456789");
  EXPECT_EQ(query["endTimeUnixNano"], "1700000001373456789");
  EXPECT_EQ(query["status"], (Json{{"code", 2}, {"message", "INTERNAL"}}));
  EXPECT_EQ(
      query["attributes"][0],
      (Json{{"key", "tangram.adapter"}, {"value", {{"stringValue", "mist"}}}}));
  EXPECT_EQ(query["attributes"][1]["value"], (Json{{"intValue", "3"}}));
  EXPECT_EQ(query["attributes"][2]["value"], (Json{{"doubleValue", 0.25}}));
  EXPECT_EQ(query["attributes"][3]["value"], (Json{{"boolValue", false}}));
}

TEST(OtlpJsonTest, BytesThatAreNotUtf8AreReplaced) {
  const Json json = Json::parse(ToOtlpJson({.name = "job \xff"}));
  EXPECT_EQ(json["resourceSpans"][0]["resource"]["attributes"][1]["value"]
                ["stringValue"],
            "job \xEF\xBF\xBD");
}

TEST(OtlpJsonTest, TracesHaveIdsOfTheirOwn) {
  Trace other = Example();
  ++other.began_unix_ns;
  const auto id = [](const Trace& trace) {
    return Json::parse(ToOtlpJson(
        trace))["resourceSpans"][0]["scopeSpans"][0]["spans"][0]["traceId"];
  };
  EXPECT_EQ(id(Example()), id(Example()));
  EXPECT_NE(id(Example()), id(other));
}

}  // namespace
}  // namespace tangram
