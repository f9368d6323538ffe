#pragma once
// Services, Ingress, VirtualService (quirks child-Q6 to child-Q11, child-Q18).

#include "common/render/children.h"

namespace dynamo::render {

/// The component's Service; its discovery must be kubernetes, or the type frontend or epp. `name` has no
/// dots. `leaderOnly`: a multinode component of the component pathway is reached through its leader.
void renderComponentService(const json::Value& owner, const Component& component, std::string_view name,
                            json::Value&& labels, json::Value&& annotations, bool leaderOnly,
                            Children& children);

/// The headless Service of a model, once for each name.
void renderModelService(const json::Value& owner, std::string_view model, bool controller,
                        Children& children);

/// Ingress and VirtualService of a frontend, as far as they are enabled. `name` may hold dots.
void renderRoutes(const json::Value& owner, const Component& component, std::string_view name,
                  const Context& context, Children& children);

/// What a frontend without `ingress` gets: the configuration's.
json::Value defaultIngress(std::string_view graph, const config::IngressConfig& config,
                           json::Allocator& allocator);

/// hostPrefix + host + "." + hostSuffix ("local" when absent).
std::string ingressHost(const json::Value& ingress);

}  // namespace dynamo::render
