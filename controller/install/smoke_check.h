#pragma once
// The checks of a new installation: objects that are created in a dry run, and what the answers say about
// CRDs, admission and conversion (ctl-Q92). Pure.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "common/json/value.h"
#include "controller/kube/api_error.h"
#include "controller/kube/resource.h"

namespace dynamo::install {

enum class Verdict : std::uint8_t {
  Passed,
  Waiting,     ///< it may pass later: an installation takes a while to take effect
  NotAllowed,  ///< rights or credentials are missing, or so new that the API server does not know them yet
  Failed
};

struct Judgement {
  Verdict verdict = Verdict::Passed;
  std::string reason;  ///< for a person
};

using Answer = kube::Result<json::Document>;

/// One object that is created in a dry run. It has the name and the namespace that the caller says.
struct SmokeCheck {
  std::string_view title;  ///< what is true if the check has passed
  kube::Resource resource;
  json::Value (*spec)(json::Allocator& allocator);
  Judgement (*judge)(const Answer& answer, std::string_view namespaceName);
  bool strictOnly = false;  ///< with `validation.mode: warn` the webhook only warns
};

/// In the order in which they are made: a graph that gets defaults, a graph that is denied, and a request in
/// v1alpha1 that is converted.
std::span<const SmokeCheck> smokeChecks();

/// Returns the body of the dry run.
std::string bodyOf(const SmokeCheck& check, std::string_view namespaceName, std::string_view name);

}  // namespace dynamo::install
