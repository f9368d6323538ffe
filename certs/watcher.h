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
  Loaded,     // a new pair is served from now on; `error` is WrongName if it lacks the host name
  Waiting,    // no pair is served yet and the files are missing or empty, as before the Secret is filled
  Rejected,   // the files are invalid; the previous pair, if any, is still served
  Recovered,  // after Waiting or Rejected the files contain the served pair again
};

struct CertificateEvent {
  WatchEvent kind = WatchEvent::Loaded;
  std::optional<Error> error;    // text without key material
  std::optional<Time> notAfter;  // of the chain that is served after this event
};

/// Loads the pair from a directory and reloads it after changes. It has no sockets, threads or timers: the
/// owner watches the directory (common/runtime/directory_watch.h) and calls poll(), always on the same
/// thread. context(), notAfter() and ready() may be called from any thread.
class CertificateWatcher {
 public:
  /// `hostName`: the name that API servers use, `<service>.<namespace>.svc`; empty: unknown. `clientCaFile`:
  /// CAs of client certificates; empty: client certificates are not requested.
  CertificateWatcher(std::filesystem::path directory, TlsOptions options, std::string hostName = {},
                     std::filesystem::path clientCaFile = {});

  /// Reads tls.crt, tls.key and the client CAs. If the content differs from what is served, validates the
  /// pair and swaps the context.
  /// - Nothing is served before configured client CAs have been read. If they become invalid later, the last
  /// valid ones
  ///   stay in use, and a new pair is still loaded.
  /// - The content is compared, not the modification time, because a Secret volume swaps a symlink.
  /// - Each invalid content is reported once per problem.
  /// - An invalid pair is checked again on every call, so a pair that was not yet valid is loaded later
  /// (cert-Q5).
  /// - A pair without the host name does not replace a valid pair that has it.
  std::optional<CertificateEvent> poll(Time now);

  /// The context for the next connection; null until the first valid pair.
  ServerContext context() const;

  /// The earliest end in the served chain; nullopt until the first valid pair.
  std::optional<Time> notAfter() const;

  /// Whether a pair is served whose leaf has not expired. It becomes false when the leaf expires (cert-Q16).
  bool ready(Time now) const;

  /// Whether the last poll found files that are not served. Must be called on the thread that polls.
  bool failing() const { return badDigest_.has_value(); }

 private:
  using Digest = std::array<std::uint8_t, 32>;
  struct Served {
    ServerContext context;
    Time notAfter;
    Time chainNotAfter;
    bool matchesHostName;
  };
  struct Reading;

  std::optional<CertificateEvent> reject(const Digest& digest, Error error);

  std::filesystem::path directory_;
  TlsOptions options_;
  std::string hostName_;
  std::filesystem::path clientCaFile_;
  std::optional<Digest> servedDigest_;  ///< empty while the client CAs in use are not those of the file
  std::optional<Digest> servedPair_;
  std::vector<CertificatePtr> authorities_;  ///< the last valid client CAs
  std::optional<Digest> badDigest_;
  Problem badProblem_ = Problem::None;

  // Not std::atomic<std::shared_ptr>, which is a spin lock in GCC 12 that ThreadSanitizer does not
  // understand. An uncontended lock per connection is cheap compared with a handshake.
  mutable std::mutex mutex_;
  std::optional<Served> served_;
};

}  // namespace dynamo::certs
