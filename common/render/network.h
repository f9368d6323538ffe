#pragma once
// Renders Services, Ingress and VirtualService (quirks child-Q6 to child-Q11, child-Q18).

#include "common/render/children.h"

namespace dynamo::render {

/// The Service of a component, if its discovery backend is kubernetes or its type is frontend or epp. `name`
/// must not contain dots. `leaderOnly`: the Service of a multinode component selects only the leader
/// (component pathway).
void renderComponentService(const json::Value& owner, const Component& component, std::string_view name,
                            json::Value&& labels, json::Value&& annotations, bool leaderOnly,
                            Children& children);

/// The headless Service of a model, unless `children` already has it.
void renderModelService(const json::Value& owner, std::string_view model, bool controller,
                        Children& children);

/// Ingress and VirtualService of a frontend, if enabled. `name` may contain dots.
void renderRoutes(const json::Value& owner, const Component& component, std::string_view name,
                  const Context& context, Children& children);

/// The `ingress` of a frontend without one, from the configuration.
json::Value defaultIngress(std::string_view graph, const config::IngressConfig& config,
                           json::Allocator& allocator);

/// hostPrefix + host + "." + hostSuffix. The suffix is "local" if absent.
std::string ingressHost(const json::Value& ingress);

}  // namespace dynamo::render
