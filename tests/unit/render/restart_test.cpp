#include <catch2/catch.hpp>

#include "common/render/graph_component.h"
#include "support.h"

namespace dynamo::render::test {
namespace {

TEST_CASE("which services a restart has reached") {
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
      {"no services ahead of it", "null", "null", ""},
      {"nothing asked", "null", R"({})", ""},
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
      {"removed after it was done", "null", R"({"phase":"Completed","observedID":"1"})", "a=1 b=1 c=1"},
      {"removed after it was superseded", "null", R"({"phase":"Superseded","observedID":"1"})", ""},
      {"removed after it failed", "null", R"({"phase":"Failed","observedID":"1"})", "a=1 b=1 c=1"},
      {"removed on its way", "null", R"({"phase":"Restarting","observedID":"1","inProgress":["b"]})", ""},
      {"removed before its first step", "null", R"({"phase":"Pending","observedID":"1"})", ""},
      {"removed, phase not known", "null", R"({"observedID":"1"})", ""},
  };
  for (const Row& row : rows) {
    INFO(row.name);
    const auto graph = parsed(std::string{R"({"spec":{"services":{"b":{},"a":{},"c":{}},"restart":)"} +
                              row.restart + R"(},"status":{"restart":)" + row.status + "}}");
    std::string reached;
    for (const auto& [service, id] : restartAnnotations(graph, {})) {
      reached += (reached.empty() ? "" : " ") + service + '=' + id;
    }
    CHECK(reached == row.reached);
  }
}

TEST_CASE("a restart that begins while workers roll is superseded") {
  const char* phase = GENERATE("Pending", "InProgress", "Completed");
  const auto graph = parsed(std::string{R"({"spec":{"services":{"a":{}},"restart":{"id":"1"}},)"} +
                            R"("status":{"rollingUpdate":{"phase":")" + phase + R"("}}})");
  CHECK(restartAnnotations(graph, {}).size() == (std::string_view{phase} == "Completed" ? 1U : 0U));
}

TEST_CASE("one under way is superseded by workers that begin to roll, one that ended is not") {
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
  CHECK(restartAnnotations(graph, {}).size() == row.reached);
}

TEST_CASE("a service not yet reached keeps what its child has") {
  const auto graph = parsed(
      R"({"spec":{"services":{"a":{},"b":{}},"restart":{"id":"2"}},"status":{"restart":{"phase":"Pending"}}})");
  Observed observed;
  observed.restartAt = {{"a", "1"}, {"b", "1"}};
  const auto reached = restartAnnotations(graph, observed);
  CHECK(reached.at("a") == "2");
  CHECK(reached.at("b") == "1");
}

}  // namespace
}  // namespace dynamo::render::test
