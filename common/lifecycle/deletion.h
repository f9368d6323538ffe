#pragma once
// Objects that are being deleted (quirks ctl-Q1, ctl-Q40).

#include <optional>

#include "common/lifecycle/outcome.h"

namespace dynamo::lifecycle {

/// The reference operator adds this finalizer to graphs and component deployments. Owner references already
/// clean up all children, so this operator adds no finalizer and removes an existing one on deletion.
inline constexpr std::string_view kFinalizer = "nvidia.com/finalizer";

/// The complete outcome for an object that is being deleted; nullopt: it is not being deleted.
std::optional<Outcome> deletionOutcome(const json::Value& object, json::Allocator& allocator);

}  // namespace dynamo::lifecycle
