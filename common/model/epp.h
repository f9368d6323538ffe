#pragma once
// The configuration volume of the endpoint picker. It is not in components.yaml, because it depends on
// eppConfig.

#include <string_view>

#include "common/json/value.h"
#include "common/model/origin.h"

namespace dynamo::model {

/// The volume "epp-config" of a component of type epp, with the ConfigMap of eppConfig.configMapRef or, if
/// absent, the ConfigMap "<graph>-epp-config".
json::Value eppConfigVolume(const json::Value& component, std::string_view graph, json::Allocator& allocator);

/// Records the component's configMapRef as the origin of the default volume "epp-config" in the list
/// `volumes`, which is at `at`. Does nothing if one of the two is missing.
void recordEppConfigVolume(const json::Value& component, const json::Value* volumes, const field::Path& at,
                           Origins& origins);

}  // namespace dynamo::model
