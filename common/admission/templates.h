#pragma once
// Findings about texts of templates that were never rendered.

#include "common/field/finding.h"
#include "common/json/value.h"

namespace dynamo::admission {

/// Gives findings about values or keys of `object` that are templates this cause instead of their own. Texts
/// that shells read keep their findings.
void tellTemplates(const json::Value& object, field::Findings& findings);

}  // namespace dynamo::admission
