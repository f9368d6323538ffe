// The fields that completion adds to a component, their field paths, and the resulting pods.
#include "common/model/completion.h"

#include <catch2/catch.hpp>

#include "common/json/build.h"
#include "tests/unit/model/support.h"

namespace dynamo::model::test {
namespace {

struct Setup {
  config::OperatorConfig config = config::defaultConfig();
  ComponentDefaults defaults{};

  CompletionInput input(std::string_view type) const {
    return {defaults, config, type, "g", "ns", "ns-g", "kubernetes", {}};
  }
};

/// "livenessProbe=Completed env": the names of units. A unit whose field has a value also shows its state.
std::string namesOf(const std::vector<Unit>& units) {
  std::string names;
  for (const Unit& unit : units) {
    if (!names.empty()) names += ' ';
    names += unit.name;
    if (unit.how == Unit::How::Empty) names += "=Empty";
    if (unit.how == Unit::How::Completed) names += "=Completed";
  }
  return names;
}

TEST_CASE("the units of a component depend on its own fields") {
  struct Row {
    const char* spec;
    const char* podSpec;
    const char* mainContainer;
  };
  constexpr const char* kPod =
      "restartPolicy terminationGracePeriodSeconds securityContext serviceAccountName";
  constexpr const char* kMain = "command args ports livenessProbe readinessProbe";
  const Row rows[] = {
      {"{}", kPod, kMain},
      // An explicit zero is a value.
      {R"({"extraPodSpec":{"terminationGracePeriodSeconds":0}})",
       "restartPolicy securityContext serviceAccountName", kMain},
      // `securityContext: {}` disables the default. An empty name counts as absent.
      {R"({"extraPodSpec":{"securityContext":{},"serviceAccountName":""}})",
       "restartPolicy terminationGracePeriodSeconds serviceAccountName=Empty", kMain},
      {R"({"extraPodSpec":{"mainContainer":{"command":[],"args":["a"],"livenessProbe":{"periodSeconds":3}}}})",
       kPod, "command=Empty ports livenessProbe=Completed readinessProbe"},
      {R"({"livenessProbe":{"periodSeconds":3}})", kPod, "command args ports readinessProbe"},
  };
  const Setup setup;
  for (const Row& row : rows) {
    INFO(row.spec);
    auto spec = parsed(row.spec);
    const Completion made = complete(spec, setup.input("frontend"), spec.GetAllocator());
    CHECK(namesOf(made.podSpec) == row.podSpec);
    CHECK(namesOf(made.mainContainer) == row.mainContainer);
  }
}

TEST_CASE(
    "a probe keeps the component's fields and gets the other defaults; its handler replaces the default "
    "one") {
  struct Row {
    const char* given;
    const char* wanted;
  };
  const Row rows[] = {
      {R"({"periodSeconds":3})",
       R"({"httpGet":{"path":"/live","port":"http"},"initialDelaySeconds":15,"periodSeconds":3,"timeoutSeconds":1,"failureThreshold":3})"},
      {R"({"tcpSocket":{"port":1}})",
       R"({"initialDelaySeconds":15,"periodSeconds":10,"timeoutSeconds":1,"failureThreshold":3,"tcpSocket":{"port":1}})"}};
  const Setup setup;
  for (const Row& row : rows) {
    auto spec =
        parsed(std::string{R"({"extraPodSpec":{"mainContainer":{"livenessProbe":)"} + row.given + "}}}");
    Completion made = complete(spec, setup.input("frontend"), spec.GetAllocator());
    const json::Value container = completedContainer(spec, nullptr, made, spec.GetAllocator());
    CHECK(json::equal(*json::find(&container, "livenessProbe"), parsed(row.wanted)));
  }
}

TEST_CASE("precedence of variables: component, main container, defaults") {
  const Setup setup;
  auto spec = parsed(R"({"envs":[{"name":"DYN_COMPONENT","value":"own"},{"name":"B","value":"own"}],
      "extraPodSpec":{"mainContainer":{"env":[{"name":"B","value":"main"},{"name":"DYN_NAMESPACE","value":"main"}]}}})");
  Completion made = complete(spec, setup.input("planner"), spec.GetAllocator());
  const json::Value container =
      completedContainer(spec, json::find(&spec, "envs"), made, spec.GetAllocator());
  const auto valueOf = [&](std::string_view name) {
    return json::findText(json::findNamed(json::find(&container, "env"), name), "value");
  };
  CHECK(valueOf("DYN_COMPONENT") == "own");
  CHECK(valueOf("B") == "own");
  CHECK(valueOf("DYN_NAMESPACE") == "main");
  CHECK(valueOf("DYN_PARENT_DGD_K8S_NAME") == "g");
  CHECK(valueOf("PLANNER_PROMETHEUS_PORT") == "9085");
}

TEST_CASE("an absent list is one unit; a given list is completed by name and path") {
  const Setup setup;
  auto absent = parsed("{}");
  Completion whole = complete(absent, setup.input("epp"), absent.GetAllocator());
  CHECK(namesOf(whole.volumes).empty());
  const json::Value pod = completedPodSpec(absent, whole, absent.GetAllocator());
  CHECK(json::find(&pod, "volumes")->Size() == 2);
  auto given = parsed(R"({"extraPodSpec":{"volumes":[{"name":"hf-cache","hostPath":{"path":"/x"}}]}})");
  Completion items = complete(given, setup.input("epp"), given.GetAllocator());
  CHECK(namesOf(items.volumes) == "epp-config");
}

TEST_CASE("a default with an unknown placeholder is left out") {
  const Setup setup;
  CompletionInput input = setup.input("epp");
  input.graph = {};
  input.dynamoNamespace = {};
  auto spec = parsed("{}");
  const Completion made = complete(spec, input, spec.GetAllocator());
  const std::string names = ' ' + namesOf(made.mainContainer) + ' ' + namesOf(made.env) + ' ';
  CHECK(names.find(" args ") == std::string::npos);
  CHECK(names.find(" DYN_NAMESPACE ") == std::string::npos);
  CHECK(names.find(" POD_NAME ") != std::string::npos);
  CHECK(namesOf(made.podSpec).find("volumes") == std::string::npos);
}

}  // namespace
}  // namespace dynamo::model::test
