// The whole stored service of each component type after defaulting.

#include <catch2/catch.hpp>

#include "common/config/load.h"
#include "tests/unit/defaults/support.h"
#include "tests/unit/source_dir.h"

namespace dynamo {
namespace {

const std::string kNames =
    R"({"name":"DYN_NAMESPACE","value":"ns-g-1"},)"
    R"({"name":"DYN_PARENT_DGD_K8S_NAME","value":"g.1"},{"name":"DYN_PARENT_DGD_K8S_NAMESPACE","value":"ns"},)";
const std::string kNamesOfFrontend =
    R"({"name":"DYN_NAMESPACE","value":"ns-g-1"},{"name":"DYN_NAMESPACE_PREFIX","value":"ns-g-1"},)"
    R"({"name":"DYN_PARENT_DGD_K8S_NAME","value":"g.1"},{"name":"DYN_PARENT_DGD_K8S_NAMESPACE","value":"ns"},)";
const std::string kPod =
    R"({"name":"POD_NAME","valueFrom":{"fieldRef":{"fieldPath":"metadata.name"}}},)"
    R"({"name":"POD_NAMESPACE","valueFrom":{"fieldRef":{"fieldPath":"metadata.namespace"}}},)"
    R"({"name":"POD_UID","valueFrom":{"fieldRef":{"fieldPath":"metadata.uid"}}})";
const std::string kDiscovery = R"({"name":"DYN_DISCOVERY_BACKEND","value":"kubernetes"},)";

std::string component(const std::string& type) {
  return R"({"name":"DYN_COMPONENT","value":")" + type + R"("},)" + kDiscovery;
}

std::string common(const std::string& grace, const std::string& account, const std::string& container,
                   const std::string& volumes = {}) {
  return R"({"replicas":1,"sharedMemory":{"size":"8Gi"},"extraPodSpec":{"restartPolicy":"Always",)"
         R"("terminationGracePeriodSeconds":)" +
         grace + R"(,"securityContext":{"fsGroup":1000},"serviceAccountName":")" + account + "\"," + volumes +
         R"("mainContainer":)" + container + "}}";
}

std::string worker(const std::string& type) {
  return common(
      "60", "g.1-k8s-service-discovery",
      R"({"command":["/bin/sh","-c"],)"
      R"("ports":[{"name":"system","containerPort":9090,"protocol":"TCP"},)"
      R"({"name":"nixl","containerPort":19090,"protocol":"TCP"}],)"
      R"("livenessProbe":{"httpGet":{"path":"/live","port":"system"},"periodSeconds":5,"timeoutSeconds":4,)"
      R"("failureThreshold":1},)"
      R"("readinessProbe":{"httpGet":{"path":"/health","port":"system"},"periodSeconds":10,"timeoutSeconds":4,)"
      R"("failureThreshold":3},)"
      R"("startupProbe":{"httpGet":{"path":"/live","port":"system"},"periodSeconds":10,"timeoutSeconds":5,)"
      R"("failureThreshold":720},"env":[)" +
          component(type) + R"({"name":"DYN_HEALTH_CHECK_ENABLED","value":"false"},)" + kNames +
          R"({"name":"DYN_SYSTEM_ENABLED","value":"true"},{"name":"DYN_SYSTEM_PORT","value":"9090"},)"
          R"({"name":"DYN_SYSTEM_USE_ENDPOINT_HEALTH_STATUS","value":"[\"generate\"]"},)"
          R"({"name":"NIXL_TELEMETRY_ENABLE","value":"n"},)"
          R"({"name":"NIXL_TELEMETRY_EXPORTER","value":"prometheus"},)"
          R"({"name":"NIXL_TELEMETRY_PROMETHEUS_PORT","value":"19090"},)" +
          kPod + "]}");
}

std::string other(const std::string& variable) {
  return common("60", "g.1-k8s-service-discovery",
                R"({"command":["/bin/sh","-c"],"env":[)" + variable + kDiscovery + kNames + kPod + "]}");
}

std::string frontend() {
  return common(
      "60", "g.1-k8s-service-discovery",
      R"({"command":["python3"],"args":["-m","dynamo.frontend"],)"
      R"("ports":[{"name":"http","containerPort":8000,"protocol":"TCP"}],)"
      R"("livenessProbe":{"httpGet":{"path":"/live","port":"http"},"initialDelaySeconds":15,"periodSeconds":10,)"
      R"("timeoutSeconds":1,"failureThreshold":3},)"
      R"("readinessProbe":{"httpGet":{"path":"/health","port":"http"},"initialDelaySeconds":10,)"
      R"("periodSeconds":10,"timeoutSeconds":3,"failureThreshold":3},)"
      R"("env":[{"name":"DYNAMO_PORT","value":"8000"},)" +
          component("frontend") + R"({"name":"DYN_HTTP_PORT","value":"8000"},)" + kNamesOfFrontend + kPod +
          "]}");
}

std::string planner() {
  return common(
      "60", "planner-serviceaccount",
      R"({"command":["/bin/sh","-c"],"ports":[{"name":"metrics","containerPort":9085,"protocol":"TCP"}],)"
      R"("env":[)" +
          component("planner") + kNames + R"({"name":"PLANNER_PROMETHEUS_PORT","value":"9085"},)" + kPod +
          "]}");
}

std::string epp() {
  const std::string handler = R"({"grpc":{"port":9003,"service":"inference-extension"},)";
  return common(
      "130", "epp-serviceaccount",
      R"({"args":["-pool-name","g.1-pool","-pool-namespace","ns","-pool-group","inference.networking.k8s.io","-v",)"
      R"("4","--zap-encoder","json","-grpc-port","9002","-grpc-health-port","9003","-config-file",)"
      R"("/etc/epp/epp-config-dynamo.yaml"],)"
      R"("ports":[{"name":"grpc","containerPort":9002,"protocol":"TCP"},)"
      R"({"name":"grpc-health","containerPort":9003,"protocol":"TCP"},)"
      R"({"name":"metrics","containerPort":9090,"protocol":"TCP"}],)"
      R"("livenessProbe":)" +
          handler + R"("initialDelaySeconds":5,"periodSeconds":10},"readinessProbe":)" + handler +
          R"("initialDelaySeconds":5,"periodSeconds":10},"startupProbe":)" + handler +
          R"("periodSeconds":10,"failureThreshold":180},)"
          R"("volumeMounts":[{"name":"epp-config","mountPath":"/etc/epp","readOnly":true},)"
          R"({"name":"hf-cache","mountPath":"/home/nonroot/.cache"}],"env":[)" +
          component("epp") + kNames + kPod +
          R"(,{"name":"RUST_LOG","value":"debug,dynamo_llm::kv_router=trace"},)"
          R"({"name":"USE_STREAMING","value":"true"}]})",
      R"("volumes":[{"name":"epp-config","configMap":{"name":"g.1-epp-config","items":[)"
      R"({"key":"epp-config-dynamo.yaml","path":"epp-config-dynamo.yaml"}]}},{"name":"hf-cache","emptyDir":{}}],)");
}

struct Row {
  std::string service;
  std::string wanted;
};

TEST_CASE("each component type gets its defaults, in a graph and as a component deployment") {
  const Row row = GENERATE(values<Row>({
      {R"({"componentType":"frontend"})", frontend()},
      {R"({"componentType":"worker"})", worker("worker")},
      {R"({"componentType":"prefill"})", worker("prefill")},
      {R"({"componentType":"decode"})", worker("decode")},
      {R"({"componentType":"planner"})", planner()},
      {R"({"componentType":"epp"})", epp()},
      {R"({"componentType":"default"})", other(R"({"name":"DYN_COMPONENT","value":"default"},)")},
      {R"({"componentType":"main"})", other(R"({"name":"DYN_COMPONENT","value":"main"},)")},
      {R"({"componentType":"Worker"})", other(R"({"name":"DYN_COMPONENT","value":"Worker"},)")},
      {R"({"componentType":""})", other(R"({"name":"DYN_COMPONENT"},)")},
      {R"({})", other(R"({"name":"DYN_COMPONENT"},)")},
  }));
  INFO(row.service);
  json::Allocator allocator;
  const test::Admission admission;
  json::Value wanted = test::parse(row.wanted, allocator);
  const json::Value given = test::parse(row.service, allocator);
  for (const auto& member : given.GetObject()) {
    json::set(wanted, json::text(member.name), json::copy(member.value, allocator), allocator);
  }

  const json::Value graph = admission.create(
      test::parse(R"({"apiVersion":"nvidia.com/v1alpha1","kind":"DynamoGraphDeployment",)"
                  R"("metadata":{"name":"g.1","namespace":"ns"},"spec":{"services":{"a/b":)" +
                      row.service + "}}}",
                  allocator),
      allocator);
  CHECK(test::at(graph, "/spec/services/a~1b") != "-");
  const json::Value& service = (*json::find(json::find(json::find(&graph, "spec"), "services"), "a/b"));
  INFO(json::dump(service) << "\n" << json::dump(wanted));
  CHECK(json::equal(service, wanted));

  const json::Value alone = admission.create(
      test::parse(R"({"apiVersion":"nvidia.com/v1alpha1","kind":"DynamoComponentDeployment",)"
                  R"("metadata":{"name":"g.1","namespace":"ns"},"spec":)" +
                      row.service + "}",
                  allocator),
      allocator);
  INFO(json::dump(alone));
  json::remove(wanted, "replicas");  // child-Q36
  CHECK(json::equal(*json::find(alone, "spec"), wanted));
}

TEST_CASE("the sample with the documented probes sets them") {  // dec-2
  const auto loaded = config::loadConfigFile(test::sourceFile("deploy/samples/documented-probes.yaml"),
                                             config::Purpose::Webhook);
  REQUIRE(loaded.report().empty());
  const model::ComponentDefaults site{loaded.config.defaults.get()};
  const model::ComponentDefaults builtIn;
  const auto probe = [](const model::ComponentDefaults& page, std::string_view name) {
    return json::dump(*json::find(json::find(page.of("frontend"), "mainContainer"), name));
  };
  const std::string numbers =
      R"("initialDelaySeconds":60,"periodSeconds":60,"timeoutSeconds":30,"failureThreshold":10})";
  CHECK(probe(site, "livenessProbe") == R"({"httpGet":{"path":"/health","port":"http"},)" + numbers);
  CHECK(probe(site, "readinessProbe") ==
        R"({"initialDelaySeconds":60,"periodSeconds":60,"timeoutSeconds":30,"failureThreshold":10,"exec":)"
        R"({"command":["/bin/sh","-c","curl -s http://localhost:${DYNAMO_PORT}/health | )"
        R"(jq -e \".status == \\\"healthy\\\"\""]}})");
  for (const char* name : {"args", "env", "ports"}) CHECK(probe(site, name) == probe(builtIn, name));
  CHECK(json::dump(site.of("worker")) == json::dump(builtIn.of("worker")));
}

}  // namespace
}  // namespace dynamo
