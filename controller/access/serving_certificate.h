#pragma once
// A self-signed certificate that only exists in memory. Clients cannot verify it.

#include <chrono>
#include <functional>
#include <string>
#include <variant>
#include <vector>

#include "certs/check.h"
#include "certs/tls_context.h"

namespace dynamo::access {

/// Not thread-safe.
class ServingCertificate {
 public:
  using Clock = std::function<certs::Time()>;

  /// Makes the first certificate. `host` is an additional name; it is left out if it is not a DNS name.
  static std::variant<ServingCertificate, std::string> make(const std::string& host, Clock clock);

  /// Returns the context for a new connection. Makes a new certificate when less than certs::kRenewBefore
  /// remains. If that fails, the current one stays in use until the next call.
  certs::ServerContext context();
  /// Returns the end of the current certificate.
  certs::Time notAfter() const { return notAfter_; }

 private:
  ServingCertificate(std::vector<std::string> names, Clock clock)
      : names_(std::move(names)), clock_(std::move(clock)) {}

  /// Returns an error, or an empty text.
  std::string renew(certs::Time now);

  std::vector<std::string> names_;
  Clock clock_;
  certs::ServerContext context_;
  certs::Time notAfter_;
};

}  // namespace dynamo::access
