#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "certs/error.h"
#include "certs/openssl.h"
#include "certs/tls_context.h"

namespace dynamo::certs {

enum class WatchEvent {
  Loaded,    // a new pair is served from now on; `error` (WrongName) when it lacks the name that is asked for
  Waiting,   // nothing served yet and the files are missing or empty: normal before the Secret is filled
  Rejected,  // the files are unusable; what was served before, if anything, stays
  Recovered,  // after Waiting or Rejected the files again hold the pair that is served
};

struct CertificateEvent {
  WatchEvent kind = WatchEvent::Loaded;
  std::optional<Error> error;    // text without key material
  std::optional<Time> notAfter;  // of the chain served after this event
};

/// Serves the pair of a directory and reloads it without sockets, threads or timers of its own: the owner
/// watches the directory (common/runtime/directory_watch.h) and calls poll(). poll() belongs to one thread;
/// context(), notAfter() and ready() may be called from any.
class CertificateWatcher {
 public:
  /// `hostName`: what API servers ask for, `<service>.<namespace>.svc`; empty: not known. `clientCaFile`: CAs
  /// of client certificates; empty: none is asked for.
  CertificateWatcher(std::filesystem::path directory, TlsOptions options, std::string hostName = {},
                     std::filesystem::path clientCaFile = {});

  /// Reads tls.crt and tls.key, and the CAs of clients, without which nothing is served where they are
  /// wanted; when their content differs from what is served, validates the pair in full and then swaps the
  /// context. CAs that went bad leave the good ones in force and do not hold
  /// up a new pair. Content is compared, not file times: a Secret volume swaps a symlink. One event for each
  /// distinct bad content and problem, however often it is polled. An unusable pair is looked at again each
  /// time, so one that only was too early is taken once its time has come (cert-Q5). One that lacks the host
  /// name does not replace a valid one that has it.
  std::optional<CertificateEvent> poll(Time now);

  /// The context for the next connection; null until the first good pair.
  ServerContext context() const;

  /// The earliest end in the served chain; nullopt until the first good pair.
  std::optional<Time> notAfter() const;

  /// A pair is served whose leaf has not expired (cert-Q16: turns false again when it does).
  bool ready(Time now) const;

  /// The last poll found files that are not served. For the thread that polls.
  bool failing() const { return badDigest_.has_value(); }

 private:
  using Digest = std::array<std::uint8_t, 32>;
  struct Served {
    ServerContext context;
    Time notAfter;
    Time chainNotAfter;
    bool named;
  };
  struct Reading;

  std::optional<CertificateEvent> reject(const Digest& digest, Error error);

  std::filesystem::path directory_;
  TlsOptions options_;
  std::string hostName_;
  std::filesystem::path clientCaFile_;
  std::optional<Digest> servedDigest_;  ///< none while the CAs of clients are older than their file
  std::optional<Digest> servedPair_;
  std::vector<CertificatePtr> authorities_;  ///< the last good ones
  std::optional<Digest> badDigest_;
  Problem badProblem_ = Problem::None;

  // A mutex and not std::atomic<std::shared_ptr>: the latter is a spin lock in GCC 12 that ThreadSanitizer
  // cannot see through, and one uncontended lock per connection costs nothing beside a handshake.
  mutable std::mutex mutex_;
  std::optional<Served> served_;
};

}  // namespace dynamo::certs
