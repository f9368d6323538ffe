// Events about pods of LeaderWorkerSets that cannot be created (decision ctl-Q36).
#include "common/lifecycle/failed_create.h"

#include <catch2/catch.hpp>

#include "support.h"

namespace dynamo::lifecycle::test {
namespace {

std::string textOf(const std::vector<std::string_view>& names) {
  std::string text;
  for (const std::string_view name : names) text.append(text.empty() ? "" : " ").append(name);
  return text;
}

std::string event(const std::string& about, const std::string& message,
                  const char* last = "2026-01-02T03:00:00Z") {
  return "{'lastTimestamp':'" + std::string{last} + "','involvedObject':{'name':'" + about +
         "'},'message':'" + message + "'}";
}

constexpr const char* kSet =
    "{'metadata':{'name':'g-web-0','creationTimestamp':'2026-01-02T02:59:59Z'},'spec':{'replicas':1}}";
constexpr const char* kLeader = "create Pod g-web-0-0 in StatefulSet g-web-0 failed error: exceeded quota: q";

}  // namespace

TEST_CASE("the LeaderWorkerSets that an Event of a StatefulSet may be about") {
  struct Row {
    const char* statefulSet;
    const char* sets;
  };
  const Row rows[] = {{"g-web-0", "g-web-0 g-web"},
                      {"g-web-0-12", "g-web-0-12 g-web-0"},
                      {"db", "db"},
                      {"db1", "db1"},
                      {"7", "7"},
                      {"", ""}};
  for (const Row& row : rows) {
    CAPTURE(row.statefulSet);
    CHECK(textOf(leaderWorkerSetsOf(parsed(event(row.statefulSet, "m")))) == row.sets);
  }
  CHECK(leaderWorkerSetsOf(parsed("{}")).empty());
}

TEST_CASE("the latest Event about a pod is a cause while the pod does not exist") {
  const std::string old = event("g-web-0", "create Pod g-web-0-0 in StatefulSet g-web-0 failed error: denied",
                                "2026-01-02T03:00:01Z");
  const std::string latest = event("g-web-0", kLeader, "2026-01-02T03:00:02Z");
  const std::string worker =
      event("g-web-0-0", "create Pod g-web-0-0-1 in StatefulSet g-web-0-0 failed error: denied by policy");
  struct Row {
    const char* about;
    std::vector<std::string> events;
    const char* causes;
  };
  const Row rows[] = {
      {"the leader", {latest}, "QuotaExceeded pods cannot be created: exceeded quota: q\n"},
      {"a worker", {worker}, "PodsRefused pods cannot be created: denied by policy\n"},
      {"both",
       {latest, worker},
       "QuotaExceeded pods cannot be created: exceeded quota: q\n"
       "PodsRefused pods cannot be created: denied by policy\n"},
      {"an older one of the same pod",
       {old, latest},
       "QuotaExceeded pods cannot be created: exceeded quota: q\n"},
      {"the same in another order",
       {latest, old},
       "QuotaExceeded pods cannot be created: exceeded quota: q\n"},
      {"the name of the pod, which other pods do not have",
       {event("g-web-0",
              "create Pod g-web-0-0 in StatefulSet g-web-0 failed error: pods \\'g-web-0-0\\' is forbidden: "
              "exceeded quota: q")},
       "QuotaExceeded pods cannot be created: exceeded quota: q\n"},
      {"a claim of the leader",
       {event("g-web-0", "create Claim data Pod g-web-0-0 in StatefulSet g-web-0 failed error: denied")},
       "PodsRefused pods cannot be created: denied\n"},
      {"similar Events that were combined",
       {event("g-web-0", std::string{"(combined from similar events): "} + kLeader)},
       "QuotaExceeded pods cannot be created: exceeded quota: q\n"},
      {"an Event of another recorder, which has no lastTimestamp",
       {"{'metadata':{'creationTimestamp':'2026-01-02T03:00:00Z'},'involvedObject':{'name':'g-web-0'},"
        "'message':'" +
        std::string{kLeader} + "'}"},
       "QuotaExceeded pods cannot be created: exceeded quota: q\n"},
      {"a pod that exists by now",
       {event("g-web-0", "create Pod g-web-0-7 in StatefulSet g-web-0 failed error: denied")},
       ""},
      {"another set", {event("g-db-0", kLeader)}, ""},
      {"a group that the set does not have", {event("g-web-0-1", kLeader)}, ""},
      {"a name that only begins like the set's",
       {event("g-web-01", kLeader), event("g-web-0-x", kLeader)},
       ""},
      {"an earlier set of the same name", {event("g-web-0", kLeader, "2026-01-02T02:59:58Z")}, ""},
      {"no time", {event("g-web-0", kLeader, "")}, ""},
      {"another text", {event("g-web-0", "something failed")}, ""},
      {"a text that is cut off", {event("g-web-0", "create Pod g-web-0-0 in StatefulSet g-web-0")}, ""},
      {"a text without a pod", {event("g-web-0", "create in StatefulSet g-web-0 failed error: denied")}, ""},
  };
  const json::Document set = parsed(kSet);
  const Objects pods{{"{'metadata':{'name':'g-web-0-7'}}"}};
  for (const Row& row : rows) {
    INFO(row.about);
    const Objects events{row.events};
    std::string found;
    for (const PodFailure& each : failedCreates(events.view(), set, pods.view(), std::nullopt))
      found += each.reason + ' ' + each.text() + '\n';
    CHECK(found == row.causes);
  }
}

TEST_CASE("an Event that is older than the unavailability is no cause") {
  const json::Document set = parsed(kSet);
  const Objects events{{event("g-web-0", kLeader, "2026-01-02T03:04:05Z")}};
  CHECK(failedCreates(events.view(), set, {}, kNow).size() == 1);
  CHECK(failedCreates(events.view(), set, {}, kNow + std::chrono::seconds{1}).empty());
}

}  // namespace dynamo::lifecycle::test
