#pragma once
// What the webhook decides of each kind: pure rules of common/ applied to a decoded review.

#include <memory>
#include <string>

#include "common/admission/validate.h"
#include "common/validation/dgdr.h"
#include "webhook/review/admission.h"

namespace dynamo::webhook {

/// What decisions need of the configuration and the command line.
struct Policy {
  std::string operatorVersion;
  bool warnOnly = false;  ///< validation.mode: warn
  validation::DgdrPolicy dgdr;
  /// Of every other kind; shared with all threads.
  std::shared_ptr<const admission::Settings> settings = admission::usualSettings();
};

/// Defaults of a DynamoGraphDeploymentRequest, on CREATE only (quirk dec-5); UPDATE replaces a null image.
Decision mutateDgdr(AdmissionRequest& request, const Policy& policy, json::Allocator& allocator);

/// Every rule of a DynamoGraphDeploymentRequest.
Decision validateDgdr(const AdmissionRequest& request, const Policy& policy);

/// Defaults of a graph or a standalone component deployment, on CREATE and UPDATE.
Decision mutateComponents(AdmissionRequest& request, const Policy& policy, json::Allocator& allocator);

/// Every rule of the other kinds, and the dry render of what the controller would make of them.
Decision validateKind(const AdmissionRequest& request, std::string_view kind, const Policy& policy);

}  // namespace dynamo::webhook
