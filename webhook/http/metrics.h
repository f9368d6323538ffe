#pragma once
// Figures of a server, readable from any thread without a lock.

#include <cstdint>

namespace dynamo::webhook {

/// Totals since the start, except `connectionsOpen` and the last three, which are of this moment.
struct ServerMetrics {
  std::uint64_t connectionsOpen = 0;
  std::uint64_t connectionsAccepted = 0;
  std::uint64_t connectionsRefused = 0;  ///< over the cap, or no TLS context, or no file descriptor
  /// Unused, slow or idle ones that made room when there were too many.
  std::uint64_t connectionsEvicted = 0;
  std::uint64_t handshakesFailed = 0;  ///< including those that took too long
  std::uint64_t requestsRefused = 0;   ///< for their form, or for lack of room
  /// Head, body or reply too slow, no worker in time, or the client was gone.
  std::uint64_t timeouts = 0;
  std::uint64_t connectionsFailed = 0;  ///< ended by an exception of ours
  std::uint64_t bodyBytes = 0;          ///< request bodies held now
  std::uint64_t replyBytes = 0;         ///< larger replies that clients have not taken yet
  std::uint64_t requestsQueued = 0;     ///< tasks that wait for a worker
};

}  // namespace dynamo::webhook
