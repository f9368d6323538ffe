#pragma once
// Trial rendering of objects with defects that end it early. Each such defect is repaired in a copy, so that
// one error does not hide others that are independent of it.

#include "common/admission/kinds.h"
#include "common/field/finding.h"
#include "common/json/value.h"
#include "common/render/context.h"

namespace dynamo::admission {

/// The findings of the kind's dryRender, which must not be nullptr, about `object` and about its repaired
/// copies. Findings about what was repaired are left out. `wellTyped`: all values are known to have the types
/// of the schema; otherwise they are checked.
field::Findings dryRenderRepaired(const Kind& kind, const json::Value& object, const render::Context& context,
                                  bool wellTyped = false);

}  // namespace dynamo::admission
