#pragma once
// What judging has in common for every kind (quirks.md rule 1, spec/admission.md 6.1).

#include <span>

#include "common/validation/check.h"
#include "common/validation/validators.h"

namespace dynamo::validation {

/// The object is being deleted: the update only serves that.
inline bool isDeleting(const Request& request) {
  return request.old != nullptr &&
         json::find(json::find(&request.object, "metadata"), "deletionTimestamp") != nullptr;
}

/// `findingsOf(request)` with what the update did not touch made warnings; sorted.
template <typename FindingsOf>
Findings judge(const Request& request, FindingsOf findingsOf) {
  if (isDeleting(request)) return {};
  Findings findings = findingsOf(request);
  if (request.old != nullptr && !findings.errors.empty()) {
    const Findings before = findingsOf(Request{*request.old, request.old, request.username, request.policy});
    findings = ratchet(std::move(findings), before, request.object, *request.old);
  }
  findings.sort();
  return findings;
}

/// judge() by one table.
inline Findings judgeBy(std::span<const Check<Request>> checks, const Request& request) {
  return judge(request, [checks](const Request& one) {
    Findings findings;
    runChecks(checks, one, findings);
    return findings;
  });
}

}  // namespace dynamo::validation
