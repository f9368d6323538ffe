#include "common/lifecycle/model_endpoints.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "common/api/dynamo.h"
#include "common/api/kinds.h"
#include "common/json/build.h"
#include "common/lifecycle/object.h"

namespace dynamo::lifecycle {
namespace {

using json::Value;

constexpr std::string_view kServiceName = "kubernetes.io/service-name";
constexpr std::string_view kVllmModule = "dynamo.vllm";

std::span<const Value> itemsOf(const Value* object, std::string_view key) {
  const Value* list = json::find(object, key);
  if (list == nullptr || !list->IsArray()) return {};
  return {list->Begin(), list->Size()};
}

bool isIpv6(std::string_view address) {
  return address.find(':') != std::string_view::npos;
}

/// The name of the pod of an endpoint that may be used; empty: none.
std::string_view podOf(const Value& endpoint, const Value& slice) {
  const Value* conditions = json::findObject(&endpoint, "conditions");
  if (json::findBool(conditions, "terminating").value_or(false)) return {};
  const Value* target = json::findObject(&endpoint, "targetRef");
  if (json::findText(target, "kind") != "Pod") return {};
  const std::string_view space = json::findText(target, "namespace");
  return space.empty() || space == namespaceOf(slice) ? json::findText(target, "name") : std::string_view{};
}

void addAddress(ModelPod& pod, std::string_view address) {
  std::vector<std::string>& all = pod.addresses;
  if (address.empty() || std::find(all.begin(), all.end(), address) != all.end()) return;
  const auto at = isIpv6(address) ? all.end() : std::find_if(all.begin(), all.end(), &isIpv6);
  all.emplace(at, address);
}

void addPods(const Value& slice, std::vector<ModelPod>& pods) {
  // Names are resolved by whoever asks, so nobody can say whose they are.
  if (json::findText(&slice, "addressType") == "FQDN") return;
  for (const Value& endpoint : itemsOf(&slice, "endpoints")) {
    const std::string_view name = podOf(endpoint, slice);
    const auto addresses = itemsOf(&endpoint, "addresses");
    if (name.empty() || addresses.empty()) continue;
    auto pod =
        std::find_if(pods.begin(), pods.end(), [&](const ModelPod& each) { return each.name == name; });
    if (pod == pods.end()) pod = pods.insert(pods.end(), ModelPod{std::string{name}, {}});
    for (const Value& address : addresses) addAddress(*pod, json::text(address));
  }
}

const Value* mainStatusOf(const Value& pod) {
  const Value* statuses = json::find(statusOf(pod), "containerStatuses");
  const auto all = itemsOf(statusOf(pod), "containerStatuses");
  if (all.empty()) return nullptr;
  const Value* main = json::findNamed(statuses, api::kMainContainer);
  return main != nullptr ? main : all.data();
}

struct Kind {
  std::string_view group;
  std::string_view kind;
};
constexpr std::array kBetween = {
    Kind{"", "Pod"},
    Kind{"apps", "ReplicaSet"},
    Kind{"apps", "StatefulSet"},
    Kind{"apps", "Deployment"},
    Kind{"leaderworkerset.x-k8s.io", "LeaderWorkerSet"},
    Kind{"grove.io", "PodClique"},
    Kind{"grove.io", "PodCliqueScalingGroup"},
    Kind{"grove.io", "PodCliqueSet"},
    Kind{api::kGroup, api::kDynamoComponentDeployment},
    Kind{api::kGroup, api::kDynamoGraphDeployment},
};

}  // namespace

ModelPods podsOfModel(std::span<const Value* const> slices) {
  ModelPods found;
  std::set<std::string_view> services;
  for (const Value* slice : slices) {
    if (const std::string_view service = labelOf(*slice, kServiceName); !service.empty())
      services.insert(service);
    addPods(*slice, found.pods);
  }
  std::erase_if(found.pods, [](const ModelPod& pod) { return pod.addresses.empty(); });
  found.services = services.size();
  return found;
}

std::string endpointUrl(std::string_view address) {
  return isIpv6(address) ? fmt::format("http://[{}]:{}", address, kModelPort)
                         : fmt::format("http://{}:{}", address, kModelPort);
}

PodAddress addressOfPod(const Value& pod, const ModelPod& candidate) {
  const Value* status = statusOf(pod);
  const std::string_view phase = json::findText(status, "phase");
  if (isBeingDeleted(pod) || phase == "Succeeded" || phase == "Failed") return {};
  // The address is that of the node, where other programs listen.
  if (json::findBool(specOf(pod), "hostNetwork").value_or(false))
    return {"", fmt::format("pod {} uses the network of its node", candidate.name)};
  for (const std::string& address : candidate.addresses) {
    for (const Value& own : itemsOf(status, "podIPs")) {
      if (json::findText(&own, "ip") == address) return {address, ""};
    }
  }
  return {"",
          fmt::format("pod {} does not have the address {}", candidate.name, candidate.addresses.front())};
}

std::optional<OwnerReference> nextOwner(const Value& object) {
  const Value* reference = controllerOf(object);
  if (reference == nullptr) return std::nullopt;
  const std::string_view version = json::findText(reference, "apiVersion");
  const std::size_t slash = version.find('/');
  const std::string_view group = slash == std::string_view::npos ? "" : version.substr(0, slash);
  const std::string_view kind = json::findText(reference, "kind");
  const bool known = std::any_of(kBetween.begin(), kBetween.end(),
                                 [&](const Kind& each) { return each.group == group && each.kind == kind; });
  OwnerReference owner;
  owner.uid = json::findText(reference, "uid");
  owner.key = {std::string{group}, std::string{version.substr(slash + 1)}, std::string{kind},
               std::string{namespaceOf(object)}, std::string{json::findText(reference, "name")}};
  if (!known || owner.uid.empty() || owner.key.name.empty()) return std::nullopt;
  return owner;
}

bool isGraph(const Value& object) {
  if (isBeingDeleted(object) || !json::findText(&object, "apiVersion").starts_with("nvidia.com/"))
    return false;
  const std::string_view kind = json::findText(&object, "kind");
  return kind == api::kDynamoGraphDeployment ||
         (kind == api::kDynamoComponentDeployment && controllerOf(object) == nullptr);
}

std::int64_t restartsOf(const Value& pod) {
  return numberAt(mainStatusOf(pod), "restartCount", -1);
}

bool servesNoAdapters(const Value& pod) {
  const Value* containers = json::find(specOf(pod), "containers");
  const Value* main = json::findNamed(containers, api::kMainContainer);
  for (const std::string_view list : {"command", "args"}) {
    for (const Value& item : itemsOf(main, list)) {
      // As common/render/backend_vllm.cpp writes them: an argument, or a part of a shell script.
      const std::string_view text = json::text(item);
      if (text.starts_with("ray start --address=") || text == "--headless") return true;
      // A script that starts vLLM twice decides itself which node it is on.
      const std::size_t module = text.find(kVllmModule);
      if (module != std::string_view::npos && text.find(kVllmModule, module + 1) == std::string_view::npos &&
          text.find(" --headless", module) != std::string_view::npos) {
        return true;
      }
    }
  }
  return false;
}

bool isStopped(const Value& pod) {
  const Value* state = json::findObject(mainStatusOf(pod), "state");
  return json::findObject(state, "waiting") != nullptr || json::findObject(state, "terminated") != nullptr;
}

}  // namespace dynamo::lifecycle
