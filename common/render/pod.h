#pragma once
// Renders the pod of a component. The order of steps is that of the reference, because another order gives
// other pods.

#include <optional>

#include "common/json/value.h"
#include "common/render/component.h"

namespace dynamo::render {

struct Pod {
  json::Value spec;
  rapidjson::SizeType main = 0;  ///< index of the main container: known by its role, not by its name
  bool good = false;             ///< false: `errors` say why there is no pod
  /// Of a pod template with this spec; nullopt unless the context asks for origins.
  std::optional<Origins> origins = std::nullopt;

  Origins* recorder() { return origins ? &*origins : nullptr; }

  const json::Value& mainContainer() const { return (*json::find(spec, "containers"))[main]; }
};

/// Renders the pod of a role of a component. It applies defaults to absent fields and removes nothing, so an
/// object gets the same pod whether the webhook defaulted it or not (law 4).
Pod renderPod(const Component& component, Role role, const Context& context, Errors& errors,
              json::Allocator& allocator);

}  // namespace dynamo::render
