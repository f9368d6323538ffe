// Runs the handler and sends the reply.

#include <algorithm>
#include <utility>

#include "common/runtime/exception_type.h"
#include "webhook/http/connection.h"
#include "webhook/http/status_reply.h"

namespace dynamo::webhook::detail {
namespace {

// Size of one TLS record. Head and body of a short reply share one record and one system call.
constexpr std::size_t kRecord = std::size_t{16} * 1024;
// Bytes passed to TLS at a time, so that other connections get turns during a large reply.
constexpr std::size_t kWriteStep = std::size_t{256} * 1024;

}  // namespace

/// Whether the client no longer waits for the answer, or soon will not.
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
    // Only the type is reported, because the exception may quote the request.
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
  reduceBudgetTo(0);
  // Well-behaved clients are not refused, or can retry on another connection. So this connection is closed.
  keepAlive_ = false;
  counters_.requestsRefused.add();
  return respond();
}

void Connection::reportRefusal() const {
  if (const auto& tell = site_.events.requestRefused) {
    tell({peer_.text(), path_, reply_.status, reply_.refusal});
  }
}

/// Takes budget for the reply. Returns false if it is exhausted.
bool Connection::takeReplyBudget() {
  const std::size_t size = reply_.body.capacity();  // the allocated size, which can be twice the length
  if (route_ == nullptr || route_->conversion || size <= shared_.limits.freeBody) return true;
  Budget& replies = shared_.replyBudget;
  const bool covered = replies.tryTake(size);
  if (covered) heldReply_ = size;
  if (!covered || replies.used() > replies.capacity() / 2) replies.reportShortage(coarseNow());
  return covered;
}

/// Starts to send reply_.
Connection::MaybeStep Connection::respond() {
  releaseRequest();
  if (std::exchange(late_, false)) counters_.timeouts.add();
  if (!takeReplyBudget()) {
    reply_ = statusReply(503, "too many bytes of replies are being sent");
    reply_.refusal = "too many bytes of replies are being sent";
    keepAlive_ = false;
    counters_.requestsRefused.add();
  }
  if (!reply_.refusal.empty()) reportRefusal();
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

/// Sends `bytes` from `position` on. Returns a step if the connection must wait.
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
    maxUnacknowledged_ += sent.bytes;
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

/// Releases the body of the request once there is a reply. Its budget stays taken for the reply, which has a
/// similar size.
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
  releaseText(reply_.body);  // the next reply has a new buffer
  if (!replyPending()) reduceBudgetTo(0);
  if (std::exchange(trim_, false)) shared_.trimHeap();
  parser_.reset();
  path_.clear();
  allow_ = {};
  if (!keepAlive_) return finish();
  state_ = State::head;
  deadline_ = coarseNow() + (idle() ? shared_.limits.idle : shared_.limits.header);
  return std::nullopt;
}

/// Whether the kernel holds more reply bytes than are free of budget, because the client has not received
/// them. These bytes keep their budget. The kernel is queried only once per `freeBody` bytes.
bool Connection::replyPending() {
  const std::size_t free = shared_.limits.freeBody;
  if (maxUnacknowledged_ <= free) return false;
  maxUnacknowledged_ = wire_.unacknowledged();
  reduceBudgetTo(maxUnacknowledged_ > free ? maxUnacknowledged_ : 0);
  return maxUnacknowledged_ > free;
}

/// Ends the connection so that all sent bytes arrive. The socket stays open until then, because the bytes in
/// the kernel would otherwise be outside of any budget and deadline.
Connection::MaybeStep Connection::finish() {
  const bool moreMayCome = unread_ || inBegin_ < inEnd_ || wire_.pending();
  const bool mustGo = wire_.unacknowledged() > 0;
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
  if (got.io == Io::closed && wire_.unacknowledged() > 0) return Step::receipt;
  return got.io == Io::ok ? std::nullopt : waitFor(got.io);
}

}  // namespace dynamo::webhook::detail
