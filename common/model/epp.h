#pragma once
// The endpoint picker's configuration volume, the one default that depends on more than names. Rendering
// makes the same one.

#include <string_view>

#include "common/json/value.h"

namespace dynamo::model {

/// The volume "epp-config" of a component of type epp: the ConfigMap that
/// eppConfig.configMapRef names, else "<graph>-epp-config".
json::Value eppConfigVolume(const json::Value& component, std::string_view graph, json::Allocator& allocator);

}  // namespace dynamo::model
