#pragma once
// The admission decisions for each kind: applies the rules of common/ to a decoded review.

#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "common/admission/validate.h"
#include "common/rules/request/dgdr.h"
#include "webhook/review/admission.h"

namespace dynamo::webhook {

/// The current settings. They are replaced when the facts of the cluster change, also while requests are
/// handled.
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

/// The parts of the configuration and the command line that decisions depend on.
struct Policy {
  std::string operatorVersion;
  bool warnOnly = false;  ///< validation.mode: warn
  rules::DgdrPolicy dgdr;
  /// For all other kinds; shared by all threads.
  std::shared_ptr<CurrentSettings> settings = std::make_shared<CurrentSettings>(admission::usualSettings());
};

/// Sets the defaults of a new DynamoGraphDeploymentRequest, given in v1beta1 and written by the client in
/// `clientVersion`. Returns whether `object` changed. An object with values of wrong types gets no defaults,
/// because a default could replace a wrong value before the schema of its version rejects it.
bool applyDgdrDefaults(json::Value& object, std::string_view clientVersion, std::string_view operatorVersion,
                       json::Allocator& allocator);

/// Sets the defaults of a DynamoGraphDeploymentRequest, on CREATE only (quirk dec-5). UPDATE removes a null
/// image.
Decision mutateDgdr(AdmissionRequest& request, const Policy& policy, json::Allocator& allocator);

/// Checks a DynamoGraphDeploymentRequest against every rule.
Decision validateDgdr(const AdmissionRequest& request, const Policy& policy);

/// Sets the defaults of a graph or a standalone component deployment, on CREATE and UPDATE.
Decision mutateComponents(AdmissionRequest& request, const Policy& policy, json::Allocator& allocator);

/// Checks an object of any other kind against every rule, including a dry render of the controller's
/// children.
Decision validateKind(const AdmissionRequest& request, std::string_view kind, const Policy& policy);

}  // namespace dynamo::webhook
