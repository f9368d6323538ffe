#include "common/runtime/system_authorities.h"

#include <openssl/x509.h>

#include <algorithm>
#include <array>

namespace dynamo::runtime {
namespace {

constexpr std::array kBundles{
    "/etc/ssl/certs/ca-certificates.crt",                 // Debian, Ubuntu, Gentoo, Arch
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",  // Fedora, RHEL
    "/etc/pki/tls/certs/ca-bundle.crt",                   // RHEL 6
    "/etc/ssl/ca-bundle.pem",                             // openSUSE
    "/etc/ssl/cert.pem",                                  // Alpine
};

}  // namespace

std::string systemBundle(const std::function<bool(const char* path)>& exists,
                         const std::function<const char*(const char* name)>& variable) {
  for (const char* name : {X509_get_default_cert_file_env(), X509_get_default_cert_dir_env()}) {
    if (variable(name) != nullptr) return {};
  }
  if (exists(X509_get_default_cert_file()) || exists(X509_get_default_cert_dir())) return {};
  const auto* const found = std::find_if(kBundles.begin(), kBundles.end(), exists);
  return found == kBundles.end() ? std::string{} : std::string{*found};
}

}  // namespace dynamo::runtime
