#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "certs/error.h"
#include "certs/openssl.h"

namespace dynamo::certs {

/// Loads the CAs of client certificates. They need not be self-signed. Expired CAs are accepted, because a
/// bundle may contain old ones; they verify no client. Error texts start with `label`, the file. Errors:
/// those of parseCertificates(), or WrongUsage if a certificate is not a CA.
Result<std::vector<CertificatePtr>> loadClientAuthorities(std::string_view pem, std::string_view label);

/// Whether the certificate has one of `names`, compared byte by byte. The name may be the last common name,
/// which is the user name in Kubernetes, or a DNS name, URI or e-mail address among the subject alternative
/// names.
bool hasAnyName(const X509& certificate, std::span<const std::string> names);

}  // namespace dynamo::certs
