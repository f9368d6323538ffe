#pragma once

#include <string_view>

#include "common/json/value.h"
#include "common/validation/finding.h"

namespace dynamo::admission {

/// Makes errors of the pod rules' warnings about pods that API servers let pass but no kubelet starts: names
/// of objects that cannot be, volumes in no medium. `holder` is what was judged, and the
/// findings' paths are those in it after `prefix`.
void refuseWhatNeverStarts(const json::Value& holder, std::string_view prefix,
                           validation::Findings& findings);

}  // namespace dynamo::admission
