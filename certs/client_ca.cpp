#include "certs/client_ca.h"

#include <fmt/format.h>
#include <openssl/x509v3.h>

#include <algorithm>

#include "certs/pem.h"

namespace dynamo::certs {

namespace {

using AlternativeNames = std::unique_ptr<GENERAL_NAMES, OpensslDeleter<GENERAL_NAMES_free>>;

/// The bytes of an IA5 string. NUL bytes do not end it.
std::string_view bytesOf(const ASN1_STRING* text) {
  const void* const bytes = ASN1_STRING_get0_data(text);
  return {static_cast<const char*>(bytes), static_cast<std::size_t>(ASN1_STRING_length(text))};
}

std::string commonName(const X509& certificate) {
  const X509_NAME* const subject = X509_get_subject_name(&certificate);
  int last = -1;
  for (int at = -1; (at = X509_NAME_get_index_by_NID(subject, NID_commonName, at)) >= 0;) last = at;
  if (last < 0) return {};
  unsigned char* utf8 = nullptr;
  const int size = ASN1_STRING_to_UTF8(&utf8, X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, last)));
  if (size < 0) return {};
  std::string name(utf8, utf8 + size);
  OPENSSL_free(utf8);
  return name;
}

std::string_view nameOf(const GENERAL_NAME& name) {
  switch (name.type) {
    case GEN_DNS:
      return bytesOf(name.d.dNSName);
    case GEN_URI:
      return bytesOf(name.d.uniformResourceIdentifier);
    case GEN_EMAIL:
      return bytesOf(name.d.rfc822Name);
    default:
      return {};
  }
}

}  // namespace

Result<std::vector<CertificatePtr>> loadClientAuthorities(std::string_view pem, std::string_view label) {
  const ErrorQueueScope errors;
  auto parsed = parseCertificates(pem, label);
  const auto* certificates = std::get_if<std::vector<CertificatePtr>>(&parsed);
  if (certificates == nullptr) return parsed;
  const auto notCa = [](const CertificatePtr& each) { return X509_check_ca(each.get()) != 1; };
  const auto wrong = std::find_if(certificates->begin(), certificates->end(), notCa);
  if (wrong == certificates->end()) return parsed;
  return Error{Problem::WrongUsage,
               fmt::format("{}: certificate {} is not a CA", label, wrong - certificates->begin() + 1)};
}

bool hasAnyName(const X509& certificate, std::span<const std::string> names) {
  const ErrorQueueScope errors;
  const auto wanted = [names](std::string_view name) {
    return !name.empty() && std::find(names.begin(), names.end(), name) != names.end();
  };
  if (wanted(commonName(certificate))) return true;
  void* const decoded = X509_get_ext_d2i(&certificate, NID_subject_alt_name, nullptr, nullptr);
  const AlternativeNames alternatives{static_cast<GENERAL_NAMES*>(decoded)};
  for (int i = 0; alternatives && i < sk_GENERAL_NAME_num(alternatives.get()); ++i) {
    if (wanted(nameOf(*sk_GENERAL_NAME_value(alternatives.get(), i)))) return true;
  }
  return false;
}

}  // namespace dynamo::certs
