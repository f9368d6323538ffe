// The Job of a DynamoGraphDeploymentRequest, what belongs to it, and what the profiler is told.
#include "common/render/profiling_job.h"

#include <map>
#include <vector>

#include "common/api/kinds.h"
#include "common/conversion/dgdr.h"
#include "profiling_support.h"

namespace dynamo::render::test {
namespace {

using json::Value;

constexpr const char* kPlainJob = R"({
  "apiVersion": "batch/v1", "kind": "Job",
  "metadata": {
    "name": "profile-r", "namespace": "ns",
    "labels": {"app": "dynamo-profiler", "dgdr": "r", "nvidia.com/managed-by": "dynamo-operator"},
    "ownerReferences": [{
      "apiVersion": "nvidia.com/v1beta1", "kind": "DynamoGraphDeploymentRequest", "name": "r", "uid": "u-1",
      "controller": true, "blockOwnerDeletion": true}]},
  "spec": {
    "backoffLimit": 3,
    "template": {
      "spec": {
        "restartPolicy": "Never",
        "serviceAccountName": "dgdr-profiling-job",
        "securityContext": {"runAsNonRoot": true, "runAsUser": 1000, "runAsGroup": 1000, "fsGroup": 1000},
        "imagePullSecrets": [{"name": "nvcr-imagepullsecret"}],
        "containers": [
          {"name": "profiler", "image": "i:1", "workingDir": "/workspace",
           "command": ["python", "-m", "dynamo.profiler"],
           "args": ["--config",
                    "{\"model\":\"m\",\"image\":\"i:1\",\"hardware\":{\"gpuSku\":\"h200_sxm\",\"vramMb\":141000,\"numGpusPerNode\":8}}",
                    "--output-dir", "/data"],
           "env": [
             {"name": "HUGGING_FACE_HUB_TOKEN",
              "valueFrom": {"secretKeyRef": {"name": "hf-token-secret", "key": "HF_TOKEN", "optional": true}}},
             {"name": "NATS_SERVER", "value": "nats://ns-nats:4222"},
             {"name": "ETCD_ENDPOINTS", "value": "ns-etcd:2379"},
             {"name": "DGDR_NAME", "value": "r"},
             {"name": "DGDR_NAMESPACE", "value": "ns"},
             {"name": "DGDR_UID", "value": "u-1"}],
           "volumeMounts": [{"name": "profiling-output", "mountPath": "/data"}]},
          {"name": "output-copier", "image": "bitnami/kubectl:latest", "command": ["/bin/sh", "-c"],
           "args": ["SCRIPT"],
           "volumeMounts": [{"name": "profiling-output", "mountPath": "/data", "readOnly": true}]}],
        "volumes": [{"name": "profiling-output", "emptyDir": {}}]}}}})";

TEST_CASE("the profiling Job of a request that only says what it must") {
  const Setup setup;
  const Children children = profiled(request(), setup);
  json::Document job;
  job.CopyFrom(jobOf(children), job.GetAllocator());
  Value& script = (*json::find(
      (*json::find(*json::find(*json::find(*json::find(job, "spec"), "template"), "spec"), "containers"))[1],
      "args"))[0];
  CHECK(json::text(script).starts_with("namespace=ns\nconfig_map=dgdr-output-r\n"));
  script.SetString("SCRIPT");
  const json::Document wanted = parsed(kPlainJob);
  INFO(json::dump(job));
  CHECK(json::equal(job, wanted));
}

TEST_CASE("where results and models lie, and which addresses and images are used") {
  struct Row {
    const char* what;
    std::string request;
    field::Path path;
    std::string value;
  };
  const field::Path mounts = kProfiler / "volumeMounts";
  const field::Path volumes = kPodSpec / "volumes";
  const std::string reference = R"("nvidia.com/dgdr-config-map-ref":)";
  std::vector<Row> rows;
  const auto row = [&](const char* what, std::string made, const field::Path& path, const char* value) {
    rows.push_back({what, std::move(made), path, value});
  };
  row("a claim for the results", request("", R"("nvidia.com/dgdr-output-pvc":"out")"), volumes,
      R"([{"name":"profiling-output","persistentVolumeClaim":{"claimName":"out"}}])");
  row("an empty name is no claim", request("", R"("nvidia.com/dgdr-output-pvc":"")"), volumes,
      R"([{"name":"profiling-output","emptyDir":{}}])");
  row("a model cache at the default path", request(R"("modelCache":{"pvcName":"c"})"), mounts[1],
      R"({"name":"model-cache","mountPath":"/opt/model-cache","readOnly":true})");
  row("a model cache at a path of its own", request(R"("modelCache":{"pvcName":"c","pvcMountPath":"/m"})"),
      mounts[1] / "mountPath", R"("/m")");
  row("the claim of a model cache", request(R"("modelCache":{"pvcName":"c","pvcMountPath":"/m"})"),
      volumes[1], R"({"name":"model-cache","persistentVolumeClaim":{"claimName":"c","readOnly":true}})");
  row("a model cache without claim", request(R"("modelCache":{"pvcMountPath":"/m"})"), mounts[1], "");
  row("a ConfigMap", request("", reference + R"("{\"name\":\"b\"}")"), volumes[1],
      R"({"name":"profiling-config","configMap":{"name":"b","items":[{"key":"disagg.yaml","path":"disagg.yaml"}]}})");
  row("a key of a ConfigMap", request("", reference + R"("{\"name\":\"b\",\"key\":\"k\"}")"),
      volumes[1] / "configMap.items", R"([{"key":"k","path":"disagg.yaml"}])");
  row("the mount of a ConfigMap", request("", reference + R"("{\"name\":\"b\"}")"), mounts[1],
      R"({"name":"profiling-config","mountPath":"/config","readOnly":true})");
  row("a ConfigMap without name", request("", reference + R"("{\"key\":\"k\"}")"), volumes[1], "");
  row("a ConfigMap that is no JSON", request("", reference + R"("{")"), volumes[1], "");
  row("a ConfigMap that is no object", request("", reference + R"("[]")"), volumes[1], "");
  for (const Row& each : rows) {
    INFO(each.what);
    CHECK(at(profiled(each.request), each.path) == each.value);
  }
}

TEST_CASE("addresses and the copier's image are the configuration's") {
  Setup setup;
  setup.config.infrastructure = {"nats://mine:4222", "etcd.mine:2379", "", ""};
  setup.config.outputCopierImage = "kubectl@sha256:ab";
  const Children children = profiled(request(), setup);
  CHECK(at(children, (kProfiler / "env")[1] / "value") == R"("nats://mine:4222")");
  CHECK(at(children, (kProfiler / "env")[2] / "value") == R"("etcd.mine:2379")");
  CHECK(at(children, kCopier / "image") == R"("kubectl@sha256:ab")");
}

TEST_CASE("the copier may be a program instead of a script (life-Q35)") {
  Setup setup;
  setup.config.outputCopierCommand = {"/dynamo-controller", "copy-output"};
  const Children children = profiled(request(), setup);
  CHECK(at(children, kCopier / "command") == R"(["/dynamo-controller","copy-output"])");
  CHECK(at(children, kCopier / "args") == R"(["--request","r","--namespace","ns"])");
}

/// "Kind name (owned)", one a line.
std::string listOf(const Children& children) {
  std::string text;
  for (const Child& child : children.items) {
    const bool owned = json::find(json::find(child.object, "metadata"), "ownerReferences") != nullptr;
    text += child.key.kind + ' ' + child.key.name + (owned ? " (owned)\n" : "\n");
  }
  return text;
}

TEST_CASE("the account of the Job, and its rights") {
  Setup setup;
  setup.config.rbac.dgdrProfilingClusterRoleName = "profiling";
  const std::string account = "ServiceAccount dgdr-profiling-job\nRoleBinding dgdr-profiling-job-binding\n";
  CHECK(listOf(profiled(request(), setup)) == account + "Job profile-r (owned)\n");
  // life-Q26: another account gets the rights, for as long as the request is there.
  const std::string other = overridden(R"(,"serviceAccountName":"mine")");
  const Children children = profiled(other, setup);
  CHECK(listOf(children) == account + "RoleBinding profile-r (owned)\nJob profile-r (owned)\n");
  CHECK(json::dump(*json::find(children.items[2].object, "subjects")) ==
        R"([{"kind":"ServiceAccount","name":"mine","namespace":"ns"}])");
  CHECK(json::dump(*json::find(children.items[2].object, "roleRef")) ==
        R"({"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"profiling"})");
  setup.config.namespaces.restricted = "ns";
  CHECK(listOf(profiled(other, setup)) == "Job profile-r (owned)\n");
}

TEST_CASE("the Job is created once, after its account and rights") {
  Setup setup;
  setup.config.rbac.dgdrProfilingClusterRoleName = "profiling";
  const Children children = profiled(request(), setup);
  REQUIRE(children.items.size() == 3);
  CHECK((creationOrder(children) == std::vector<std::size_t>{0, 1, 2}));
  CHECK((children.items[0].stage == Stage::Access && children.items[0].policy == Policy::Shared));
  CHECK((children.items[2].stage == Stage::Jobs && children.items[2].policy == Policy::CreatedOnce));
}

TEST_CASE("the profiler gets the spec as JSON") {
  const auto config = [](std::string_view spec) {
    const Setup setup;
    json::Document made = parsed(request(spec));
    json::remove(*json::find(made, "spec"), "image");
    json::set(*json::find(made, "spec"), "image", json::string("i", made.GetAllocator()),
              made.GetAllocator());
    const Children children = renderProfiling(made, setup.context());
    std::string text{json::text(field::valueAt(jobOf(children), (kProfiler / "args")[1]))};
    const std::string hardware = R"("hardware":{"gpuSku":"h200_sxm","vramMb":141000,"numGpusPerNode":8})";
    const auto found = text.find(hardware);
    REQUIRE(found != std::string::npos);
    return text.replace(found, hardware.size(), "HARDWARE");
  };
  struct Row {
    const char* spec;
    const char* config;
  };
  const Row rows[] = {
      {R"("autoApply":false,"searchStrategy":"rapid","backend":"auto")",
       R"({"model":"m","backend":"auto","image":"i",HARDWARE,"searchStrategy":"rapid","autoApply":false})"},
      {R"("sla":{"itl":20,"ttft":200.5},"workload":{"osl":1,"isl":2,"requestRate":4.5,"concurrency":3})",
       R"({"model":"m","image":"i",HARDWARE,"workload":{"isl":2,"osl":1,"concurrency":3,"requestRate":4.5},"sla":{"ttft":200.5,"itl":20}})"},
      {R"("modelCache":{"pvcMountPath":"/m","pvcName":"c","pvcModelPath":""},"workload":{},"sla":null)",
       R"({"model":"m","image":"i","modelCache":{"pvcName":"c","pvcMountPath":"/m"},HARDWARE,"workload":{}})"},
      {R"("features":{"mocker":{"enabled":false},"planner":{"b":1e21,"a":"<&>"}})",
       R"({"model":"m","image":"i",HARDWARE,"features":{"planner":{"a":"\u003c\u0026\u003e","b":1e+21},"mocker":{}}})"},
      {R"("overrides":{"dgd":{"z":1,"a":{}},"profilingJob":{"backoffLimit":0,"template":{"spec":{"tolerations":[{"operator":"Exists","key":"k"}],"containers":[]}}}})",
       R"({"model":"m","image":"i",HARDWARE,"overrides":{"profilingJob":{"backoffLimit":0,"template":{"metadata":{},"spec":{"containers":[],"tolerations":[{"key":"k","operator":"Exists"}]}}},"dgd":{"a":{},"z":1}}})"},
      {R"("futureField":1)", R"({"model":"m","image":"i",HARDWARE})"},
  };
  for (const Row& row : rows) {
    INFO(row.spec);
    CHECK(config(row.spec) == row.config);
  }
}

TEST_CASE("hardware is the user's, and discovery fills what is missing") {
  const auto told = [](std::string_view hardware, bool discovered) {
    Setup setup;
    if (!discovered) setup.facts = {};
    json::Document made = parsed(request());
    Value& spec = *json::find(made, "spec");
    json::remove(spec, "hardware");
    if (!hardware.empty()) {
      json::set(spec, "hardware", json::copy(parsed(hardware), made.GetAllocator()), made.GetAllocator());
    }
    const Children children = renderProfiling(made, setup.context());
    if (!children.errors.empty()) return test::errorsOf(children);
    json::Document config;
    json::parse(json::text(field::valueAt(jobOf(children), (kProfiler / "args")[1])), config);
    return json::dump(*json::find(config, "hardware"));
  };
  const std::string missing = ": Required value: GPU discovery has not found it\n";
  const std::string all = R"({"gpuSku":"a100_sxm","vramMb":1.5,"numGpusPerNode":2})";
  CHECK(told("", true) == R"({"gpuSku":"h100_sxm","vramMb":81559,"totalGpus":16,"numGpusPerNode":8})");
  CHECK(told(all, true) == all);
  // life-Q1: what the profiler needs is known; memory and total are those of other GPUs.
  CHECK(told(R"({"gpuSku":"h100_sxm","numGpusPerNode":2})", true) ==
        R"({"gpuSku":"h100_sxm","numGpusPerNode":2})");
  CHECK(told(R"({"gpuSku":"a100_sxm"})", true) == R"({"gpuSku":"a100_sxm","numGpusPerNode":8})");
  CHECK(told(R"({"gpuSku":"h100_sxm"})", true) ==
        R"({"gpuSku":"h100_sxm","vramMb":81559,"totalGpus":16,"numGpusPerNode":8})");
  CHECK(told(R"({"vramMb":5})", true) ==
        R"({"gpuSku":"h100_sxm","vramMb":5,"totalGpus":16,"numGpusPerNode":8})");
  CHECK(told(R"({"totalGpus":64})", true) ==
        R"({"gpuSku":"h100_sxm","vramMb":81559,"totalGpus":64,"numGpusPerNode":8})");
  CHECK(told(all, false) == all);
  CHECK(told(R"({"gpuSku":"a100_sxm","numGpusPerNode":2})", false) ==
        R"({"gpuSku":"a100_sxm","numGpusPerNode":2})");
  CHECK(told(R"({"gpuSku":"a100_sxm"})", false) == "spec.hardware.numGpusPerNode" + missing);
  CHECK(told("", false) == "spec.hardware.gpuSku" + missing + "spec.hardware.numGpusPerNode" + missing);
}

TEST_CASE("a request without image has no Job") {
  const Setup setup;
  json::Document made = parsed(request());
  json::remove(*json::find(made, "spec"), "image");
  const Children children = renderProfiling(made, setup.context());
  CHECK(children.items.empty());
  CHECK(errorsOf(children) == "spec.image: Required value: the profiler runs in it\n");
}

TEST_CASE("a request of v1alpha1 is profiled as it is stored") {
  json::Document alpha = parsed(
      R"({"apiVersion":"nvidia.com/v1alpha1","kind":"DynamoGraphDeploymentRequest","metadata":{"name":"r",)"
      R"("namespace":"ns"},"spec":{"model":"m","backend":"vllm","profilingConfig":{"profilerImage":"i:1",)"
      R"("outputPVC":"out","configMapRef":{"name":"b","key":"k"},"nodeSelector":{"a":"b"},)"
      R"("resources":{"limits":{"cpu":"2"}},"tolerations":[{"key":"k","operator":"Exists"}],)"
      R"("config":{"deployment":{"modelCache":{"pvcName":"c","mountPath":"/old"}},"sla":{"ttft":1,"itl":2}}}}})");
  json::Document stored;
  REQUIRE_FALSE(conversion::convertDgdr(alpha, api::kV1beta1, stored, stored.GetAllocator()));
  const Setup setup;
  const Children children = renderProfiling(stored, setup.context());
  CHECK(at(children, kProfiler / "image") == R"("i:1")");
  CHECK(at(children, kProfiler / "resources") == R"({"limits":{"cpu":"2"}})");
  CHECK(at(children, kPodSpec / "tolerations") == R"([{"key":"k","operator":"Exists"}])");
  CHECK(at(children, kPodSpec / "nodeSelector").empty());
  CHECK(at(children, (kPodSpec / "volumes")[0] / "persistentVolumeClaim") == R"({"claimName":"out"})");
  CHECK(at(children, (kPodSpec / "volumes")[2] / "configMap.items") ==
        R"([{"key":"k","path":"disagg.yaml"}])");
  // conv-Q8
  CHECK(at(children, (kProfiler / "volumeMounts")[1]) ==
        R"({"name":"model-cache","mountPath":"/old","readOnly":true})");
}

TEST_CASE("a trial has the Job but for the operator's arguments and variables") {
  const Setup setup;
  const json::Document made =
      parsed(overridden(R"(,"volumes":[{"name":"v","emptyDir":{}}])", R"(,"image":"i:2")"));
  Context trial = setup.context();
  trial.placeholderWorkerHash = "trial";
  json::Document memory;
  const Value spec = profilingJobSpec(made, trial, memory.GetAllocator());
  const Children children = renderProfiling(made, setup.context());
  Value whole = json::copy(*specOf(jobOf(children)), memory.GetAllocator());
  Value& containers = *json::find(*json::find(*json::find(whole, "template"), "spec"), "containers");
  for (Value& container : containers.GetArray()) CHECK(json::remove(container, "args"));
  CHECK(json::remove(containers[0], "env"));
  CHECK(json::equal(spec, whole));
}

}  // namespace
}  // namespace dynamo::render::test
