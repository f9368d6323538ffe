#pragma once
// Applies the pod rules to rendered pods and reports the findings at the fields of the user's object.

#include <functional>

#include "common/field/finding.h"
#include "common/render/children.h"

namespace dynamo::admission {

/// Checks the pod templates of `children` and may move them out of it. `recorded` renders the same children
/// with the origins of their values (render::Context::recordOrigins). It is called only if there are
/// findings, because recording takes time.
void checkPods(render::Children& children, const std::function<render::Children()>& recorded,
               field::Findings& findings);

}  // namespace dynamo::admission
