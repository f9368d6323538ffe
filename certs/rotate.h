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
/// An empty pair member means absent.
struct CertificateData {
  PemPair ca;
  PemPair serving;
};

enum class Action { Nothing, NewServing, NewCaAndServing };

/// What decide() found. `dnsNames` are the names of the certificate to issue: the own four first, then
/// `keptNames`, those of other releases in the namespace that the present certificate covers (cert-Q9; the
/// caller logs them). With Nothing both lists are empty and `reason` is absent.
struct Decision {
  Action action = Action::Nothing;
  std::optional<Error> reason;
  std::vector<std::string> dnsNames;
  std::vector<std::string> keptNames;
};

/// What a Secret needs, as a pure function: a CA that is not valid is made anew together with its serving
/// certificate, a serving certificate that is not valid is issued by the present CA. Only the primary name is
/// compared, so two releases that share one Secret agree as soon as one certificate covers both.
Decision decide(const CertificateData& present, const ServiceName& name, Time now);

/// Carries out `decision`: the new content of the four keys. The ca pair stays byte-identical with
/// NewServing, everything with Nothing. Errors: those of makeCa and makeServing.
Result<CertificateData> renew(const CertificateData& present, const Decision& decision, Time now);

}  // namespace dynamo::certs
