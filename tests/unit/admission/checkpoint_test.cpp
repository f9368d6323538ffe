// Findings of admission about checkpoints (pod-Q11b, pod-Q39). The pod of its Job is validated for a
// DynamoCheckpoint.

#include "common/admission/validate.h"
#include "common/defaults/apply.h"
#include "common/render/children.h"
#include "common/render/object.h"
#include "graph_support.h"
#include "rows.h"

namespace dynamo::admission {
namespace {

using rules::test::graph;
using rules::test::lines;
using rules::test::object;

Settings settings() {
  config::OperatorConfig config = config::defaultConfig();
  config.checkpoint.enabled = true;
  return Settings{std::move(config), "1.0.0"};
}

json::Document stored(std::string_view text, const Settings& settings) {
  json::Document made = object(text);
  defaults::applyComponentDefaults(made, nullptr, {settings.defaults, settings.config, "1.0.0", "ns"},
                                   made.GetAllocator());
  return made;
}

std::string findingsOf(std::string_view text) {
  const Settings on = settings();
  const json::Document made = stored(text, on);
  return lines(judge(made, {json::findText(&made, "kind")}, on));
}

void check(const std::vector<test::Row>& rows) {
  test::check([](std::string_view object) { return findingsOf(object); }, rows);
}

TEST_CASE("the pod of the Job is validated for a DynamoCheckpoint") {
  const auto checkpoint = [](std::string_view container, std::string_view pod = "") {
    return fmt::format(
        R"({{"apiVersion":"nvidia.com/v1alpha1","kind":"DynamoCheckpoint","metadata":{{"name":"c","namespace":"ns"}},)"
        R"("spec":{{"identity":{{"model":"m","backendFramework":"vllm"}},"job":{{"podTemplateSpec":{{"spec":{{)"
        R"("containers":[{{"name":"main","image":"i:1"{}}}]{}}}}}}}}}}})",
        container, pod);
  };
  const std::string spec = "spec.job.podTemplateSpec.spec.";
  const std::string main = spec + "containers[0].";
  const auto volumeAt = [](std::string_view path) {
    return fmt::format(R"(,"volumeMounts":[{{"name":"a","mountPath":"/a"}},{{"name":"v","mountPath":"{}"}}])",
                       path);
  };
  const std::string volumes = R"(,"volumes":[{"name":"a","emptyDir":{}},{"name":"v","emptyDir":{}}])";
  const auto mounted = [&](std::string_view path) {
    return fmt::format(
        "E pod.mount-path {}volumeMounts[1].mountPath: Invalid value: \"{}\": must be unique: the "
        "operator mounts something there\n",
        main, path);
  };
  check({
      {"good", checkpoint(""), ""},
      {"a mount of the operator's volume",
       checkpoint(
           R"(,"volumeMounts":[{"name":"checkpoint-storage","mountPath":"/c"},{"name":"podinfo","mountPath":"/p"}])"),
       ""},
      {"a sidecar's mount of it",
       checkpoint(
           R"(},{"name":"b","image":"i:1","volumeMounts":[{"name":"checkpoint-storage","mountPath":"/c"}])"),
       ""},
      {"a volume mounted at the checkpoints' path", checkpoint(volumeAt("/checkpoints"), volumes),
       mounted("/checkpoints")},
      {"a volume mounted at podinfo's path", checkpoint(volumeAt("/etc/podinfo"), volumes),
       mounted("/etc/podinfo")},
      {"probes that the Job removes",
       checkpoint(R"(,"livenessProbe":{},"startupProbe":{},"readinessProbe":{"httpGet":{"port":0}})"), ""},
      {"probes of a sidecar", checkpoint(R"(},{"name":"b","image":"i:1","livenessProbe":{})"),
       "E pod.handler " + spec +
           "containers[1].livenessProbe: Required value: must specify one of: exec, httpGet, tcpSocket, "
           "grpc\n"},
      {"restart policy Always", checkpoint("", R"(,"restartPolicy":"Always")"), ""},
      {"a volume without a name", checkpoint("", R"(,"volumes":[{"emptyDir":{}}])"),
       "E pod.volume-name " + spec + "volumes[0].name: Required value\n"},
      {"a label",
       [&] {
         std::string text = checkpoint("");
         const std::string_view at = R"("podTemplateSpec":{)";
         return text.insert(text.find(at) + at.size(), R"("metadata":{"labels":{"a/b":"-"}},)");
       }(),
       "E pod.label spec.job.podTemplateSpec.metadata.labels[a/b]: Invalid value: \"-\": must "
       "consist of letters, digits, '-', '_' or '.', and start and end with a letter or digit\n"},
  });
}

/// A worker "a" with a checkpoint of its identity.
std::string worker(std::string_view members, std::string_view pod = "", std::string_view main = "",
                   std::string_view checkpoint = R"("identity":{"model":"m","backendFramework":"vllm"})",
                   std::string_view claims = R"({"name":"c"})") {
  return graph(fmt::format(
      R"("services":{{"a":{{"componentType":"worker","checkpoint":{{"enabled":true,{}}},"extraPodSpec":{{)"
      R"("mainContainer":{{"image":"i:1","command":["python3"],"args":["-m","dynamo.vllm"]{}}}{}}}{}}}}},"pvcs":[{}])",
      checkpoint, main, pod, members, claims));
}

TEST_CASE("a DynamoCheckpoint that the operator creates for a service is admitted") {
  const Settings on = settings();
  json::Document made = stored(worker("", R"(,"containers":[{"name":"b","image":"i:1","volumeMounts":[)"
                                          R"({"name":"checkpoint-storage","mountPath":"/c"}]}])"),
                               on);
  CHECK(lines(judge(made, {"DynamoGraphDeployment"}, on)).empty());
  const render::Children children = render::renderAll(made, on.context(), {});
  int found = 0;
  for (const render::Child& child : children.items) {
    if (json::findText(&child.object, "kind") != "DynamoCheckpoint") continue;
    ++found;
    CHECK(lines(judge(child.object, {"DynamoCheckpoint"}, on)).empty());
  }
  CHECK(found == 1);
}

TEST_CASE("the operator's volumes and mount paths in pods with checkpoints (pod-Q11b)") {
  const std::string a = "spec.services[a].";
  const std::string mounts = a + "extraPodSpec.mainContainer.volumeMounts[0].mountPath: ";
  const auto claim = [](std::string_view name, std::string_view point) {
    return worker(fmt::format(R"(,"volumeMounts":[{{"name":"{}","mountPoint":"{}"}}])", name, point), "", "",
                  R"("checkpointRef":"x")", fmt::format(R"({{"name":"{}"}})", name));
  };
  const auto volume = [](std::string_view text) {
    return worker("", fmt::format(R"(,"volumes":[{}])", text));
  };
  const auto mount = [](std::string_view name, std::string_view path) {
    return worker("", R"(,"volumes":[{"name":"v","emptyDir":{}}])",
                  fmt::format(R"(,"volumeMounts":[{{"name":"{}","mountPath":"{}"}}])", name, path));
  };
  const auto own = [&](std::string_view name) {
    return fmt::format(
        "E service.mount-own-name {}volumeMounts[0].name: Duplicate value: \"{}\": is the name of a volume "
        "that the operator needs for checkpoints\n",
        a, name);
  };
  const auto there = [&](std::string_view field, std::string_view path) {
    return fmt::format(
        "E service.mount-own-point {}{}: Duplicate value: \"{}\": the operator mounts a volume at this "
        "path\n",
        a, field, path);
  };
  const std::string replaced = "W service.mount-own-replaced " + a +
                               "extraPodSpec.volumes[0].name: replaces the operator's volume of this name\n";
  check({
      {"another claim", claim("c", "/c"), ""},
      {"a claim named as the checkpoints' volume", claim("checkpoint-storage", "/q"),
       own("checkpoint-storage")},
      {"a claim named podinfo", claim("podinfo", "/q"), own("podinfo")},
      {"a claim at the checkpoints' path", claim("c", "/checkpoints"),
       there("volumeMounts[0].mountPoint", "/checkpoints")},
      {"a mount at podinfo's path", mount("v", "/etc/podinfo"),
       there("extraPodSpec.mainContainer.volumeMounts[0].mountPath", "/etc/podinfo")},
      {"the operator's volume at its own path", mount("checkpoint-storage", "/checkpoints"), ""},
      {"the operator's volume elsewhere", mount("checkpoint-storage", "/q"),
       "W service.mount-own-replaced " + mounts + "replaces the operator's mount at /checkpoints\n"},
      {"a volume named as the checkpoints' volume", volume(R"({"name":"checkpoint-storage","emptyDir":{}})"),
       replaced},
      {"a volume named podinfo", volume(R"({"name":"podinfo","emptyDir":{}})"), replaced},
      {"the checkpoints' own claim",
       volume(R"({"name":"checkpoint-storage","persistentVolumeClaim":{"claimName":"snapshot-pvc"}})"), ""},
  });
}

TEST_CASE("the name main is reserved for the container with the checkpoint (pod-Q39)") {
  const auto named = [](std::string_view list, std::string_view name, std::string_view checkpoint) {
    return worker("", fmt::format(R"(,"{}":[{{"name":"{}","image":"i:1"}}])", list, name), R"(,"name":"foo")",
                  checkpoint);
  };
  const std::string identity = R"("identity":{"model":"m","backendFramework":"vllm"})";
  const auto taken = [](std::string_view list) {
    return fmt::format(
        "E service.checkpoint-main spec.services[a].extraPodSpec.{}[0].name: Duplicate value: "
        "\"main\": is the name of the main container in the checkpointed pod\n",
        list);
  };
  check({
      {"a sidecar", named("containers", "main", identity), taken("containers")},
      {"an init container", named("initContainers", "main", identity), taken("initContainers")},
      {"another name", named("containers", "b", identity), ""},
      {"mode Manual", named("containers", "main", identity + R"(,"mode":"Manual")"), ""},
      {"by reference", named("containers", "main", R"("checkpointRef":"x")"), ""},
  });
}

}  // namespace
}  // namespace dynamo::admission
