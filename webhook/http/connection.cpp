#include "webhook/http/connection.h"

#include <openssl/x509.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace dynamo::webhook::detail {
namespace {

// Size of the first read of a request: the head and the start of the body. The rest of the body is read in
// place.
constexpr std::size_t kFirstInput = std::size_t{4} * 1024;
// Charged to the turn for each request, so that other connections get turns during a pipeline of small
// requests.
constexpr std::size_t kTurnPerRequest = std::size_t{16} * 1024;
// Charged to the turn for each read: the cost of a TLS record in addition to its bytes.
constexpr std::size_t kTurnPerRead = 256;

bool isJson(std::string_view contentType) {
  constexpr std::string_view kJson = "application/json";
  if (contentType.size() < kJson.size()) return false;
  constexpr int kLower = 0x20;
  for (std::size_t i = 0; i < kJson.size(); ++i) {
    if ((contentType[i] | kLower) != kJson[i]) return false;
  }
  const auto rest = contentType.substr(kJson.size());
  const auto next = rest.find_first_not_of(" \t");
  return next == std::string_view::npos || rest[next] == ';';
}

}  // namespace

Connection::Connection(const Site& site, Shared& shared, Counters& counters, int fd, runtime::SslPtr ssl)
    : site_(site),
      shared_(shared),
      counters_(counters),
      wire_(fd, std::move(ssl)),
      peer_(fd),
      state_(State::handshake),
      deadline_(coarseNow() + shared.limits.handshake),
      parser_(shared.limits.headers) {}

/// Resets the counters for a body or a reply.
void Connection::startTransfer(std::chrono::milliseconds limit) {
  started_ = coarseNow();
  deadline_ = started_ + limit;
  moved_ = credited_ = 0;
  waited_ = lag_ = {};
}

Connection::~Connection() {
  reduceBudgetTo(0);
}

Step Connection::advance() {
  Wire::clearErrors();
  turnBytes_ = 0;
  if (waitsSince_ != kNever) {
    const Instant waited = coarseNow() - std::exchange(waitsSince_, kNever);
    waited_ += waited;
    lag_ += waited;
  }
  if (aborted_) {
    wire_.discardUnacknowledged();
    state_ = State::done;
  }
  for (;;) {
    if (const auto step = tick()) return *step;
    if (turnBytes_ >= kTurnBytes) return Step::yield;
  }
}

Connection::MaybeStep Connection::tick() {
  switch (state_) {
    case State::handshake:
      return handshake();
    case State::head:
      return readHead();
    case State::reply:
      return writeReply();
    case State::body:
      return readBody();
    case State::working:
      return respond();
    case State::linger:
      return linger();
    case State::done:
      break;
  }
  return Step::done;
}

Connection::MaybeStep Connection::waitFor(Io io) {
  if (io != Io::closed) {
    waitsSince_ = coarseNow();
    constexpr std::uint64_t kQuarter = 4'000'000'000;  // nanoseconds for minRate bytes
    const Instant worth{(moved_ - std::exchange(credited_, moved_)) * kQuarter / shared_.limits.minRate};
    lag_ -= std::min(lag_, worth);
  }
  if (io == Io::wantRead) return Step::read;
  if (io == Io::wantWrite) return Step::write;
  state_ = State::done;
  return Step::done;
}

IoResult Connection::receive(char* data, std::size_t size) {
  const std::uint64_t before = wire_.received();
  const auto result = wire_.read(data, size);
  turnBytes_ += std::max({result.bytes, static_cast<std::size_t>(wire_.received() - before), kTurnPerRead});
  return result;
}

Connection::MaybeStep Connection::handshake() {
  const Io io = wire_.handshake();
  if (io == Io::ok) {
    state_ = State::head;
    deadline_ = coarseNow() + shared_.limits.idle;
    return std::nullopt;
  }
  if (io == Io::closed) {
    counters_.handshakesFailed.add();
    reportHandshakeFailure(wire_.fault().reason, wire_.fault().alert);
  }
  return waitFor(io);
}

/// Reports nothing without a reason, because the client has only closed the connection.
void Connection::reportHandshakeFailure(std::string_view reason, int alert) const {
  const auto& tell = site_.events.handshakeFailed;
  if (tell && !reason.empty()) tell({peer_.text(), reason, alert});
}

/// Makes room in the input buffer. Returns false if the buffer already has the maximum size of a head.
bool Connection::roomForInput() {
  const std::size_t waiting = input().size();
  if (inBegin_ > 0) std::memmove(in_.get(), in_.get() + inBegin_, waiting);
  inBegin_ = 0;
  inEnd_ = waiting;
  if (waiting < inSize_) return true;
  if (inSize_ >= shared_.limits.headerBytes) return false;
  inSize_ = std::min(inSize_ == 0 ? kFirstInput : 2 * inSize_, shared_.limits.headerBytes);
  auto next = std::make_unique<char[]>(inSize_);
  if (waiting > 0) std::memcpy(next.get(), in_.get(), waiting);
  in_ = std::move(next);
  return true;
}

Connection::MaybeStep Connection::readHead() {
  unread_ = true;  // the end of a request with an invalid head is unknown
  // A client that has read its reply has acknowledged it before its next request. For other clients, replies
  // would accumulate in the kernel.
  const bool comes = awaitsRequest_ || inBegin_ < inEnd_ || wire_.pending();
  if (comes && replyPending()) return finish();
  if (inBegin_ < inEnd_) {
    switch (parser_.parse(input().substr(0, shared_.limits.headerBytes))) {
      case HeadParser::Result::complete:
        awaitsRequest_ = released_ = idleExtended_ = false;
        return takeRequest();
      case HeadParser::Result::refused:
        if (parser_.refusal().status == 0) return finish();
        return refuse(parser_.refusal().status, parser_.refusal().message);
      case HeadParser::Result::incomplete:
        break;
    }
  } else {
    unread_ = false;
    if (shared_.stopping) {
      if (served_ > 0 && !wire_.readable()) return finish();
      deadline_ = std::min(deadline_, coarseNow() + shared_.limits.firstRequestGrace);
    }
    // Nothing can have arrived yet, so wait before reading.
    if (!awaitsRequest_ && !wire_.pending()) {
      awaitsRequest_ = true;
      return waitFor(Io::wantRead);
    }
  }
  if (!roomForInput()) return refuse(431, "the request head is too large");
  const auto got = receive(in_.get() + inEnd_, inSize_ - inEnd_);
  if (got.io == Io::closed && served_ == 0) {
    // In TLS 1.3 a client may reject the certificate after the server has completed the handshake.
    reportHandshakeFailure(wire_.fault().reason, wire_.fault().alert);
  }
  if (got.io == Io::closed && wire_.unacknowledged() > 0) return finish();  // the client may still read
  if (got.io != Io::ok) return waitFor(got.io);
  if (inBegin_ == inEnd_) deadline_ = coarseNow() + shared_.limits.header;
  inEnd_ += got.bytes;
  return std::nullopt;
}

/// Why the client may not use guarded routes; empty if it may.
std::string_view Connection::clientRefusal() {
  const X509* const certificate = wire_.clientCertificate();
  if (certificate == nullptr) return "this path requires a client certificate";
  if (!admitted_) admitted_ = site_.admits(*certificate);
  if (!*admitted_) return "the client certificate has none of the allowed names";
  // The certificate may expire while the connection is open.
  return X509_cmp_current_time(X509_get0_notAfter(certificate)) < 0 ? "the client certificate has expired"
                                                                    : "";
}

/// Checks everything that can be decided before the body.
Connection::MaybeStep Connection::takeRequest() {
  const auto& head = parser_.head();
  turnBytes_ += kTurnPerRequest;
  const std::uint64_t length = head.contentLength;
  unread_ = length > 0;
  path_ = head.target.substr(0, head.target.find('?'));
  keepAlive_ = head.keepAlive;
  inBegin_ += parser_.headBytes();  // the views of `head` are valid until the next read

  route_ = site_.find(path_);
  if (route_ == nullptr) return refuse(404, "the path does not exist");
  if (head.method != "POST") return refuse(405, "the method is not allowed for this path", "POST");
  if (route_->guarded && site_.admits) {
    if (const auto refusal = clientRefusal(); !refusal.empty()) return refuse(403, refusal);
  }
  if (!isJson(head.contentType)) return refuse(415, "Content-Type must be application/json");
  if (length > std::min(route_->maxBody, budget().capacity() + shared_.limits.freeBody)) {
    return refuse(413, "the request body is too large");
  }
  startTransfer(shared_.limits.body);
  state_ = State::body;
  return std::nullopt;
}

}  // namespace dynamo::webhook::detail
