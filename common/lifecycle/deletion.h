#pragma once
// Objects that are being deleted (quirks ctl-Q1, ctl-Q40).

#include <optional>

#include "common/lifecycle/outcome.h"

namespace dynamo::lifecycle {

/// Of the reference, which put it on graphs and component deployments. There is nothing to clean up that
/// owner references do not: we put it on nothing, and take it away when an object goes.
inline constexpr std::string_view kFinalizer = "nvidia.com/finalizer";

/// All that is to be done of an object that is being deleted; nullopt: it is not.
std::optional<Outcome> deletionOutcome(const json::Value& object, json::Allocator& allocator);

}  // namespace dynamo::lifecycle
