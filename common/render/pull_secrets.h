#pragma once
// Adds image pull secrets to pods (quirk pod-Q28).

#include <string>
#include <string_view>

#include "common/json/value.h"
#include "common/render/component.h"

namespace dynamo::render {

/// The registry of an image, with port. It is docker.io for images without a registry and for aliases of
/// docker.io.
std::string registryOf(std::string_view image);
/// The registry of a key of `auths` in a Docker configuration.
std::string registryOfAuth(std::string_view address);

/// Appends the known secrets for `image` to imagePullSecrets of the pod, without duplicates.
void addPullSecrets(const Component& component, std::string_view image, const FactsView& facts,
                    json::Value& podSpec, Origins* origins, json::Allocator& allocator);

}  // namespace dynamo::render
