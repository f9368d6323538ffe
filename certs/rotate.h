#pragma once

#include <optional>
#include <string>
#include <vector>

#include "certs/error.h"
#include "certs/names.h"
#include "certs/openssl.h"
#include "certs/pem.h"

namespace dynamo::certs {

/// The four keys of the certificate Secret (ca.crt, ca.key, tls.crt, tls.key) or files of the same names.
/// An empty string means that the key or file is absent.
struct CertificateData {
  PemPair ca;
  PemPair serving;
};

enum class Action { Nothing, NewServing, NewCaAndServing };

/// The result of planRenewal(). `dnsNames` are the names of the certificate to issue: first the four names of
/// the Service, then `keptNames`. `keptNames` are the names of other releases in the namespace that the
/// current certificate covers; the caller logs them (cert-Q9). For Action::Nothing both lists are empty and
/// `reason` is absent.
struct RenewalPlan {
  Action action = Action::Nothing;
  std::optional<Error> reason;
  std::vector<std::string> dnsNames;
  std::vector<std::string> keptNames;
};

/// Determines which certificates of a Secret must be renewed, without side effects. An invalid CA is replaced
/// together with its serving certificate. An invalid serving certificate is replaced by one that the current
/// CA signs. Only the primary name is required, so two releases can share a Secret once its certificate
/// covers both.
RenewalPlan planRenewal(const CertificateData& present, const ServiceName& name, Time now);

/// Returns the new content of the four keys as planned. Action::NewServing keeps the CA byte-identical, and
/// Action::Nothing keeps everything. Errors: those of makeCa and makeServing.
Result<CertificateData> renew(const CertificateData& present, const RenewalPlan& plan, Time now);

}  // namespace dynamo::certs
