#pragma once
// The pod of a component. The order of steps is the reference's: pods would differ with another.

#include "common/json/value.h"
#include "common/render/component.h"

namespace dynamo::render {

struct Pod {
  json::Value spec;
  rapidjson::SizeType main = 0;  ///< index of the main container: known by its role, not by its name
  bool good = false;             ///< false: `errors` say why there is no pod

  const json::Value& mainContainer() const { return (*json::find(spec, "containers"))[main]; }
};

/// Renders one role of a component; a pure function. What is missing is filled in and nothing is taken away,
/// so an object that the webhook defaulted and one that bypassed it get the same pod (law 4).
Pod renderPod(const Component& component, Role role, const Context& context, Errors& errors,
              json::Allocator& allocator);

}  // namespace dynamo::render
