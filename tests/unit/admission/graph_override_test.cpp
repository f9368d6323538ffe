// spec.overrides.dgd: members that cannot be applied and members without effect.

#include "common/admission/graph_override.h"

#include <set>

#include "common/admission/dgdr.h"
#include "common/rules/validators.h"
#include "rows.h"
#include "support.h"

namespace dynamo::admission {
namespace {

using rules::test::dgdr;
using rules::test::lines;
using rules::test::object;

std::string findingsOf(std::string_view text, std::string_view old = {},
                       const rules::DgdrPolicy& policy = {}) {
  const json::Document now = object(text);
  if (old.empty()) return lines(validateDgdr({now, nullptr, "v1beta1", policy}));
  const json::Document before = object(old);
  return lines(validateDgdr({now, &before, "v1beta1", policy}));
}

/// A request whose override has `members` beside apiVersion and kind.
std::string override(std::string_view members) {
  return dgdr(fmt::format(R"({{"model":"m","overrides":{{"dgd":{{"apiVersion":"nvidia.com/v1alpha1",)"
                          R"("kind":"DynamoGraphDeployment"{}}}}}}})",
                          members));
}

std::string service(std::string_view members) {
  return override(fmt::format(R"(,"spec":{{"services":{{"Worker":{{{}}}}}}})", members));
}

void check(const std::vector<test::Row>& rows) {
  test::check([](std::string_view text) { return findingsOf(text); }, rows);
}

std::string at(std::string_view rule, std::string_view path, std::string_view how) {
  return fmt::format("{} spec.overrides.dgd.{}: {}\n", rule, path, how);
}

TEST_CASE("valid overrides of a graph") {
  check({
      {"nothing", override(""), ""},
      {"a name", override(R"(,"metadata":{"name":"mine","labels":{"a":"b"},"annotations":{"c":"d"}})"), ""},
      {"empty services", override(R"(,"spec":{"services":{}})"), ""},
      {"replicas", service(R"("replicas":2)"), ""},
      {"tolerations and nodes",
       service(
           R"("extraPodSpec":{"tolerations":[{"key":"a","operator":"Exists"}],"nodeSelector":{"a":"b"}})"),
       ""},
      {"an argument list alone", service(R"("extraPodSpec":{"mainContainer":{"args":["--a"]}})"), ""},
      {"a mount of a volume that the profiler may generate",
       service(R"("extraPodSpec":{"mainContainer":{"volumeMounts":[{"name":"v","mountPath":"/v"}]}})"), ""},
      {"a probe whose handler the profiler may generate",
       service(R"("extraPodSpec":{"mainContainer":{"livenessProbe":{"periodSeconds":5}}})"), ""},
      {"a claim by name", override(R"(,"spec":{"pvcs":[{"name":"models"}]})"), ""},
      {"the namespace of the request", override(R"(,"metadata":{"name":"a","namespace":"ns"})"), ""},
  });
}

TEST_CASE("fields of the graph that are unknown or of a wrong type") {
  check({
      {"a typing error", service(R"("replica":2)"),
       at("W schema.unknown-field", "spec.services[Worker].replica",
          "has no effect: unknown field, did you mean \"replicas\"?")},
      {"in a container", service(R"("extraPodSpec":{"mainContainer":{"arg":["a"]}})"),
       at("W schema.unknown-field", "spec.services[Worker].extraPodSpec.mainContainer.arg",
          "has no effect: unknown field, did you mean \"args\"?")},
      {"above the services", override(R"(,"spec":{"service":{}})"),
       at("W schema.unknown-field", "spec.service",
          "has no effect: unknown field, did you mean \"services\"?")},
      {"replicas as text", service(R"("replicas":"2")"),
       at("E schema.type", "spec.services[Worker].replicas",
          "Invalid value: \"string\": spec.overrides.dgd.spec.services[Worker].replicas in body must be of "
          "type "
          "integer: \"string\"")},
      {"an unknown framework", override(R"(,"spec":{"backendFramework":"tgi"})"),
       at("E schema.enum", "spec.backendFramework",
          "Unsupported value: \"tgi\": supported values: \"sglang\", \"vllm\", \"trtllm\"")},
      {"a key with a dot", override(R"(,"spec":{"services":{"a.b":{"replicas":true}}})"),
       at("E schema.type", "spec.services[a.b].replicas",
          "Invalid value: \"boolean\": spec.overrides.dgd.spec.services[a.b].replicas in body must be of "
          "type "
          "integer: \"boolean\"") +
           at("W dgd.grove-dotted-name", "spec.services[a.b]",
              "with Grove: may not contain dots: Grove uses it in host names of pods")},
  });
}

TEST_CASE("metadata of the graph") {
  const std::string none = "has no effect because only name, labels and annotations are used";
  check({
      {"another namespace", override(R"(,"metadata":{"namespace":"other"})"),
       at("W dgdr-override-graph", "metadata.namespace",
          "has no effect because the deployment is created in the namespace of the request")},
      {"other members", override(R"(,"metadata":{"finalizers":["a.b/c"],"uid":"u"})"),
       at("W dgdr-override-graph", "metadata.finalizers", none) +
           at("W dgdr-override-graph", "metadata.uid", none)},
      {"a label of the operator", override(R"(,"metadata":{"labels":{"dgdr.nvidia.com/name":"x"}})"),
       at("W dgdr-override-graph", "metadata.labels[dgdr.nvidia.com/name]",
          "has no effect because the operator sets it")},
      {"an invalid name", override(R"(,"metadata":{"name":"My_Graph"})"),
       at("E dgdr-override-name", "metadata.name",
          "Invalid value: \"My_Graph\": must consist of lower case letters, digits, '-' or '.', and start "
          "and end "
          "with a letter or digit")},
      {"a name that names children, too",
       override(R"(,"metadata":{"name":"My_Graph"},"spec":{"services":{"Frontend":{},"Worker":{}}})"),
       at("E dgdr-override-name", "metadata.name",
          "Invalid value: \"My_Graph\": must consist of lower case letters, digits, '-' or '.', and start "
          "and end "
          "with a letter or digit")},
      {"an invalid namespace",
       override(R"(,"metadata":{"namespace":"Bad NS"},"spec":{"services":{"Frontend":{},"Worker":{}}})"),
       at("E schema.metadata", "metadata.namespace",
          "Invalid value: \"Bad NS\": must consist of lower case letters, digits or '-', and start and end "
          "with a "
          "letter or digit")},
      {"an invalid label and annotation",
       override(R"(,"metadata":{"labels":{"app":"a b"},"annotations":{"a b":"c"}})"),
       at("E schema.metadata", "metadata.annotations[a b]",
          "Invalid value: \"a b\": name part must consist of letters, digits, '-', '_' or '.', and start "
          "and end "
          "with a letter or digit") +
           at("E schema.metadata", "metadata.labels[app]",
              "Invalid value: \"a b\": must consist of letters, digits, '-', '_' or '.', and start and end "
              "with a letter or digit")},
      {"a status", override(R"(,"status":{"state":"successful"})"),
       at("W dgdr-override-graph", "status", "has no effect")},
  });
}

TEST_CASE("rules that do not depend on generated fields") {
  const std::string pod = "spec.services[Worker].extraPodSpec.";
  check({
      {"quantity", service(R"("resources":{"limits":{"memory":"16GB"}})"),
       at("E service.quantity", "spec.services[Worker].resources.limits.memory",
          "Invalid value: \"16GB\": must be a quantity such as \"2\", \"500m\" or \"16Gi\"; did you mean the "
          "suffix \"G\"?")},
      {"toleration", service(R"("extraPodSpec":{"tolerations":[{"key":"a","operator":"In"}]})"),
       at("E pod.toleration", pod + "tolerations[0].operator",
          "Unsupported value: \"In\": supported values: \"Equal\", \"Exists\"")},
      {"two sources of a volume",
       service(R"("extraPodSpec":{"volumes":[{"name":"v","emptyDir":{},"hostPath":{"path":"/a"}}]})"),
       at("E pod.volume-source", pod + "volumes[0].hostPath",
          "Forbidden: may not be set together with emptyDir")},
      {"image with whitespace", service(R"("extraPodSpec":{"mainContainer":{"image":"i:1\n"}})"),
       at("E pod.image", pod + "mainContainer.image",
          "Invalid value: \"i:1 \": must not have leading or trailing whitespace")},
      {"container of another name", service(R"("extraPodSpec":{"containers":[{"name":"A_b","image":"i"}]})"),
       at("E pod.container-name", pod + "containers[0].name",
          "Invalid value: \"A_b\": must consist of lower case letters, digits or '-', and start and end with "
          "a letter "
          "or digit")},
      {"pod label", service(R"("extraPodMetadata":{"labels":{"a b":"c"}})"),
       at("E service.labels", "spec.services[Worker].extraPodMetadata.labels[a b]",
          "Invalid value: \"a b\": name part must consist of letters, digits, '-', '_' or '.', and start and "
          "end "
          "with a letter or digit")},
      {"service's probe", service(R"("livenessProbe":{"httpGet":{"port":0}})"),
       at("E pod.handler-port", "spec.services[Worker].livenessProbe.httpGet.port",
          "Invalid value: 0: must be between 1 and 65535, inclusive")},
  });
}

TEST_CASE("an override is judged by the rules of Grove that its graph will meet (child-Q43)") {
  rules::DgdrPolicy served;
  served.graph.groveCertain = true;
  served.graph.kaiScheduler = false;
  rules::DgdrPolicy none;
  none.graph.groveDisabled = true;
  const std::string spread =
      service(R"("extraPodSpec":{"topologySpreadConstraints":[{"maxSkew":1,"topologyKey":"k",)"
              R"("whenUnsatisfiable":"ScheduleAnyway","labelSelector":{"matchLabels":{"a":"b"}}}]})");
  const std::string ofSpread = "spec.services[Worker].extraPodSpec.topologySpreadConstraints";
  const std::string ofReplicas = "spec.services[Worker].replicas";
  const auto services = [](std::string_view worker, std::string_view frontend) {
    return override(
        fmt::format(R"(,"spec":{{"services":{{"Worker":{{{}}},"Frontend":{{{}}}}}}})", worker, frontend));
  };
  const std::string scheduler = R"("extraPodSpec":{"schedulerName":"mine"})";
  const std::string same = "must be the same for all services of a graph on Grove";
  struct Row {
    const char* name;
    std::string request;
    const rules::DgdrPolicy& policy;
    std::string findings;
  };
  const rules::DgdrPolicy unknown;
  const Row rows[] = {
      {"Grove is served", spread, served,
       at("E service.grove-topology-spread", ofSpread, "Forbidden: must not be set: Grove refuses it")},
      {"Grove may be served", spread, unknown,
       at("W service.grove-topology-spread", ofSpread, "with Grove: must not be set")},
      {"Grove is not served", spread, none, ""},
      {"the override turns Grove off",
       override(R"(,"metadata":{"annotations":{"nvidia.com/enable-grove":"false"}},"spec":{"services":)"
                R"({"Worker":{"extraPodSpec":{"nodeName":"n"}}}})"),
       served, ""},
      {"a node", service(R"("extraPodSpec":{"nodeName":"n"})"), served,
       at("E service.grove-node-name", "spec.services[Worker].extraPodSpec.nodeName",
          "Forbidden: must not be set: Grove refuses it")},
      {"several nodes without replicas", service(R"("multinode":{"nodeCount":2},"replicas":0)"), served,
       at("E dgd.grove-replicas", ofReplicas, "Invalid value: 0: must be at least 1 for several nodes")},
      {"no replicas", service(R"("replicas":0)"), served,
       at("W dgd.grove-replicas", ofReplicas,
          "Grove creates one pod first, and ends no rolling update while there are none")},
      {"a variable that Grove sets", service(R"("envs":[{"name":"GROVE_PCS_NAME","value":"x"}])"), served,
       at("W service.grove-env", "spec.services[Worker].envs[0].name",
          "has no effect: Grove sets the variable")},
      {"two schedulers", services(scheduler, R"("extraPodSpec":{"schedulerName":"other"})"), served,
       at("E dgd.grove-scheduler", "spec.services[Worker].extraPodSpec.schedulerName",
          "Invalid value: \"mine\": " + same)},
      // The profiler may give the other service one.
      {"a scheduler of one service", services(scheduler, R"("replicas":1)"), served,
       at("W dgd.grove-scheduler", "spec.services[Worker].extraPodSpec.schedulerName", same)},
      {"a scheduler of the only service that is named", service(scheduler), served, ""},
  };
  for (const Row& row : rows) {
    INFO(row.name);
    CHECK(findingsOf(row.request, {}, row.policy) == row.findings);
  }
  // A request that was stored before Grove was served is not refused.
  CHECK(findingsOf(spread, spread, served) ==
        at("W service.grove-topology-spread", ofSpread, "Forbidden: must not be set: Grove refuses it"));
}

TEST_CASE("an update with an unchanged override is not rejected for it") {
  const std::string bad = service(R"("replicas":"2")");
  CHECK(
      findingsOf(bad, bad).starts_with("W schema.type spec.overrides.dgd.spec.services[Worker].replicas: "));
  CHECK(findingsOf(service(R"("replicas":"3")"), service(R"("replicas":2)")).starts_with("E schema.type "));
}

TEST_CASE("an override of another kind is not validated") {
  CHECK(findingsOf(dgdr(R"({"model":"m","overrides":{"dgd":{"apiVersion":"v1","kind":"Pod","spec":7}}})")) ==
        "W dgdr-override-kind spec.overrides.dgd: is not a DynamoGraphDeployment of nvidia.com/v1alpha1\n");
}

TEST_CASE("the rules of overrides are rules of graphs") {
  std::set<std::string_view> listed;
  for (const field::Rule& rule : rules::dgdRules()) listed.insert(rule.id);
  for (const std::string_view rule : rules::dgdPartRules()) {
    INFO(rule);
    CHECK(listed.contains(rule));
  }
}

}  // namespace
}  // namespace dynamo::admission
