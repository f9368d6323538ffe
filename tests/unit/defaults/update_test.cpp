// UPDATE: what stays, what is derived afresh, what becomes the user's. The second webhook's configuration
// differs: a grace period of 60 was kept, one of 90 was derived afresh.

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
    {"another service away", R"({"spec":{"services":{"b":null}}})"},
    {"another service more", R"({"spec":{"services":{"c":{}}}})"},
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
    {"variables with it", ofService(R"("globalDynamoNamespace":true)"),
     kService + "/extraPodSpec/mainContainer/env/4", R"({"name":"DYN_NAMESPACE","value":"dynamo"})"},
    {"discovery of the service", ofService(R"("annotations":{"nvidia.com/dynamo-discovery-backend":"etcd"})"),
     kGrace, "90"},
    {"account with it", ofService(R"("annotations":{"nvidia.com/dynamo-discovery-backend":"etcd"})"),
     kService + "/extraPodSpec/serviceAccountName", "-"},
    {"discovery of the graph",
     R"({"metadata":{"annotations":{"nvidia.com/dynamo-discovery-backend":"etcd"}}})", kGrace, "90"},
    {"a variable of the graph more", R"({"spec":{"envs":[{"name":"SHARED"},{"name":"DYNAMO_PORT"}]}})",
     kGrace, "90"},
    {"that name leaves the container", R"({"spec":{"envs":[{"name":"SHARED"},{"name":"DYNAMO_PORT"}]}})",
     kService + "/extraPodSpec/mainContainer/env/0/name", R"("DYN_COMPONENT")"},
    {"asked for new defaults", R"({"metadata":{"annotations":{"nvidia.com/dynamo-redefault":"1"}}})", kGrace,
     "90"},
    {"a new service gets the new ones", R"({"spec":{"services":{"c":{}}}})",
     "/spec/services/c/extraPodSpec/terminationGracePeriodSeconds", "90"},

    {"a default of the user's own from now on",
     ofService(R"("extraPodSpec":{"terminationGracePeriodSeconds":30})"), kGrace, "30"},
    {"a default taken away comes back",
     ofService(R"("extraPodSpec":{"terminationGracePeriodSeconds":null})")},
    {"all of them", ofService(R"("extraPodSpec":{"securityContext":null,"mainContainer":{"env":null}})"),
     kService + "/extraPodSpec/mainContainer/env/0/name", R"("DYNAMO_PORT")"},
    {"a security context switched off", ofService(R"("extraPodSpec":{"securityContext":{"fsGroup":null}})"),
     kService + "/extraPodSpec/securityContext", "{}"},
    {"a probe of the service takes the place of the default",
     ofService(R"("livenessProbe":{"tcpSocket":{"port":1}})"),
     kService + "/extraPodSpec/mainContainer/livenessProbe", "-"},

    {"a handler of the user's takes the place of the default (pod-Q5)",
     ofService(R"("extraPodSpec":{"mainContainer":{"livenessProbe":{"tcpSocket":{"port":1}}}})"),
     kService + "/extraPodSpec/mainContainer/livenessProbe/httpGet", "-"},
    {"and leaves the rest of the probe",
     ofService(R"("extraPodSpec":{"mainContainer":{"readinessProbe":{"exec":{"command":["a"]}}}})"),
     kService + "/extraPodSpec/mainContainer/readinessProbe/timeoutSeconds", "3"},
    {"a member of the handler does not",
     ofService(R"("extraPodSpec":{"mainContainer":{"livenessProbe":{"httpGet":{"path":"/x"}}}})"),
     kService + "/extraPodSpec/mainContainer/livenessProbe/httpGet/path", R"("/x")"},
    {"nor do numbers", ofService(R"("extraPodSpec":{"mainContainer":{"livenessProbe":{"periodSeconds":7}}})"),
     kService + "/extraPodSpec/mainContainer/livenessProbe/httpGet/path", R"("/live")"},

    {"replicas taken away", ofService(R"("replicas":null)"), kService + "/replicas", "1",
     R"({"replicas":4})"},
    {"replicas taken away under an adapter", ofService(R"("replicas":null)"), kService + "/replicas", "4",
     R"({"replicas":4,"scalingAdapter":{"enabled":true}})"},
    {"replicas handed over to an adapter", ofService(R"("replicas":null,"scalingAdapter":{"enabled":true})"),
     kService + "/replicas", "4", R"({"replicas":4})"},
    {"replicas 0 are a value", ofService(R"("replicas":null,"scalingAdapter":{"enabled":true})"),
     kService + "/replicas", "0", R"({"replicas":0})"},
};

TEST_CASE("an update keeps what it does not concern") {
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

/// A stored graph, and updates of it by the other webhook.
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

TEST_CASE("a unit that the user changed is the user's for ever") {
  Scene scene;
  scene.stored =
      scene.update(scene.patch(scene.stored, ofService(R"("extraPodSpec":{"restartPolicy":"Never"})")));
  CHECK(scene.intent(scene.stored, kService + "/extraPodSpec") == R"({"restartPolicy":"Never"})");
  // Even with the default's value: it is no longer recorded.
  scene.stored =
      scene.update(scene.patch(scene.stored, ofService(R"("extraPodSpec":{"restartPolicy":"Always"})")));
  CHECK(scene.intent(scene.stored, kService + "/extraPodSpec") == R"({"restartPolicy":"Always"})");
}

TEST_CASE("replicas that were scaled are no default any more") {
  Scene scene;
  CHECK(scene.intent(scene.stored, kService) == R"({"componentType":"frontend"})");
  scene.stored = scene.update(scene.patch(scene.stored, ofService(R"("replicas":5)")));
  CHECK(scene.intent(scene.stored, kService) == R"({"componentType":"frontend","replicas":5})");
  scene.stored = scene.update(scene.patch(scene.stored, ofService(R"("replicas":1)")));
  CHECK(scene.intent(scene.stored, kService) == R"({"componentType":"frontend","replicas":1})");
}

TEST_CASE("replicas that an adapter was given are kept when it goes and everything is derived afresh") {
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

TEST_CASE("kubectl replace of the bare manifest changes nothing and warns of nothing") {
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
                                 "cannot be removed, kept"});
}

TEST_CASE("nor of an object without a record") {
  Scene scene;
  const Value old = scene.patch(scene.manifest, R"({"metadata":{"annotations":{
      "nvidia.com/dynamo-operator-origin-version":"0.9.0"}},"spec":{"services":{"a":{"replicas":1},"b":{"replicas":1}}}})");
  const Value request = scene.patch(old, R"({"metadata":{"annotations":null}})");
  CHECK(json::equal(scene.other.update(request, old, scene.allocator, &scene.warnings), old));
  CHECK(scene.warnings.size() == 1);
}

TEST_CASE("a changed origin version is left to validation, an absent one is not stamped on update") {
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
    defaults::applyDefaults(object, nullptr, {components, scene.admission.config, version, "ns"},
                            scene.allocator);
    CHECK(test::at(object, kOrigin) == "-");
  }
}

TEST_CASE("a record that was edited or dropped is put back") {
  Scene scene;
  for (const char* value : {"null", R"("x")", R"("{\"v\":1}")", R"("{\"v\":9}")"}) {
    const std::string text =
        R"({"metadata":{"annotations":{"nvidia.com/dynamo-defaulted":)" + std::string{value} + "}}}";
    CHECK(json::equal(scene.update(scene.patch(scene.stored, text)), scene.stored));
  }
  CHECK(scene.warnings.empty());
}

TEST_CASE("an object that bypassed admission is left alone until its intent changes") {
  Scene scene;
  const Value old = scene.patch(scene.manifest, ofService(R"("replicas":3)"));
  const Value labelled = scene.patch(old, R"({"metadata":{"labels":{"a":"b"}}})");
  const Value updated = scene.other.update(labelled, old, scene.allocator);
  CHECK(test::at(updated, kService) == R"({"componentType":"frontend","replicas":3})");
  CHECK(test::at(updated, "/spec/services/b/replicas") == "1");  // replicas are never absent
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

TEST_CASE("new defaults are asked for by a new value only") {
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

TEST_CASE("a later version's record is not touched") {
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

TEST_CASE("what a manager or kubectl's annotation names is the user's") {
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
    // So it stays when everything else is derived afresh.
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

TEST_CASE("CREATE with a record: the same object restored keeps its bytes") {
  Scene scene;
  CHECK(json::equal(scene.other.create(scene.stored, scene.allocator), scene.stored));
}

TEST_CASE("CREATE with a record: under another name everything is derived afresh, the user's stays") {
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

TEST_CASE("CREATE with a record: annotations were copied, the defaults were not") {
  Scene scene;
  Value request = json::copy(scene.manifest, scene.allocator);
  json::set(request, "metadata", json::copy(*json::find(scene.stored, "metadata"), scene.allocator),
            scene.allocator);
  CHECK(json::equal(scene.admission.create(request, scene.allocator), scene.stored));
}

TEST_CASE("an exported, renamed manifest applied again and again stays what the first time made of it") {
  Scene scene;
  const Value exported = scene.patch(scene.stored, R"({"metadata":{"name":"h"}})");
  Value request = json::copy(exported, scene.allocator);
  test::setLastApplied(request, exported, scene.allocator);
  test::setManagedFields(request, request, scene.allocator);
  const Value created = scene.admission.create(request, scene.allocator);
  CHECK(test::at(created, kService + "/extraPodSpec/serviceAccountName") == R"("h-k8s-service-discovery")");
  // kubectl sends the manifest's values, the record among them.
  Value again = test::clientSideApply(created, exported, scene.allocator);
  json::set(again, "metadata", json::copy(*json::find(request, "metadata"), scene.allocator),
            scene.allocator);
  CHECK(json::equal(*json::find(scene.admission.update(again, created, scene.allocator), "spec"),
                    *json::find(created, "spec")));
}

TEST_CASE("an exported manifest applied to its own object makes its values the user's, once") {
  Scene scene;
  Value request = json::copy(scene.stored, scene.allocator);
  test::setLastApplied(request, scene.stored, scene.allocator);
  const Value first = scene.update(request);
  CHECK(json::equal(*json::find(first, "spec"), *json::find(scene.stored, "spec")));
  scene.stored = json::copy(first, scene.allocator);
  Value again = json::copy(request, scene.allocator);
  CHECK(json::equal(scene.update(again), first));
}

TEST_CASE("a component that a graph adopts is left alone from then on") {
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

TEST_CASE("server-side apply with a null again and again") {
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

/// A service, what is applied over it from the server's side, and what becomes of it.
struct Overtaken {
  const char* what;
  const char* service;
  const char* applied;  ///< extraPodSpec
  const char* pointer;  ///< below extraPodSpec
  const char* wanted;
};

const char* const kPlain = R"({"componentType":"frontend"})";
const char* const kPicker = R"({"componentType":"epp","eppConfig":{"configMapRef":{"name":"c","key":"k"}}})";

const Overtaken kOvertaken[] = {
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
    {"a port more", kPlain, R"({"mainContainer":{"ports":[{"name":"more","containerPort":9000}]}})",
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
    {"both named: the user's mistake", kPlain,
     R"({"mainContainer":{"livenessProbe":{"httpGet":{"path":"/live","port":"http"},"tcpSocket":{"port":1}},
         "ports":[{"name":"http","containerPort":8000,"protocol":"TCP"},{"name":"http","containerPort":9}]}})",
     "/mainContainer/livenessProbe/httpGet/path", R"("/live")"},
    {"both ports named", kPlain,
     R"({"mainContainer":{"ports":[{"name":"http","containerPort":8000,"protocol":"TCP"},
                                   {"name":"http","containerPort":9,"protocol":"TCP"}]}})",
     "/mainContainer/ports/0/containerPort", "8000"},
};

TEST_CASE("of what only one may be given the user's takes the place of the default (pod-Q5)") {
  for (const Overtaken& row : kOvertaken) {
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
