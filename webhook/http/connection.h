#pragma once
// One client connection as a state machine: reads requests, asks the routes, writes replies, in order.
// It never blocks and knows no event loop: `advance` goes as far as it can and says what to wait for.

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

// Bytes that one connection may move before the others of its thread have a turn: about 30 us.
inline constexpr std::size_t kTurnBytes = std::size_t{32} << 10;

/// What a connection waits for.
enum class Step {
  read,   ///< the socket is readable
  write,  ///< the socket is writable
  taken,  ///< a client that sends no more takes what the kernel holds, which is not announced: try again soon
  work,   ///< `work` has run, on a worker thread
  yield,  ///< nothing: let other connections of the thread have their turn
  done,   ///< over: close the socket
};

/// What costs how much.
enum class Work {
  usual,      ///< no more than a review
  handshake,  ///< 200 us of signing
  bulk,       ///< a turn of a large body or reply: there will be many
};

/// What a sweep did.
enum class Swept {
  nothing,
  released,  ///< memory
  changed,   ///< the state: wake the connection
};

class Connection {
 public:
  /// The socket stays with the caller and must outlive the connection.
  Connection(const Site& site, Shared& shared, Counters& counters, int fd, runtime::SslPtr ssl);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  /// Goes on until it must wait. After Step::done it must not be called again.
  Step advance();
  /// Runs the handler. The only function that may run on another thread, and only after Step::work.
  void work();
  /// Checks the deadline and frees idle memory.
  Swept sweep(Instant now);
  /// Whether the client has asked nothing yet: no request, not even the whole head of one.
  bool unused() const { return served_ == 0 && (state_ == State::handshake || state_ == State::head); }
  /// Whether it has been idle for a while, and still is.
  bool dormant() const { return released_ && idle() && !wire_.arrived(); }
  /// Whether the client has long let us wait for its bytes, or to take ours.
  bool lags(Instant now) const;
  /// What the next `advance` is likely to do.
  Work next() const {
    if (state_ == State::handshake) return Work::handshake;
    return moved_ >= kTurnBytes && state_ != State::head ? Work::bulk : Work::usual;
  }
  /// The next `advance` ends the connection, whatever it is doing.
  void abort() { aborted_ = true; }

 private:
  enum class State { handshake, head, body, working, reply, linger, done };
  using MaybeStep = std::optional<Step>;  ///< nullopt: the state changed, go on

  MaybeStep tick();
  MaybeStep handshake();
  MaybeStep readHead();
  MaybeStep takeRequest();
  std::string_view refusalOfClient();
  MaybeStep readBody();
  MaybeStep handle();
  MaybeStep respond();
  MaybeStep refuse(int status, std::string_view message, std::string_view allow = {});
  MaybeStep writeReply();
  MaybeStep finishReply();
  MaybeStep linger();
  MaybeStep finish();
  MaybeStep waitFor(Io io);
  void tellHandshakeFailed(std::string_view reason, int alert) const;
  void tellRefused() const;
  void startTransfer(std::chrono::milliseconds limit);

  IoResult receive(char* data, std::size_t size);
  MaybeStep flush(std::string_view bytes, std::size_t& position);
  bool roomForInput();
  Budget& budget() const { return route_->conversion ? shared_.conversionBudget : shared_.admissionBudget; }
  bool cover(std::size_t bodyBytes);
  bool coverReply();
  void keepCovered(std::size_t most);
  bool untaken();
  bool holdsWanted(Instant now) const;
  bool reads() const { return state_ == State::body; }
  bool writes() const { return state_ == State::reply; }
  bool waitsForUs() const;
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
  Instant started_{};            ///< of the body or reply under way
  std::size_t moved_ = 0;        ///< bytes of the body or reply under way
  Instant waited_{};             ///< in which the client let us wait for its bytes, or to take ours
  Instant waitsSince_ = kNever;  ///< for that which is under way
  Instant lag_{};                ///< waited_, less what was moved in between
  std::size_t credited_ = 0;     ///< of moved_
  std::size_t turnBytes_ = 0;

  std::unique_ptr<char[]> in_;  ///< received, not yet taken: [inBegin_, inEnd_)
  std::size_t inSize_ = 0;
  std::size_t inBegin_ = 0;
  std::size_t inEnd_ = 0;

  HeadParser parser_;
  const Route* route_ = nullptr;
  std::string path_;
  Request request_;
  std::size_t held_ = 0;       ///< bytes taken from the route's budget
  std::size_t heldReply_ = 0;  ///< bytes taken from that of replies
  std::size_t given_ = 0;      ///< bytes of replies that the kernel may hold

  Reply reply_;
  std::string_view allow_;
  std::string out_;  ///< head of the reply and the start of its body: one TLS record
  std::size_t outSent_ = 0;
  std::size_t bodySent_ = 0;

  std::size_t served_ = 0;
  bool keepAlive_ = true;
  bool unread_ = false;    ///< the client may still be sending
  bool expects_ = false;   ///< the wait for the next request has begun
  bool released_ = false;  ///< idle memory has been given back
  bool spared_ = false;    ///< the idle deadline was moved once: bytes had come that are no request yet
  bool trim_ = false;
  bool aborted_ = false;
  std::optional<bool> admitted_;  ///< to guarded routes; nullopt: not asked yet
  bool late_ = false;             ///< the request waited too long for a worker
};

}  // namespace dynamo::webhook::detail
