#pragma once
// A client connection as a state machine: reads requests, calls their handlers and writes the replies, in
// order. It never blocks and does not depend on an event loop: `advance` runs as far as it can and returns
// what to wait for.

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "common/runtime/clock.h"
#include "common/runtime/head_parser.h"
#include "common/runtime/peer.h"
#include "common/runtime/wire.h"
#include "webhook/http/counters.h"
#include "webhook/http/shared.h"

namespace dynamo::webhook::detail {

using runtime::HeadParser;
using runtime::Io;
using runtime::IoResult;
using runtime::Wire;

// Bytes that a connection may transfer before other connections of its thread get a turn: about 30 us.
inline constexpr std::size_t kTurnBytes = std::size_t{32} << 10;

/// What a connection waits for.
enum class Step {
  read,     ///< the socket is readable
  write,    ///< the socket is writable
  receipt,  ///< the client takes the sent bytes from the kernel, which gives no notification: try again soon
  work,     ///< `work` has run, on a worker thread
  yield,    ///< nothing: other connections of the thread get a turn
  done,     ///< the connection has ended: close the socket
};

/// The expected cost of the next `advance`.
enum class Work {
  usual,      ///< at most one review
  handshake,  ///< 200 us of signing
  bulk,       ///< one of many turns of a large body or reply
};

/// The result of a sweep.
enum class SweepResult {
  nothing,
  released,  ///< memory was released
  changed,   ///< the state has changed: wake the connection
};

class Connection {
 public:
  /// The caller owns the socket, which must outlive the connection.
  Connection(const Site& site, Shared& shared, Counters& counters, int fd, runtime::SslPtr ssl);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  /// Runs until the connection must wait. Must not be called again after Step::done.
  Step advance();
  /// Runs the handler. May run on another thread, unlike all other functions. Only allowed after Step::work.
  void work();
  /// Checks the deadline and frees idle memory.
  SweepResult sweep(Instant now);
  /// Whether the client has not sent a complete request head yet.
  bool unused() const { return served_ == 0 && (state_ == State::handshake || state_ == State::head); }
  /// Whether the connection has been idle long enough to release its memory, and is still idle.
  bool dormant() const { return released_ && idle() && !wire_.arrived(); }
  /// Whether the client has delayed the connection for too long, by not sending or not receiving bytes.
  bool lags(Instant now) const;
  /// The likely cost of the next `advance`.
  Work next() const {
    if (state_ == State::handshake) return Work::handshake;
    return moved_ >= kTurnBytes && state_ != State::head ? Work::bulk : Work::usual;
  }
  /// Makes the next `advance` end the connection in any state.
  void abort() { aborted_ = true; }

 private:
  enum class State { handshake, head, body, working, reply, linger, done };
  using MaybeStep = std::optional<Step>;  ///< nullopt: the state changed, continue

  MaybeStep tick();
  MaybeStep handshake();
  MaybeStep readHead();
  MaybeStep takeRequest();
  std::string_view clientRefusal();
  MaybeStep readBody();
  MaybeStep handle();
  MaybeStep respond();
  MaybeStep refuse(int status, std::string_view message, std::string_view allow = {});
  MaybeStep writeReply();
  MaybeStep finishReply();
  MaybeStep linger();
  MaybeStep finish();
  MaybeStep waitFor(Io io);
  void reportHandshakeFailure(std::string_view reason, int alert) const;
  void reportRefusal() const;
  void startTransfer(std::chrono::milliseconds limit);

  IoResult receive(char* data, std::size_t size);
  MaybeStep flush(std::string_view bytes, std::size_t& position);
  bool roomForInput();
  Budget& budget() const { return route_->conversion ? shared_.conversionBudget : shared_.admissionBudget; }
  bool takeBudget(std::size_t bodyBytes);
  bool takeReplyBudget();
  void reduceBudgetTo(std::size_t most);
  bool replyPending();
  bool holdsContendedBudget(Instant now) const;
  bool reads() const { return state_ == State::body; }
  bool writes() const { return state_ == State::reply; }
  bool canProceed() const;
  bool overdue(Instant now) const;
  bool outdated() const;
  void extendDeadline(std::chrono::milliseconds base);
  void releaseMemory();
  void releaseRequest();
  std::string_view input() const { return {in_.get() + inBegin_, inEnd_ - inBegin_}; }
  bool idle() const { return state_ == State::head && inBegin_ == inEnd_; }

  const Site& site_;
  Shared& shared_;
  Counters& counters_;
  Wire wire_;
  runtime::Peer peer_;
  State state_;
  Instant deadline_;
  Instant started_{};            ///< start of the current body or reply
  std::size_t moved_ = 0;        ///< transferred bytes of the current body or reply
  Instant waited_{};             ///< total time in which the client delayed this transfer
  Instant waitsSince_ = kNever;  ///< start of the current wait
  Instant lag_{};                ///< waited_, minus a credit for transferred bytes
  std::size_t credited_ = 0;     ///< the part of moved_ already credited
  std::size_t turnBytes_ = 0;

  std::unique_ptr<char[]> in_;  ///< received and unprocessed bytes: [inBegin_, inEnd_)
  std::size_t inSize_ = 0;
  std::size_t inBegin_ = 0;
  std::size_t inEnd_ = 0;

  HeadParser parser_;
  const Route* route_ = nullptr;
  std::string path_;
  HttpRequest request_;
  std::size_t held_ = 0;               ///< bytes taken from the route's budget
  std::size_t heldReply_ = 0;          ///< bytes taken from the reply budget
  std::size_t maxUnacknowledged_ = 0;  ///< upper bound of reply bytes in the kernel

  Reply reply_;
  std::string_view allow_;
  std::string out_;  ///< head of the reply and the start of its body: one TLS record
  std::size_t outSent_ = 0;
  std::size_t bodySent_ = 0;

  std::size_t served_ = 0;
  bool keepAlive_ = true;
  bool unread_ = false;         ///< the client may still be sending
  bool awaitsRequest_ = false;  ///< the wait for the next request has begun
  bool released_ = false;       ///< idle memory has been released
  bool idleExtended_ = false;   ///< the idle deadline was extended once for an incomplete request
  bool trim_ = false;
  bool aborted_ = false;
  std::optional<bool> admitted_;  ///< access to guarded routes; nullopt: not checked yet
  bool late_ = false;             ///< the request waited too long for a worker
};

}  // namespace dynamo::webhook::detail
