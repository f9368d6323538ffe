#pragma once
// Counters of a server. They may be read from any thread without a lock.

#include <cstdint>

namespace dynamo::webhook {

/// Totals since the start, except for `connectionsOpen` and the last three members, which are current values.
struct ServerMetrics {
  std::uint64_t connectionsOpen = 0;
  std::uint64_t connectionsAccepted = 0;
  std::uint64_t connectionsRefused = 0;  ///< too many, or no TLS context, or no file descriptor
  /// Unused, slow or idle connections that were closed because there were too many.
  std::uint64_t connectionsEvicted = 0;
  std::uint64_t handshakesFailed = 0;  ///< including timeouts
  std::uint64_t requestsRefused = 0;   ///< malformed, or a limit was reached
  /// Head, body or reply was too slow, no worker was free in time, or the client had gone.
  std::uint64_t timeouts = 0;
  std::uint64_t connectionsFailed = 0;  ///< ended by an exception in the server
  std::uint64_t bodyBytes = 0;          ///< request bodies held now
  std::uint64_t replyBytes = 0;         ///< large replies that clients have not received yet
  std::uint64_t requestsQueued = 0;     ///< requests that wait for a worker
};

}  // namespace dynamo::webhook
