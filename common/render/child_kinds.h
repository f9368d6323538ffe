#pragma once
// What a controller does with children of each kind. Decisions child-Q1, child-Q12, child-Q22, child-Q40,
// dec-11, dec-12.

#include <cstdint>

#include "common/k8s/object_key.h"

namespace dynamo::render {

enum class Policy : std::uint8_t {
  Applied,      ///< server-side applied; deleted when it is no longer rendered
  CreatedOnce,  ///< created where it is missing, then left alone: what it stands for cannot change or is data
  Shared        ///< server-side applied, and never deleted but with its owners: others may use it, too
};

/// When a child is created: all of one stage before those of the next.
enum class Stage : std::uint8_t {
  Access,     ///< service accounts, Roles, RoleBindings: pods start with them
  Storage,    ///< claims and ConfigMaps: pods mount them
  Records,    ///< objects of ours that start nothing
  Services,   ///< pods find each other by them from their start on, and routes lead to them
  Groups,     ///< PodGroups: pods of a LeaderWorkerSet are scheduled by them
  Workloads,  ///< what starts pods
  Routes      ///< Ingress, VirtualService, InferencePool: they lead to Services
};

/// Both are known of every kind that rendering makes. An object of another kind is left alone
/// (Policy::CreatedOnce).
struct ChildKind {
  Policy policy = Policy::CreatedOnce;
  Stage stage = Stage::Records;
};
ChildKind childKind(const k8s::ObjectKey& key);

}  // namespace dynamo::render
