#pragma once
// What the webhook decides of each kind: pure rules of common/ applied to a decoded review.

#include <string>

#include "common/validation/dgdr.h"
#include "webhook/review/admission.h"

namespace dynamo::webhook {

/// What decisions need of the configuration and the command line.
struct Policy {
  std::string operatorVersion;
  bool warnOnly = false;  ///< validation.mode: warn
  validation::DgdrPolicy dgdr;
};

/// Defaults of a DynamoGraphDeploymentRequest, on CREATE only (quirk dec-5); UPDATE replaces a null image.
Decision mutateDgdr(AdmissionRequest& request, const Policy& policy, json::Allocator& allocator);

/// Every rule of a DynamoGraphDeploymentRequest.
Decision validateDgdr(const AdmissionRequest& request, const Policy& policy);

}  // namespace dynamo::webhook
