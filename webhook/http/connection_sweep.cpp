// Deadlines and idle memory of a connection: whether the client is slow, and what a sweep does about it.

#include <algorithm>

#include "webhook/http/connection.h"

namespace dynamo::webhook::detail {

void Connection::releaseMemory() {
  in_.reset();
  inSize_ = inBegin_ = inEnd_ = 0;
  releaseText(out_);
  releaseText(request_.body);
  releaseText(reply_.body);
  wire_.releaseBuffers();
  released_ = true;
}

bool Connection::lags(Instant now) const {
  if (state_ == State::linger) return now - started_ > shared_.limits.lagAfter;
  const bool pays = held_ + heldReply_ > 0;  // in State::head: for an unacknowledged reply
  if (waitsSince_ == kNever || !(reads() || writes() || (state_ == State::head && pays))) return false;
  return lag_ + (now - waitsSince_) > shared_.limits.lagAfter && !canProceed();
}

/// Whether bytes have arrived or can be sent, so that the server and not the client causes the delay.
bool Connection::canProceed() const {
  return (reads() && wire_.arrived()) || (writes() && wire_.writable());
}

/// Whether the deadline has passed. For a transfer only the time in which the client caused the delay counts,
/// because the client is not responsible for a busy thread. After three times the allowed time the transfer
/// is overdue in any case.
bool Connection::overdue(Instant now) const {
  if (now < deadline_) return false;
  if (!reads() && !writes()) return true;
  const Instant allowed = deadline_ - started_;
  if (now - started_ >= 3 * allowed) return true;
  if (waitsSince_ == kNever) return waited_ >= allowed;
  if (canProceed()) return false;
  return waited_ + (now - waitsSince_) >= allowed;
}

/// Whether the connection holds budget that other requests need.
bool Connection::holdsContendedBudget(Instant now) const {
  return (held_ > 0 && budget().contended(now)) || (heldReply_ > 0 && shared_.replyBudget.contended(now));
}

SweepResult Connection::sweep(Instant now) {
  if (state_ == State::head || state_ == State::linger)
    replyPending();  // returns the budget of acknowledged bytes
  if (state_ == State::linger && now - started_ < shared_.limits.write && wire_.unacknowledged() > 0) {
    deadline_ = std::max(deadline_, now + Instant{1});  // the client may still be receiving the reply
  }
  const bool inTime = !overdue(now);
  if (inTime && !(holdsContendedBudget(now) && lags(now))) {
    if (released_ || !idle() || deadline_ - now > shared_.limits.idle - shared_.limits.idleRelease)
      return SweepResult::nothing;
    releaseMemory();
    return SweepResult::released;
  }
  Wire::clearErrors();
  deadline_ = kNever;
  switch (state_) {
    case State::handshake:
      counters_.handshakesFailed.add();
      if (wire_.received() > 0) reportHandshakeFailure("the handshake took too long", 0);
      finish();
      break;
    case State::head:
      if (replyPending()) {
        counters_.timeouts.add();
        abort();
      } else if (!idle()) {
        counters_.timeouts.add();
        unread_ = true;
        refuse(408, "the request head arrived too slowly");
      } else if (!idleExtended_ && wire_.readable()) {
        idleExtended_ = true;
        deadline_ = now + shared_.limits.header;  // a request has just arrived at the idle deadline
      } else {
        finish();
      }
      break;
    case State::body:
      counters_.timeouts.add();
      // A request that was in time but lost its budget may be retried.
      refuse(inTime ? 503 : 408, "the request body arrived too slowly");
      break;
    case State::reply:
      counters_.timeouts.add();
      abort();
      break;
    case State::linger:
      abort();
      break;
    case State::working:
    case State::done:
      break;
  }
  return SweepResult::changed;
}

}  // namespace dynamo::webhook::detail
