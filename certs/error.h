#pragma once

#include <string>
#include <string_view>
#include <variant>

namespace dynamo::certs {

/// What is wrong with a certificate, a key, a file or a name. One list for making, checking and loading, so
/// that a metric label or a log field means the same everywhere.
enum class Problem {
  None,
  Missing,      // no such file, or no such key in the Secret
  Unreadable,   // the file exists but cannot be read or written
  Empty,        // zero bytes: the placeholder Secret looks like this
  TooLarge,     // over the cap of pem.h; never parsed
  NotPem,       // no PEM block of the wanted type
  Malformed,    // a PEM block whose content does not parse
  Encrypted,    // a private key that would need a passphrase
  KeyMismatch,  // certificate and private key are not a pair
  Expired,      // past notAfter, or inside the renewal window of check.h
  NotYetValid,
  Untrusted,     // the chain does not verify against the CA
  WrongName,     // a required subject alternative name is absent
  WrongUsage,    // key usage or extended key usage forbids the role
  TooWeak,       // key or signature below the security level of tls_context.h
  InvalidInput,  // a name, address or period the caller gave
  Exists,        // a file that must not be overwritten
  Internal,      // OpenSSL or the system refused for another reason
};

/// Stable CamelCase word for logs and metric labels, for example "KeyMismatch".
std::string_view toString(Problem problem);

/// `text` is one line for people: the file or field first, then what is wrong. It never holds file content,
/// so no key material can reach a log.
struct Error {
  Problem problem = Problem::None;
  std::string text;
};

template <class T>
using Result = std::variant<T, Error>;

}  // namespace dynamo::certs
