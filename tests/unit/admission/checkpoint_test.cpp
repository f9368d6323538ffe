// What admission says where checkpoints are made (quirks pod-Q11b, pod-Q39): DynamoCheckpoints are judged by
// their Job's pod.

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
  return Settings{std::move(config), ""};
}

json::Document stored(std::string_view text, const Settings& settings) {
  json::Document made = object(text);
  defaults::applyDefaults(made, nullptr, {settings.defaults, settings.config, "1.0.0", "ns"},
                          made.GetAllocator());
  return made;
}

std::string said(std::string_view text) {
  const Settings on = settings();
  const json::Document made = stored(text, on);
  return lines(validate({json::findText(&made, "kind"), made, nullptr, "u"}, on));
}

void check(const std::vector<test::Row>& rows) {
  test::check([](std::string_view object) { return said(object); }, rows);
}

TEST_CASE("a DynamoCheckpoint is judged by the pod of its Job") {
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
      {"a volume in place of checkpoints", checkpoint(volumeAt("/checkpoints"), volumes),
       mounted("/checkpoints")},
      {"a volume in place of podinfo", checkpoint(volumeAt("/etc/podinfo"), volumes),
       mounted("/etc/podinfo")},
      {"probes that the Job drops",
       checkpoint(R"(,"livenessProbe":{},"startupProbe":{},"readinessProbe":{"httpGet":{"port":0}})"), ""},
      {"probes of a sidecar", checkpoint(R"(},{"name":"b","image":"i:1","livenessProbe":{})"),
       "E pod.handler " + spec +
           "containers[1].livenessProbe: Required value: a handler: one of exec, httpGet, "
           "tcpSocket, grpc\n"},
      {"always restarted", checkpoint("", R"(,"restartPolicy":"Always")"), ""},
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

/// A worker "a" that is checkpointed by its identity.
std::string worker(std::string_view members, std::string_view pod = "", std::string_view main = "",
                   std::string_view checkpoint = R"("identity":{"model":"m","backendFramework":"vllm"})",
                   std::string_view claims = R"({"name":"c"})") {
  return graph(fmt::format(
      R"("services":{{"a":{{"componentType":"worker","checkpoint":{{"enabled":true,{}}},"extraPodSpec":{{)"
      R"("mainContainer":{{"image":"i:1","command":["python3"],"args":["-m","dynamo.vllm"]{}}}{}}}{}}}}},"pvcs":[{}])",
      checkpoint, main, pod, members, claims));
}

TEST_CASE("a DynamoCheckpoint that the operator makes of a service is admitted") {
  const Settings on = settings();
  json::Document made = stored(worker("", R"(,"containers":[{"name":"b","image":"i:1","volumeMounts":[)"
                                          R"({"name":"checkpoint-storage","mountPath":"/c"}]}])"),
                               on);
  CHECK(lines(validate({"DynamoGraphDeployment", made, nullptr, "u"}, on)).empty());
  const render::Children children = render::renderAll(made, on.context(), {});
  int found = 0;
  for (const render::Child& child : children.items) {
    if (json::findText(&child.object, "kind") != "DynamoCheckpoint") continue;
    ++found;
    CHECK(lines(validate({"DynamoCheckpoint", child.object, nullptr, "u"}, on)).empty());
  }
  CHECK(found == 1);
}

TEST_CASE("names and places of the operator's in pods with checkpoints (pod-Q11b)") {
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
        "E service.mount-own-name {}volumeMounts[0].name: Duplicate value: \"{}\": checkpoints need "
        "the operator's volume of this name\n",
        a, name);
  };
  const auto there = [&](std::string_view field, std::string_view path) {
    return fmt::format(
        "E service.mount-own-point {}{}: Duplicate value: \"{}\": the operator mounts something there\n", a,
        field, path);
  };
  const std::string replaced =
      "W service.mount-own-replaced " + a +
      "extraPodSpec.volumes[0].name: replaces the operator's own volume of this name\n";
  check({
      {"another claim", claim("c", "/c"), ""},
      {"a claim named as the checkpoints' volume", claim("checkpoint-storage", "/q"),
       own("checkpoint-storage")},
      {"a claim named podinfo", claim("podinfo", "/q"), own("podinfo")},
      {"a claim at the checkpoints' place", claim("c", "/checkpoints"),
       there("volumeMounts[0].mountPoint", "/checkpoints")},
      {"a mount at podinfo's place", mount("v", "/etc/podinfo"),
       there("extraPodSpec.mainContainer.volumeMounts[0].mountPath", "/etc/podinfo")},
      {"the operator's volume at its place", mount("checkpoint-storage", "/checkpoints"), ""},
      {"the operator's volume elsewhere", mount("checkpoint-storage", "/q"),
       "W service.mount-own-replaced " + mounts +
           "takes the place of the operator's own mount at /checkpoints\n"},
      {"a volume in place of the checkpoints'", volume(R"({"name":"checkpoint-storage","emptyDir":{}})"),
       replaced},
      {"a volume in place of podinfo", volume(R"({"name":"podinfo","emptyDir":{}})"), replaced},
      {"the checkpoints' own claim",
       volume(R"({"name":"checkpoint-storage","persistentVolumeClaim":{"claimName":"snapshot-pvc"}})"), ""},
  });
}

TEST_CASE("the name main belongs to the container that is checkpointed (pod-Q39)") {
  const auto named = [](std::string_view list, std::string_view name, std::string_view checkpoint) {
    return worker("", fmt::format(R"(,"{}":[{{"name":"{}","image":"i:1"}}])", list, name), R"(,"name":"foo")",
                  checkpoint);
  };
  const std::string identity = R"("identity":{"model":"m","backendFramework":"vllm"})";
  const auto taken = [](std::string_view list) {
    return fmt::format(
        "E service.checkpoint-main spec.services[a].extraPodSpec.{}[0].name: Duplicate value: "
        "\"main\": is the main container's name in the pod that is checkpointed\n",
        list);
  };
  check({
      {"a sidecar", named("containers", "main", identity), taken("containers")},
      {"an init container", named("initContainers", "main", identity), taken("initContainers")},
      {"another name", named("containers", "b", identity), ""},
      {"made by hand", named("containers", "main", identity + R"(,"mode":"Manual")"), ""},
      {"by reference", named("containers", "main", R"("checkpointRef":"x")"), ""},
  });
}

}  // namespace
}  // namespace dynamo::admission
