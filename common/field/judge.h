#pragma once
// Validation of an update, which is the same for every kind (rule 1 of decisions.md).

#include <array>
#include <cstddef>
#include <span>
#include <utility>

#include "common/field/check.h"
#include "common/field/ratchet.h"
#include "common/k8s/object.h"

namespace dynamo::field {

/// Returns the sorted findings of `findingsOf(request)`. Errors at fields that the update did not change
/// become warnings. An object that is being deleted has no findings, because such updates only remove
/// finalizers.
template <typename Subject, typename FindingsOf>
Findings judge(const Subject& request, FindingsOf findingsOf) {
  if (request.old != nullptr && k8s::isBeingDeleted(request.object)) return {};
  Findings findings = findingsOf(request);
  if (request.old != nullptr && !findings.errors.empty()) {
    findings = ratchet(std::move(findings), findingsOf(request.again()), request.object, *request.old);
  }
  findings.sort();
  return findings;
}

/// judge() with the rules of one table.
template <typename Subject, std::size_t N>
Findings judgeBy(const std::array<Check<Subject>, N>& checks, const Subject& request) {
  return judge(request, [&checks](const Subject& one) {
    Findings findings;
    runChecks(std::span<const Check<Subject>>{checks}, one, findings);
    return findings;
  });
}

}  // namespace dynamo::field
