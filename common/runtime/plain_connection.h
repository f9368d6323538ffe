#pragma once
// A connection of the plain server. It serves one request.

#include <chrono>
#include <functional>
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
  PlainConnection(EventLoop& loop, UniqueFd fd, const PlainListener& listener, const PlainLimits& limits)
      : loop_(loop),
        socket_(loop, std::move(fd)),
        wire_(socket_.get(), nullptr),
        listener_(listener),
        limits_(limits) {}

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

  Task<Read> readHead();
  Task<Page> makePage();
  Task<bool> write(std::string text);
  Task<void> linger();
  void refuse(int status, std::string_view message, std::string_view allow = {});

  EventLoop& loop_;
  Descriptor socket_;
  Wire wire_;
  const PlainListener& listener_;
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
