// The user's fields stay and determine which defaults are written (pod-Q5 to pod-Q7, pod-Q10, pod-Q21,
// pod-Q26, pod-Q27). Each row is one service "a" of a graph "g".

#include <catch2/catch.hpp>

#include "tests/unit/defaults/support.h"

namespace dynamo {
namespace {

struct Row {
  const char* what;
  std::string service;
  const char* pointer;  ///< below the service
  const char* wanted;   ///< JSON; "-": absent
  const char* overlay = "";
  const char* graph = "";  ///< more members of spec
};

std::string container(const std::string& members) {
  return R"({"extraPodSpec":{"mainContainer":{)" + members + "}}}";
}
std::string worker(const std::string& members) {
  return R"({"componentType":"worker",)" + members + "}";
}
std::string epp(const std::string& members) {
  return R"({"componentType":"epp",)" + members + "}";
}

const char* const kMain = "/extraPodSpec/mainContainer";
const char* const kComplete = R"({"userLists":"complete"})";

const Row kRows[] = {
    // Scalars and whole units.
    {"replicas 0 stays", R"({"replicas":0})", "/replicas", "0"},
    {"a null of server-side apply counts as absent", R"({"replicas":null})", "/replicas", "1"},
    {"grace period 0 stays", R"({"extraPodSpec":{"terminationGracePeriodSeconds":0}})",
     "/extraPodSpec/terminationGracePeriodSeconds", "0"},
    {"null grace period", R"({"extraPodSpec":{"terminationGracePeriodSeconds":null}})",
     "/extraPodSpec/terminationGracePeriodSeconds", "60"},
    {"security context {} switches the default off", R"({"extraPodSpec":{"securityContext":{}}})",
     "/extraPodSpec/securityContext", "{}"},
    {"security context of the user's", R"({"extraPodSpec":{"securityContext":{"runAsUser":0}}})",
     "/extraPodSpec/securityContext", R"({"runAsUser":0})"},
    {"null security context counts as absent", R"({"extraPodSpec":{"securityContext":null}})",
     "/extraPodSpec/securityContext", R"({"fsGroup":1000})"},
    {"the container's security context is independent", container(R"("securityContext":{})"),
     "/extraPodSpec/securityContext", R"({"fsGroup":1000})"},
    {"account of the user's", R"({"extraPodSpec":{"serviceAccountName":"own"}})",
     "/extraPodSpec/serviceAccountName", R"("own")"},
    {"account of a planner", R"({"componentType":"planner","extraPodSpec":{"serviceAccountName":"own"}})",
     "/extraPodSpec/serviceAccountName", R"("own")"},
    {"an empty account is replaced by rendering", R"({"extraPodSpec":{"serviceAccountName":""}})",
     "/extraPodSpec/serviceAccountName", R"("")"},
    {"null pod", R"({"extraPodSpec":null})", "/extraPodSpec/restartPolicy", R"("Always")"},
    {"a pod of the wrong type stays for the schema", R"({"extraPodSpec":"x"})", "/extraPodSpec", R"("x")"},
    {"wrong type of container", R"({"extraPodSpec":{"mainContainer":[]}})", kMain, "[]"},
    {"command alone keeps default arguments",
     R"({"componentType":"frontend","extraPodSpec":{"mainContainer":{"command":["x"]}}})",
     "/extraPodSpec/mainContainer/args", R"(["-m","dynamo.frontend"])"},
    {"command of the user's", container(R"("command":["x"])"), "/extraPodSpec/mainContainer/command",
     R"(["x"])"},
    {"arguments alone keep the default command", container(R"("args":["x"])"),
     "/extraPodSpec/mainContainer/command", R"(["/bin/sh","-c"])"},
    {"empty arguments are replaced by rendering",
     R"({"componentType":"frontend","extraPodSpec":{"mainContainer":{"args":[]}}})",
     "/extraPodSpec/mainContainer/args", "[]"},
    {"ports of the user's", worker(R"("extraPodSpec":{"mainContainer":{"ports":[{"containerPort":1}]}})"),
     "/extraPodSpec/mainContainer/ports", R"([{"containerPort":1,"protocol":"TCP"}])"},
    {"no container name is written", "{}", "/extraPodSpec/mainContainer/name", "-"},
    // Probes.
    {"probe of the service", worker(R"("livenessProbe":{"grpc":{"port":1}})"),
     "/extraPodSpec/mainContainer/livenessProbe", "-"},
    {"probe of the service, schema default", worker(R"("livenessProbe":{"grpc":{"port":1}})"),
     "/livenessProbe", R"({"grpc":{"port":1,"service":""}})"},
    {"the other probes are still defaulted", worker(R"("livenessProbe":{})"),
     "/extraPodSpec/mainContainer/startupProbe/failureThreshold", "720"},
    {"probe of the container is completed by rendering",
     worker(R"("extraPodSpec":{"mainContainer":{"livenessProbe":{"failureThreshold":5}}})"),
     "/extraPodSpec/mainContainer/livenessProbe", R"({"failureThreshold":5})"},
    {"startup probe of the container", worker(R"("extraPodSpec":{"mainContainer":{"startupProbe":{}}})"),
     "/extraPodSpec/mainContainer/startupProbe", "{}"},
    {"null probe of the service", worker(R"("readinessProbe":null)"),
     "/extraPodSpec/mainContainer/readinessProbe/failureThreshold", "3"},
    {"a null probe is removed", worker(R"("readinessProbe":null)"), "/readinessProbe", "-"},
    {"planners have no probes", R"({"componentType":"planner"})", "/extraPodSpec/mainContainer/livenessProbe",
     "-"},
    // Environment.
    {"name in the service's envs", R"({"envs":[{"name":"POD_UID","value":"1"}]})",
     "/extraPodSpec/mainContainer/env/6/name", R"("POD_NAMESPACE")"},
    {"the service's envs are left alone", R"({"envs":[{"name":"POD_UID","value":"1"}]})", "/envs",
     R"([{"name":"POD_UID","value":"1"}])"},
    {"a variable of the service is not defaulted", R"({"envs":[{"name":"POD_UID"}]})",
     "/extraPodSpec/mainContainer/env/7", "-"},
    {"a variable of the graph is not defaulted", "{}", "/extraPodSpec/mainContainer/env/7", "-", "",
     R"("envs":[{"name":"POD_UID","value":"1"}],)"},
    {"a variable of the container is not defaulted", container(R"("env":[{"name":"POD_UID"}])"),
     "/extraPodSpec/mainContainer/env/8", "-", kComplete},
    {"with userLists complete, the user's variables come first",
     container(R"("env":[{"name":"Z"},{"name":"A"}])"), "/extraPodSpec/mainContainer/env/0/name", R"("Z")",
     kComplete},
    {"default variables follow, sorted by name", container(R"("env":[{"name":"Z"},{"name":"A"}])"),
     "/extraPodSpec/mainContainer/env/2/name", R"("DYN_COMPONENT")", kComplete},
    {"rendering adds the default variables to a list of the user", container(R"("env":[{"name":"Z"}])"),
     "/extraPodSpec/mainContainer/env", R"([{"name":"Z"}])"},
    {"an empty list is the user's list", container(R"("env":[])"), "/extraPodSpec/mainContainer/env", "[]"},
    {"no list", container(R"("image":"x")"), "/extraPodSpec/mainContainer/env/0/name", R"("DYN_COMPONENT")"},
    {"wrong type of list", container(R"("env":"x")"), "/extraPodSpec/mainContainer/env", R"("x")"},
    {"global Dynamo namespace", R"({"globalDynamoNamespace":true})", "/extraPodSpec/mainContainer/env/2",
     R"({"name":"DYN_NAMESPACE","value":"dynamo"})"},
    // Discovery.
    {"etcd has no variable", R"({"annotations":{"nvidia.com/dynamo-discovery-backend":"etcd"}})",
     "/extraPodSpec/mainContainer/env/1/name", R"("DYN_NAMESPACE")"},
    {"etcd has no account", R"({"annotations":{"nvidia.com/dynamo-discovery-backend":"etcd"}})",
     "/extraPodSpec/serviceAccountName", "-"},
    {"an unknown backend means kubernetes",
     R"({"annotations":{"nvidia.com/dynamo-discovery-backend":"consul"}})",
     "/extraPodSpec/serviceAccountName", R"("g-k8s-service-discovery")"},
    {"an empty backend counts as absent", R"({"annotations":{"nvidia.com/dynamo-discovery-backend":""}})",
     "/extraPodSpec/serviceAccountName", R"("g-k8s-service-discovery")"},
    // Lists with names.
    {"with userLists complete, volumes of an epp are completed",
     epp(R"("extraPodSpec":{"volumes":[{"name":"own","emptyDir":{}}]})"), "/extraPodSpec/volumes/2",
     R"({"name":"hf-cache","emptyDir":{}})", kComplete},
    {"volumes are matched by name",
     epp(R"("extraPodSpec":{"volumes":[{"name":"hf-cache","hostPath":{"path":"/x"}}]})"),
     "/extraPodSpec/volumes/2", "-", kComplete},
    {"rendering adds the default volumes to a list of the user",
     epp(R"("extraPodSpec":{"volumes":[{"name":"own","emptyDir":{}}]})"), "/extraPodSpec/volumes",
     R"([{"name":"own","emptyDir":{}}])"},
    {"rendering adds the default mounts to a list of the user",
     epp(R"("extraPodSpec":{"mainContainer":{"volumeMounts":[{"name":"own","mountPath":"/own"}]}})"),
     "/extraPodSpec/mainContainer/volumeMounts", R"([{"name":"own","mountPath":"/own"}])"},
    {"with userLists complete, mounts are completed",
     epp(R"("extraPodSpec":{"mainContainer":{"volumeMounts":[{"name":"own","mountPath":"/own"}]}})"),
     "/extraPodSpec/mainContainer/volumeMounts/1",
     R"({"name":"epp-config","mountPath":"/etc/epp","readOnly":true})", kComplete},
    {"no duplicate mount path, which the schema rejects",
     epp(R"("extraPodSpec":{"mainContainer":{"volumeMounts":[{"name":"own","mountPath":"/etc/epp"}]}})"),
     "/extraPodSpec/mainContainer/volumeMounts/1",
     R"({"name":"hf-cache","mountPath":"/home/nonroot/.cache"})", kComplete},
    {"atomic lists are never completed", epp(R"("volumeMounts":[{"name":"own","mountPoint":"/own"}])"),
     "/volumeMounts", R"([{"name":"own","mountPoint":"/own"}])"},
    {"configuration of an epp", epp(R"("eppConfig":{"configMapRef":{"name":"mine","key":"k"}})"),
     "/extraPodSpec/volumes/0/configMap",
     R"({"name":"mine","items":[{"key":"k","path":"epp-config-dynamo.yaml"}]})"},
    // Shared memory.
    {"size of the user's", R"({"sharedMemory":{"size":"1Gi"}})", "/sharedMemory", R"({"size":"1Gi"})"},
    {"a size of zero is replaced by rendering", R"({"sharedMemory":{"size":"0"}})", "/sharedMemory",
     R"({"size":"0"})"},
    {"disabled", R"({"sharedMemory":{"disabled":true}})", "/sharedMemory", R"({"disabled":true})"},
    {"a block without size is rejected, not completed", R"({"sharedMemory":{"disabled":false}})",
     "/sharedMemory", R"({"disabled":false})"},
    {"a mount of the user's at /dev/shm",
     container(R"("volumeMounts":[{"name":"x","mountPath":"/dev/shm"}])"), "/sharedMemory", "-"},
    {"the operator's volume at /dev/shm (pod-Q11a)",
     container(R"("volumeMounts":[{"name":"shared-memory","mountPath":"/dev/shm"}])"), "/sharedMemory",
     R"({"size":"8Gi"})"},
    {"a claim at /dev/shm/", R"({"volumeMounts":[{"name":"x","mountPoint":"/dev/shm/"}]})", "/sharedMemory",
     "-"},
    {"a claim at /dev/shm", R"({"volumeMounts":[{"name":"x","mountPoint":"/dev/shm"}]})", "/sharedMemory",
     "-"},
    {"a volume of that name", R"({"extraPodSpec":{"volumes":[{"name":"shared-memory","emptyDir":{}}]}})",
     "/sharedMemory", "-"},
    // A site's defaults.
    {"another number", worker("\"replicas\":2"), "/extraPodSpec/mainContainer/startupProbe/failureThreshold",
     "9", R"({"types":{"worker":{"mainContainer":{"startupProbe":{"failureThreshold":9}}}}})"},
    {"a default removed by the configuration", "{}", "/extraPodSpec/securityContext", "-",
     R"({"common":{"podSpec":{"securityContext":null}}})"},
    {"any field of the pod in the configuration", "{}", "/extraPodSpec/tolerations", R"([{"key":"g"}])",
     R"({"common":{"podSpec":{"tolerations":[{"key":"${graph}"}]}}})"},
    {"any field of the container in the configuration", "{}", "/extraPodSpec/mainContainer/imagePullPolicy",
     R"("Always")", R"({"common":{"mainContainer":{"imagePullPolicy":"Always"}}})"},
    {"schema defaults in configured fields", "{}", "/extraPodSpec/mainContainer/ports/0/protocol", R"("TCP")",
     R"({"common":{"mainContainer":{"ports":[{"containerPort":1}]}}})"},
    {"a component type of the configuration", R"({"componentType":"router"})", "/extraPodSpec/restartPolicy",
     R"("OnFailure")", R"({"types":{"router":{"podSpec":{"restartPolicy":"OnFailure"}}}})"},
    {"no shared memory", "{}", "/sharedMemory", R"({"disabled":true})",
     R"({"common":{"sharedMemory":{"disabled":true}}})"},
    {"the user's block stays unchanged", R"({"sharedMemory":{}})", "/sharedMemory", "{}",
     R"({"common":{"sharedMemory":{"disabled":true}}})"},
    {"a configured variable overrides a variable of the operator", "{}", "/extraPodSpec/mainContainer/env/1",
     R"({"name":"DYN_DISCOVERY_BACKEND","value":"mine"})",
     R"({"common":{"mainContainer":{"env":{"DYN_DISCOVERY_BACKEND":"mine"}}}})"},
};

TEST_CASE("the user's fields override defaults") {
  for (const Row& row : kRows) {
    INFO(row.what << ": " << row.service);
    json::Allocator allocator;
    const test::Admission admission{row.overlay};
    const json::Value graph =
        admission.create(test::parse(R"({"apiVersion":"nvidia.com/v1alpha1","kind":"DynamoGraphDeployment",)"
                                     R"("metadata":{"name":"g","namespace":"ns"},"spec":{)" +
                                         std::string{row.graph} + R"("services":{"a":)" + row.service + "}}}",
                                     allocator),
                         allocator);
    CHECK(test::at(graph, std::string{"/spec/services/a"} + row.pointer) == row.wanted);
  }
}

TEST_CASE("settings of the configuration become variables") {
  json::Allocator allocator;
  test::Admission admission;
  admission.config.infrastructure = {"nats", "etcd", "mx", "prometheus"};
  admission.config.discoveryBackend = "etcd";
  const json::Value graph =
      admission.create(test::parse(R"({"kind":"DynamoGraphDeployment","metadata":{"name":"g"},
                      "spec":{"services":{"a":{"envs":[{"name":"ETCD_ENDPOINTS","value":"own"}]}}}})",
                                   allocator),
                       allocator);
  const std::string env = test::at(graph, "/spec/services/a/extraPodSpec/mainContainer/env");
  CHECK(env.find(R"({"name":"NATS_SERVER","value":"nats"})") != std::string::npos);
  CHECK(env.find(R"({"name":"MODEL_EXPRESS_URL","value":"mx"})") != std::string::npos);
  CHECK(env.find(R"({"name":"PROMETHEUS_ENDPOINT","value":"prometheus"})") != std::string::npos);
  CHECK(env.find("ETCD_ENDPOINTS") == std::string::npos);
  CHECK(env.find("DYN_DISCOVERY_BACKEND") == std::string::npos);
  CHECK(env.find(R"({"name":"DYN_NAMESPACE","value":"ns-g"})") != std::string::npos);
  CHECK(test::at(graph, "/spec/services/a/extraPodSpec/serviceAccountName") == "-");
}

struct NameRow {
  const char* what;
  const char* object;  ///< without apiVersion
  const char* pointer;
  const char* wanted;
};

TEST_CASE("names that defaults depend on") {
  const NameRow row = GENERATE(values<NameRow>({
      {"generateName: defaults with the graph's name are left to rendering",
       R"({"kind":"DynamoGraphDeployment","metadata":{"generateName":"g-"},"spec":{"services":{"a":{}}}})",
       "/spec/services/a/extraPodSpec/mainContainer/env",
       R"([{"name":"DYN_COMPONENT"},{"name":"DYN_DISCOVERY_BACKEND","value":"kubernetes"},)"
       R"({"name":"DYN_PARENT_DGD_K8S_NAMESPACE","value":"ns"},)"
       R"({"name":"POD_NAME","valueFrom":{"fieldRef":{"fieldPath":"metadata.name"}}},)"
       R"({"name":"POD_NAMESPACE","valueFrom":{"fieldRef":{"fieldPath":"metadata.namespace"}}},)"
       R"({"name":"POD_UID","valueFrom":{"fieldRef":{"fieldPath":"metadata.uid"}}}])"},
      {"generateName: the account is left to rendering",
       R"({"kind":"DynamoGraphDeployment","metadata":{"generateName":"g-"},"spec":{"services":{"a":{}}}})",
       "/spec/services/a/extraPodSpec/serviceAccountName", "-"},
      {"the global Dynamo namespace needs no name",
       R"({"kind":"DynamoGraphDeployment","metadata":{"generateName":"g-"},
           "spec":{"services":{"a":{"globalDynamoNamespace":true}}}})",
       "/spec/services/a/extraPodSpec/mainContainer/env/2", R"({"name":"DYN_NAMESPACE","value":"dynamo"})"},
      {"generateName: arguments of an epp are left to rendering",
       R"({"kind":"DynamoGraphDeployment","metadata":{"generateName":"g-"},
           "spec":{"services":{"a":{"componentType":"epp"}}}})",
       "/spec/services/a/extraPodSpec/mainContainer/args", "-"},
      {"generateName: volumes of an epp are left to rendering",
       R"({"kind":"DynamoGraphDeployment","metadata":{"generateName":"g-"},
           "spec":{"services":{"a":{"componentType":"epp"}}}})",
       "/spec/services/a/extraPodSpec/volumes", "-"},
      {"generateName: volumes of an epp with a named ConfigMap",
       R"({"kind":"DynamoGraphDeployment","metadata":{"generateName":"g-"},
           "spec":{"services":{"a":{"componentType":"epp","eppConfig":{"configMapRef":{"name":"m","key":"k"}}}}}})",
       "/spec/services/a/extraPodSpec/volumes/0/configMap/name", R"("m")"},
      {"the object's namespace overrides the request's",
       R"({"kind":"DynamoGraphDeployment","metadata":{"name":"g","namespace":"own"},"spec":{"services":{"a":{}}}})",
       "/spec/services/a/extraPodSpec/mainContainer/env/2", R"({"name":"DYN_NAMESPACE","value":"own-g"})"},
      {"a graph's annotation selects the discovery backend",
       R"({"kind":"DynamoGraphDeployment",
           "metadata":{"name":"g","annotations":{"nvidia.com/dynamo-discovery-backend":"etcd"}},
           "spec":{"services":{"a":{}}}})",
       "/spec/services/a/extraPodSpec/serviceAccountName", "-"},
      {"the component's annotation overrides the graph's",
       R"({"kind":"DynamoGraphDeployment",
           "metadata":{"name":"g","annotations":{"nvidia.com/dynamo-discovery-backend":"etcd"}},
           "spec":{"services":{"a":{"annotations":{"nvidia.com/dynamo-discovery-backend":"kubernetes"}}}}})",
       "/spec/services/a/extraPodSpec/serviceAccountName", R"("g-k8s-service-discovery")"},
      {"a component on its own is its own graph",
       R"({"kind":"DynamoComponentDeployment","metadata":{"name":"c"},"spec":{}})",
       "/spec/extraPodSpec/serviceAccountName", R"("c-k8s-service-discovery")"},
      {"the label names the graph",
       R"({"kind":"DynamoComponentDeployment","metadata":{"name":"c",
           "labels":{"nvidia.com/dynamo-graph-deployment-name":"l"}},
           "spec":{"labels":{"nvidia.com/dynamo-graph-deployment-name":"s"}}})",
       "/spec/extraPodSpec/serviceAccountName", R"("l-k8s-service-discovery")"},
      {"the label of the spec names the graph",
       R"({"kind":"DynamoComponentDeployment","metadata":{"name":"c"},
           "spec":{"labels":{"nvidia.com/dynamo-graph-deployment-name":"s"}}})",
       "/spec/extraPodSpec/serviceAccountName", R"("s-k8s-service-discovery")"},
      {"annotations of its metadata have no effect",
       R"({"kind":"DynamoComponentDeployment",
           "metadata":{"name":"c","annotations":{"nvidia.com/dynamo-discovery-backend":"etcd"}},"spec":{}})",
       "/spec/extraPodSpec/serviceAccountName", R"("c-k8s-service-discovery")"},
      {"a component without a graph gets no origin version",
       R"({"kind":"DynamoComponentDeployment","metadata":{"name":"c"},"spec":{}})",
       "/metadata/annotations/nvidia.com~1dynamo-operator-origin-version", "-"},
  }));
  INFO(row.what);
  json::Allocator allocator;
  const test::Admission admission;
  const json::Value object = admission.create(test::parse(row.object, allocator), allocator);
  CHECK(test::at(object, row.pointer) == row.wanted);
}

TEST_CASE("of a list of the user only the item with the unknown name is left out, with userLists complete") {
  json::Allocator allocator;
  const test::Admission admission{kComplete};
  const json::Value object = admission.create(
      test::parse(
          R"({"kind":"DynamoGraphDeployment","metadata":{"generateName":"g-"},"spec":{"services":{"a":{
             "componentType":"epp","extraPodSpec":{"volumes":[{"name":"own"}]}}}}})",
          allocator),
      allocator);
  CHECK(test::at(object, "/spec/services/a/extraPodSpec/volumes") ==
        R"([{"name":"own"},{"name":"hf-cache","emptyDir":{}}])");
}

TEST_CASE("objects of other kinds are unchanged") {
  const char* object = GENERATE(
      R"({"kind":"DynamoComponentDeployment","metadata":{"name":"c",
          "ownerReferences":[{"kind":"DynamoGraphDeployment","name":"g","controller":true}]},
          "spec":{"replicas":null}})",
      R"({"kind":"DynamoModel","spec":{"replicas":null}})", R"({"kind":"DynamoGraphDeployment"})",
      R"({"kind":"DynamoGraphDeployment","spec":null})", R"({"kind":"DynamoGraphDeployment","spec":[]})",
      "[]", "{}");
  INFO(object);
  json::Allocator allocator;
  const test::Admission admission;
  const json::Value request = test::parse(object, allocator);
  CHECK(json::dump(admission.create(request, allocator)) == json::dump(request));
  CHECK(json::dump(admission.update(request, request, allocator)) == json::dump(request));
  CHECK(json::dump(defaults::intent(request, allocator)) == json::dump(request));
}

}  // namespace
}  // namespace dynamo
