#pragma once
// What the webhook decides of each kind: pure rules of common/ applied to a decoded review.

#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "common/admission/validate.h"
#include "common/rules/request/dgdr.h"
#include "webhook/review/admission.h"

namespace dynamo::webhook {

/// The settings in force: the facts of the cluster may change while requests are answered.
class CurrentSettings {
 public:
  using Pointer = std::shared_ptr<const admission::Settings>;
  explicit CurrentSettings(Pointer settings) : settings_(std::move(settings)) {}

  Pointer get() const {
    const std::lock_guard lock{mutex_};
    return settings_;
  }
  void set(Pointer settings) {
    const std::lock_guard lock{mutex_};
    settings_ = std::move(settings);
  }

 private:
  mutable std::mutex mutex_;
  Pointer settings_;
};

/// What decisions need of the configuration and the command line.
struct Policy {
  std::string operatorVersion;
  bool warnOnly = false;  ///< validation.mode: warn
  rules::DgdrPolicy dgdr;
  /// Of every other kind; shared with all threads.
  std::shared_ptr<CurrentSettings> settings = std::make_shared<CurrentSettings>(admission::usualSettings());
};

/// The defaults of a new DynamoGraphDeploymentRequest in v1beta1, of a client of `clientVersion`; true when
/// it changed `object`. One with values of wrong types is left to the schema of its version: a default in
/// their place would hide them.
bool defaultRequest(json::Value& object, std::string_view clientVersion, std::string_view operatorVersion,
                    json::Allocator& allocator);

/// Defaults of a DynamoGraphDeploymentRequest, on CREATE only (quirk dec-5); UPDATE takes a null away.
Decision mutateDgdr(AdmissionRequest& request, const Policy& policy, json::Allocator& allocator);

/// Every rule of a DynamoGraphDeploymentRequest.
Decision validateDgdr(const AdmissionRequest& request, const Policy& policy);

/// Defaults of a graph or a standalone component deployment, on CREATE and UPDATE.
Decision mutateComponents(AdmissionRequest& request, const Policy& policy, json::Allocator& allocator);

/// Every rule of the other kinds, and the dry render of what the controller would make of them.
Decision validateKind(const AdmissionRequest& request, std::string_view kind, const Policy& policy);

}  // namespace dynamo::webhook
