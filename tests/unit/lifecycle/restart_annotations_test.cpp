// Which services carry the id of a restart (quirk ctl-Q19).
#include <catch2/catch.hpp>

#include "common/lifecycle/restart.h"
#include "support.h"

namespace dynamo::lifecycle::test {
namespace {

TEST_CASE("services that a restart has reached carry its id") {
  struct Row {
    const char* name;
    const char* restart;  ///< spec.restart
    const char* status;   ///< status.restart
    const char* reached;
  };
  const Row rows[] = {
      {"begins", R"({"id":"1"})", "null", "a=1"},
      {"begins, parallel", R"({"id":"1","strategy":{"type":"Parallel"}})", "null", "a=1 b=1 c=1"},
      {"begins with its own order", R"({"id":"1","strategy":{"order":["c","a"]}})", "null", "c=1"},
      {"begins after another", R"({"id":"2"})",
       R"({"observedID":"1","phase":"Restarting","inProgress":["c"]})", "a=2"},
      {"no request and no status", "null", "null", ""},
      {"no request", "null", R"({})", ""},
      {"parallel", R"({"id":"1","strategy":{"type":"Parallel"}})", R"({"phase":"Pending","observedID":"1"})",
       "a=1 b=1 c=1"},
      {"first of a sequence", R"({"id":"1"})", R"({"phase":"Pending","observedID":"1"})", "a=1"},
      {"nothing in progress", R"({"id":"1"})", R"({"phase":"Restarting","observedID":"1","inProgress":[]})",
       "a=1"},
      {"second of a sequence", R"({"id":"1"})",
       R"({"phase":"Restarting","observedID":"1","inProgress":["b"]})", "a=1 b=1"},
      {"own order", R"({"id":"1","strategy":{"type":"Sequential","order":["c","a","b"]}})",
       R"({"phase":"Restarting","observedID":"1","inProgress":["a"]})", "a=1 c=1"},
      {"done", R"({"id":"1"})", R"({"phase":"Completed","observedID":"1"})", "a=1 b=1 c=1"},
      {"superseded", R"({"id":"1"})", R"({"phase":"Superseded","observedID":"1"})", ""},
      {"removed after completion", "null", R"({"phase":"Completed","observedID":"1"})", "a=1 b=1 c=1"},
      {"removed after it was superseded", "null", R"({"phase":"Superseded","observedID":"1"})", ""},
      {"removed after it failed", "null", R"({"phase":"Failed","observedID":"1"})", "a=1 b=1 c=1"},
      {"removed while restarting", "null", R"({"phase":"Restarting","observedID":"1","inProgress":["b"]})",
       ""},
      {"removed before its first step", "null", R"({"phase":"Pending","observedID":"1"})", ""},
      {"removed, without a phase", "null", R"({"observedID":"1"})", ""},
  };
  for (const Row& row : rows) {
    INFO(row.name);
    const auto graph = parsed(std::string{R"({"spec":{"services":{"b":{},"a":{},"c":{}},"restart":)"} +
                              row.restart + R"(},"status":{"restart":)" + row.status + "}}");
    std::string reached;
    for (const auto& [service, id] : storedRestartAnnotations(graph)) {
      reached += (reached.empty() ? "" : " ") + service + '=' + id;
    }
    CHECK(reached == row.reached);
  }
}

TEST_CASE("a rolling update of the workers supersedes a new restart") {
  const char* phase = GENERATE("Pending", "InProgress", "Completed");
  const auto graph = parsed(std::string{R"({"spec":{"services":{"a":{}},"restart":{"id":"1"}},)"} +
                            R"("status":{"rollingUpdate":{"phase":")" + phase + R"("}}})");
  CHECK(storedRestartAnnotations(graph).size() == (std::string_view{phase} == "Completed" ? 1U : 0U));
}

TEST_CASE("a rolling update supersedes a running restart, but not a finished one") {
  struct Row {
    const char* phase;
    std::size_t reached;
  };
  const Row row = GENERATE(Row{"Restarting", 0}, Row{"Pending", 0}, Row{"Completed", 1}, Row{"Failed", 1},
                           Row{"Superseded", 0});
  INFO(row.phase);
  const auto graph =
      parsed(std::string{R"({"spec":{"services":{"a":{}},"restart":{"id":"1"}},"status":{)"} +
             R"("rollingUpdate":{"phase":"InProgress"},"restart":{"observedID":"1","phase":")" + row.phase +
             R"("}}})");
  CHECK(storedRestartAnnotations(graph).size() == row.reached);
}

TEST_CASE("a service that is not restarted yet keeps the annotation of its child") {
  const auto graph = parsed(
      R"({"spec":{"services":{"a":{},"b":{}},"restart":{"id":"2"}},"status":{"restart":{"phase":"Pending"}}})");
  const RestartAnnotations reached =
      restartAnnotations(graph, RestartStep{}, false, {{"a", "1"}, {"b", "1"}, {"c", ""}});
  CHECK(reached.size() == 2);
  CHECK(reached.at("a") == "2");
  CHECK(reached.at("b") == "1");
}

TEST_CASE("services that precede the current one since the order was edited restart later") {
  const auto graph = parsed(
      R"({"spec":{"services":{"a":{},"b":{},"c":{}},"restart":{"id":"2","strategy":{"order":["c","b","a"]}}}})");
  const RestartStep step{"2", "Restarting", {"b"}, {}};
  const RestartAnnotations reached =
      restartAnnotations(graph, step, false, {{"a", "2"}, {"b", "1"}, {"c", "1"}});
  CHECK(reached == RestartAnnotations{{"a", "2"}, {"b", "2"}, {"c", "1"}});
  // A child that was lost and is created again need not restart later.
  CHECK(restartAnnotations(graph, step, false, {{"a", "2"}, {"b", "1"}}).at("c") == "2");
}

TEST_CASE("a running restart whose order lacks the current service sets no annotation") {
  const auto graph = parsed(
      R"({"metadata":{"name":"g"},"spec":{"restart":{"id":"r","strategy":{"type":"Sequential","order":["a","b"]}},
      "services":{"a":{},"b":{}}},"status":{"restart":{"observedID":"r","phase":"Restarting","inProgress":["x"]}}})");
  CHECK(storedRestartAnnotations(graph).empty());
}

}  // namespace
}  // namespace dynamo::lifecycle::test
