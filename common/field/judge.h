#pragma once
// What judging has in common for every kind (rule 1 of decisions.md).

#include <array>
#include <cstddef>
#include <span>
#include <utility>

#include "common/field/check.h"
#include "common/field/ratchet.h"
#include "common/k8s/object.h"

namespace dynamo::field {

/// `findingsOf(request)` with what the update did not touch made warnings; sorted. Nothing of an object that
/// is being deleted: the update only serves that.
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

/// judge() by one table.
template <typename Subject, std::size_t N>
Findings judgeBy(const std::array<Check<Subject>, N>& checks, const Subject& request) {
  return judge(request, [&checks](const Subject& one) {
    Findings findings;
    runChecks(std::span<const Check<Subject>>{checks}, one, findings);
    return findings;
  });
}

}  // namespace dynamo::field
