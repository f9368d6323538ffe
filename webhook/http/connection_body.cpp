// The middle of a request: its body, with a length or in chunks, within the budget.

#include <algorithm>

#include "webhook/http/connection.h"

namespace dynamo::webhook::detail {
namespace {

// Of a body, before any of it has come.
constexpr std::size_t kFirstStep = std::size_t{16} * 1024;

}  // namespace

/// Takes budget for a body of that size. Remembers the need if there is none.
bool Connection::cover(std::size_t bodyBytes) {
  needed_ = bodyBytes;
  const std::size_t charged = bodyBytes - std::min(bodyBytes, shared_.limits.freeBody);
  if (charged <= held_) return true;
  if (!budget().tryTake(charged - held_)) return false;
  held_ = charged;
  return true;
}

void Connection::giveBudgetBack() {
  if (held_ > 0) budget().giveBack(held_);
  if (heldReply_ > 0) shared_.replyBudget.giveBack(heldReply_);
  held_ = heldReply_ = 0;
}

Connection::MaybeStep Connection::awaitBudget() {
  waitingSince_ = coarseNow();
  budget().want(waitingSince_);
  if (!route_->waits) return refuse(503, "too many bytes of requests are being handled");
  state_ = State::waitBudget;
  return std::nullopt;
}

Connection::MaybeStep Connection::leaveBudget() {
  const Instant now = coarseNow();
  if (!cover(needed_)) {
    budget().want(now);
    return Step::budget;
  }
  started_ += now - waitingSince_;  // this time was not the client's
  extendDeadline(shared_.limits.body);
  return startBody();
}

Connection::MaybeStep Connection::startBody() {
  const auto& head = parser_.head();
  state_ = head.chunked ? State::chunks : State::body;
  if (!head.chunked) {
    request_.body.reserve(std::min(static_cast<std::size_t>(head.contentLength), kFirstStep) + kSpareBytes);
  }
  // A body that has begun to arrive needs no invitation.
  if (head.expectContinue && inBegin_ == inEnd_) {
    out_ = "HTTP/1.1 100 Continue\r\n\r\n";
    outSent_ = 0;
    state_ = State::interim;
  }
  return std::nullopt;
}

/// Who sends (or takes) bytes earns time.
void Connection::extendDeadline(std::chrono::milliseconds base) {
  deadline_ = started_ + base + std::chrono::seconds{moved_ / shared_.limits.minRate};
}

Connection::MaybeStep Connection::readBody() {
  // Memory is touched, and paid for, as it is filled: in steps that double what has come, while they stay in
  // the second-level cache.
  constexpr std::size_t kMost = std::size_t{256} * 1024;
  auto& body = request_.body;
  const auto length = static_cast<std::size_t>(parser_.head().contentLength);
  if (moved_ == 0 && inBegin_ < inEnd_) {
    const auto early = input().substr(0, length);
    body.append(early);
    inBegin_ += early.size();
    moved_ = early.size();
  }
  while (moved_ < length) {
    if (moved_ == body.size()) {
      const std::size_t next = std::min(length, moved_ + std::clamp(moved_, kFirstStep, kMost));
      if (!cover(next)) return awaitBudget();
      if (moved_ >= kFirstStep) body.reserve(length + kSpareBytes);
      body.resize(next);
    }
    const auto got = receive(body.data() + moved_, body.size() - moved_);
    if (got.io != Io::ok) {
      extendDeadline(shared_.limits.body);
      return waitFor(got.io);
    }
    moved_ += got.bytes;
    if (turnBytes_ >= kTurnBytes) {
      extendDeadline(shared_.limits.body);  // who never makes us wait, too
      return std::nullopt;
    }
  }
  return handle();
}

Connection::MaybeStep Connection::readChunks() {
  // Budget is taken in steps: nobody knows how long the body will be.
  constexpr std::size_t kStep = std::size_t{64} * 1024;
  auto& body = request_.body;
  for (;;) {
    if (inBegin_ < inEnd_) {
      const std::size_t next = (body.size() + input().size()) / kStep * kStep + kStep;
      if (!cover(std::min(next, mostBody_))) return awaitBudget();
      std::size_t used = 0;
      const auto result = parser_.feedChunks(input(), mostBody_, body, used);
      inBegin_ += used;
      if (result == HeadParser::Result::complete) return handle();
      if (result == HeadParser::Result::refused) {
        return refuse(parser_.refusal().status, parser_.refusal().message);
      }
    }
    if (!roomForInput(shared_.limits.headerBytes)) return refuse(400, "malformed chunked body");
    const auto got = receive(in_.get() + inEnd_, inSize_ - inEnd_);
    moved_ = body.size();
    if (got.io != Io::ok || turnBytes_ >= kTurnBytes) extendDeadline(shared_.limits.body);
    if (got.io != Io::ok) return waitFor(got.io);
    inEnd_ += got.bytes;
    if (turnBytes_ >= kTurnBytes) return std::nullopt;
  }
}

}  // namespace dynamo::webhook::detail
