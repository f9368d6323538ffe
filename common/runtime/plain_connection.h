#pragma once
// A connection of the server for probes and metrics. It serves one request.

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "common/runtime/event_loop.h"
#include "common/runtime/head_parser.h"
#include "common/runtime/plain_server.h"
#include "common/runtime/reply_text.h"
#include "common/runtime/wire.h"

namespace dynamo::runtime {

/// All functions must be called on the loop's thread.
class PlainConnection {
 public:
  /// Throws if there is no memory for a TLS session. `guard` may be empty.
  PlainConnection(EventLoop& loop, UniqueFd fd, const PlainListener& listener, const Guard& guard,
                  const PlainLimits& limits);

  /// Serves the request and ends the connection.
  Task<void> serve();
  /// Returns whether the client has not sent a complete request head yet.
  bool unused() const { return !asked_ && !aborted_; }
  /// Returns whether the client has been too slow to receive its reply.
  bool lags(Deadline now) const {
    return !aborted_ && waitsSince_ != kNoDeadline && now - waitsSince_ > limits_.lagAfter;
  }
  Deadline since() const { return since_; }
  /// Ends the connection immediately.
  void abort();
  /// Shortens the time for the first byte of a request. Must be called when the server stops.
  void beginStop();

 private:
  enum class Read { Complete, Refused, Over };

  Task<Read> handshake();
  Task<Read> readHead();
  Wait waitFor(Io io, Deadline deadline);
  Task<Page> makePage();
  Task<std::optional<Page>> guarded();
  Task<bool> write(std::string text);
  Task<void> linger();
  void refuse(int status, std::string_view message, std::string_view allow = {});

  EventLoop& loop_;
  Descriptor socket_;
  Wire wire_;
  const PlainListener& listener_;
  const Guard& guard_;
  const PlainLimits& limits_;
  HeadParser parser_{kMaxHeaders};
  std::string in_;
  Page page_;
  std::string_view allow_;
  const Deadline since_ = std::chrono::steady_clock::now();
  Deadline firstBy_ = kNoDeadline;     ///< deadline of the first byte while the server stops
  Deadline waitsSince_ = kNoDeadline;  ///< start of the current wait for the client to receive its reply
  bool asked_ = false;
  bool unread_ = false;  ///< the client may still be sending
  bool aborted_ = false;

  static constexpr unsigned kMaxHeaders = 100;
};

}  // namespace dynamo::runtime
