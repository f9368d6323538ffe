#pragma once

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

#include "certs/error.h"
#include "certs/openssl.h"
#include "certs/pem.h"
#include "certs/rotate.h"

namespace dynamo::certs::test {

using std::chrono::days;
using std::chrono::hours;
using std::chrono::seconds;

/// The current time in all tests, 2026-03-01T00:00:00Z. No test reads the clock.
inline constexpr Time kNow = std::chrono::sys_days{std::chrono::year{2026} / 3 / 1};

/// A directory that is removed at the end of the test.
class TemporaryDirectory {
 public:
  TemporaryDirectory();
  ~TemporaryDirectory();
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

void writeText(const std::filesystem::path& path, const std::string& text);
std::string readText(const std::filesystem::path& path);

/// The value of a Result. Throws the error text if it is an error.
template <class T>
T must(Result<T> result) {
  if (auto* error = std::get_if<Error>(&result)) throw std::runtime_error(error->text);
  return std::move(std::get<T>(result));
}

template <class T>
Problem problemOf(const Result<T>& result) {
  const auto* error = std::get_if<Error>(&result);
  return error == nullptr ? Problem::None : error->problem;
}

CertificatePtr parse(const std::string& pem);

/// A CA and a serving pair for Service `svc` in namespace `ns`.
CertificateData makeData(Time at = kNow, const std::string& service = "svc",
                         const std::string& namespaceName = "ns");

/// A certificate that make.h would not produce, with other key types, usages and dates. It is self-signed
/// without `issuer`. Extension texts have OpenSSL's configuration syntax. An empty text leaves the extension
/// out.
struct Forgery {
  std::string keyType = "EC:P-256";  // or "RSA:<bits>"
  std::string commonName = "forged";
  std::string basicConstraints = "CA:FALSE";
  std::string keyUsage = "";
  std::string extendedKeyUsage = "serverAuth";
  std::string alternativeNames = "DNS:svc.ns.svc";
  Time begin = kNow - hours{1};
  Time end = kNow + days{365};
};
PemPair forge(const Forgery& forgery, const PemPair* issuer = nullptr);

/// The same key as PKCS#1 or SEC1 PEM ("RSA PRIVATE KEY", "EC PRIVATE KEY"), or as encrypted PKCS#8.
std::string traditionalKey(const std::string& pem);
std::string encryptedKey(const std::string& pem);

/// Text of one extension as OpenSSL prints it; empty when absent.
std::string extensionText(const X509& certificate, int nid);

}  // namespace dynamo::certs::test
