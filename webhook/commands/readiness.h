#pragma once
// /readyz: a valid certificate is served, and the listener answers canned reviews over TLS (cert-Q15,
// cert-Q16).

#include <atomic>
#include <chrono>
#include <functional>
#include <mutex>
#include <optional>
#include <string>

#include "webhook/http/endpoint.h"
#include "webhook/http/exchange.h"

namespace dynamo::webhook {

class Readiness {
 public:
  /// `certificateValid` is asked each time; `listen` is our own HTTPS endpoint with its actual port. Guarded
  /// routes of `inProcess`, where given, are asked without a connection: there is no certificate that would
  /// admit us, and a way around the guard for us would be one for others. The conversion proves the listener
  /// then.
  Readiness(Endpoint listen, std::function<bool()> certificateValid, FindRoute inProcess = {})
      : listen_(std::move(listen)),
        certificateValid_(std::move(certificateValid)),
        inProcess_(std::move(inProcess)) {}

  /// Why not ready; empty when ready. The listener is asked at most once a second.
  std::string problem();
  /// From now on never ready again.
  void drain() { draining_ = true; }

 private:
  std::string checkListener() const;

  Endpoint listen_;
  std::function<bool()> certificateValid_;
  FindRoute inProcess_;
  std::atomic<bool> draining_{false};
  std::mutex mutex_;
  std::optional<std::chrono::steady_clock::time_point> checked_;  ///< guarded by mutex_
  std::string lastProblem_;                                       ///< guarded by mutex_
};

}  // namespace dynamo::webhook
