#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "certs/error.h"
#include "certs/openssl.h"

namespace dynamo::certs {

/// CAs that sign certificates of clients; they need not be self-signed. Expired ones are kept: they verify
/// nobody, and a bundle outlives its parts. `label` (the file) starts the error text. Errors: those of
/// parseCertificates(); WrongUsage when one of them is no CA.
Result<std::vector<CertificatePtr>> loadClientAuthorities(std::string_view pem, std::string_view label);

/// Whether the certificate has one of `names`, byte by byte: as its common name (the last, which is the user
/// name to Kubernetes) or as a DNS name, URI or e-mail address of its subject alternative names.
bool hasAnyName(const X509& certificate, std::span<const std::string> names);

}  // namespace dynamo::certs
