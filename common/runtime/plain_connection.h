#pragma once
// One connection to the plain server: a request, its reply, the end.

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

/// Belongs to the thread of the loop.
class PlainConnection {
 public:
  PlainConnection(EventLoop& loop, UniqueFd fd, const PlainListener& listener, const PlainLimits& limits)
      : loop_(loop),
        socket_(loop, std::move(fd)),
        wire_(socket_.get(), nullptr),
        listener_(listener),
        limits_(limits) {}

  /// From the first byte to the last.
  Task<void> serve();
  /// Whether the client has asked nothing yet, not even the whole head of a request.
  bool unused() const { return !asked_ && !cut_; }
  /// Whether the client has long let us wait to take its reply.
  bool lags(Deadline now) const {
    return !cut_ && waitsSince_ != kNoDeadline && now - waitsSince_ > limits_.lagAfter;
  }
  Deadline since() const { return since_; }
  /// Ends it, whatever it is doing.
  void cut();
  /// The server stops: who has sent nothing yet has not long to do so.
  void hurry();

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
  Deadline firstBy_ = kNoDeadline;     ///< when the first byte must have come, as the server stops
  Deadline waitsSince_ = kNoDeadline;  ///< for the client to take its reply
  bool asked_ = false;
  bool unread_ = false;  ///< the client may still be sending
  bool cut_ = false;

  static constexpr unsigned kMaxHeaders = 100;
};

}  // namespace dynamo::runtime
