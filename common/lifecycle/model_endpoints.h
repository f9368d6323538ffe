#pragma once
// The pods that serve the base model of a DynamoModel, and which of them may be asked to load an adapter.
// Decisions ctl-Q23, ctl-Q80.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/json/value.h"
#include "common/k8s/object_key.h"

namespace dynamo::lifecycle {

/// The port of the LoRA endpoints, whatever the EndpointSlices say.
inline constexpr std::uint16_t kModelPort = 9090;

/// A pod that EndpointSlices name.
struct ModelPod {
  std::string name;
  std::vector<std::string> addresses;  ///< without duplicates, IPv4 first
};

struct ModelPods {
  std::vector<ModelPod> pods;  ///< each once, in the order of the slices
  std::size_t services = 0;    ///< number of Services that the slices belong to
};

/// Returns the pods in the slices of a base model. Endpoints that terminate, that are no pods, or that name a
/// pod of another namespace are left out.
ModelPods podsOfModel(std::span<const json::Value* const> slices);

/// The value of status.endpoints[].address, such as "http://[fd00::1]:9090".
std::string endpointUrl(std::string_view address);

/// What a pod of the API server says about the addresses of the slices, which anybody may have written.
struct PodAddress {
  std::string address;  ///< one that is the pod's own; empty: the pod must not be asked
  std::string refusal;  ///< why it must not be asked; empty if it is gone or about to go
};
PodAddress addressOfPod(const json::Value& pod, const ModelPod& candidate);

/// The controller of an object on the way from a pod to its graph.
struct OwnerReference {
  k8s::ObjectKey key;
  std::string uid;
};

/// Returns the next owner; nullopt if there is none, or one of a kind that is not between pods and graphs.
std::optional<OwnerReference> nextOwner(const json::Value& object);
/// The longest way: Pod, StatefulSet, Pod, StatefulSet, LeaderWorkerSet, component, graph.
inline constexpr int kMaxOwners = 8;
/// Whether the way ends here. `object` must be what a reference named: same uid, same namespace.
bool isGraph(const json::Value& object);

/// The number of restarts of the main container; -1 if the pod does not tell. A container that restarts has
/// lost its adapters.
std::int64_t restartsOf(const json::Value& pod);
/// Whether the pod is one of several nodes of a worker, on which only ranks of vLLM run and nothing listens
/// on kModelPort.
bool servesNoAdapters(const json::Value& pod);
/// Whether the pod tells that its main container does not run.
bool isStopped(const json::Value& pod);

}  // namespace dynamo::lifecycle
