#include "tests/unit/defaults/generator.h"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <vector>

#include "common/api/dynamo.h"
#include "common/api/kinds.h"

namespace dynamo::test {

using json::Value;

Value GraphGenerator::pick(Texts options) {
  return text(*(options.begin() + below(static_cast<unsigned>(options.size()))));
}

Value GraphGenerator::parse(Texts options) {
  const std::string_view chosen = *(options.begin() + below(static_cast<unsigned>(options.size())));
  json::Document document;
  document.Parse(chosen.data(), chosen.size());
  if (document.HasParseError()) throw std::logic_error{std::string{chosen}};
  return json::copy(document, allocator_);
}

Value GraphGenerator::oddly(Value&& value) {
  if (!odd_ || !chance(4)) return std::move(value);
  return parse({"null", "null", "{}", "[]", R"("")", "0", R"(["odd"])"});
}

void GraphGenerator::add(Value& parent, std::string_view key, int percent, Value&& value) {
  if (chance(percent)) json::set(parent, key, oddly(std::move(value)), allocator_);
}

Value GraphGenerator::annotations() {
  Value map{rapidjson::kObjectType};
  const auto maybe = [&](std::string_view key, int percent, Value&& value) {
    if (chance(percent)) json::set(map, key, std::move(value), allocator_);
  };
  maybe("team/a~b", 30, text("x"));
  maybe(api::annotation::kDiscoveryBackend, 30, pick({"etcd", "kubernetes", "", "consul"}));
  maybe(api::annotation::kVllmExecutor, 10, pick({"mp", "ray"}));
  maybe(api::annotation::kEnableGrove, 20, pick({"false", "true"}));
  return map;
}

Value GraphGenerator::metadata() {
  Value meta{rapidjson::kObjectType};
  const bool named = !odd_ || !chance(5);
  json::set(meta, named ? "name" : "generateName",
            pick({"graph", "qwen3-0.6b", "a", "llama-3.1.405b-disagg"}), allocator_);
  json::set(meta, "namespace", pick({"ns", "team-a"}), allocator_);
  if (chance(40)) {
    Value map = annotations();
    if (chance(20)) json::set(map, api::annotation::kOriginVersion, text("0.9.0"), allocator_);
    if (!map.ObjectEmpty()) json::set(meta, "annotations", std::move(map), allocator_);
  }
  if (chance(20)) json::set(meta, "labels", parse({R"({"app":"x"})"}), allocator_);
  return meta;
}

Value GraphGenerator::envs() {
  static constexpr std::string_view kNames[] = {
      "HF_TOKEN",    "MY.ODD-name",          "DYN_NAMESPACE", "DYN_SYSTEM_PORT", "POD_NAME",
      "NATS_SERVER", "DYN_HTTP_PORT",        "DYN_COMPONENT", "ETCD_ENDPOINTS",  "A",
      "ZZ",          "DYN_DISCOVERY_BACKEND"};
  Value list{rapidjson::kArrayType};
  for (const std::string_view name : kNames) {
    if (!chance(15)) continue;
    Value entry{rapidjson::kObjectType};
    json::set(entry, "name", text(name), allocator_);
    if (chance(80))
      json::set(entry, "value", pick({"", "v", "8000", "$(POD_NAME)", "kubernetes"}), allocator_);
    if (chance(10)) {
      json::remove(entry, "value");
      json::set(entry, "valueFrom", parse({R"({"fieldRef":{"fieldPath":"status.podIP"}})"}), allocator_);
    }
    list.PushBack(entry, allocator_);
  }
  if (odd_ && chance(3)) list.PushBack(parse({"null", R"("x")", "{}"}), allocator_);
  return list;
}

Value GraphGenerator::probe() {
  return parse({R"({"httpGet":{"path":"/live","port":8080}})", R"({"failureThreshold":5})",
                R"({"exec":{"command":["true"]},"periodSeconds":0})", R"({"grpc":{"port":9003}})",
                R"({"tcpSocket":{"port":"system"},"initialDelaySeconds":10})"});
}

Value GraphGenerator::volumes() {
  return parse(
      {R"([{"name":"own","emptyDir":{}}])", R"([{"name":"hf-cache","emptyDir":{"medium":"Memory"}}])",
       R"([{"name":"shared-memory","emptyDir":{"sizeLimit":"1Gi"}}])",
       R"([{"name":"epp-config","configMap":{"name":"own"}},{"name":"z","hostPath":{"path":"/"}}])"});
}

void GraphGenerator::commandLine(Value& container) {
  add(container, "command", 40,
      parse({R"(["python3"])", R"(["/bin/sh","-c"])", R"(["python3","-m","dynamo.vllm"])",
             R"(["/usr/bin/server"])"}));
  add(container, "args", 50,
      parse({R"(["-m","dynamo.vllm","--model","m","--tensor-parallel-size","8"])",
             R"(["python3 -m dynamo.sglang --model m && echo 'x'"])", R"(["-m","dynamo.trtllm"])",
             R"(["x"])"}));
}

Value GraphGenerator::mainContainer() {
  Value container{rapidjson::kObjectType};
  add(container, "image", 80, pick({"nvcr.io/x/vllm:1.0", "repo:5000/img"}));
  commandLine(container);
  add(container, "env", 40, envs());
  add(container, "ports", 15,
      parse({R"([{"containerPort":8000,"name":"http","protocol":"TCP"}])",
             R"([{"containerPort":1},{"containerPort":1,"protocol":"UDP"}])"}));
  for (const std::string_view name : {"livenessProbe", "readinessProbe", "startupProbe"})
    add(container, name, 12, probe());
  add(container, "volumeMounts", 15,
      parse({R"([{"name":"own","mountPath":"/own"}])", R"([{"name":"own","mountPath":"/dev/shm"}])",
             R"([{"name":"shared-memory","mountPath":"/dev/shm/"}])",
             R"([{"name":"own","mountPath":"/etc/epp"}])", R"([{"name":"hf-cache","mountPath":"/cache"}])"}));
  add(container, "securityContext", 10, parse({"{}", R"({"runAsUser":0})"}));
  add(container, "resources", 10, parse({R"({"limits":{"cpu":"1"}})"}));
  add(container, "imagePullPolicy", 10, pick({"Always"}));
  add(container, "name", odd_ ? 5 : 0, pick({"main", "mine"}));
  return container;
}

Value GraphGenerator::podSpec() {
  Value pod{rapidjson::kObjectType};
  add(pod, "restartPolicy", 10, pick({"Always", "Never"}));
  add(pod, "terminationGracePeriodSeconds", 15, Value{static_cast<int>(below(3)) * 30});
  add(pod, "securityContext", 25, parse({"{}", R"({"runAsUser":0})", R"({"fsGroup":1000})"}));
  add(pod, "serviceAccountName", 10, pick({"own", odd_ ? "" : "other"}));
  add(pod, "volumes", 20, volumes());
  add(pod, "tolerations", 10, parse({R"([{"key":"nvidia.com/gpu","operator":"Exists"}])"}));
  add(pod, "nodeSelector", 10, parse({R"({"a/b~c.d":"x"})"}));
  add(pod, "containers", 8, parse({R"([{"name":"sidecar","image":"busybox"}])"}));
  add(pod, "imagePullSecrets", 8, parse({R"([{"name":"pull"}])"}));
  add(pod, "mainContainer", 85, mainContainer());
  return pod;
}

Value GraphGenerator::service() {
  Value service{rapidjson::kObjectType};
  add(service, "componentType", 92,
      pick({"frontend", "worker", "worker", "prefill", "decode", "planner", "epp", "default", "", "Worker",
            "main"}));
  add(service, "replicas", 50, Value{static_cast<int>(below(4))});
  add(service, "envs", 25, envs());
  add(service, "extraPodSpec", 85, podSpec());
  add(service, "livenessProbe", 8, probe());
  add(service, "readinessProbe", 8, probe());
  add(service, "sharedMemory", 20,
      parse(
          {"{}", R"({"size":"16Gi"})", R"({"disabled":true})", R"({"size":"0"})", R"({"disabled":false})"}));
  add(service, "multinode", 20, parse({R"({"nodeCount":2})", R"({"nodeCount":4})", "{}"}));
  add(service, "annotations", 20, annotations());
  add(service, "labels", 10,
      parse({R"({"a/b":"c"})", R"({"nvidia.com/dynamo-graph-deployment-name":"named"})"}));
  add(service, "scalingAdapter", 15, parse({"{}", R"({"enabled":true})"}));
  add(service, "globalDynamoNamespace", 15, Value{chance(70)});
  add(service, "volumeMounts", 10,
      parse(
          {R"([{"name":"models","mountPoint":"/models"}])", R"([{"name":"shm","mountPoint":"/dev/shm"}])"}));
  add(service, "resources", 60, parse({R"({"limits":{"gpu":"8"}})", R"({"limits":{"gpu":"1","cpu":"2"}})"}));
  add(service, "eppConfig", 12,
      parse({R"({"configMapRef":{"name":"epp","key":"k.yaml"}})",
             R"({"config":{"plugins":[{"type":"t"}],"schedulingProfiles":[]}})"}));
  add(service, "frontendSidecar", 5, parse({R"({"image":"sidecar:1"})"}));
  add(service, "modelRef", 8, parse({R"({"name":"Qwen/Qwen3"})"}));
  add(service, "subComponentType", 5, pick({"prefill", "decode"}));
  add(service, "checkpoint", 4, parse({R"({"enabled":false})"}));
  if (odd_ && chance(3)) json::set(service, "futureField", parse({R"({"a":[null,1.50]})"}), allocator_);
  return service;
}

Value GraphGenerator::graph() {
  Value object{rapidjson::kObjectType};
  json::set(object, "apiVersion", text(api::kV1alpha1), allocator_);
  json::set(object, "kind", text(api::kDynamoGraphDeployment), allocator_);
  json::set(object, "metadata", metadata(), allocator_);
  Value services{rapidjson::kObjectType};
  for (const std::string_view name : {"Frontend", "decode", "a/b~c", "x.y", "prefill worker"}) {
    const bool strange = name.find_first_of("/. ") != std::string_view::npos;
    if (chance(strange ? (odd_ ? 20 : 0) : 60)) json::set(services, name, oddly(service()), allocator_);
  }
  Value spec{rapidjson::kObjectType};
  json::set(spec, "services", std::move(services), allocator_);
  add(spec, "envs", 30, envs());
  add(spec, "backendFramework", 20, pick({"vllm", "sglang", "trtllm"}));
  add(spec, "pvcs", 15, parse({R"([{"name":"models"},{"name":"shm"}])"}));
  json::set(object, "spec", std::move(spec), allocator_);
  return object;
}

Value GraphGenerator::component() {
  Value object{rapidjson::kObjectType};
  json::set(object, "apiVersion", text(api::kV1alpha1), allocator_);
  json::set(object, "kind", text(api::kDynamoComponentDeployment), allocator_);
  Value meta = metadata();
  if (chance(20)) {
    json::set(meta, "labels", parse({R"({"nvidia.com/dynamo-graph-deployment-name":"labelled"})"}),
              allocator_);
  }
  json::set(object, "metadata", std::move(meta), allocator_);
  Value spec = service();
  add(spec, "backendFramework", 30, pick({"vllm", "sglang"}));
  json::set(object, "spec", std::move(spec), allocator_);
  return object;
}

void GraphGenerator::editService(Value& service) {
  if (!service.IsObject()) return;
  const auto inside = [&](Value& parent, std::string_view key) -> Value* {
    Value* child = json::find(parent, key);
    if (child != nullptr) return child->IsObject() ? child : nullptr;
    return &json::ensureObject(parent, key, allocator_);
  };
  switch (below(8)) {
    case 0:
      json::set(service, "componentType", pick({"frontend", "worker", "epp", "planner", "default"}),
                allocator_);
      return;
    case 1:
      json::set(service, "livenessProbe", probe(), allocator_);
      return;
    case 2:
      json::set(service, "globalDynamoNamespace", Value{chance(50)}, allocator_);
      return;
    case 3:
      json::set(service, "replicas", Value{static_cast<int>(2 + below(9))}, allocator_);
      return;
    case 4:
      json::set(service, "envs",
                parse({R"([{"name":"DYN_SYSTEM_PORT","value":"1"}])", R"([{"name":"NEW"}])"}), allocator_);
      return;
    case 5:
      json::set(service, "annotations", annotations(), allocator_);
      return;
    case 6:
      json::set(service, "volumeMounts", parse({R"([{"name":"shm","mountPoint":"/dev/shm"}])", "[]"}),
                allocator_);
      return;
    default:
      if (Value* pod = inside(service, "extraPodSpec")) {
        json::set(*pod, "nodeSelector", parse({R"({"new":"x"})", R"({"new":"y"})"}), allocator_);
        Value* container = inside(*pod, "mainContainer");
        if (container != nullptr) json::set(*container, "image", pick({"new:1", "new:2"}), allocator_);
      }
  }
}

void GraphGenerator::edit(Value& object) {
  Value& spec = *json::find(object, "spec");
  Value* services = json::find(spec, "services");
  if (services == nullptr || !services->IsObject()) return editService(spec);
  const unsigned which = below(10);
  if (which == 0) {
    json::set(*services, "added", service(), allocator_);
  } else if (which == 1 && services->MemberCount() > 0) {
    services->EraseMember(services->MemberBegin());
  } else if (which == 2) {
    json::set(spec, "envs", envs(), allocator_);
  } else if (services->MemberCount() > 0) {
    editService((services->MemberBegin() + below(services->MemberCount()))->value);
  }
}

void GraphGenerator::shuffle(Value& value) {
  if (value.IsArray()) {
    for (Value& item : value.GetArray()) shuffle(item);
  } else if (value.IsObject()) {
    std::vector<std::pair<Value, Value>> members;
    for (auto& member : value.GetObject()) {
      shuffle(member.value);
      members.emplace_back(std::move(member.name), std::move(member.value));
    }
    value.SetObject();
    std::shuffle(members.begin(), members.end(), random_);
    for (auto& [name, member] : members) value.AddMember(std::move(name), std::move(member), allocator_);
  }
}

}  // namespace dynamo::test
