#pragma once
// Deadlines and caps of the HTTP servers, each with its reason. Tests shorten them. The configuration sets
// two: connections, conversionBudget. The longest body of a path is in webhook/routes.h, the time to stop in
// webhook/commands/serve.cpp.

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace dynamo::webhook {

// A full TLS 1.3 handshake costs the client one round trip; 5 s covers retransmission on a bad link.
inline constexpr std::chrono::milliseconds kHandshakeDeadline{5'000};
// A request head fits one packet, so only a slow sender (slowloris) needs longer.
inline constexpr std::chrono::milliseconds kHeaderDeadline{5'000};
// Admission calls time out after 30 s at most, those of our kinds after 5. A sender earns more time by
// sending: see kMinRate.
inline constexpr std::chrono::milliseconds kBodyDeadline{10'000};
inline constexpr std::chrono::milliseconds kWriteDeadline{15'000};
// TCP_USER_TIMEOUT: the kernel ends a connection whose client has taken nothing of what was sent for so long,
// one with a closed window that goes on acknowledging probes included. What a reply may take, as above: the
// idle deadline is eight times that.
inline constexpr std::chrono::milliseconds kUntakenDeadline = kWriteDeadline;
// Bytes a second that a long body or reply must keep up after that: a list of 100 MB within 34 s. The API
// server waits 30 s for a conversion, so nobody honest is cut; who dawdles does not hold the budget for long.
inline constexpr std::uint64_t kMinRate = 4 << 20;
// The API server drops its idle connections after 90 s. Ours live longer, so the client closes first:
// a POST that meets our close is not retried by Go's client and would fail an admission call.
inline constexpr std::chrono::milliseconds kIdleDeadline{120'000};
// After an early answer (413, ...) the rest of the body is discarded this long: closing with unread
// bytes would send a reset that can destroy the answer on its way.
inline constexpr std::chrono::milliseconds kLingerDeadline{2'000};
// Who has let us wait for so long, for his bytes or for room for ours, and still does, makes room for others
// when there is none: of his budget, or his connection. What he moves meanwhile counts for him at a quarter
// of kMinRate; what he moved before, however much, does not.
inline constexpr std::chrono::milliseconds kLagAfter{1'000};
// A client that has ended its direction of the connection is taken for gone when its request has waited so
// long.
inline constexpr std::chrono::milliseconds kGoneAfter{100};
// A request that waited so long for a worker is answered 503: the API server gives up a review of our kinds
// after 5 s.
inline constexpr std::chrono::milliseconds kQueueDeadline{4'000};
// Likewise a conversion, for which it waits 30 s.
inline constexpr std::chrono::milliseconds kLongQueueDeadline{25'000};
// Idle memory is given back after this long without a request.
inline constexpr std::chrono::milliseconds kIdleRelease{1'000};
// A connection that was opened but not used when the server stops may still send its first request.
inline constexpr std::chrono::milliseconds kFirstRequestGrace{1'000};
// Deadlines are checked by one sweep of each thread: they may be late by this much.
inline constexpr std::chrono::milliseconds kSweepInterval{250};

// An API server's request head is about 300 bytes; 16 KiB leaves room for tracing headers and proxies.
inline constexpr std::size_t kMaxHeaderBytes = std::size_t{16} * 1024;
inline constexpr unsigned kMaxHeaders = 100;
// API servers keep a few dozen. An unused TLS connection holds about 40 KiB, so this is 320 MiB at worst.
inline constexpr std::size_t kMaxConnections = 8192;
// Bodies are paid for as they come, so that an announcement alone takes nothing from anyone. Of conversions:
// one of the largest (kMaxConversionBody in webhook/routes.h). Of two that do not fit together, the one that
// meets the end is answered 503 and the other goes on: API machinery asks again.
inline constexpr std::size_t kConversionBudget = std::size_t{256} << 20;
// Beside it, what only conversions up to kShortList may take: 400 objects of 10 KB. Whoever sends long lists,
// or begins to, leaves room for eight of these.
inline constexpr std::size_t kShortListBudget = std::size_t{32} << 20;
inline constexpr std::size_t kShortList = std::size_t{4} << 20;
// Of all other bodies: nine of the largest admission reviews. A budget of their own, so that lists to convert
// never keep admission out.
inline constexpr std::size_t kAdmissionBudget = std::size_t{64} << 20;
// Replies above kFreeBody until the client has taken them from the kernel, but those of conversions, which
// their request has paid for. A graph of few bytes can have a patch of hundreds of KiB.
inline constexpr std::size_t kReplyBudget = std::size_t{64} << 20;
// A body up to this needs no budget: most reviews. All connections together hold 128 MiB of them. So with
// replies, of which the kernel may hold as much again.
inline constexpr std::size_t kFreeBody = std::size_t{16} << 10;
// From this size on a body is handled off the I/O threads: 1 MiB of JSON takes some 5 ms.
inline constexpr std::size_t kHeavyBody = std::size_t{1} << 20;
// A request's buffer above this is not kept for the next one: what a connection keeps is in no budget.
inline constexpr std::size_t kKeptBuffer = kFreeBody + (std::size_t{4} << 10);
// After a body above this the allocator is asked to return free pages to the system.
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
  std::size_t conversionBudget = kConversionBudget;  ///< a longer body is answered 413
  std::size_t shortListBudget = kShortListBudget;
  std::size_t shortList = kShortList;
  std::size_t admissionBudget = kAdmissionBudget;
  std::size_t replyBudget = kReplyBudget;
  std::size_t freeBody = kFreeBody;
};

}  // namespace dynamo::webhook
