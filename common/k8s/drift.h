#pragma once
// Whether server-side apply of an object would change the live one (decision child-Q4). A controller that
// asks first sends no request in a steady state.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "common/json/value.h"

namespace dynamo::k8s {

enum class DriftKind : std::uint8_t {
  Changed,  ///< a value is missing in the live object, or differs
  Surplus   ///< the field manager owns a field in the live object that is no longer applied
};

struct Drift {
  DriftKind kind = DriftKind::Changed;
  std::string path;  ///< of the first difference: "spec.template.spec.containers[0].image"

  bool operator==(const Drift&) const = default;
};

/// Compares `applied`, which a field manager applies, with `live`; nullopt: applying it changes nothing.
/// `owned` is the fieldsV1 of that manager's Apply entry in metadata.managedFields (ownedFields()); nullptr
/// counts as a change, because the manager has to take ownership first.
///
/// The comparison knows what the typed API does to values: it drops empty ones, and prints quantities in
/// canonical form. A list whose items `owned` names by keys or values may hold items of other managers; the
/// relative order of the applied items counts. All other lists are compared whole. So are objects that
/// `owned` names without their members, such as the selector of a Service: a member that is not applied is a
/// change. apiVersion, kind, name and namespace are not compared.
std::optional<Drift> findDrift(const json::Value& applied, const json::Value& live, const json::Value* owned);

/// The fieldsV1 that `manager` owns in `object` by apply requests of the main resource; nullptr: none.
const json::Value* ownedFields(const json::Value& object, std::string_view manager);

/// What messages call a manager whose name is not known.
inline constexpr std::string_view kUnknownManager = "somebody";

/// The manager that has set spec.replicas through the scale subresource, as autoscalers and `kubectl scale`
/// do; kUnknownManager for a 0, of which managedFields do not tell the owner; empty if it was set by an apply
/// request of `manager` or otherwise. Other edits of spec.replicas are drift.
std::string_view replicasOwner(const json::Value& object, std::string_view manager);

}  // namespace dynamo::k8s
