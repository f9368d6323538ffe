#pragma once
// Settings that v1alpha1 clients may still write, but that nothing reads any more (conv-Q1).

#include "common/field/finding.h"
#include "common/json/value.h"

namespace dynamo::admission {

/// A warning for each setting without effect in `alpha`, a request as its v1alpha1 client sees it: fields of
/// the spec, and every key of the free profiler configuration (rule dgdr-ineffective-field).
void checkAlphaSettings(const json::Value& alpha, field::Findings& findings);

}  // namespace dynamo::admission
