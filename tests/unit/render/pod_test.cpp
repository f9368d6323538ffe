// Pods of single-node components.
#include <catch2/catch.hpp>

#include "common/render/object.h"
#include "support.h"

namespace dynamo::render::test {
namespace {

using json::Value;

std::string dumpAt(const Value& root, std::initializer_list<const char*> path) {
  const Value* at = &root;
  for (const char* name : path) at = json::find(at, name);
  return at == nullptr ? "-" : json::dump(*at);
}

/// A member of the main container or of the pod after rendering `service`.
std::string mainOf(const char* service, std::initializer_list<const char*> path) {
  json::Document graph = graphOf(service);
  const Children children = rendered(Setup{}, graph);
  INFO(errorsOf(children));
  const Value* pod = podSpecOf(children, "main");
  return pod == nullptr ? errorsOf(children) : dumpAt(mainContainerOf(*pod), path);
}
std::string podOf(const char* service, std::initializer_list<const char*> path,
                  const Setup& setup = Setup{}) {
  json::Document graph = graphOf(service);
  const Children children = rendered(setup, graph);
  const Value* pod = podSpecOf(children, "main");
  return pod == nullptr ? errorsOf(children) : dumpAt(*pod, path);
}

constexpr const char* kCommonEnv =
    "DYN_DISCOVERY_BACKEND=kubernetes DYN_NAMESPACE=ns-g DYN_PARENT_DGD_K8S_NAME=g "
    "DYN_PARENT_DGD_K8S_NAMESPACE=ns";

TEST_CASE("environment of each component type, sorted") {
  struct Row {
    const char* type;
    const char* env;
  };
  const Row rows[] = {
      {"",
       "DYN_COMPONENT= DYN_DISCOVERY_BACKEND=kubernetes DYN_NAMESPACE=ns-g DYN_PARENT_DGD_K8S_NAME=g "
       "DYN_PARENT_DGD_K8S_NAMESPACE=ns POD_NAME=(metadata.name) POD_NAMESPACE=(metadata.namespace) "
       "POD_UID=(metadata.uid)"},
      {"Worker",
       "DYN_COMPONENT=Worker DYN_DISCOVERY_BACKEND=kubernetes DYN_NAMESPACE=ns-g "
       "DYN_PARENT_DGD_K8S_NAME=g DYN_PARENT_DGD_K8S_NAMESPACE=ns POD_NAME=(metadata.name) "
       "POD_NAMESPACE=(metadata.namespace) POD_UID=(metadata.uid)"},
      {"frontend",
       "DYNAMO_PORT=8000 DYN_COMPONENT=frontend DYN_DISCOVERY_BACKEND=kubernetes DYN_HTTP_PORT=8000 "
       "DYN_NAMESPACE=ns-g DYN_NAMESPACE_PREFIX=ns-g DYN_PARENT_DGD_K8S_NAME=g "
       "DYN_PARENT_DGD_K8S_NAMESPACE=ns "
       "POD_NAME=(metadata.name) POD_NAMESPACE=(metadata.namespace) POD_UID=(metadata.uid)"},
      {"decode",
       "DYN_COMPONENT=decode DYN_DISCOVERY_BACKEND=kubernetes DYN_HEALTH_CHECK_ENABLED=false "
       "DYN_NAMESPACE=ns-g "
       "DYN_PARENT_DGD_K8S_NAME=g DYN_PARENT_DGD_K8S_NAMESPACE=ns DYN_SYSTEM_ENABLED=true "
       "DYN_SYSTEM_PORT=9090 "
       "DYN_SYSTEM_USE_ENDPOINT_HEALTH_STATUS=[\"generate\"] NIXL_TELEMETRY_ENABLE=n "
       "NIXL_TELEMETRY_EXPORTER=prometheus NIXL_TELEMETRY_PROMETHEUS_PORT=19090 POD_NAME=(metadata.name) "
       "POD_NAMESPACE=(metadata.namespace) POD_UID=(metadata.uid)"},
      {"planner",
       "DYN_COMPONENT=planner DYN_DISCOVERY_BACKEND=kubernetes DYN_NAMESPACE=ns-g DYN_PARENT_DGD_K8S_NAME=g "
       "DYN_PARENT_DGD_K8S_NAMESPACE=ns PLANNER_PROMETHEUS_PORT=9085 POD_NAME=(metadata.name) "
       "POD_NAMESPACE=(metadata.namespace) POD_UID=(metadata.uid)"},
      {"epp",
       "DYN_COMPONENT=epp DYN_DISCOVERY_BACKEND=kubernetes DYN_NAMESPACE=ns-g DYN_PARENT_DGD_K8S_NAME=g "
       "DYN_PARENT_DGD_K8S_NAMESPACE=ns POD_NAME=(metadata.name) POD_NAMESPACE=(metadata.namespace) "
       "POD_UID=(metadata.uid) RUST_LOG=debug,dynamo_llm::kv_router=trace USE_STREAMING=true"},
  };
  for (const Row& row : rows) {
    INFO(row.type);
    json::Document graph =
        graphOf(std::string{R"({"eppConfig":{"config":{}},"componentType":")"} + row.type + "\"}");
    const Children children = rendered(Setup{}, graph);
    REQUIRE(podSpecOf(children, "main") != nullptr);
    CHECK(envOf(mainContainerOf(*podSpecOf(children, "main"))) == row.env);
  }
}

TEST_CASE("precedence of the environment: service, graph, main container, defaults") {
  json::Document graph = parsed(
      R"({"apiVersion":"nvidia.com/v1alpha1","kind":"DynamoGraphDeployment","metadata":{"name":"g","namespace":"ns"},
      "spec":{"envs":[{"name":"A","value":"graph"},{"name":"B","value":"graph"},{"name":"C","value":"graph"}],
      "services":{"Svc":{"envs":[{"name":"A","value":"service"},{"name":"DYN_NAMESPACE","value":""}],
      "extraPodSpec":{"mainContainer":{"env":[{"name":"B","value":"main"},{"name":"D","value":"main"},
      {"name":"POD_NAME","value":"x"}]}}}}}})");
  const Children children = rendered(Setup{}, graph);
  CHECK(envOf(mainContainerOf(*podSpecOf(children, "main"))) ==
        "A=service B=graph C=graph D=main DYN_COMPONENT= DYN_DISCOVERY_BACKEND=kubernetes DYN_NAMESPACE= "
        "DYN_PARENT_DGD_K8S_NAME=g DYN_PARENT_DGD_K8S_NAMESPACE=ns POD_NAME=x "
        "POD_NAMESPACE=(metadata.namespace) "
        "POD_UID=(metadata.uid)");
}

TEST_CASE("the user's fields override the defaults of the type") {
  struct Row {
    const char* name;
    const char* service;
    std::initializer_list<const char*> path;
    const char* value;
  };
  const Row rows[] = {
      {"frontend command", R"({"componentType":"frontend"})", {"command"}, R"(["python3"])"},
      {"frontend args", R"({"componentType":"frontend"})", {"args"}, R"(["-m","dynamo.frontend"])"},
      {"command alone",
       R"({"componentType":"frontend","extraPodSpec":{"mainContainer":{"command":["x"]}}})",
       {"args"},
       R"(["-m","dynamo.frontend"])"},
      {"empty command",
       R"({"componentType":"frontend","extraPodSpec":{"mainContainer":{"command":[]}}})",
       {"command"},
       R"(["python3"])"},
      {"default command", R"({})", {"command"}, R"(["/bin/sh","-c"])"},
      {"epp has no command", R"({"componentType":"epp","eppConfig":{"config":{}}})", {"command"}, "-"},
      {"user's name",
       R"({"extraPodSpec":{"mainContainer":{"name":"main","workingDir":"/w"}}})",
       {"workingDir"},
       R"("/w")"},
      {"probe of the service",
       R"({"componentType":"worker","livenessProbe":{"exec":{"command":["a"]}},"extraPodSpec":{"mainContainer":{"livenessProbe":{"periodSeconds":9}}}})",
       {"livenessProbe"},
       R"({"exec":{"command":["a"]}})"},
      {"number of a probe",
       R"({"componentType":"worker","extraPodSpec":{"mainContainer":{"livenessProbe":{"failureThreshold":5}}}})",
       {"livenessProbe"},
       R"({"httpGet":{"path":"/live","port":"system"},"periodSeconds":5,"timeoutSeconds":4,"failureThreshold":5})"},
      {"zero of a probe",
       R"({"componentType":"frontend","extraPodSpec":{"mainContainer":{"livenessProbe":{"initialDelaySeconds":0}}}})",
       {"livenessProbe"},
       R"({"httpGet":{"path":"/live","port":"http"},"periodSeconds":10,"timeoutSeconds":1,"failureThreshold":3})"},
      {"handler of a probe",
       R"({"componentType":"worker","extraPodSpec":{"mainContainer":{"livenessProbe":{"tcpSocket":{"port":8080}}}}})",
       {"livenessProbe"},
       R"({"periodSeconds":5,"timeoutSeconds":4,"failureThreshold":1,"tcpSocket":{"port":8080}})"},
      {"the user's startup probe replaces the default",
       R"({"componentType":"worker","extraPodSpec":{"mainContainer":{"startupProbe":{"failureThreshold":5}}}})",
       {"startupProbe"},
       R"({"failureThreshold":5})"},
      {"the user's ports replace the default",
       R"({"componentType":"worker","extraPodSpec":{"mainContainer":{"ports":[{"containerPort":1}]}}})",
       {"ports"},
       R"([{"containerPort":1}])"},
      {"resources",
       R"({"resources":{"requests":{"cpu":"1000m","custom":{"x/y":"1024"}},"limits":{"memory":"1024Mi","gpu":"2","gpuType":"gpu.intel.com/xe"}}})",
       {"resources"},
       R"({"requests":{"cpu":"1","x/y":"1024"},"limits":{"memory":"1Gi","gpu.intel.com/xe":"2"}})"},
      {"a GPU request alone is a limit (pod-Q1)",
       R"({"resources":{"requests":{"gpu":"3"}}})",
       {"resources"},
       R"({"limits":{"nvidia.com/gpu":"3"}})"},
      {"a GPU request alone of its own type (pod-Q1)",
       R"({"resources":{"requests":{"gpu":"3","gpuType":"amd.com/gpu"}}})",
       {"resources"},
       R"({"limits":{"amd.com/gpu":"3"}})"},
      {"a GPU request beside the container's own limit (pod-Q1)",
       R"({"resources":{"requests":{"gpu":"4"}},"extraPodSpec":{"mainContainer":{"resources":{"limits":{"nvidia.com/gpu":"8"}}}}})",
       {"resources"},
       R"({"limits":{"nvidia.com/gpu":"8"}})"},
      {"both set to different values (pod-Q1)",
       R"({"resources":{"requests":{"gpu":"3"},"limits":{"gpu":"4"}}})",
       {"resources"},
       R"({"limits":{"nvidia.com/gpu":"4"}})"},
      {"envFromSecret", R"({"envFromSecret":"s"})", {"envFrom"}, R"([{"secretRef":{"name":"s"}}])"},
      {"epp keeps its mounts (pod-Q7)",
       R"({"componentType":"epp","eppConfig":{"config":{}},"sharedMemory":{"disabled":true},"extraPodSpec":{"mainContainer":{"volumeMounts":[{"name":"a","mountPath":"/a"}]}}})",
       {"volumeMounts"},
       R"([{"name":"a","mountPath":"/a"},{"name":"epp-config","mountPath":"/etc/epp","readOnly":true},{"name":"hf-cache","mountPath":"/home/nonroot/.cache"}])"},
      {"epp gets no default mount at the path of the user's mount",
       R"({"componentType":"epp","eppConfig":{"config":{}},"sharedMemory":{"disabled":true},"extraPodSpec":{"mainContainer":{"volumeMounts":[{"name":"a","mountPath":"/etc/epp"}]}}})",
       {"volumeMounts"},
       R"([{"name":"a","mountPath":"/etc/epp"},{"name":"hf-cache","mountPath":"/home/nonroot/.cache"}])"},
      {"mount at /dev/shm (pod-Q11a)",
       R"({"extraPodSpec":{"mainContainer":{"volumeMounts":[{"name":"a","mountPath":"/dev/shm"}]}}})",
       {"volumeMounts"},
       R"([{"name":"a","mountPath":"/dev/shm"}])"},
      {"a claim at /dev/shm/ (pod-Q11a)",
       R"({"volumeMounts":[{"name":"a","mountPoint":"/dev/shm/"}]})",
       {"volumeMounts"},
       R"([{"name":"a","mountPath":"/dev/shm/"}])"},
      {"the operator's volume at /dev/shm (pod-Q11a)",
       R"({"extraPodSpec":{"mainContainer":{"volumeMounts":[{"name":"shared-memory","mountPath":"/dev/shm","readOnly":true}]}}})",
       {"volumeMounts"},
       R"([{"name":"shared-memory","mountPath":"/dev/shm","readOnly":true}])"},
  };
  for (const Row& row : rows) {
    INFO(row.name);
    CHECK(mainOf(row.service, row.path) == row.value);
  }
}

TEST_CASE("fields of the pod") {
  struct Row {
    const char* name;
    const char* service;
    std::initializer_list<const char*> path;
    const char* value;
  };
  const Row rows[] = {
      {"grace", "{}", {"terminationGracePeriodSeconds"}, "60"},
      {"grace of epp",
       R"({"componentType":"epp","eppConfig":{"config":{}}})",
       {"terminationGracePeriodSeconds"},
       "130"},
      {"grace zero (pod-Q6)",
       R"({"extraPodSpec":{"terminationGracePeriodSeconds":0}})",
       {"terminationGracePeriodSeconds"},
       "0"},
      {"fsGroup", "{}", {"securityContext"}, R"({"fsGroup":1000})"},
      {"the user's value replaces the default",
       R"({"extraPodSpec":{"securityContext":{"runAsUser":5}}})",
       {"securityContext"},
       R"({"runAsUser":5})"},
      {"an empty security context disables the default",
       R"({"extraPodSpec":{"securityContext":{}}})",
       {"securityContext"},
       "{}"},
      {"null is absent",
       R"({"extraPodSpec":{"securityContext":null}})",
       {"securityContext"},
       R"({"fsGroup":1000})"},
      {"account of discovery", "{}", {"serviceAccountName"}, R"("g-k8s-service-discovery")"},
      {"account of a planner",
       R"({"componentType":"planner"})",
       {"serviceAccountName"},
       R"("planner-serviceaccount")"},
      {"the user's account (pod-Q19)",
       R"({"componentType":"planner","extraPodSpec":{"serviceAccountName":"mine"}})",
       {"serviceAccountName"},
       R"("mine")"},
      {"no account with etcd",
       R"({"annotations":{"nvidia.com/dynamo-discovery-backend":"etcd"}})",
       {"serviceAccountName"},
       "-"},
      {"shared memory",
       "{}",
       {"volumes"},
       R"([{"name":"shared-memory","emptyDir":{"medium":"Memory","sizeLimit":"8Gi"}}])"},
      {"shared memory of another size",
       R"({"sharedMemory":{"size":"2048Mi"}})",
       {"volumes"},
       R"([{"name":"shared-memory","emptyDir":{"medium":"Memory","sizeLimit":"2Gi"}}])"},
      {"no shared memory", R"({"sharedMemory":{"disabled":true}})", {"volumes"}, "-"},
      {"the user's volume of that name (pod-Q11a)",
       R"({"extraPodSpec":{"volumes":[{"name":"shared-memory","emptyDir":{}}]}})",
       {"volumes"},
       R"([{"name":"shared-memory","emptyDir":{}}])"},
      {"the user's mount at /dev/shm (pod-Q11a)",
       R"({"extraPodSpec":{"volumes":[{"name":"a","emptyDir":{}}],"mainContainer":{"volumeMounts":[{"name":"a","mountPath":"/dev/shm"}]}}})",
       {"volumes"},
       R"([{"name":"a","emptyDir":{}}])"},
      {"the user's mount at /dev/shm, and a sidecar's of the operator's volume (pod-Q11a)",
       R"({"extraPodSpec":{"volumes":[{"name":"a","emptyDir":{}}],"mainContainer":{"volumeMounts":[{"name":"a","mountPath":"/dev/shm"}]},"containers":[{"name":"b","volumeMounts":[{"name":"shared-memory","mountPath":"/x"}]}]}})",
       {"volumes"},
       R"([{"name":"a","emptyDir":{}},{"name":"shared-memory","emptyDir":{"medium":"Memory","sizeLimit":"8Gi"}}])"},
      {"the operator's volume mounted by the user (pod-Q11a)",
       R"({"extraPodSpec":{"mainContainer":{"volumeMounts":[{"name":"shared-memory","mountPath":"/dev/shm"}]}}})",
       {"volumes"},
       R"([{"name":"shared-memory","emptyDir":{"medium":"Memory","sizeLimit":"8Gi"}}])"},
      {"one claim mounted twice (pod-Q11a)",
       R"({"sharedMemory":{"disabled":true},"volumeMounts":[{"name":"c","mountPoint":"/a"},{"name":"c","mountPoint":"/b"}]})",
       {"volumes"},
       R"([{"name":"c","persistentVolumeClaim":{"claimName":"c"}}])"},
      {"other fields are copied",
       R"({"extraPodSpec":{"nodeSelector":{"a":""},"hostNetwork":false,"priority":0}})",
       {"nodeSelector"},
       R"({"a":""})"},
      {"zeros of Go's omitempty", R"({"extraPodSpec":{"hostNetwork":false}})", {"hostNetwork"}, "-"},
      {"zeros of Go's pointers", R"({"extraPodSpec":{"priority":0}})", {"priority"}, "0"},
  };
  for (const Row& row : rows) {
    INFO(row.name);
    CHECK(podOf(row.service, row.path) == row.value);
  }
}

TEST_CASE("errors have the user's field path, and other services are rendered") {
  struct Row {
    const char* service;
    const char* errors;
  };
  const Row rows[] = {
      {R"({"volumeMounts":[{"mountPoint":"/a"}]})",
       "spec.services[Svc].volumeMounts[0].name: Required value: the name of a claim\n"},
      {R"({"volumeMounts":[{"name":"a"}]})",
       "spec.services[Svc].volumeMounts[0].mountPoint: Required value: where to mount the claim\n"},
      {R"({"volumeMounts":[{"name":"a","useAsCompilationCache":true}]})",
       "spec.services[Svc].volumeMounts[0].mountPoint: Required value: only vllm has a default path for its "
       "compilation "
       "cache\n"},
      {R"({"resources":{"limits":{"memory":"16GB","custom":{"a/b":"x"}}}})",
       "spec.services[Svc].resources.limits.memory: Invalid value: \"16GB\": must be a quantity, such as "
       "500m, 2 or "
       "16Gi\nspec.services[Svc].resources.limits.custom[a/b]: Invalid value: \"x\": must be a quantity, "
       "such as "
       "500m, 2 or 16Gi\n"},
      {R"({"checkpoint":{"enabled":true,"identity":{"model":"m","backendFramework":"vllm"}}})",
       "spec.services[Svc].checkpoint: Invalid value: checkpointing is disabled in the operator "
       "configuration\n"},
  };
  for (const Row& row : rows) {
    INFO(row.service);
    json::Document graph = graphOf(row.service);
    const json::Document other = parsed("{}");
    Value* services = json::find(*json::find(graph, "spec"), "services");
    services->AddMember("Other", json::copy(other, graph.GetAllocator()), graph.GetAllocator());
    const Children children = rendered(Setup{Pathway::LeaderWorkerSet}, graph);
    CHECK(errorsOf(children) == row.errors);
    CHECK(std::any_of(children.items.begin(), children.items.end(), [](const Child& child) {
      return child.service == "Other" && json::findText(&child.object, "kind") == "Deployment";
    }));
  }
}

TEST_CASE("pull secrets: the user's first, then the registry's") {
  Setup setup;
  setup.facts.addPullSecrets("ns", "nvcr.io", {"a", "b"});
  const auto secrets = [&](const char* service) { return podOf(service, {"imagePullSecrets"}, setup); };
  CHECK(
      secrets(
          R"({"extraPodSpec":{"mainContainer":{"image":"nvcr.io/x:1"},"imagePullSecrets":[{"name":"b"}]}})") ==
      R"([{"name":"b"},{"name":"a"}])");
  CHECK(secrets(R"({"extraPodSpec":{"mainContainer":{"image":"nvcr.io/x:1"}}})") ==
        R"([{"name":"a"},{"name":"b"}])");
  CHECK(secrets(R"({"extraPodSpec":{"mainContainer":{"image":"other.io/x:1"}}})") == "-");
  CHECK(secrets(R"({"annotations":{"nvidia.com/disable-image-pull-secret-discovery":"true"},
      "extraPodSpec":{"mainContainer":{"image":"nvcr.io/x:1"}}})") == "-");
  CHECK(secrets(R"({"frontendSidecar":{"image":"nvcr.io/f:1"}})") == R"([{"name":"a"},{"name":"b"}])");
}

TEST_CASE("an overlay of the configuration changes any default") {
  const json::Document overlay = parsed(
      R"({"common":{"podSpec":{"securityContext":null},"sharedMemory":{"size":"1Gi"}},
      "types":{"frontend":{"mainContainer":{"env":{"EXTRA":"${graph}","DYNAMO_PORT":null}}}}})");
  Setup setup;
  const model::ComponentDefaults site{&overlay};
  json::Document graph = graphOf(R"({"componentType":"frontend"})");
  const Children children = renderAll(graph, {setup.config, site, setup.facts}, {});
  const Value* pod = podSpecOf(children, "main");
  REQUIRE(pod != nullptr);
  CHECK(dumpAt(*pod, {"securityContext"}) == "-");
  const std::string env = envOf(mainContainerOf(*pod));
  CHECK(env.find("EXTRA=g ") != std::string::npos);
  CHECK(env.find("DYNAMO_PORT") == std::string::npos);
  CHECK(env.find(kCommonEnv) == std::string::npos);  // DYN_HTTP_PORT is sorted between them
}

TEST_CASE("placeholders are replaced everywhere in an overlay, as in admission") {
  const json::Document overlay = parsed(
      R"({"common":{"podSpec":{"priorityClassName":"${graph}-p","nodeSelector":{"n":"${namespace}"},
      "volumes":[{"name":"v","configMap":{"name":"${graph}-${componentType}"}}]},"sharedMemory":{"disabled":true},
      "mainContainer":{"env":{"FROM":{"configMapKeyRef":{"name":"${dynamoNamespace}","key":"k"}}}}}})");
  Setup setup;
  const model::ComponentDefaults site{&overlay};
  json::Document graph = graphOf(R"({"componentType":"worker","frontendSidecar":{"image":"i"}})");
  const Children children = renderAll(graph, {setup.config, site, setup.facts}, {});
  const Value* pod = podSpecOf(children, "main");
  REQUIRE(pod != nullptr);
  CHECK(dumpAt(*pod, {"priorityClassName"}) == R"("g-p")");
  CHECK(dumpAt(*pod, {"nodeSelector"}) == R"({"n":"ns"})");
  CHECK(dumpAt(*pod, {"volumes"}) == R"([{"name":"v","configMap":{"name":"g-worker"}}])");
  const std::string from = R"({"name":"FROM","valueFrom":{"configMapKeyRef":{"name":"ns-g","key":"k"}}})";
  for (const Value& container : json::find(*pod, "containers")->GetArray()) {
    CHECK(json::dump(*json::findNamed(json::find(container, "env"), "FROM")) == from);
  }
}

}  // namespace
}  // namespace dynamo::render::test
