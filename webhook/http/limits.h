#pragma once
// Deadlines and limits of the HTTP server. Tests shorten them. The configuration sets `connections` and
// `conversionBudget`. webhook/routes.h has the maximum body sizes, and webhook/commands/serve.cpp the time to
// stop.

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace dynamo::webhook {

// A full TLS 1.3 handshake takes the client one round trip. 5 s allow retransmissions on a bad link.
inline constexpr std::chrono::milliseconds kHandshakeDeadline{5'000};
// A request head fits into one packet, so only a slow sender (slowloris) needs longer.
inline constexpr std::chrono::milliseconds kHeaderDeadline{5'000};
// Admission requests time out after at most 30 s, those of Dynamo's webhooks after 5 s. Transferred bytes
// extend the deadline, see kMinRate.
inline constexpr std::chrono::milliseconds kBodyDeadline{10'000};
inline constexpr std::chrono::milliseconds kWriteDeadline{15'000};
// TCP_USER_TIMEOUT: the kernel ends a connection if the client has not acknowledged sent bytes for this long,
// even if a client with a closed window keeps answering probes. It is the write deadline, an eighth of the
// idle deadline.
inline constexpr std::chrono::milliseconds kUnacknowledgedDeadline = kWriteDeadline;
// Minimum bytes per second of a long body or reply after the deadlines above: a list of 100 MB may take 34 s.
// The API server waits 30 s for a conversion, so it is never affected. A slow client cannot hold budget for
// long.
inline constexpr std::uint64_t kMinRate = 4 << 20;
// The API server closes its idle connections after 90 s. This deadline is longer, so that the client closes
// first. If the server closed first, it could close while a POST is on its way. Go's client does not retry
// such a POST, so the admission request would fail.
inline constexpr std::chrono::milliseconds kIdleDeadline{120'000};
// After an early answer (such as 413) the rest of the body is discarded for this long. Closing a socket with
// unread bytes would send a reset, which can destroy the answer on its way.
inline constexpr std::chrono::milliseconds kLingerDeadline{2'000};
// When a budget is exhausted or there are too many connections, a client that has delayed its transfer for
// this long, and still does, loses its request or connection. Bytes transferred in the meantime reduce its
// delay, at a quarter of kMinRate. Bytes transferred earlier do not count.
inline constexpr std::chrono::milliseconds kLagAfter{1'000};
// A client that has closed its sending direction is considered gone when its request has waited for this
// long.
inline constexpr std::chrono::milliseconds kGoneAfter{100};
// A request that has waited for a worker for this long is answered with 503, because the API server gives up
// a review of Dynamo's webhooks after 5 s.
inline constexpr std::chrono::milliseconds kQueueDeadline{4'000};
// The same for conversions, for which the API server waits 30 s.
inline constexpr std::chrono::milliseconds kLongQueueDeadline{25'000};
// Idle memory is released after this long without a request.
inline constexpr std::chrono::milliseconds kIdleRelease{1'000};
// When the server stops, an open but unused connection may still send its first request for this long.
inline constexpr std::chrono::milliseconds kFirstRequestGrace{1'000};
// Each thread checks its deadlines in this interval, so they may be late by this much.
inline constexpr std::chrono::milliseconds kSweepInterval{250};

// An API server's request head is about 300 bytes; 16 KiB leaves room for tracing headers and proxies.
inline constexpr std::size_t kMaxHeaderBytes = std::size_t{16} * 1024;
inline constexpr unsigned kMaxHeaders = 100;
// API servers keep a few dozen. An unused TLS connection holds about 40 KiB, so this is 320 MiB at worst.
inline constexpr std::size_t kMaxConnections = 8192;
// Bodies take budget as they arrive, so a large Content-Length alone takes none. The budget of conversions
// holds one body of maximum size (kMaxConversionBody in webhook/routes.h). If two bodies do not fit together,
// the one that exhausts the budget is answered with 503 and the other continues; API machinery retries.
inline constexpr std::size_t kConversionBudget = std::size_t{256} << 20;
// An additional budget for conversions of at most kShortList bytes, which is 400 objects of 10 KB. Long lists
// leave room for eight such conversions.
inline constexpr std::size_t kShortListBudget = std::size_t{32} << 20;
inline constexpr std::size_t kShortList = std::size_t{4} << 20;
// The budget of all other bodies: nine admission reviews of maximum size. It is separate, so that conversions
// never block admission.
inline constexpr std::size_t kAdmissionBudget = std::size_t{64} << 20;
// The budget of replies above kFreeBody until the client has received them. Replies to conversions use the
// budget of their request instead. The patch for a graph of a few bytes can have hundreds of KiB.
inline constexpr std::size_t kReplyBudget = std::size_t{64} << 20;
// A body or reply of at most this size needs no budget, which covers most reviews. All connections together
// hold at most 128 MiB of such bodies, and the kernel may hold the same amount of replies.
inline constexpr std::size_t kFreeBody = std::size_t{16} << 10;
// Bodies of this size and above are handled on worker threads: 1 MiB of JSON takes about 5 ms.
inline constexpr std::size_t kHeavyBody = std::size_t{1} << 20;
// Larger buffers are not kept for the next request, because no budget counts them.
inline constexpr std::size_t kKeptBuffer = kFreeBody + (std::size_t{4} << 10);
// After a larger body the allocator returns free pages to the system.
inline constexpr std::size_t kTrimBody = std::size_t{8} << 20;

struct Limits {
  std::chrono::milliseconds handshake = kHandshakeDeadline;
  std::chrono::milliseconds header = kHeaderDeadline;
  std::chrono::milliseconds body = kBodyDeadline;
  std::chrono::milliseconds write = kWriteDeadline;
  std::chrono::milliseconds idle = kIdleDeadline;
  std::chrono::milliseconds linger = kLingerDeadline;
  std::chrono::milliseconds firstRequestGrace = kFirstRequestGrace;
  std::chrono::milliseconds sweep = kSweepInterval;
  std::chrono::milliseconds idleRelease = kIdleRelease;
  std::chrono::milliseconds lagAfter = kLagAfter;
  std::chrono::milliseconds goneAfter = kGoneAfter;
  std::chrono::milliseconds queue = kQueueDeadline;
  std::chrono::milliseconds longQueue = kLongQueueDeadline;  ///< of conversions
  std::uint64_t minRate = kMinRate;                          ///< bytes a second; at least 1
  std::size_t headerBytes = kMaxHeaderBytes;
  unsigned headers = kMaxHeaders;
  std::size_t connections = kMaxConnections;
  std::size_t conversionBudget = kConversionBudget;  ///< a longer body is answered with 413
  std::size_t shortListBudget = kShortListBudget;
  std::size_t shortList = kShortList;
  std::size_t admissionBudget = kAdmissionBudget;
  std::size_t replyBudget = kReplyBudget;
  std::size_t freeBody = kFreeBody;
};

}  // namespace dynamo::webhook
