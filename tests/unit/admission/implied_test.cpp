// Findings about pods are told at the user's fields, and what a rule implies of them is not told again.

#include "common/admission/implied.h"

#include <set>

#include "common/admission/rules.h"
#include "common/admission/validate.h"
#include "common/defaults/apply.h"
#include "graph_support.h"
#include "rows.h"

namespace dynamo::admission {
namespace {

using rules::test::graph;
using rules::test::lines;
using rules::test::object;

/// What is said of `text` once defaults are written into it.
std::string said(std::string_view text) {
  const auto settings = usualSettings();
  json::Document made = object(text);
  defaults::applyComponentDefaults(made, nullptr, {settings->defaults, settings->config, "1.0.0", "ns"},
                                   made.GetAllocator());
  return lines(judge(made, {"DynamoGraphDeployment"}, *settings));
}

/// A worker "a" with more members; its main container's members are `main`.
std::string worker(std::string_view main, std::string_view podSpec = "", std::string_view members = "") {
  return graph(fmt::format(
      R"("services":{{"a":{{"componentType":"worker","extraPodSpec":{{"mainContainer":{{{}}}{}}}{}}}}})",
      main, podSpec, members));
}

const std::string kMain = R"("image":"i:1","command":["python3"],"args":["-m","dynamo.vllm"])";

void check(const std::vector<test::Row>& rows) {
  test::check([](std::string_view object) { return said(object); }, rows);
}

TEST_CASE("findings name the field that the value is from") {
  const std::string main = "spec.services[a].extraPodSpec.mainContainer.";
  check({
      {"a volume of the user's that has the name of the endpoint picker's",
       worker(kMain, R"(,"volumes":[{"name":"epp-config","configMap":{"name":"My"}}])",
              R"(,"eppConfig":{"configMapRef":{"name":"c","key":"k"}})"),
       "E pod.object-name spec.services[a].extraPodSpec.volumes[0].configMap.name: Invalid value: \"My\": "
       "\"My\" is not a valid object name\n"
       "W service.epp-config-unused spec.services[a].eppConfig: has no effect because componentType is not "
       "epp\n"},
      {"the default port of a probe that the user has begun",
       worker(kMain + R"(,"ports":[{"name":"x","containerPort":1}],"readinessProbe":{"periodSeconds":5})"),
       "W pod.probe-port-unknown " + main + "ports: lacks \"system\", which the default probes use\n"},
      {"the port of a probe that is the user's",
       worker(kMain +
              R"(,"ports":[{"name":"system","containerPort":1}],"readinessProbe":{"httpGet":{"port":"y"}})"),
       "W pod.probe-port-unknown " + main + "readinessProbe.httpGet.port: the container has no port \"y\"\n"},
      {"an image that two containers have",
       worker(R"("command":["python3"],"args":["-m","dynamo.vllm","-tp","16"])", "",
              R"(,"multinode":{"nodeCount":2},"resources":{"limits":{"gpu":"8"}})"),
       "E pod.image " + main + "image: Required value\n"},
  });
}

TEST_CASE("a wrong name of a service hides nothing else that is wrong in it") {
  const std::string text = said(graph(
      R"("services":{"a/b~c":{"componentType":"worker","extraPodSpec":{"restartPolicy":"Never",)"
      R"("mainContainer":{"image":"i:1","command":["x"],"livenessProbe":{"tcpSocket":{"port":-1}}}}}})"));
  INFO(text);
  CHECK(text.starts_with("E dgd.service-name spec.services[a/b~c]: "));
  CHECK(text.find("E pod.restart-policy spec.services[a/b~c].extraPodSpec.restartPolicy: ") !=
        std::string::npos);
  CHECK(text.find("E pod.handler-port ") != std::string::npos);
  CHECK(text.find("E pod.label ") == std::string::npos);
}

TEST_CASE("an error of rendering is left out at the field of another error, or if a rule implies it") {
  const json::Document graphObject = object(worker(kMain, R"(,"serviceAccountName":"A")"));
  const field::Path a = field::Path{"spec.services"}.key("a");
  const field::Path main = a / "extraPodSpec.mainContainer";
  const auto error = [](std::string_view rule, const field::Path& field, std::string_view value = "") {
    return field::FieldError{field::ErrorType::Invalid, field, std::string{value}, "", std::string{rule}};
  };
  const auto implied = [&](const field::FieldError& known, const field::FieldError& rendered) {
    return isImplied(rendered, known, graphObject);
  };
  const auto other = field::Path{"spec.services"}.key("b");
  CHECK(implied(error("service.quantity", a / "resources.limits.cpu"),
                error("pod.quantity", (a / "resources.limits").key("cpu"))));
  CHECK_FALSE(implied(error("dgd.service-name", a), error("pod.image", main / "image")));
  // Two places of resources, but not those of other containers.
  const auto limit = error("service.request-limit", a / "resources.limits.cpu");
  CHECK(implied(limit, error("pod.resource-limit", (main / "resources.limits").key("cpu"))));
  CHECK_FALSE(implied(limit, error("pod.resource-limit", (other / "resources.limits").key("cpu"))));
  CHECK_FALSE(implied(
      limit, error("pod.resource-limit", (a / "extraPodSpec.containers")[0] / "resources.limits" / "cpu")));
  CHECK_FALSE(implied(limit, error("pod.resource-name", (main / "resources.limits").key("cpu"))));
  // Two items of one name.
  const auto taken = error("service.volume-taken", (a / "extraPodSpec.volumes")[0] / "name", "c");
  CHECK(implied(taken, error("pod.volume-unique", (a / "volumeMounts")[0] / "name", "c")));
  CHECK_FALSE(implied(taken, error("pod.volume-unique", (a / "volumeMounts")[0] / "name", "d")));
  // Names: what the operator makes of them, not what the user wrote.
  const auto named = error("dgd.service-name", a);
  CHECK(implied(named, error("pod.name-field", other / "extraPodSpec.serviceAccountName")));
  CHECK_FALSE(implied(named, error("pod.name-field", a / "extraPodSpec.serviceAccountName")));
  CHECK(implied(error("dgd.framework-immutable", field::Path{"spec.backendFramework"}),
                error("render.framework", main / "args")));
}

TEST_CASE("what a rule implies of rendering names rules that exist") {
  std::set<std::string_view> rules;
  for (const RuleGroup& group : ruleGroups()) {
    for (const field::Rule& rule : group.rules) rules.insert(rule.id);
  }
  for (const Implication& each : implications()) {
    INFO(each.rule << " " << each.rendered);
    CHECK(rules.contains(each.rule));
    CHECK(rules.contains(each.rendered));
  }
}

}  // namespace
}  // namespace dynamo::admission
