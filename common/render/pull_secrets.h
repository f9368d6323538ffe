#pragma once
// Image pull secrets (quirk pod-Q28).

#include <string>
#include <string_view>

#include "common/json/value.h"
#include "common/render/component.h"

namespace dynamo::render {

/// The registry of an image or registry address, with its port; images without one belong to docker.io, whose
/// other names are folded into it.
std::string registryOf(std::string_view image);
/// The registry of a key of a docker configuration's `auths`.
std::string registryOfAuth(std::string_view address);

/// Appends the known secrets for `image` to the pod's imagePullSecrets, those already listed left out.
void addPullSecrets(const Component& component, std::string_view image, const FactsView& facts,
                    json::Value& podSpec, json::Allocator& allocator);

}  // namespace dynamo::render
