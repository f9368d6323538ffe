#pragma once
// Plans the writes to the Secret with the webhook's certificates. Pure.

#include <optional>
#include <string>

#include "certs/rotate.h"
#include "common/json/value.h"
#include "controller/certs/settings.h"

namespace dynamo::provisioning {

/// Returns the decoded data of a Secret. Keys that are absent or not base64 are empty.
certs::CertificateData readData(const json::Value& secret);

struct SecretPlan {
  certs::CertificateData present;
  std::string resourceVersion;  ///< version of the Secret; empty: the Secret must be created
  /// The certificates to renew. In manual mode always Action::Nothing.
  certs::RenewalPlan renewal;
  /// Why the webhook cannot serve with the present certificates. Empty if it can, also while a certificate
  /// that is due for renewal has not expired.
  std::string problem;
  /// The CA that clients must trust now. May be empty; in manual mode ca.crt is optional.
  std::string ca;
  std::optional<certs::Time> servingEnd;  ///< notAfter of the serving certificate
  std::optional<certs::Time> caEnd;       ///< notAfter of the CA
};

/// Returns the plan for a Secret. `secret` is nullptr if it does not exist.
SecretPlan planSecret(const json::Value* secret, const Settings& settings, certs::Time now);

/// Returns the time at which the plan must be made again even if nothing has changed: when a renewal becomes
/// due, when a certificate expires, and at least every kCheckInterval.
certs::Time nextCheck(const SecretPlan& plan, certs::Time now);

/// Returns the Secret to create, with the type and labels of the reference.
std::string secretBody(const Settings& settings, const certs::CertificateData& data);

/// Returns a merge patch that changes only the keys that differ. The API server rejects it if the Secret has
/// changed since the plan was made.
std::string secretPatch(const SecretPlan& plan, const certs::CertificateData& data);

}  // namespace dynamo::provisioning
