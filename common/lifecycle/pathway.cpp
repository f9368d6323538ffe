#include "common/lifecycle/pathway.h"

#include <algorithm>

#include "common/api/dynamo.h"
#include "common/k8s/names.h"
#include "common/lifecycle/object.h"
#include "common/model/pathway.h"
#include "common/render/children.h"

namespace dynamo::lifecycle {

using json::Value;

bool selectsGrove(const Value& graph, const render::Context& context,
                  std::span<const Value* const> components, const Value* podCliqueSet) {
  if (model::refusesGrove(annotationsOf(graph)) || !context.facts.api(render::Api::Grove).value_or(true))
    return false;
  const bool requested =
      k8s::lowerAscii(json::findText(annotationsOf(graph), api::annotation::kEnableGrove)) == "true";
  const std::optional<bool> present = requested ? std::nullopt : runsOnGrove(graph, components, podCliqueSet);
  return present ? *present : render::usesGrove(graph, context);
}

std::optional<bool> runsOnGrove(const Value& graph, std::span<const Value* const> components,
                                const Value* podCliqueSet) {
  const auto isOwn = [&](const Value* child) {
    return child != nullptr && !isBeingDeleted(*child) && isControlledBy(*child, graph);
  };
  if (isOwn(podCliqueSet)) return true;
  if (std::any_of(components.begin(), components.end(), isOwn)) return false;
  return std::nullopt;
}

}  // namespace dynamo::lifecycle
