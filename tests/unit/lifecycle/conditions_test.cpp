// Times and conditions with the semantics of metav1 (quirk ctl-Q17).
#include "common/lifecycle/conditions.h"

#include <catch2/catch.hpp>

#include "support.h"

namespace dynamo::lifecycle::test {
namespace {

TEST_CASE("times have the format of the API server") {
  for (const char* text : {"2026-01-02T03:04:05Z", "1970-01-01T00:00:00Z", "2024-02-29T23:59:59Z"}) {
    REQUIRE(parseTime(text));
    CHECK(formatTime(*parseTime(text)) == text);
  }
  CHECK(formatTime(*parseTime("2026-01-02T03:04:05.123456Z")) == "2026-01-02T03:04:05Z");
  CHECK(formatTime(*parseTime("2026-01-02T04:04:05+01:00")) == "2026-01-02T03:04:05Z");
  for (const char* text :
       {"", "2026-01-02", "2026-01-02T03:04:05", "2026-02-30T00:00:00Z", "2026-01-02T24:00:00Z",
        "2026-01-02 03:04:05Z", "2026-01-02T03:04:05.Z", "2026-01-02T03:04:05.xZ", "-026-01-02T03:04:05Z",
        "2026-01-02T03:-4:05Z", "2026-13-02T03:04:05Z", "2026-01-02T03:04:05Z "}) {
    INFO(text);
    CHECK_FALSE(parseTime(text));
  }
}

TEST_CASE("setting an equal condition changes nothing") {
  json::Document status = parsed(
      "{'conditions':[{'type':'Other','status':'True'},{'lastTransitionTime':'2020-01-01T00:00:00Z','message'"
      ":"
      "'m','observedGeneration':3,'reason':'R','status':'True','type':'Ready'}]}");
  const std::string before = json::dump(status);
  setCondition(status, {"Ready", ConditionStatus::True, "R", "m"}, 3, kNow, status.GetAllocator());
  CHECK(json::dump(status) == before);
}

TEST_CASE("lastTransitionTime changes only with the status of the condition") {
  struct Row {
    const char* name;
    Condition condition;
    std::int64_t generation;
    const char* time;
  };
  const Row rows[] = {{"message", {"Ready", ConditionStatus::True, "R", "other"}, 3, "2020-01-01T00:00:00Z"},
                      {"reason", {"Ready", ConditionStatus::True, "S", "m"}, 3, "2020-01-01T00:00:00Z"},
                      {"generation", {"Ready", ConditionStatus::True, "R", "m"}, 4, "2020-01-01T00:00:00Z"},
                      {"status", {"Ready", ConditionStatus::False, "R", "m"}, 3, kNowText},
                      {"unknown", {"Ready", ConditionStatus::Unknown, "R", "m"}, 3, kNowText}};
  for (const Row& row : rows) {
    INFO(row.name);
    json::Document status = parsed(
        "{'conditions':[{'type':'Ready','status':'True','reason':'R','message':'m','observedGeneration':3,"
        "'lastTransitionTime':'2020-01-01T00:00:00Z'}]}");
    setCondition(status, row.condition, row.generation, kNow, status.GetAllocator());
    const json::Value* made = findCondition(&status, "Ready");
    CHECK(json::findText(made, "lastTransitionTime") == row.time);
    CHECK(json::find(made, "observedGeneration")->GetInt64() == row.generation);
    CHECK(json::find(status, "conditions")->Size() == 1);
  }
}

TEST_CASE("a new condition is appended with all required fields") {
  json::Document status = parsed("{'conditions':[{'type':'A','status':'True'}]}");
  setCondition(status, {"B", ConditionStatus::False, "Why", "because"}, 0, kNow, status.GetAllocator());
  CHECK(
      json::dump(*findCondition(&status, "B")) ==
      R"({"type":"B","status":"False","lastTransitionTime":"2026-01-02T03:04:05Z","reason":"Why","message":"because"})");
  CHECK(conditionsOf(status) == "A=True : \nB=False Why: because\n");
  removeCondition(status, "A");
  removeCondition(status, "not there");
  CHECK(conditionsOf(status) == "B=False Why: because\n");
}

TEST_CASE("the observedGeneration of a condition changes alone") {
  json::Document status = parsed("{'conditions':[{'type':'A','status':'True','observedGeneration':1}]}");
  setObservedGeneration(status, "A", 2, status.GetAllocator());
  CHECK(json::dump(*findCondition(&status, "A")) == R"({"type":"A","status":"True","observedGeneration":2})");
  setObservedGeneration(status, "not there", 3, status.GetAllocator());
  setObservedGeneration(status, "A", 0, status.GetAllocator());
  CHECK(json::dump(*findCondition(&status, "A")) == R"({"type":"A","status":"True","observedGeneration":0})");
  setObservedGeneration(status, "A", kNoGeneration, status.GetAllocator());
  CHECK(json::dump(status) == R"({"conditions":[{"type":"A","status":"True"}]})");
}

TEST_CASE("long messages are cut between characters") {
  CHECK(shortened("abc", 3) == "abc");
  CHECK(shortened("abcdefgh", 6) == "abc...");
  CHECK(shortened("ab\u20ACdefgh", 7) == "ab...");
  json::Document status = parsed("{}");
  setCondition(status, {"A", ConditionStatus::True, "R", std::string(5000, 'x')}, 1, kNow,
               status.GetAllocator());
  CHECK(json::findText(findCondition(&status, "A"), "message").size() == kMaxConditionMessage);
}

}  // namespace
}  // namespace dynamo::lifecycle::test
