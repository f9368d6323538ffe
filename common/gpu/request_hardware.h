#pragma once
// What GPU discovery says for one DynamoGraphDeploymentRequest. Decision life-Q42.

#include <optional>
#include <string>

#include "common/gpu/inventory.h"

namespace dynamo::gpu {

struct RequestHardware {
  std::optional<render::HardwareFact> hardware;  ///< nullopt: the request says all, or nothing was found
  std::string found;                             ///< what was found; empty if nothing
  std::string problem;                           ///< why the request cannot be profiled; empty if it can
};

/// `request`: of v1beta1, for which render::needsDiscovery is true.
RequestHardware hardwareFor(const json::Value& request, const Inventory& inventory);

/// The problem of such a request, with the fields that it lacks.
std::string hardwareProblem(const json::Value& request, std::string_view why);

}  // namespace dynamo::gpu
