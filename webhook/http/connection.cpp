#include "webhook/http/connection.h"

#include <openssl/x509.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace dynamo::webhook::detail {
namespace {

// First read of a request: a head and the start of a body. The rest of the body is read in place.
constexpr std::size_t kFirstInput = std::size_t{4} * 1024;
// Charged for each request, so that a pipeline of tiny ones has turns too.
constexpr std::size_t kTurnPerRequest = std::size_t{16} * 1024;
// Likewise for each read, so that records of one byte have: what a record costs besides its bytes.
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

/// A body or a reply.
void Connection::startTransfer(std::chrono::milliseconds limit) {
  started_ = coarseNow();
  deadline_ = started_ + limit;
  moved_ = credited_ = 0;
  waited_ = lag_ = {};
}

Connection::~Connection() {
  keepCovered(0);
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
    wire_.giveUpUntaken();
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
    tellHandshakeFailed(wire_.fault().reason, wire_.fault().alert);
  }
  return waitFor(io);
}

/// Nothing without a reason: the client has only left.
void Connection::tellHandshakeFailed(std::string_view reason, int alert) const {
  const auto& tell = site_.events.handshakeFailed;
  if (tell && !reason.empty()) tell({peer_.text(), reason, alert});
}

/// False: as many bytes as a head may have are waiting already.
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
  unread_ = true;  // of a head that is refused, nobody knows where the request ends
  // Who has read its reply has also acknowledged it when it asks again. Of others further replies would pile
  // up with the kernel.
  const bool comes = expects_ || inBegin_ < inEnd_ || wire_.pending();
  if (comes && untaken()) return finish();
  if (inBegin_ < inEnd_) {
    switch (parser_.parse(input().substr(0, shared_.limits.headerBytes))) {
      case HeadParser::Result::complete:
        expects_ = released_ = spared_ = false;
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
    // A try to read would only tell that nothing has come yet: wait first.
    if (!expects_ && !wire_.pending()) {
      expects_ = true;
      return waitFor(Io::wantRead);
    }
  }
  if (!roomForInput()) return refuse(431, "the request head is too large");
  const auto got = receive(in_.get() + inEnd_, inSize_ - inEnd_);
  if (got.io == Io::closed && served_ == 0) {
    // A client of TLS 1.3 may judge our certificate only when our side of the handshake is over.
    tellHandshakeFailed(wire_.fault().reason, wire_.fault().alert);
  }
  if (got.io == Io::closed && wire_.untaken() > 0) return finish();  // it may still read
  if (got.io != Io::ok) return waitFor(got.io);
  if (inBegin_ == inEnd_) deadline_ = coarseNow() + shared_.limits.header;
  inEnd_ += got.bytes;
  return std::nullopt;
}

/// Empty: the client may ask guarded routes.
std::string_view Connection::refusalOfClient() {
  const X509* const certificate = wire_.clientCertificate();
  if (certificate == nullptr) return "this path wants a client certificate";
  if (!admitted_) admitted_ = site_.admits(*certificate);
  if (!*admitted_) return "the client certificate has none of the allowed names";
  // A connection may outlive it.
  return X509_cmp_current_time(X509_get0_notAfter(certificate)) < 0 ? "the client certificate has expired"
                                                                    : "";
}

/// Everything that can be decided before the body.
Connection::MaybeStep Connection::takeRequest() {
  const auto& head = parser_.head();
  turnBytes_ += kTurnPerRequest;
  const std::uint64_t length = head.contentLength;
  unread_ = length > 0;
  path_ = head.target.substr(0, head.target.find('?'));
  keepAlive_ = head.keepAlive;
  inBegin_ += parser_.headBytes();  // the views of `head` hold until the next read

  route_ = site_.find(path_);
  if (route_ == nullptr) return refuse(404, "there is nothing under this path");
  if (head.method != "POST") return refuse(405, "the method is not allowed here", "POST");
  if (route_->guarded && site_.admits) {
    if (const auto refusal = refusalOfClient(); !refusal.empty()) return refuse(403, refusal);
  }
  if (!isJson(head.contentType)) return refuse(415, "Content-Type must be application/json");
  if (length > std::min(route_->maxBody, budget().capacity() + shared_.limits.freeBody)) {
    return refuse(413, "the request body is too large");
  }
  startTransfer(shared_.limits.body);
  state_ = State::body;
  return std::nullopt;
}

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
  const bool pays = held_ + heldReply_ > 0;  // in State::head: for a reply that the client does not take
  if (waitsSince_ == kNever || !(reads() || writes() || (state_ == State::head && pays))) return false;
  return lag_ + (now - waitsSince_) > shared_.limits.lagAfter && !waitsForUs();
}

/// Whether bytes have come, or could go, since it was our turn.
bool Connection::waitsForUs() const {
  return (reads() && wire_.arrived()) || (writes() && wire_.writable());
}

/// Of the time that a transfer may take, only that counts in which the client lets us wait, until it has
/// taken three times as long: a thread that cannot keep up is not the client's fault.
bool Connection::overdue(Instant now) const {
  if (now < deadline_) return false;
  if (!reads() && !writes()) return true;
  const Instant allowed = deadline_ - started_;
  if (now - started_ >= 3 * allowed) return true;
  if (waitsSince_ == kNever) return waited_ >= allowed;
  if (waitsForUs()) return false;
  return waited_ + (now - waitsSince_) >= allowed;
}

/// Whether it holds what somebody waits for.
bool Connection::holdsWanted(Instant now) const {
  return (held_ > 0 && budget().wanted(now)) || (heldReply_ > 0 && shared_.replyBudget.wanted(now));
}

Swept Connection::sweep(Instant now) {
  if (state_ == State::head || state_ == State::linger) untaken();  // what was taken is paid no longer
  if (state_ == State::linger && now - started_ < shared_.limits.write && wire_.untaken() > 0) {
    deadline_ = std::max(deadline_, now + Instant{1});  // it may still be taking the reply
  }
  const bool inTime = !overdue(now);
  if (inTime && !(holdsWanted(now) && lags(now))) {
    if (released_ || !idle() || deadline_ - now > shared_.limits.idle - shared_.limits.idleRelease)
      return Swept::nothing;
    releaseMemory();
    return Swept::released;
  }
  Wire::clearErrors();
  deadline_ = kNever;
  switch (state_) {
    case State::handshake:
      counters_.handshakesFailed.add();
      if (wire_.received() > 0) tellHandshakeFailed("the handshake took too long", 0);
      finish();
      break;
    case State::head:
      if (untaken()) {
        counters_.timeouts.add();
        abort();
      } else if (!idle()) {
        counters_.timeouts.add();
        unread_ = true;
        refuse(408, "the request head came too slowly");
      } else if (!spared_ && wire_.readable()) {
        spared_ = true;
        deadline_ = now + shared_.limits.header;  // a request has just met the end of its wait
      } else {
        finish();
      }
      break;
    case State::body:
      counters_.timeouts.add();
      // What was not too late may be asked again.
      refuse(inTime ? 503 : 408, "the request body came too slowly");
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
  return Swept::changed;
}

}  // namespace dynamo::webhook::detail
