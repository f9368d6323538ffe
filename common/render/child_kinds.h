#pragma once
// The policy and creation stage of each kind of child. Decisions child-Q1, child-Q12, child-Q22, child-Q40,
// dec-3, dec-11, dec-12.

#include <cstdint>
#include <string_view>
#include <vector>

#include "common/k8s/object_key.h"

namespace dynamo::render {

enum class Policy : std::uint8_t {
  Applied,      ///< server-side applied; deleted when no longer rendered
  CreatedOnce,  ///< created if absent, never changed: it is immutable or holds data
  Shared        ///< server-side applied; deleted only by garbage collection, because others may use it
};

/// Children are created stage by stage.
enum class Stage : std::uint8_t {
  Access,    ///< ServiceAccounts and Roles; pods need them to start
  Storage,   ///< claims and ConfigMaps; pods mount them
  Records,   ///< nvidia.com objects that do not create pods
  Services,  ///< pods use them for discovery at startup; routes refer to them
  Groups,    ///< PodGroups; the scheduler needs them for pods of a LeaderWorkerSet
  /// Objects that create pods, and RoleBindings. RBAC refuses a binding before its Role exists, except to
  /// administrators. And it takes the API server about 100 ms to admit one: it lists bindings from its cache
  /// and waits until etcd confirms that the cache is current. Pods need longer to start.
  Workloads,
  /// Jobs. They run once, so all that their pods need is there before (decision life-Q50).
  Jobs,
  Routes,  ///< Ingress, VirtualService, InferencePool; they refer to Services
  Scaling  ///< HorizontalPodAutoscalers; they read metrics of pods
};

struct RenderedKind {
  std::string_view group;
  std::string_view kind;
};
/// All kinds that rendering produces.
std::vector<RenderedKind> renderedKinds();

/// Policy and stage of a kind. All rendered kinds are known. Objects of other kinds are never changed
/// (Policy::CreatedOnce).
struct ChildKind {
  Policy policy = Policy::CreatedOnce;
  Stage stage = Stage::Records;
};
ChildKind childKind(const k8s::ObjectKey& key);

}  // namespace dynamo::render
