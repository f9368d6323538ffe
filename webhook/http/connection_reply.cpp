// The second half of a request: from the handler to the last byte of the reply.

#include <algorithm>
#include <utility>

#include "common/runtime/exception_type.h"
#include "webhook/http/connection.h"
#include "webhook/http/status_reply.h"

namespace dynamo::webhook::detail {
namespace {

// Plain text of one TLS record: head and body together cost one record and one system call.
constexpr std::size_t kRecord = std::size_t{16} * 1024;
// Handed to TLS at a time, so that a large reply has turns.
constexpr std::size_t kWriteStep = std::size_t{256} * 1024;

}  // namespace

/// Nobody waits for the answer any more, or soon.
bool Connection::outdated() const {
  if (shared_.cut) return true;
  const auto waited = std::chrono::steady_clock::now() - request_.arrived;
  const Limits& limits = shared_.limits;
  return waited > (route_->conversion ? limits.longQueue : limits.queue) ||
         (waited > limits.goneAfter && wire_.hungUp());
}

void Connection::work() {
  late_ = state_ == State::working && outdated();
  if (late_) {
    reply_ = statusReply(503, "too many requests are being handled");
    reply_.refusal = "too many requests are being handled";
    return;
  }
  try {
    reply_ = route_->handle(request_);
  } catch (...) {
    // What it threw may quote the request.
    if (const auto& tell = site_.events.handlerFailed) {
      tell({peer_.text(), path_, runtime::currentExceptionType()});
    }
    reply_ = statusReply(500, "the handler failed");
  }
}

Connection::MaybeStep Connection::handle() {
  unread_ = false;
  allow_ = {};
  deadline_ = kNever;
  trim_ = request_.body.size() > kTrimBody;
  request_.arrived = std::chrono::steady_clock::now();
  if (request_.body.size() >= route_->heavyBody) {
    state_ = State::working;
    return Step::work;
  }
  work();
  return respond();
}

Connection::MaybeStep Connection::refuse(int status, std::string_view message, std::string_view allow) {
  reply_ = statusReply(status, message);
  reply_.refusal = message;
  allow_ = allow;
  releaseRequest();
  keepCovered(0);
  // Nobody honest is refused here, or goes on better on another connection: this one does not keep its place.
  keepAlive_ = false;
  counters_.requestsRefused.add();
  return respond();
}

void Connection::tellRefused() const {
  if (const auto& tell = site_.events.requestRefused) {
    tell({peer_.text(), path_, reply_.status, reply_.refusal});
  }
}

/// Takes budget for the reply.
bool Connection::coverReply() {
  const std::size_t size =
      reply_.body.capacity();  // what it holds: a text that grew may have twice its length
  if (route_ == nullptr || route_->conversion || size <= shared_.limits.freeBody) return true;
  Budget& replies = shared_.replyBudget;
  const bool covered = replies.tryTake(size);
  if (covered) heldReply_ = size;
  if (!covered || replies.used() > replies.capacity() / 2) replies.want(coarseNow());
  return covered;
}

/// Sends reply_.
Connection::MaybeStep Connection::respond() {
  releaseRequest();
  if (std::exchange(late_, false)) counters_.timeouts.add();
  if (!coverReply()) {
    reply_ = statusReply(503, "too many bytes of replies are being sent");
    reply_.refusal = "too many bytes of replies are being sent";
    keepAlive_ = false;
    counters_.requestsRefused.add();
  }
  if (!reply_.refusal.empty()) tellRefused();
  if (shared_.draining || shared_.stopping) keepAlive_ = false;
  out_.clear();
  runtime::appendHead(out_, {reply_.status, reply_.contentType, keepAlive_, allow_}, reply_.body.size());
  const auto first = out_.size() < kRecord ? std::min(reply_.body.size(), kRecord - out_.size()) : 0;
  out_.append(reply_.body, 0, first);
  outSent_ = 0;
  bodySent_ = first;
  startTransfer(shared_.limits.write);
  state_ = State::reply;
  return std::nullopt;
}

/// Sends from `position` on. A value: wait.
Connection::MaybeStep Connection::flush(std::string_view bytes, std::size_t& position) {
  while (position < bytes.size()) {
    const auto rest = bytes.substr(position, kWriteStep);
    const auto sent = wire_.write(rest.data(), rest.size());
    if (sent.io != Io::ok) {
      extendDeadline(shared_.limits.write);
      return waitFor(sent.io);
    }
    position += sent.bytes;
    moved_ += sent.bytes;
    given_ += sent.bytes;
    turnBytes_ += sent.bytes;
    if (turnBytes_ >= kTurnBytes) {
      extendDeadline(shared_.limits.write);
      return std::nullopt;
    }
  }
  return std::nullopt;
}

Connection::MaybeStep Connection::writeReply() {
  if (auto step = flush(out_, outSent_)) return step;
  if (outSent_ < out_.size()) return std::nullopt;
  if (auto step = flush(reply_.body, bodySent_)) return step;
  if (bodySent_ < reply_.body.size()) return std::nullopt;
  return finishReply();
}

/// The request's body is not needed once there is a reply. Its share of the budget is: the reply is as large.
void Connection::releaseRequest() {
  if (request_.body.capacity() > kKeptBuffer) {
    releaseText(request_.body);
  } else {
    request_.body.clear();
  }
}

Connection::MaybeStep Connection::finishReply() {
  ++served_;
  trim_ = trim_ || reply_.body.size() > kTrimBody;
  releaseText(reply_.body);  // the next one brings its own
  if (!untaken()) keepCovered(0);
  if (std::exchange(trim_, false)) shared_.trimHeap();
  parser_.reset();
  path_.clear();
  allow_ = {};
  if (!keepAlive_) return finish();
  state_ = State::head;
  deadline_ = coarseNow() + (idle() ? shared_.limits.idle : shared_.limits.header);
  return std::nullopt;
}

/// Whether the kernel holds more of our replies than needs no budget, as the client has not taken them: that
/// stays paid for. The kernel is asked once in so many bytes only.
bool Connection::untaken() {
  const std::size_t free = shared_.limits.freeBody;
  if (given_ <= free) return false;
  given_ = wire_.untaken();
  keepCovered(given_ > free ? given_ : 0);
  return given_ > free;
}

/// Ends the connection so that what was sent arrives. A socket that is closed while the kernel holds
/// something is nobody's any more: in no count and under no deadline of ours.
Connection::MaybeStep Connection::finish() {
  const bool moreMayCome = unread_ || inBegin_ < inEnd_ || wire_.pending();
  const bool mustGo = wire_.untaken() > 0;
  wire_.shutdown();
  if (!moreMayCome && !mustGo) {
    state_ = State::done;
    return std::nullopt;
  }
  state_ = State::linger;
  started_ = coarseNow();
  deadline_ = started_ + (moreMayCome ? shared_.limits.linger : std::chrono::milliseconds{0});
  return std::nullopt;
}

Connection::MaybeStep Connection::linger() {
  const auto got = wire_.discard();
  turnBytes_ += got.bytes;
  if (got.io == Io::closed && wire_.untaken() > 0) return Step::taken;
  return got.io == Io::ok ? std::nullopt : waitFor(got.io);
}

}  // namespace dynamo::webhook::detail
