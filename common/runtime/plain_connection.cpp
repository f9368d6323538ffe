#include "common/runtime/plain_connection.h"

#include <algorithm>
#include <memory>
#include <new>
#include <optional>
#include <utility>

namespace dynamo::runtime {
namespace {

using Clock = std::chrono::steady_clock;

// The request head of a probe has about 100 bytes; 16 KiB leave room for headers of proxies.
constexpr std::size_t kMaxHead = std::size_t{16} << 10;
constexpr std::size_t kPart = std::size_t{4} << 10;
// The minimum rate of a long reply, in bytes per second.
constexpr std::size_t kMinRate = std::size_t{4} << 20;
// Interval in which to check whether a client that sends nothing has received its reply.
constexpr std::chrono::milliseconds kReceiptPollInterval{50};

Page failed() {
  return {500, "application/json", statusBody(500, "the handler failed")};
}

/// Calls `make`. The reply to an exception does not contain its text, which could quote arbitrary data.
Page makeSafely(const std::function<Page()>& make) try { return make(); } catch (...) {
  return failed();
}

const std::function<Page()>* findPage(const Pages& pages, std::string_view path) {
  const auto found = pages.find(path);
  return found == pages.end() ? nullptr : &found->second;
}

/// Returns the TLS session of a new connection, or null if the listener serves HTTP without TLS.
SslPtr sessionOf(const PlainListener& listener, int fd) {
  if (!listener.tls) return nullptr;
  const std::shared_ptr<SSL_CTX> context = listener.tls();
  SslPtr session = context ? newServerSession(context.get(), fd) : nullptr;
  if (!session) throw std::bad_alloc{};
  return session;
}

}  // namespace

PlainConnection::PlainConnection(EventLoop& loop, UniqueFd fd, const PlainListener& listener,
                                 const Guard& guard, const PlainLimits& limits)
    : loop_(loop),
      socket_(loop, std::move(fd)),
      wire_(socket_.get(), sessionOf(listener, socket_.get())),
      listener_(listener),
      guard_(guard),
      limits_(limits) {}

void PlainConnection::abort() {
  aborted_ = true;
  socket_.cancel();
}

void PlainConnection::beginStop() {
  firstBy_ = Clock::now() + limits_.firstRequestGrace;
  if (in_.empty() && !asked_) socket_.cancel();
}

void PlainConnection::refuse(int status, std::string_view message, std::string_view allow) {
  page_ = {status, "application/json", statusBody(status, message)};
  allow_ = allow;
}

Wait PlainConnection::waitFor(Io io, Deadline deadline) {
  return io == Io::wantWrite ? socket_.writable(deadline) : socket_.readable(deadline);
}

Task<PlainConnection::Read> PlainConnection::handshake() {
  const Deadline deadline = Clock::now() + limits_.header;
  for (;;) {
    Wire::clearErrors();
    const Io io = wire_.handshake();
    if (io == Io::ok) co_return Read::Complete;
    if (io == Io::closed) break;
    const WaitResult how = co_await waitFor(io, std::min(deadline, firstBy_));
    if (aborted_ || loop_.stopping() || how == WaitResult::TimedOut) co_return Read::Over;
  }
  unread_ = true;
  if (wire_.fault().http) {
    wire_ = Wire{socket_.get(), nullptr};
    refuse(400, "this port serves HTTPS");
    co_return Read::Refused;
  }
  if (!wire_.fault().reason.empty()) co_await linger();  // so that the client receives the alert
  co_return Read::Over;
}

Task<PlainConnection::Read> PlainConnection::readHead() {
  Deadline deadline = Clock::now() + limits_.idle;
  for (;;) {
    const std::size_t before = in_.size();
    in_.resize(std::min(before + kPart, kMaxHead));
    Wire::clearErrors();
    const IoResult got = wire_.read(in_.data() + before, in_.size() - before);
    in_.resize(before + got.bytes);
    if (got.io == Io::closed) co_return Read::Over;
    if (aborted_) co_return Read::Over;  // before this wait
    if (got.io != Io::ok) {
      const Deadline end = in_.empty() ? std::min(deadline, firstBy_) : deadline;
      const WaitResult how = co_await waitFor(got.io, end);
      if (aborted_ || loop_.stopping()) co_return Read::Over;
      if (how != WaitResult::TimedOut) continue;
      if (in_.empty()) co_return Read::Over;
      unread_ = true;
      refuse(408, "the request head arrived too slowly");
      co_return Read::Refused;
    }
    if (before == 0) deadline = Clock::now() + limits_.header;
    const HeadParser::Result result = parser_.parse(in_);
    if (result == HeadParser::Result::complete) co_return Read::Complete;
    unread_ = true;  // the end of a request with an invalid head is unknown
    if (result == HeadParser::Result::refused) {
      if (parser_.refusal().status == 0) {
        co_await linger();
        co_return Read::Over;
      }
      refuse(parser_.refusal().status, parser_.refusal().message);
      co_return Read::Refused;
    }
    if (in_.size() == kMaxHead) {
      refuse(431, "the request head is too large");
      co_return Read::Refused;
    }
  }
}

/// Returns the reply to a client that may not see the pages.
Task<std::optional<Page>> PlainConnection::guarded() {
  if (!guard_) co_return std::nullopt;
  std::string authorization{parser_.head().authorization};
  std::optional<Page> refusal = co_await guard_(std::move(authorization));
  co_return std::move(refusal);
}

/// Returns the page for a request whose head is complete.
Task<Page> PlainConnection::makePage() {
  const Head& head = parser_.head();
  const std::string_view path = head.target.substr(0, head.target.find('?'));
  const auto* const quick = findPage(listener_.pages, path);
  const auto* const slow = findPage(listener_.slow, path);
  if (quick == nullptr && slow == nullptr) {
    refuse(404, "the path does not exist");
  } else if (head.method != "GET" && head.method != "HEAD") {
    refuse(405, "the method is not allowed for this path", "GET, HEAD");
  } else if (head.contentLength > 0) {
    refuse(413, "the request body is too large");
  } else {
    std::optional<Page> refusal = co_await guarded();
    if (refusal) co_return std::move(*refusal);
    if (quick != nullptr) co_return makeSafely(*quick);
    const auto made = std::make_shared<Page>();
    std::function<void()> work = [made, make = *slow] { *made = makeSafely(make); };
    const WaitResult how = co_await loop_.offload(std::move(work));
    if (how == WaitResult::Ready) co_return std::move(*made);
    aborted_ = true;  // the server stops without waiting for the page
  }
  co_return std::move(page_);
}

/// Sends the text. Returns false if the client has disconnected or does not receive the text in time.
Task<bool> PlainConnection::write(std::string text) {
  const Deadline start = Clock::now();
  for (std::size_t sent = 0; sent < text.size();) {
    Wire::clearErrors();
    const IoResult result = wire_.write(text.data() + sent, text.size() - sent);
    sent += result.bytes;
    if (result.io == Io::ok) continue;
    if (result.io == Io::closed || aborted_) co_return false;
    waitsSince_ = Clock::now();
    const Deadline deadline = start + limits_.write + std::chrono::seconds{sent / kMinRate};
    const WaitResult how = co_await waitFor(result.io, deadline);
    waitsSince_ = kNoDeadline;
    if (how == WaitResult::Ready) continue;
    wire_.discardUnacknowledged();
    co_return false;
  }
  co_return true;
}

Task<void> PlainConnection::serve() {
  Read read = co_await handshake();
  if (read == Read::Complete) read = co_await readHead();
  if (read == Read::Over) co_return;
  asked_ = true;
  bool headOnly = false;
  if (read == Read::Complete) {
    const Head& head = parser_.head();
    headOnly = head.method == "HEAD";
    unread_ = head.contentLength > 0 || in_.size() > parser_.headBytes() || wire_.pending();
    page_ = co_await makePage();
    if (aborted_) co_return;
  }
  std::string text;
  const ReplyForm form{page_.status, page_.contentType, false, allow_};
  appendHead(text, form, page_.body.size());
  if (!headOnly) text += page_.body;
  page_ = {};
  const bool sent = co_await write(std::move(text));
  if (sent) co_await linger();
}

/// Ends the connection so that all sent bytes arrive. The socket stays open until then, because the bytes in
/// the kernel would otherwise be outside of any limit and deadline.
Task<void> PlainConnection::linger() {
  const bool mustWait = unread_ || wire_.unacknowledged() > 0;
  Wire::clearErrors();
  wire_.shutdown();
  if (!mustWait) co_return;
  const Deadline start = Clock::now();
  waitsSince_ = start;
  for (;;) {
    const IoResult got = wire_.discard();
    const bool taken = wire_.unacknowledged() == 0;
    if (taken && (!unread_ || got.io == Io::closed)) co_return;
    const Deadline now = Clock::now();
    const Deadline end = start + (taken ? limits_.linger : limits_.write);
    if (aborted_ || now >= end) break;
    if (got.io == Io::ok) {
      static_cast<void>(co_await loop_.sleepUntil(now));  // lets other connections proceed
    } else if (got.io == Io::closed || !taken) {
      static_cast<void>(co_await loop_.sleepUntil(std::min(end, now + kReceiptPollInterval)));
    } else {
      static_cast<void>(co_await socket_.readable(end));
    }
    if (loop_.stopping()) break;
  }
  wire_.discardUnacknowledged();
}

}  // namespace dynamo::runtime
