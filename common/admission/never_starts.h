#pragma once

#include <string_view>

#include "common/field/finding.h"
#include "common/json/value.h"

namespace dynamo::admission {

/// Whether API servers admit pods that break this pod rule although no kubelet can start them: names that no
/// object can have, unknown media of volumes.
bool isUnstartable(std::string_view rule);

/// Turns the warnings about such pods into errors. `holder` is the checked value, at path `base`.
void rejectUnstartable(const json::Value& holder, const field::Path& base, field::Findings& findings);

}  // namespace dynamo::admission
