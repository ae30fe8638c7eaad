#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "common/trace/trace_formats.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tangram {
namespace {

using Json = nlohmann::json;
using ::testing::ElementsAre;
using ::testing::Pair;

// Rows of the spans of that lane, by name.
std::map<std::string, int> RowsOf(const Trace& trace) {
  std::map<std::string, int> rows;
  const Json file = Json::parse(ToChromeTrace(trace));
  for (const Json& event : file["traceEvents"]) {
    if (event["ph"] == "X") rows[event["name"]] = event["tid"];
  }
  return rows;
}

TEST(ChromeTraceTest, TimesAreInMicroseconds) {
  const Trace trace{.name = "job a",
                    .spans = {{.id = 1,
                               .name = "plan",
                               .lane = "planner",
                               .start_s = 0.5,
                               .end_s = 0.75,
                               .attributes = {{"gpus", int64_t{8}}}}}};
  const Json events = Json::parse(ToChromeTrace(trace))["traceEvents"];
  ASSERT_EQ(events.size(), 3u);  // Names of process and row, and the span.
  EXPECT_EQ(events[0]["args"]["name"], "job a");
  EXPECT_EQ(events[1]["args"]["name"], "planner");
  EXPECT_EQ(events[2]["ts"], 500'000);
  EXPECT_EQ(events[2]["dur"], 250'000);
  EXPECT_EQ(events[2]["args"], (Json{{"gpus", 8}}));
}

TEST(ChromeTraceTest, SpansOfARowAreApartOrNested) {
  const Trace trace{
      .spans = {
          {.id = 1, .name = "whole", .lane = "a", .end_s = 4},
          {.id = 2, .name = "part", .lane = "a", .start_s = 1, .end_s = 2},
          {.id = 3, .name = "across", .lane = "a", .start_s = 3, .end_s = 5},
          {.id = 4, .name = "after", .lane = "a", .start_s = 4, .end_s = 5}}};
  EXPECT_THAT(RowsOf(trace), ElementsAre(Pair("across", 2), Pair("after", 1),
                                         Pair("part", 1), Pair("whole", 1)));
}

TEST(ChromeTraceTest, BytesThatAreNotUtf8AreReplaced) {
  const Trace trace{
      .spans = {{.id = 1, .name = "plan", .lane = "a", .error = "bad \xff"}}};
  const Json events = Json::parse(ToChromeTrace(trace))["traceEvents"];
  EXPECT_EQ(events.back()["args"]["error"], "bad \xEF\xBF\xBD");
}

TEST(ChromeTraceTest, LanesDoNotShareRowsAndNoLaneHasNone) {
  const Trace trace{.spans = {{.id = 1, .name = "x", .lane = "a", .end_s = 1},
                              {.id = 2, .name = "y", .lane = "b", .end_s = 1},
                              {.id = 3, .name = "z", .end_s = 1}}};
  EXPECT_THAT(RowsOf(trace), ElementsAre(Pair("x", 1), Pair("y", 2)));
}

}  // namespace
}  // namespace tangram
