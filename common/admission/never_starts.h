#pragma once

#include <string_view>

#include "common/field/finding.h"
#include "common/json/value.h"

namespace dynamo::admission {

/// Whether pods that break this rule of podrules are let pass by API servers, and started by no kubelet:
/// names of objects that cannot be, volumes in no medium.
bool neverStarts(std::string_view rule);

/// Makes errors of the warnings about such pods. `holder` is what was judged, which stands at `base`.
void refuseWhatNeverStarts(const json::Value& holder, const field::Path& base, field::Findings& findings);

}  // namespace dynamo::admission
