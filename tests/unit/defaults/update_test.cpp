// UPDATE: which defaults are kept, which are derived again and which values become the user's. The second
// webhook has another configuration: a grace period of 60 was kept, one of 90 was derived again.

#include <catch2/catch.hpp>

#include "common/api/dynamo.h"
#include "tests/unit/defaults/api_server.h"
#include "tests/unit/defaults/support.h"

namespace dynamo {
namespace {

using json::Allocator;
using json::Value;

const char* const kOther = R"({"common":{"podSpec":{"terminationGracePeriodSeconds":90}}})";
const std::string kService = "/spec/services/a";
const std::string kGrace = kService + "/extraPodSpec/terminationGracePeriodSeconds";
const std::string kOrigin = "/metadata/annotations/nvidia.com~1dynamo-operator-origin-version";
const std::string kRecord = "/metadata/annotations/nvidia.com~1dynamo-defaulted";

std::string graphText(const std::string& service) {
  return R"({"apiVersion":"nvidia.com/v1alpha1","kind":"DynamoGraphDeployment",)"
         R"("metadata":{"name":"g","namespace":"ns"},)"
         R"("spec":{"envs":[{"name":"SHARED","value":"1"}],"services":{"a":)" +
         service + R"(,"b":{"componentType":"planner"}}}})";
}

Value patched(const Value& object, const std::string& patch, Allocator& allocator) {
  Value made = json::copy(object, allocator);
  model::mergePatch(made, test::parse(patch, allocator), allocator);
  return made;
}

std::string ofService(const std::string& members) {
  return R"({"spec":{"services":{"a":{)" + members + "}}}}";
}

struct Row {
  const char* what;
  std::string patch;  ///< RFC 7386, over the stored object
  std::string pointer = kGrace;
  const char* wanted = "60";
  const char* service = R"({"componentType":"frontend","extraPodSpec":{"mainContainer":{"image":"i:1"}}})";
};

const Row kRows[] = {
    {"nothing", "{}"},
    {"replicas", ofService(R"("replicas":5)")},
    {"restart", R"({"spec":{"restart":{"id":"1"}}})"},
    {"scaling adapter", ofService(R"("scalingAdapter":{"enabled":true})")},
    {"labels of the service", ofService(R"("labels":{"a":"b"})")},
    {"unrelated annotations of the service", ofService(R"("annotations":{"a":"b"})")},
    {"labels", R"({"metadata":{"labels":{"a":"b"}}})"},
    {"finalizers", R"({"metadata":{"finalizers":["a/b"]}})"},
    {"unrelated annotations", R"({"metadata":{"annotations":{"a/b":"c"}}})"},
    {"value of a variable of the graph", R"({"spec":{"envs":[{"name":"SHARED","value":"2"}]}})"},
    {"another service", R"({"spec":{"services":{"b":{"resources":{"limits":{"cpu":"1"}}}}}})"},
    {"another service removed", R"({"spec":{"services":{"b":null}}})"},
    {"another service added", R"({"spec":{"services":{"c":{}}}})"},
    {"framework", R"({"spec":{"backendFramework":"vllm"}})"},

    {"image", ofService(R"("extraPodSpec":{"mainContainer":{"image":"i:2"}})"), kGrace, "90"},
    {"type", ofService(R"("componentType":"worker")"), kGrace, "90"},
    {"new ports with the type", ofService(R"("componentType":"worker")"),
     kService + "/extraPodSpec/mainContainer/ports/0/containerPort", "9090"},
    {"no arguments of the old type", ofService(R"("componentType":"worker")"),
     kService + "/extraPodSpec/mainContainer/args", "-"},
    {"no variables of the old type", ofService(R"("componentType":"planner")"),
     kService + "/extraPodSpec/mainContainer/env/0/name", R"("DYN_COMPONENT")"},
    {"global Dynamo namespace", ofService(R"("globalDynamoNamespace":true)"), kGrace, "90"},
    {"its variables", ofService(R"("globalDynamoNamespace":true)"),
     kService + "/extraPodSpec/mainContainer/env/4", R"({"name":"DYN_NAMESPACE","value":"dynamo"})"},
    {"discovery of the service", ofService(R"("annotations":{"nvidia.com/dynamo-discovery-backend":"etcd"})"),
     kGrace, "90"},
    {"its service account", ofService(R"("annotations":{"nvidia.com/dynamo-discovery-backend":"etcd"})"),
     kService + "/extraPodSpec/serviceAccountName", "-"},
    {"discovery of the graph",
     R"({"metadata":{"annotations":{"nvidia.com/dynamo-discovery-backend":"etcd"}}})", kGrace, "90"},
    {"a variable added to the graph", R"({"spec":{"envs":[{"name":"SHARED"},{"name":"DYNAMO_PORT"}]}})",
     kGrace, "90"},
    {"its name is removed from the container",
     R"({"spec":{"envs":[{"name":"SHARED"},{"name":"DYNAMO_PORT"}]}})",
     kService + "/extraPodSpec/mainContainer/env/0/name", R"("DYN_COMPONENT")"},
    {"new defaults requested", R"({"metadata":{"annotations":{"nvidia.com/dynamo-redefault":"1"}}})", kGrace,
     "90"},
    {"a new service gets the new defaults", R"({"spec":{"services":{"c":{}}}})",
     "/spec/services/c/extraPodSpec/terminationGracePeriodSeconds", "90"},

    {"a default value set by the user", ofService(R"("extraPodSpec":{"terminationGracePeriodSeconds":30})"),
     kGrace, "30"},
    {"a removed default is restored", ofService(R"("extraPodSpec":{"terminationGracePeriodSeconds":null})")},
    {"all removed defaults are restored",
     ofService(R"("extraPodSpec":{"securityContext":null,"mainContainer":{"env":null}})"),
     kService + "/extraPodSpec/mainContainer/env/0/name", R"("DYNAMO_PORT")"},
    {"a security context switched off", ofService(R"("extraPodSpec":{"securityContext":{"fsGroup":null}})"),
     kService + "/extraPodSpec/securityContext", "{}"},
    {"a probe of the service replaces the default", ofService(R"("livenessProbe":{"tcpSocket":{"port":1}})"),
     kService + "/extraPodSpec/mainContainer/livenessProbe", "-"},

    {"the user's handler replaces the default (pod-Q5)",
     ofService(R"("extraPodSpec":{"mainContainer":{"livenessProbe":{"tcpSocket":{"port":1}}}})"),
     kService + "/extraPodSpec/mainContainer/livenessProbe/httpGet", "-"},
    {"the user's handler keeps the rest of the probe",
     ofService(R"("extraPodSpec":{"mainContainer":{"readinessProbe":{"exec":{"command":["a"]}}}})"),
     kService + "/extraPodSpec/mainContainer/readinessProbe/timeoutSeconds", "3"},
    {"a member of the handler does not replace it",
     ofService(R"("extraPodSpec":{"mainContainer":{"livenessProbe":{"httpGet":{"path":"/x"}}}})"),
     kService + "/extraPodSpec/mainContainer/livenessProbe/httpGet/path", R"("/x")"},
    {"numbers do not replace the handler",
     ofService(R"("extraPodSpec":{"mainContainer":{"livenessProbe":{"periodSeconds":7}}})"),
     kService + "/extraPodSpec/mainContainer/livenessProbe/httpGet/path", R"("/live")"},

    {"replicas removed", ofService(R"("replicas":null)"), kService + "/replicas", "1", R"({"replicas":4})"},
    {"replicas removed with an adapter", ofService(R"("replicas":null)"), kService + "/replicas", "4",
     R"({"replicas":4,"scalingAdapter":{"enabled":true}})"},
    {"replicas handed over to an adapter", ofService(R"("replicas":null,"scalingAdapter":{"enabled":true})"),
     kService + "/replicas", "4", R"({"replicas":4})"},
    {"replicas 0 are a value", ofService(R"("replicas":null,"scalingAdapter":{"enabled":true})"),
     kService + "/replicas", "0", R"({"replicas":0})"},
};

TEST_CASE("an update keeps unrelated defaults") {
  const test::Admission before;
  const test::Admission after{kOther};
  for (const Row& row : kRows) {
    INFO(row.what << ": " << row.patch);
    Allocator allocator;
    const Value stored = before.create(test::parse(graphText(row.service), allocator), allocator);
    REQUIRE(test::at(stored, kGrace) == "60");
    const Value updated = after.update(patched(stored, row.patch, allocator), stored, allocator);
    CHECK(test::at(updated, row.pointer) == row.wanted);
    CHECK(json::equal(updated, before.update(updated, updated, allocator)));
  }
}

/// A stored graph and updates of it by the second webhook.
struct Scene {
  Allocator allocator;
  test::Admission admission;
  test::Admission other{kOther};
  Value manifest = test::parse(graphText(R"({"componentType":"frontend"})"), allocator);
  Value stored = admission.create(manifest, allocator);
  std::vector<std::string> warnings;

  Value patch(const Value& object, const std::string& text) { return patched(object, text, allocator); }
  Value update(const Value& request) { return other.update(request, stored, allocator, &warnings); }
  std::string intent(const Value& object, const std::string& pointer) {
    return test::at(defaults::intent(object, allocator), pointer);
  }
};

TEST_CASE("a unit that the user changed stays the user's") {
  Scene scene;
  scene.stored =
      scene.update(scene.patch(scene.stored, ofService(R"("extraPodSpec":{"restartPolicy":"Never"})")));
  CHECK(scene.intent(scene.stored, kService + "/extraPodSpec") == R"({"restartPolicy":"Never"})");
  // This also holds for the default value, because the unit is no longer recorded.
  scene.stored =
      scene.update(scene.patch(scene.stored, ofService(R"("extraPodSpec":{"restartPolicy":"Always"})")));
  CHECK(scene.intent(scene.stored, kService + "/extraPodSpec") == R"({"restartPolicy":"Always"})");
}

TEST_CASE("scaled replicas are no longer a default") {
  Scene scene;
  CHECK(scene.intent(scene.stored, kService) == R"({"componentType":"frontend"})");
  scene.stored = scene.update(scene.patch(scene.stored, ofService(R"("replicas":5)")));
  CHECK(scene.intent(scene.stored, kService) == R"({"componentType":"frontend","replicas":5})");
  scene.stored = scene.update(scene.patch(scene.stored, ofService(R"("replicas":1)")));
  CHECK(scene.intent(scene.stored, kService) == R"({"componentType":"frontend","replicas":1})");
}

TEST_CASE("autoscaling owns replicas only with compatibility.autoscaling (dec-3)") {
  for (const bool honoured : {false, true}) {
    Scene scene;
    scene.other.config.compatibilityAutoscaling = honoured;
    scene.stored = scene.admission.create(
        test::parse(graphText(R"({"replicas":4,"autoscaling":{"enabled":true,"maxReplicas":9}})"),
                    scene.allocator),
        scene.allocator);
    scene.stored = scene.update(scene.patch(scene.stored, ofService(R"("replicas":null)")));
    CHECK(test::at(scene.stored, kService + "/replicas") == (honoured ? "4" : "1"));
  }
}

TEST_CASE("replicas handed to an adapter are kept when it is removed and defaults are derived again") {
  Scene scene;
  scene.stored = scene.admission.create(
      test::parse(graphText(R"({"replicas":4,"scalingAdapter":{"enabled":true}})"), scene.allocator),
      scene.allocator);
  scene.stored = scene.update(scene.patch(scene.stored, ofService(R"("replicas":null)")));
  scene.stored =
      scene.update(scene.patch(scene.stored, ofService(R"("scalingAdapter":null,"componentType":"worker")")));
  CHECK(test::at(scene.stored, kService + "/replicas") == "4");
  CHECK(test::at(scene.stored, kGrace) == "90");
}

TEST_CASE("kubectl replace with the user's manifest changes nothing and does not warn") {
  Scene scene;
  const Value owned =
      scene.patch(scene.stored, R"({"metadata":{"annotations":{"nvidia.com/current-worker-hash":"h"}}})");
  const Value updated = scene.other.update(scene.manifest, owned, scene.allocator, &scene.warnings);
  CHECK(json::equal(updated, owned));
  CHECK(scene.warnings.empty());
}

TEST_CASE("the origin version cannot be removed") {
  Scene scene;
  const Value updated = scene.update(scene.patch(scene.stored, R"({"metadata":{"annotations":{
          "nvidia.com/dynamo-operator-origin-version":null}}})"));
  CHECK(json::equal(updated, scene.stored));
  CHECK(scene.warnings ==
        std::vector<std::string>{"metadata.annotations[nvidia.com/dynamo-operator-origin-version]: "
                                 "cannot be removed; the stored value is kept"});
}

TEST_CASE("the origin version of an object without a record cannot be removed") {
  Scene scene;
  const Value old = scene.patch(scene.manifest, R"({"metadata":{"annotations":{
      "nvidia.com/dynamo-operator-origin-version":"0.9.0"}},"spec":{"services":{"a":{"replicas":1},"b":{"replicas":1}}}})");
  const Value request = scene.patch(old, R"({"metadata":{"annotations":null}})");
  CHECK(json::equal(scene.other.update(request, old, scene.allocator, &scene.warnings), old));
  CHECK(scene.warnings.size() == 1);
}

TEST_CASE("a changed origin version is left to validation, and an absent one is not set on update") {
  Scene scene;
  const Value changed = scene.update(scene.patch(
      scene.stored, R"({"metadata":{"annotations":{"nvidia.com/dynamo-operator-origin-version":"0.8.0"}}})"));
  CHECK(test::at(changed, kOrigin) == R"("0.8.0")");
  CHECK(scene.intent(changed, kOrigin) == R"("0.8.0")");
  CHECK(test::at(scene.other.update(scene.manifest, scene.manifest, scene.allocator), kOrigin) == "-");
}

TEST_CASE("stamps on CREATE") {
  Scene scene;
  CHECK(test::at(scene.stored, kOrigin) == R"("1.0.0")");
  CHECK(scene.intent(scene.stored, "/metadata") == R"({"name":"g","namespace":"ns"})");
  const Value given = scene.patch(scene.manifest, R"({"metadata":{"annotations":{
      "nvidia.com/dynamo-operator-origin-version":""}}})");
  CHECK(test::at(scene.admission.create(given, scene.allocator), kOrigin) == R"("")");
  for (const char* version : {"", "unknown"}) {
    Value object = json::copy(scene.manifest, scene.allocator);
    const model::ComponentDefaults components;
    defaults::applyComponentDefaults(object, nullptr, {components, scene.admission.config, version, "ns"},
                                     scene.allocator);
    CHECK(test::at(object, kOrigin) == "-");
  }
}

TEST_CASE("an edited or removed record is restored") {
  Scene scene;
  for (const char* value : {"null", R"("x")", R"("{\"v\":1}")", R"("{\"v\":9}")"}) {
    const std::string text =
        R"({"metadata":{"annotations":{"nvidia.com/dynamo-defaulted":)" + std::string{value} + "}}}";
    CHECK(json::equal(scene.update(scene.patch(scene.stored, text)), scene.stored));
  }
  CHECK(scene.warnings.empty());
}

TEST_CASE("an object that bypassed admission is unchanged until its intent changes") {
  Scene scene;
  const Value old = scene.patch(scene.manifest, ofService(R"("replicas":3)"));
  const Value labelled = scene.patch(old, R"({"metadata":{"labels":{"a":"b"}}})");
  const Value updated = scene.other.update(labelled, old, scene.allocator);
  CHECK(test::at(updated, kService) == R"({"componentType":"frontend","replicas":3})");
  CHECK(test::at(updated, "/spec/services/b/replicas") == "1");  // replicas are always set
  CHECK(test::at(updated, kRecord) ==
        R"("{\"v\":1,\"spec\":{\"services\":{\"b\":{\"replicas\":\"LksQuD\"}}}}")");
  const Value changed =
      scene.other.update(scene.patch(old, ofService(R"("componentType":"worker")")), old, scene.allocator);
  CHECK(test::at(changed, kGrace) == "90");
  const Value asked = scene.other.update(
      scene.patch(old, R"({"metadata":{"annotations":{"nvidia.com/dynamo-redefault":"now"}}})"), old,
      scene.allocator);
  CHECK(test::at(asked, kGrace) == "90");
  CHECK(test::at(asked, "/spec/services/b/extraPodSpec/serviceAccountName") == R"("planner-serviceaccount")");
}

TEST_CASE("only a new annotation value requests new defaults") {
  Scene scene;
  const std::string ask = R"({"metadata":{"annotations":{"nvidia.com/dynamo-redefault":"1"}}})";
  scene.stored = scene.patch(scene.stored, ask);
  CHECK(test::at(scene.update(scene.stored), kGrace) == "60");
  CHECK(test::at(scene.update(scene.patch(scene.stored, R"({"metadata":{"annotations":{
      "nvidia.com/dynamo-redefault":null}}})")),
                 kGrace) == "60");
  CHECK(test::at(scene.update(scene.patch(scene.stored, R"({"metadata":{"annotations":{
      "nvidia.com/dynamo-redefault":"2"}}})")),
                 kGrace) == "90");
}

TEST_CASE("a record of a later version is not changed") {
  Scene scene;
  const Value old = scene.patch(
      scene.stored, R"({"metadata":{"annotations":{"nvidia.com/dynamo-defaulted":"{\"v\":2}"}}})");
  const Value request = scene.patch(old, ofService(R"("componentType":"worker","replicas":null)"));
  const Value updated = scene.other.update(request, old, scene.allocator);
  CHECK(test::at(updated, kRecord) == R"("{\"v\":2}")");
  CHECK(test::at(updated, kGrace) == "60");
  CHECK(test::at(updated, kService + "/replicas") == "1");
  CHECK(json::equal(defaults::intent(old, scene.allocator), old));
}

TEST_CASE("fields named by a field manager or by kubectl's annotation belong to the user") {
  Scene scene;
  const Value written = test::parse(R"({"spec":{"services":{"a":{"extraPodSpec":{"restartPolicy":"Always",
      "mainContainer":{"ports":[{"containerPort":8000,"protocol":"TCP"}],"env":[{"name":"POD_UID"}]}}}}}})",
                                    scene.allocator);
  Value managed = json::copy(scene.stored, scene.allocator);
  test::setManagedFields(managed, written, scene.allocator);
  Value applied = json::copy(scene.stored, scene.allocator);
  test::setLastApplied(applied, written, scene.allocator);
  for (const Value* object : {&managed, &applied}) {
    CHECK(scene.intent(*object, kService) ==
          R"({"componentType":"frontend","extraPodSpec":{"restartPolicy":"Always","mainContainer":{)"
          R"("ports":[{"name":"http","containerPort":8000,"protocol":"TCP"}],)"
          R"("env":[{"name":"POD_UID","valueFrom":{"fieldRef":{"fieldPath":"metadata.uid"}}}]}}})");
    // These fields stay when all others are derived again.
    const Value updated = scene.update(scene.patch(*object, ofService(R"("componentType":"worker")")));
    CHECK(test::at(updated, kService + "/extraPodSpec/mainContainer/ports/0/name") == R"("http")");
    CHECK(test::at(updated, kGrace) == "90");
  }
  test::setLastApplied(applied,
                       test::parse(R"({"spec":{"services":{"a":{"extraPodSpec":null}}}})", scene.allocator),
                       scene.allocator);
  CHECK(scene.intent(applied, kService + "/extraPodSpec") == "-");
  Value broken = scene.patch(scene.stored, R"({"metadata":{"managedFields":["x",{"fieldsV1":1}],
      "annotations":{"kubectl.kubernetes.io/last-applied-configuration":"{"}}})");
  CHECK(scene.intent(broken, kService + "/extraPodSpec") == "-");
}

TEST_CASE("CREATE with a record: a restored object is unchanged") {
  Scene scene;
  CHECK(json::equal(scene.other.create(scene.stored, scene.allocator), scene.stored));
}

TEST_CASE("CREATE with a record: under another name defaults are derived again and the user's fields stay") {
  Scene scene;
  const Value mine =
      scene.update(scene.patch(scene.stored, ofService(R"("extraPodSpec":{"restartPolicy":"Never"})")));
  const Value renamed = scene.patch(mine, R"({"metadata":{"name":"h","namespace":"other"}})");
  const Value created = scene.other.create(renamed, scene.allocator);
  CHECK(test::at(created, kService + "/extraPodSpec/mainContainer/env/4") ==
        R"({"name":"DYN_NAMESPACE","value":"other-h"})");
  CHECK(test::at(created, kService + "/extraPodSpec/serviceAccountName") == R"("h-k8s-service-discovery")");
  CHECK(test::at(created, kService + "/extraPodSpec/restartPolicy") == R"("Never")");
  CHECK(test::at(created, kGrace) == "90");
  CHECK(test::at(created, kOrigin) == R"("1.0.0")");
  CHECK(scene.intent(created, kService + "/extraPodSpec") == R"({"restartPolicy":"Never"})");
}

TEST_CASE("CREATE with a record: only the annotations were copied") {
  Scene scene;
  Value request = json::copy(scene.manifest, scene.allocator);
  json::set(request, "metadata", json::copy(*json::find(scene.stored, "metadata"), scene.allocator),
            scene.allocator);
  CHECK(json::equal(scene.admission.create(request, scene.allocator), scene.stored));
}

TEST_CASE("an exported and renamed manifest can be applied repeatedly without a change") {
  Scene scene;
  const Value exported = scene.patch(scene.stored, R"({"metadata":{"name":"h"}})");
  Value request = json::copy(exported, scene.allocator);
  test::setLastApplied(request, exported, scene.allocator);
  test::setManagedFields(request, request, scene.allocator);
  const Value created = scene.admission.create(request, scene.allocator);
  CHECK(test::at(created, kService + "/extraPodSpec/serviceAccountName") == R"("h-k8s-service-discovery")");
  // kubectl sends the manifest's values with the record.
  Value again = test::clientSideApply(created, exported, scene.allocator);
  json::set(again, "metadata", json::copy(*json::find(request, "metadata"), scene.allocator),
            scene.allocator);
  CHECK(json::equal(*json::find(scene.admission.update(again, created, scene.allocator), "spec"),
                    *json::find(created, "spec")));
}

TEST_CASE("an exported manifest applied to its own object makes its values the user's") {
  Scene scene;
  Value request = json::copy(scene.stored, scene.allocator);
  test::setLastApplied(request, scene.stored, scene.allocator);
  const Value first = scene.update(request);
  CHECK(json::equal(*json::find(first, "spec"), *json::find(scene.stored, "spec")));
  scene.stored = json::copy(first, scene.allocator);
  Value again = json::copy(request, scene.allocator);
  CHECK(json::equal(scene.update(again), first));
}

TEST_CASE("a component that a graph adopts is no longer defaulted") {
  Scene scene;
  const Value alone = scene.admission.create(
      test::parse(R"({"apiVersion":"nvidia.com/v1alpha1","kind":"DynamoComponentDeployment",
          "metadata":{"name":"c","namespace":"ns"},"spec":{"componentType":"worker"}})",
                  scene.allocator),
      scene.allocator);
  CHECK(test::at(defaults::intent(alone, scene.allocator), "/spec") == R"({"componentType":"worker"})");
  const Value adopted =
      scene.patch(alone, R"({"metadata":{"ownerReferences":[{"kind":"DynamoGraphDeployment"}]},
      "spec":{"componentType":"frontend"}})");
  CHECK(json::equal(scene.other.update(adopted, alone, scene.allocator), adopted));
  const Value labelled =
      scene.patch(alone, R"({"metadata":{"labels":{"nvidia.com/dynamo-graph-deployment-name":"l"}}})");
  CHECK(test::at(scene.other.update(labelled, alone, scene.allocator),
                 "/spec/extraPodSpec/serviceAccountName") == R"("l-k8s-service-discovery")");
}

TEST_CASE("repeated server-side apply with a null") {
  Scene scene;
  const Value written = test::parse(
      graphText(R"({"componentType":"frontend","extraPodSpec":{"mainContainer":{"livenessProbe":null}}})"),
      scene.allocator);
  Value request = json::copy(written, scene.allocator);
  test::setManagedFields(request, written, scene.allocator);
  const Value stored = scene.admission.create(request, scene.allocator);
  const std::string probe = kService + "/extraPodSpec/mainContainer/livenessProbe";
  CHECK(test::at(stored, probe + "/periodSeconds") == "10");
  CHECK(scene.intent(stored, probe) == "-");
  CHECK(json::equal(
      scene.other.update(test::serverSideApply(stored, written, scene.allocator), stored, scene.allocator),
      stored));
}

/// A service, a server-side apply over it, and the result.
struct Replaced {
  const char* what;
  const char* service;
  const char* applied;  ///< extraPodSpec
  const char* pointer;  ///< below extraPodSpec
  const char* wanted;
};

const char* const kPlain = R"({"componentType":"frontend"})";
const char* const kPicker = R"({"componentType":"epp","eppConfig":{"configMapRef":{"name":"c","key":"k"}}})";

const Replaced kReplaced[] = {
    {"value over valueFrom", kPlain, R"({"mainContainer":{"env":[{"name":"POD_NAME","value":"x"}]}})",
     "/mainContainer/env/0", R"({"name":"POD_NAME","value":"x"})"},
    {"valueFrom over value", kPlain,
     R"({"mainContainer":{"env":[{"name":"DYN_COMPONENT","valueFrom":{"fieldRef":{"fieldPath":"metadata.uid"}}}]}})",
     "/mainContainer/env/0",
     R"({"name":"DYN_COMPONENT","valueFrom":{"fieldRef":{"fieldPath":"metadata.uid"}}})"},
    {"another source", kPlain,
     R"({"mainContainer":{"env":[{"name":"POD_UID","valueFrom":{"secretKeyRef":{"name":"s","key":"k"}}}]}})",
     "/mainContainer/env/0", R"({"name":"POD_UID","valueFrom":{"secretKeyRef":{"name":"s","key":"k"}}})"},
    {"the name of a port", kPlain, R"({"mainContainer":{"ports":[{"name":"http","containerPort":9000}]}})",
     "/mainContainer/ports", R"([{"name":"http","containerPort":9000,"protocol":"TCP"}])"},
    {"another port", kPlain, R"({"mainContainer":{"ports":[{"name":"more","containerPort":9000}]}})",
     "/mainContainer/ports/0", R"({"name":"http","containerPort":8000,"protocol":"TCP"})"},
    {"a handler", R"({"componentType":"worker"})",
     R"({"mainContainer":{"startupProbe":{"grpc":{"port":1}}}})", "/mainContainer/startupProbe/httpGet", "-"},
    {"a volume", kPicker, R"({"volumes":[{"name":"hf-cache","persistentVolumeClaim":{"claimName":"c"}}]})",
     "/volumes/1", R"({"name":"hf-cache","persistentVolumeClaim":{"claimName":"c"}})"},
    {"a volume beside one of the user's",
     R"({"componentType":"epp","eppConfig":{"configMapRef":{"name":"c","key":"k"}},
         "extraPodSpec":{"volumes":[{"name":"own","emptyDir":{}}]}})",
     R"({"volumes":[{"name":"own","emptyDir":{}},{"name":"hf-cache","hostPath":{"path":"/c"}}]})",
     "/volumes/1", R"({"name":"hf-cache","hostPath":{"path":"/c"}})"},
    {"both written by the user", kPlain,
     R"({"mainContainer":{"livenessProbe":{"httpGet":{"path":"/live","port":"http"},"tcpSocket":{"port":1}},
         "ports":[{"name":"http","containerPort":8000,"protocol":"TCP"},{"name":"http","containerPort":9}]}})",
     "/mainContainer/livenessProbe/httpGet/path", R"("/live")"},
    {"both ports written by the user", kPlain,
     R"({"mainContainer":{"ports":[{"name":"http","containerPort":8000,"protocol":"TCP"},
                                   {"name":"http","containerPort":9,"protocol":"TCP"}]}})",
     "/mainContainer/ports/0/containerPort", "8000"},
};

TEST_CASE("the user's alternative of a union replaces the default one (pod-Q5)") {
  for (const Replaced& row : kReplaced) {
    INFO(row.what);
    Scene scene;
    const Value manifest = test::parse(graphText(row.service), scene.allocator);
    const Value stored = scene.admission.create(manifest, scene.allocator);
    const Value applied = scene.patch(manifest, ofService(R"("extraPodSpec":)" + std::string{row.applied}));
    Value request = test::serverSideApply(stored, applied, scene.allocator);
    test::setManagedFields(request, applied, scene.allocator);
    const Value updated = scene.admission.update(request, stored, scene.allocator);
    CHECK(test::at(updated, kService + "/extraPodSpec" + row.pointer) == row.wanted);
    CHECK(json::equal(updated, scene.admission.update(updated, stored, scene.allocator)));
    CHECK(json::equal(updated, scene.admission.update(updated, updated, scene.allocator)));
  }
}

}  // namespace
}  // namespace dynamo
