// Reads the body of a request within the budget.

#include <algorithm>

#include "webhook/http/connection.h"

namespace dynamo::webhook::detail {
namespace {

// Memory for a body before its first byte has arrived.
constexpr std::size_t kFirstStep = std::size_t{16} * 1024;

}  // namespace

/// Takes budget for a body of this size. If the budget is exhausted, slow connections that hold part of it
/// end.
bool Connection::takeBudget(std::size_t bodyBytes) {
  const std::size_t charged = bodyBytes - std::min(bodyBytes, shared_.limits.freeBody);
  if (charged <= held_) return true;
  const bool isShort = parser_.head().contentLength <= shared_.limits.shortList;
  if (!budget().tryTake(charged - held_, isShort)) {
    budget().reportShortage(coarseNow());
    return false;
  }
  held_ = charged;
  return true;
}

/// Returns the budget that exceeds `most` bytes.
void Connection::reduceBudgetTo(std::size_t most) {
  const auto keep = [most](Budget& from, std::size_t& held) {
    from.giveBack(held - std::min(held, most));
    held = std::min(held, most);
  };
  if (held_ > 0) keep(budget(), held_);
  if (heldReply_ > 0) keep(shared_.replyBudget, heldReply_);
}

/// Extends the deadline by the time that the transferred bytes may take.
void Connection::extendDeadline(std::chrono::milliseconds base) {
  deadline_ = started_ + base + std::chrono::seconds{moved_ / shared_.limits.minRate};
}

Connection::MaybeStep Connection::readBody() {
  // Memory and budget are allocated as bytes arrive. Each step doubles the size, up to a limit that keeps the
  // step in the second-level cache.
  constexpr std::size_t kMost = std::size_t{256} * 1024;
  auto& body = request_.body;
  const auto length = static_cast<std::size_t>(parser_.head().contentLength);
  if (moved_ == 0) {
    body.reserve(std::min(length, kFirstStep) + kSpareBytes);
    const auto early = input().substr(0, length);
    body.append(early);
    inBegin_ += early.size();
    moved_ = early.size();
  }
  while (moved_ < length) {
    if (moved_ == body.size()) {
      const std::size_t next = std::min(length, moved_ + std::clamp(moved_, kFirstStep, kMost));
      if (!takeBudget(next)) return refuse(503, "too many bytes of requests are being handled");
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
      extendDeadline(shared_.limits.body);  // also if the connection never has to wait
      return std::nullopt;
    }
  }
  return handle();
}

}  // namespace dynamo::webhook::detail
