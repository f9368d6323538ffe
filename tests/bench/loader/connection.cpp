#include "tests/bench/loader/connection.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <stdexcept>

namespace dynamo::bench {
namespace {

// Closed connections keep their source port for a minute. With many source addresses the mode with fresh
// connections does not run out of ports.
constexpr std::uint32_t kSourceAddresses = 200;

sockaddr_in address(std::uint32_t host, std::uint16_t port) {
  sockaddr_in result{};
  result.sin_family = AF_INET;
  result.sin_addr.s_addr = htonl(host);
  result.sin_port = htons(port);
  return result;
}

template <typename Call>
bool withAddress(std::uint32_t host, std::uint16_t port, Call call) {
  const sockaddr_in name = address(host, port);
  sockaddr generic{};
  static_assert(sizeof(generic) == sizeof(name));
  std::memcpy(&generic, &name, sizeof(name));
  return call(&generic, static_cast<socklen_t>(sizeof(name))) == 0;
}

}  // namespace

SslContext makeClientContext() {
  SslContext context(SSL_CTX_new(TLS_client_method()));
  constexpr std::array<unsigned char, 9> kAlpn{8, 'h', 't', 't', 'p', '/', '1', '.', '1'};
  const bool usable = context && SSL_CTX_set_min_proto_version(context.get(), TLS1_3_VERSION) == 1 &&
                      SSL_CTX_set_ciphersuites(context.get(), "TLS_AES_128_GCM_SHA256") == 1 &&
                      SSL_CTX_set1_groups_list(context.get(), "X25519") == 1 &&
                      SSL_CTX_set_alpn_protos(context.get(), kAlpn.data(), kAlpn.size()) == 0;
  if (!usable) throw std::runtime_error("cannot set up TLS");
  SSL_CTX_set_verify(context.get(), SSL_VERIFY_NONE, nullptr);
  SSL_CTX_set_mode(context.get(), SSL_MODE_ENABLE_PARTIAL_WRITE);
  SSL_CTX_set_read_ahead(context.get(), 1);
  SSL_CTX_set_session_cache_mode(context.get(), SSL_SESS_CACHE_OFF);
  return context;
}

Connection::Connection(SSL_CTX* context, int epoll, std::uint16_t port, std::uint32_t number)
    : context_(context), epoll_(epoll), number_(number), port_(port) {}

Connection::~Connection() {
  close();
}

std::string Connection::session() const {
  return ssl_ ? std::string(SSL_get_version(ssl_.get())) + " " + SSL_get_cipher_name(ssl_.get()) : "";
}

void Connection::close() {
  if (socket_ < 0) return;
  // Only an established session may be shut down. The result is ignored.
  if (phase_ == Phase::kIdle) SSL_shutdown(ssl_.get());
  ERR_clear_error();
  ssl_.reset();
  ::close(socket_);
  socket_ = -1;
  phase_ = Phase::kClosed;
}

Connection::Step Connection::fail(std::string_view what, int result) {
  std::string reason = what.data() ? std::string(what) : "failure";
  if (ssl_) {
    const int kind = SSL_get_error(ssl_.get(), result);
    if (const unsigned long code = ERR_peek_error(); code != 0) {
      reason += std::string(": ") + ERR_reason_error_string(code);
    } else if (kind == SSL_ERROR_ZERO_RETURN || (kind == SSL_ERROR_SYSCALL && errno == 0)) {
      reason += ": closed by the server";
    } else if (kind == SSL_ERROR_SYSCALL) {
      reason += std::string(": ") + std::strerror(errno);
    }
  } else {
    reason += std::string(": ") + std::strerror(errno);
  }
  failure_ = std::move(reason);
  phase_ = Phase::kReading;  // not idle: no close_notify on a broken session
  close();
  return Step::kFailed;
}

Connection::Step Connection::open() {
  close();
  response_.reset();
  socket_ = ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (socket_ < 0) return fail("socket", 0);
  const int one = 1;
  setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
  setsockopt(socket_, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &one, sizeof(one));
  const std::uint32_t source = INADDR_LOOPBACK + 1 + (number_ * 7 + opened_++) % kSourceAddresses;
  if (!withAddress(source, 0, [&](auto* name, auto size) { return bind(socket_, name, size); })) {
    return fail("bind", 0);
  }
  if (!withAddress(INADDR_LOOPBACK, port_,
                   [&](auto* name, auto size) { return ::connect(socket_, name, size); }) &&
      errno != EINPROGRESS) {
    return fail("connect", 0);
  }
  epoll_event event{};
  event.events = EPOLLIN | EPOLLOUT | EPOLLET;
  event.data.ptr = this;
  if (epoll_ctl(epoll_, EPOLL_CTL_ADD, socket_, &event) != 0) return fail("epoll", 0);
  phase_ = Phase::kConnecting;
  return drive();
}

Connection::Step Connection::handshake() {
  if (phase_ == Phase::kConnecting) {
    sockaddr peer{};
    socklen_t size = sizeof(peer);
    if (getpeername(socket_, &peer, &size) != 0) {
      int problem = 0;
      socklen_t length = sizeof(problem);
      getsockopt(socket_, SOL_SOCKET, SO_ERROR, &problem, &length);
      if (problem == 0) return Step::kWaiting;
      errno = problem;
      return fail("connect", 0);
    }
    ssl_.reset(SSL_new(context_));
    SSL_set_fd(ssl_.get(), socket_);
    phase_ = Phase::kHandshaking;
  }
  ERR_clear_error();
  const int result = SSL_connect(ssl_.get());
  if (result == 1) {
    phase_ = Phase::kIdle;
    return Step::kReady;
  }
  const int kind = SSL_get_error(ssl_.get(), result);
  if (kind == SSL_ERROR_WANT_READ || kind == SSL_ERROR_WANT_WRITE) return Step::kWaiting;
  return fail("handshake", result);
}

Connection::Step Connection::send(std::string_view request, Clock::time_point started) {
  request_ = request;
  started_ = started;
  response_.reset();
  phase_ = Phase::kWriting;
  return write();
}

Connection::Step Connection::write() {
  while (!request_.empty()) {
    ERR_clear_error();
    std::size_t written = 0;
    const int result = SSL_write_ex(ssl_.get(), request_.data(), request_.size(), &written);
    if (result != 1) {
      const int kind = SSL_get_error(ssl_.get(), result);
      if (kind == SSL_ERROR_WANT_READ || kind == SSL_ERROR_WANT_WRITE) return Step::kWaiting;
      return fail("write", result);
    }
    request_.remove_prefix(written);
  }
  // The answer triggers a new event. Reading now would only cost a system call without data.
  phase_ = Phase::kReading;
  return Step::kWaiting;
}

Connection::Step Connection::read() {
  std::array<char, 65536> buffer;
  while (true) {
    ERR_clear_error();
    std::size_t size = 0;
    errno = 0;
    const int result = SSL_read_ex(ssl_.get(), buffer.data(), buffer.size(), &size);
    if (result != 1) {
      if (SSL_get_error(ssl_.get(), result) == SSL_ERROR_WANT_READ) return Step::kWaiting;
      if (phase_ != Phase::kIdle) return fail("read", result);
      fail("idle", result);
      return Step::kGone;
    }
    if (phase_ == Phase::kIdle) return fail("answer without a request", result);
    switch (response_.append({buffer.data(), size})) {
      case Response::State::kDone:
        phase_ = Phase::kIdle;
        return Step::kAnswered;
      case Response::State::kBad:
        return fail("malformed response", result);
      default:
        break;
    }
  }
}

Connection::Step Connection::drive() {
  switch (phase_) {
    case Phase::kClosed:
      return Step::kWaiting;
    case Phase::kConnecting:
    case Phase::kHandshaking:
      return handshake();
    case Phase::kWriting:
      if (const Step step = write(); step == Step::kFailed || phase_ == Phase::kWriting) return step;
      return read();
    case Phase::kIdle:  // session tickets or the server's close arrive here
    case Phase::kReading:
      return read();
  }
  return Step::kWaiting;
}

}  // namespace dynamo::bench
