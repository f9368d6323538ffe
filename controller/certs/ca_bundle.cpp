#include "controller/certs/ca_bundle.h"

#include <openssl/x509v3.h>

#include <algorithm>
#include <utility>
#include <variant>
#include <vector>

#include "certs/make.h"
#include "certs/pem.h"

namespace dynamo::provisioning {
namespace {

using certs::Time;

/// Returns the DER form. It identifies a certificate, because PEM texts may differ in line breaks.
std::string derOf(const X509& certificate) {
  unsigned char* bytes = nullptr;
  const int size = i2d_X509(&certificate, &bytes);
  if (size <= 0) return {};
  std::string der{reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(size)};
  OPENSSL_free(bytes);
  return der;
}

struct Certificate {
  std::string der;
  certs::CertificatePtr x509;
};
using Certificates = std::vector<Certificate>;

bool contains(const Certificates& list, std::string_view der) {
  return std::any_of(list.begin(), list.end(), [&](const Certificate& each) { return each.der == der; });
}

/// Returns the certificates in the order of the text, without duplicates.
std::optional<Certificates> parse(std::string_view pem) {
  auto parsed = certs::parseCertificates(pem, "caBundle");
  auto* list = std::get_if<std::vector<certs::CertificatePtr>>(&parsed);
  if (list == nullptr) return std::nullopt;
  Certificates found;
  for (certs::CertificatePtr& each : *list) {
    std::string der = derOf(*each);
    if (!contains(found, der)) found.push_back({std::move(der), std::move(each)});
  }
  return found;
}

bool mayKeep(X509& certificate, Time now) {
  if ((X509_get_extension_flags(&certificate) & EXFLAG_CA) == 0) return false;
  const auto end = certs::notAfter(certificate);
  return end && *end > now;
}

/// Returns the earlier CAs, newest first. The order of CAs with the same age does not depend on the bundle,
/// so that all replicas compute the same result.
std::vector<const Certificate*> previousCas(const Certificates& bundle, const Certificates& current,
                                            Time now) {
  std::vector<const Certificate*> kept;
  for (const Certificate& each : bundle)
    if (!contains(current, each.der) && mayKeep(*each.x509, now)) kept.push_back(&each);
  std::sort(kept.begin(), kept.end(), [](const Certificate* a, const Certificate* b) {
    const auto beginA = certs::notBefore(*a->x509);
    const auto beginB = certs::notBefore(*b->x509);
    return beginA != beginB ? beginA > beginB : a->der < b->der;
  });
  // A bundle with more than kMaxChainCertificates could not be parsed again.
  const std::size_t most = std::min(kMaxPreviousCas, certs::kMaxChainCertificates - current.size());
  if (kept.size() > most) kept.resize(most);
  return kept;
}

}  // namespace

bool isCertificateBundle(std::string_view pem) {
  const certs::ErrorQueueScope errors;
  return parse(pem).has_value();
}

bool containsCas(std::string_view bundle, std::string_view ca) {
  const certs::ErrorQueueScope errors;
  const auto present = parse(bundle);
  const auto needed = parse(ca);
  if (!present || !needed) return false;
  return std::all_of(needed->begin(), needed->end(),
                     [&](const Certificate& each) { return contains(*present, each.der); });
}

std::optional<std::string> planBundle(std::string_view ca, std::string_view bundle, Time now) {
  const certs::ErrorQueueScope errors;
  const auto current = parse(ca);
  if (!current) return std::nullopt;
  const auto parsed = parse(bundle);
  const Certificates none;
  const Certificates& present = parsed ? *parsed : none;

  std::vector<const Certificate*> wanted;
  for (const Certificate& each : *current) wanted.push_back(&each);
  for (const Certificate* each : previousCas(present, *current, now)) wanted.push_back(each);
  // The order does not matter to clients, so a different order alone is not written.
  const bool same = wanted.size() == present.size() &&
                    std::all_of(wanted.begin(), wanted.end(),
                                [&](const Certificate* each) { return contains(present, each->der); });
  if (same) return std::nullopt;

  // The PEM text is generated again, so that only certificates are copied from the Secret to a caBundle.
  std::string text;
  for (const Certificate* each : wanted) {
    const auto pem = certs::writeCertificate(*each->x509);
    if (const auto* written = std::get_if<std::string>(&pem)) text += *written;
  }
  return text;
}

}  // namespace dynamo::provisioning
