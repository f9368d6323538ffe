#pragma once

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/x509.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>

namespace dynamo::certs {

/// Wall-clock instants, UTC, whole seconds: the resolution of X.509. No function here reads the clock; it
/// is always a parameter, so renewal can be tested at any date.
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

/// Leaves OpenSSL's per-thread error queue empty on entry and exit. SSL_get_error misreads a healthy
/// connection as failed when a parse error of ours is still queued on its thread.
class ErrorQueueScope {
 public:
  ErrorQueueScope();
  ~ErrorQueueScope();
  ErrorQueueScope(const ErrorQueueScope&) = delete;
  ErrorQueueScope& operator=(const ErrorQueueScope&) = delete;
};

/// OpenSSL's fixed text for the oldest queued error, or "unknown error". Fixed texts hold no input.
std::string opensslReason();

/// Validity limits; nullopt when the certificate encodes an impossible date.
std::optional<Time> notBefore(const X509& certificate);
std::optional<Time> notAfter(const X509& certificate);

/// Overwrites the bytes before the memory is given back; for strings that held a private key.
void wipe(std::string& secret);

}  // namespace dynamo::certs
