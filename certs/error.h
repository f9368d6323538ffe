#pragma once

#include <string>
#include <string_view>
#include <variant>

namespace dynamo::certs {

/// The problem of a certificate, a key, a file or a name. Making, checking and loading share this list, so
/// that metric labels and log fields have the same meaning everywhere.
enum class Problem {
  None,
  Missing,      // no such file, or no such key in the Secret
  Unreadable,   // the file exists but cannot be read or written
  Empty,        // zero bytes, as in a placeholder Secret
  TooLarge,     // larger than the limits in pem.h, and therefore not parsed
  NotPem,       // no PEM block of the required type
  Malformed,    // a PEM block with invalid content
  Encrypted,    // a private key with a passphrase
  KeyMismatch,  // certificate and private key do not match
  Expired,      // after notAfter, or within kRenewBefore of it
  NotYetValid,
  Untrusted,     // the chain does not verify against the CA
  WrongName,     // a required subject alternative name is missing
  WrongUsage,    // key usage or extended key usage forbids the role
  TooWeak,       // key or signature below the security level of tls_context.h
  InvalidInput,  // an invalid name, address or lifetime from the caller
  Exists,        // a file that must not be overwritten
  Internal,      // another error of OpenSSL or the system
};

/// A stable CamelCase name for logs and metric labels, for example "KeyMismatch".
std::string_view toString(Problem problem);

/// `text` is one line for people: the file or field, then the problem. It never contains file content, so no
/// key material reaches a log.
struct Error {
  Problem problem = Problem::None;
  std::string text;
};

template <class T>
using Result = std::variant<T, Error>;

}  // namespace dynamo::certs
