#include "common/runtime/client_session.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "common/runtime/connect.h"

namespace dynamo::runtime {
namespace {

// One TLS record: what a read can give at most.
constexpr std::size_t kPart = std::size_t{16} << 10;

using Failure = std::optional<TransportError>;

bool printable(std::string_view text) {
  constexpr char kDelete = 0x7f;
  return std::none_of(text.begin(), text.end(),
                      [](char c) { return static_cast<unsigned char>(c) < ' ' || c == kDelete; });
}

/// A space would end the target, and a colon the name of a header.
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
  // Of methods without a body the header would say something about the resource, or nothing.
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
  std::string body;  ///< of the reply, as it came last
  ReplyParser parser{false};
  bool asked = false;     ///< a reply is under way or was read
  bool answered = false;  ///< something of that reply has come
  bool kept = false;      ///< an earlier request was answered
  bool given = false;     ///< the caller has `body`
  bool broken = false;
};

Task<Failure> ClientSession::Impl::waitFor(Io io, Stage stage, Deadline deadline) {
  if (io == Io::closed) {
    broken = true;
    const TlsFault& fault = wire.fault();
    TransportError error{stage, TransportProblem::Closed, "the peer closed the connection"};
    if (!fault.reason.empty()) {
      error.problem = fault.untrusted ? TransportProblem::Untrusted : TransportProblem::Tls;
      error.message = "TLS failed: " + fault.reason;
    }
    error.stale = error.problem == TransportProblem::Closed && kept && !answered;
    co_return error;
  }
  const Woken how =
      io == Io::wantRead ? co_await socket.readable(deadline) : co_await socket.writable(deadline);
  if (how == Woken::Ready) co_return std::nullopt;
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
  // What the parser leaves is a part of the head, or of the line before a chunk.
  if (parser.state() != ReplyParser::State::Done && in.size() > kMaxReplyHead) {
    return malformed("the head of the reply or of a chunk is too large");
  }
  return std::nullopt;
}

ClientSession::ClientSession(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
ClientSession::ClientSession(ClientSession&&) noexcept = default;
ClientSession::~ClientSession() = default;

Task<Transported<ClientSession>> ClientSession::open(EventLoop& loop, Target target, ClientContext context,
                                                     Deadline deadline) {
  auto connected = co_await connectTo(loop, target.endpoint, deadline);
  if (auto* error = std::get_if<TransportError>(&connected)) co_return std::move(*error);
  Descriptor& socket = std::get<Descriptor>(connected);
  SslPtr ssl = newClientSession(context, socket.get(), target.serverName);
  if (!ssl) co_return TransportError{Stage::Handshake, TransportProblem::Tls, "cannot make a TLS client"};
  auto impl = std::make_unique<Impl>(std::move(socket), std::move(ssl),
                                     target.host.empty() ? toString(target.endpoint) : target.host);
  Failure failure = co_await impl->shakeHands(deadline);
  if (failure) co_return std::move(*failure);
  co_return ClientSession{std::move(impl)};
}

Task<Transported<ReplyHead>> ClientSession::ask(ClientRequest request, Deadline deadline) {
  Impl& at = *impl_;
  if (!runtime::writable(request)) {
    co_return TransportError{Stage::Send, TransportProblem::BadRequest,
                             "the request has characters that cannot be sent"};
  }
  if (at.asked && at.parser.state() != ReplyParser::State::Done) {
    co_return TransportError{Stage::Send, TransportProblem::BadRequest,
                             "the last reply was not read to its end"};
  }
  at.kept = std::exchange(at.asked, true);
  at.answered = false;
  at.body.clear();
  at.given = false;
  at.parser = ReplyParser{request.method == "HEAD"};
  std::string text = textOf(request, at.host);
  Failure failure = co_await at.send(std::move(text), deadline);
  while (!failure && at.parser.state() == ReplyParser::State::Head) failure = co_await at.fill(deadline);
  if (failure) co_return std::move(*failure);
  co_return at.parser.head();
}

Task<Transported<std::string_view>> ClientSession::read(Deadline deadline) {
  Impl& at = *impl_;
  if (at.given) {
    at.body.clear();
    at.given = false;
  }
  Failure failure;
  while (!failure && at.body.empty() && at.parser.state() == ReplyParser::State::Body) {
    failure = co_await at.fill(deadline);
  }
  if (failure) co_return std::move(*failure);
  at.given = true;
  co_return std::string_view{at.body};
}

Task<Transported<ClientReply>> ClientSession::exchange(ClientRequest request, std::size_t mostBody,
                                                       Deadline deadline) {
  const auto tooLarge = [this] {
    impl_->broken = true;
    return TransportError{Stage::Receive, TransportProblem::TooLarge, "the reply is too large"};
  };
  auto head = co_await ask(std::move(request), deadline);
  if (auto* error = std::get_if<TransportError>(&head)) co_return std::move(*error);
  ClientReply reply{std::move(std::get<ReplyHead>(head)), {}};
  if (reply.head.length.value_or(0) > mostBody) co_return tooLarge();
  for (;;) {
    auto part = co_await read(deadline);
    if (auto* error = std::get_if<TransportError>(&part)) co_return std::move(*error);
    const std::string_view bytes = std::get<std::string_view>(part);
    if (bytes.empty()) co_return std::move(reply);
    if (bytes.size() > mostBody - reply.body.size()) co_return tooLarge();
    reply.body.append(bytes);
  }
}

bool ClientSession::reusable() {
  Impl& at = *impl_;
  if (at.broken || !at.in.empty()) return false;
  if (at.asked && (at.parser.state() != ReplyParser::State::Done || !at.parser.head().keepAlive))
    return false;
  // What has come since is the peer's goodbye, a message of TLS alone, or something that nobody asked for.
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
