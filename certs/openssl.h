#pragma once

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/x509.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>

namespace dynamo::certs {

/// UTC wall-clock time in seconds, the resolution of X.509. No function in this folder reads the clock. Time
/// is always a parameter, so renewal can be tested for any date.
using Time = std::chrono::sys_seconds;

/// RFC 3339 in UTC, for example "2026-01-31T12:00:00Z".
std::string formatTime(Time time);

template <auto Free>
struct OpensslDeleter {
  template <class T>
  void operator()(T* pointer) const {
    Free(pointer);
  }
};

using BioPtr = std::unique_ptr<BIO, OpensslDeleter<BIO_free_all>>;
using CertificatePtr = std::unique_ptr<X509, OpensslDeleter<X509_free>>;
using KeyPtr = std::unique_ptr<EVP_PKEY, OpensslDeleter<EVP_PKEY_free>>;

/// Clears OpenSSL's per-thread error queue on construction and destruction. SSL_get_error would report an
/// error of a healthy connection if a parse error were still queued on its thread.
class ErrorQueueScope {
 public:
  ErrorQueueScope();
  ~ErrorQueueScope();
  ErrorQueueScope(const ErrorQueueScope&) = delete;
  ErrorQueueScope& operator=(const ErrorQueueScope&) = delete;
};

/// OpenSSL's fixed text for the oldest queued error, or "unknown error". Fixed texts contain no input.
std::string opensslReason();

/// The validity period; nullopt if the certificate has an invalid date.
std::optional<Time> notBefore(const X509& certificate);
std::optional<Time> notAfter(const X509& certificate);

/// Overwrites the bytes and clears the string; for strings that contained a private key.
void wipe(std::string& secret);

}  // namespace dynamo::certs
