#include "common/runtime/client_session.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "common/runtime/connect.h"

namespace dynamo::runtime {
namespace {

// The size of a TLS record, which is the maximum result of a read.
constexpr std::size_t kPart = std::size_t{16} << 10;

using Failure = std::optional<TransportError>;

bool printable(std::string_view text) {
  constexpr char kDelete = 0x7f;
  return std::none_of(text.begin(), text.end(),
                      [](char c) { return static_cast<unsigned char>(c) < ' ' || c == kDelete; });
}

/// Returns whether the request can be sent safely. A space would end the target, and a colon the name of a
/// header.
bool writable(const ClientRequest& request) {
  const auto word = [](std::string_view text) {
    return printable(text) && !text.empty() && text.find(' ') == std::string_view::npos;
  };
  return word(request.method) && word(request.path) && request.path.front() == '/' &&
         std::all_of(request.headers.begin(), request.headers.end(), [&](const Header& header) {
           return word(header.name) && header.name.find(':') == std::string::npos && printable(header.value);
         });
}

std::string textOf(const ClientRequest& request, const std::string& host) {
  std::string out = request.method;
  out.append(" ").append(request.path).append(" HTTP/1.1\r\nHost: ").append(host).append("\r\n");
  for (const Header& header : request.headers) {
    out.append(header.name).append(": ").append(header.value).append("\r\n");
  }
  // GET and HEAD have no body, and Content-Length has no defined meaning for them.
  if (!request.body.empty() || (request.method != "GET" && request.method != "HEAD")) {
    out.append("Content-Length: ").append(std::to_string(request.body.size())).append("\r\n");
  }
  return out.append("\r\n").append(request.body);
}

}  // namespace

class ClientSession::Impl {
 public:
  Impl(Descriptor socket_, SslPtr ssl, std::string host_)
      : socket(std::move(socket_)), wire(socket.get(), std::move(ssl)), host(std::move(host_)) {}

  Task<Failure> shakeHands(Deadline deadline);
  Task<Failure> send(std::string text, Deadline deadline);
  Task<Failure> fill(Deadline deadline);
  Task<Failure> waitFor(Io io, Stage stage, Deadline deadline);
  Failure take();

  Descriptor socket;
  Wire wire;
  std::string host;
  std::string in;    ///< received, not yet parsed
  std::string body;  ///< body bytes of the reply that the caller has not read yet
  ReplyParser parser{false};
  bool asked = false;         ///< a request was sent
  bool answered = false;      ///< part of the reply to the last request has arrived
  bool reused = false;        ///< there was an earlier request
  bool bodyReturned = false;  ///< `body` was returned to the caller
  bool broken = false;
};

Task<Failure> ClientSession::Impl::waitFor(Io io, Stage stage, Deadline deadline) {
  if (io == Io::closed) {
    broken = true;
    if (stage == Stage::Send) wire.readAlert();
    const TlsFault& fault = wire.fault();
    TransportError error{stage, TransportProblem::Closed, "the peer closed the connection"};
    if (!fault.reason.empty()) {
      error.problem = fault.untrusted ? TransportProblem::Untrusted : TransportProblem::Tls;
      error.message = "TLS failed: " + fault.reason;
    }
    error.stale = error.problem == TransportProblem::Closed && reused && !answered;
    co_return error;
  }
  const WaitResult how =
      io == Io::wantRead ? co_await socket.readable(deadline) : co_await socket.writable(deadline);
  if (how == WaitResult::Ready) co_return std::nullopt;
  broken = true;
  co_return waitError(stage, how);
}

Task<Failure> ClientSession::Impl::shakeHands(Deadline deadline) {
  for (;;) {
    Wire::clearErrors();
    const Io io = wire.handshake();
    if (io == Io::ok) co_return std::nullopt;
    Failure failure = co_await waitFor(io, Stage::Handshake, deadline);
    if (failure) co_return failure;
  }
}

Task<Failure> ClientSession::Impl::send(std::string text, Deadline deadline) {
  for (std::size_t sent = 0; sent < text.size();) {
    Wire::clearErrors();
    const IoResult result = wire.write(text.data() + sent, text.size() - sent);
    sent += result.bytes;
    if (result.io == Io::ok) continue;
    Failure failure = co_await waitFor(result.io, Stage::Send, deadline);
    if (failure) co_return failure;
  }
  co_return std::nullopt;
}

/// Reads more of the reply and parses it.
Task<Failure> ClientSession::Impl::fill(Deadline deadline) {
  for (;;) {
    Wire::clearErrors();
    const std::size_t before = in.size();
    in.resize(before + kPart);
    const IoResult result = wire.read(in.data() + before, kPart);
    in.resize(before + result.bytes);
    if (result.io == Io::ok) {
      answered = true;
      co_return take();
    }
    Failure failure = co_await waitFor(result.io, Stage::Receive, deadline);
    if (failure) co_return failure;
  }
}

Failure ClientSession::Impl::take() {
  in.erase(0, parser.put(in, body));
  const auto malformed = [this](std::string_view why) {
    broken = true;
    return TransportError{Stage::Receive, TransportProblem::Malformed, std::string{why}};
  };
  if (parser.state() == ReplyParser::State::Malformed) return malformed(parser.problem());
  // The remaining bytes are part of the head, or of a chunk header.
  if (parser.state() != ReplyParser::State::Done && in.size() > kMaxReplyHead) {
    return malformed("the head of the reply or of a chunk is too large");
  }
  return std::nullopt;
}

ClientSession::ClientSession(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
ClientSession::ClientSession(ClientSession&&) noexcept = default;
ClientSession::~ClientSession() = default;

Task<TransportResult<ClientSession>> ClientSession::open(EventLoop& loop, Target target,
                                                         ClientContext context, Deadline deadline) {
  auto connected = co_await connectTo(loop, target.endpoint, deadline);
  if (auto* error = std::get_if<TransportError>(&connected)) co_return std::move(*error);
  Descriptor& socket = std::get<Descriptor>(connected);
  SslPtr ssl = newClientSession(context, socket.get(), target.serverName);
  if (!ssl) co_return TransportError{Stage::Handshake, TransportProblem::Tls, "cannot create a TLS client"};
  auto impl = std::make_unique<Impl>(std::move(socket), std::move(ssl),
                                     target.host.empty() ? toString(target.endpoint) : target.host);
  Failure failure = co_await impl->shakeHands(deadline);
  if (failure) co_return std::move(*failure);
  co_return ClientSession{std::move(impl)};
}

Task<TransportResult<ClientSession>> ClientSession::openPlain(EventLoop& loop, Endpoint endpoint,
                                                              SocketAddress address, Deadline deadline) {
  std::vector<SocketAddress> addresses{address};
  auto connected = co_await connectToAny(loop, endpoint, std::move(addresses), deadline);
  if (auto* error = std::get_if<TransportError>(&connected)) co_return std::move(*error);
  co_return ClientSession{
      std::make_unique<Impl>(std::move(std::get<Descriptor>(connected)), SslPtr{}, toString(endpoint))};
}

Task<TransportResult<ReplyHead>> ClientSession::ask(ClientRequest request, Deadline deadline) {
  Impl& at = *impl_;
  if (!runtime::writable(request)) {
    co_return TransportError{Stage::Send, TransportProblem::BadRequest,
                             "the request has characters that cannot be sent"};
  }
  if (at.asked && at.parser.state() != ReplyParser::State::Done) {
    co_return TransportError{Stage::Send, TransportProblem::BadRequest,
                             "the previous reply was not read completely"};
  }
  at.reused = std::exchange(at.asked, true);
  at.answered = false;
  at.body.clear();
  at.bodyReturned = false;
  at.parser = ReplyParser{request.method == "HEAD"};
  std::string text = textOf(request, at.host);
  Failure failure = co_await at.send(std::move(text), deadline);
  while (!failure && at.parser.state() == ReplyParser::State::Head) failure = co_await at.fill(deadline);
  if (failure) co_return std::move(*failure);
  co_return at.parser.head();
}

Task<TransportResult<std::string_view>> ClientSession::read(Deadline deadline) {
  Impl& at = *impl_;
  if (at.bodyReturned) {
    at.body.clear();
    at.bodyReturned = false;
  }
  Failure failure;
  while (!failure && at.body.empty() && at.parser.state() == ReplyParser::State::Body) {
    failure = co_await at.fill(deadline);
  }
  if (failure) co_return std::move(*failure);
  at.bodyReturned = true;
  co_return std::string_view{at.body};
}

Task<TransportResult<ClientReply>> ClientSession::exchange(ClientRequest request, std::size_t maxBodyBytes,
                                                           Deadline deadline) {
  const auto tooLarge = [this] {
    impl_->broken = true;
    return TransportError{Stage::Receive, TransportProblem::TooLarge, "the reply is too large"};
  };
  auto head = co_await ask(std::move(request), deadline);
  if (auto* error = std::get_if<TransportError>(&head)) co_return std::move(*error);
  ClientReply reply{std::move(std::get<ReplyHead>(head)), {}};
  if (reply.head.length.value_or(0) > maxBodyBytes) co_return tooLarge();
  for (;;) {
    auto part = co_await read(deadline);
    if (auto* error = std::get_if<TransportError>(&part)) co_return std::move(*error);
    const std::string_view bytes = std::get<std::string_view>(part);
    if (bytes.empty()) co_return std::move(reply);
    if (bytes.size() > maxBodyBytes - reply.body.size()) co_return tooLarge();
    reply.body.append(bytes);
  }
}

bool ClientSession::reusable() {
  Impl& at = *impl_;
  if (at.broken || !at.in.empty()) return false;
  if (at.asked && (at.parser.state() != ReplyParser::State::Done || !at.parser.head().keepAlive))
    return false;
  // Bytes that arrive between requests are a close_notify, another TLS message without data, or unsolicited
  // data.
  char byte = 0;
  Wire::clearErrors();
  if (at.wire.read(&byte, 1).io == Io::wantRead) return true;
  at.broken = true;
  return false;
}

void ClientSession::cancel() {
  impl_->socket.cancel();
}

void ClientSession::close() {
  Wire::clearErrors();
  impl_->wire.shutdown();
}

}  // namespace dynamo::runtime
