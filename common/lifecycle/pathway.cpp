#include "common/lifecycle/pathway.h"

#include <algorithm>

#include "common/api/dynamo.h"
#include "common/k8s/names.h"
#include "common/lifecycle/object.h"
#include "common/render/children.h"

namespace dynamo::lifecycle {

using json::Value;

bool takesGrove(const Value& graph, const render::Context& context, std::span<const Value* const> components,
                const Value* podCliqueSet) {
  const std::string wish =
      k8s::lowerAscii(json::findText(annotationsOf(graph), api::annotation::kEnableGrove));
  if (wish == "false" || !context.facts.groveApi.value_or(true)) return false;
  const auto isOwn = [&](const Value* child) {
    return child != nullptr && !isBeingDeleted(*child) && isControlledBy(*child, graph);
  };
  if (wish != "true") {
    if (isOwn(podCliqueSet)) return true;
    if (std::any_of(components.begin(), components.end(), isOwn)) return false;
  }
  return render::usesGrove(graph, context);
}

}  // namespace dynamo::lifecycle
