#include "support.h"

#include <netinet/in.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <array>
#include <charconv>
#include <csignal>
#include <stdexcept>
#include <variant>

#include "common/runtime/endpoint.h"
#include "tests/unit/certs/support.h"

namespace dynamo::runtime::test {
namespace {

constexpr std::size_t kPart = std::size_t{16} * 1024;

void boundWaits(int fd) {
  const timeval wait{10, 0};
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof wait);
  setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof wait);
}

certs::Time fromNow(std::chrono::seconds time) {
  return std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now()) + time;
}

}  // namespace

PlainClient::PlainClient(std::uint16_t port, int receiveBuffer)
    : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  boundWaits(fd_.get());
  if (receiveBuffer > 0) setsockopt(fd_.get(), SOL_SOCKET, SO_RCVBUF, &receiveBuffer, sizeof receiveBuffer);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const void* raw = &address;
  if (::connect(fd_.get(), static_cast<const sockaddr*>(raw), sizeof address) != 0) {
    throw std::runtime_error{"cannot connect"};
  }
}

bool PlainClient::send(std::string_view bytes) const {
  while (!bytes.empty()) {
    const auto sent = ::send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

std::string PlainClient::receive(std::size_t most) const {
  std::string out(most, '\0');
  const auto got = ::recv(fd_.get(), out.data(), out.size(), 0);
  out.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  return out;
}

std::string PlainClient::receiveAll() const {
  std::string out;
  for (std::string part = receive(); !part.empty(); part = receive()) out += part;
  return out;
}

bool PlainClient::closedByServer() const {
  char byte = 0;
  return ::recv(fd_.get(), &byte, 1, 0) == 0;
}

void PlainClient::endOfStream() const {
  ::shutdown(fd_.get(), SHUT_WR);
}

Authority::Authority(const std::string& name)
    : pair_(certs::test::forge({.commonName = name,
                                .basicConstraints = "critical,CA:TRUE",
                                .keyUsage = "keyCertSign",
                                .extendedKeyUsage = "",
                                .alternativeNames = "",
                                .begin = fromNow(-7200s),
                                .end = fromNow(7200s)})) {}

certs::PemPair Authority::sign(const std::string& names, std::chrono::seconds end) const {
  return certs::test::forge({.alternativeNames = names, .begin = fromNow(-3600s), .end = fromNow(end)},
                            &pair_);
}

long PeerConnection::receive(char* out, std::size_t most) {
  if (ssl_ == nullptr) return ::recv(fd_, out, most, 0);
  ERR_clear_error();
  return SSL_read(ssl_, out, static_cast<int>(most));
}

std::string PeerConnection::request() {
  std::size_t whole = std::string::npos;
  for (;;) {
    const auto end = buffer_.find("\r\n\r\n");
    if (end != std::string::npos) {
      constexpr std::string_view kLength = "Content-Length: ";
      const auto at = buffer_.find(kLength);
      std::size_t length = 0;
      if (at < end) std::from_chars(buffer_.data() + at + kLength.size(), buffer_.data() + end, length);
      whole = end + 4 + length;
    }
    if (whole != std::string::npos && buffer_.size() >= whole) break;
    std::array<char, kPart> part;
    const long got = receive(part.data(), part.size());
    if (got <= 0) return {};
    buffer_.append(part.data(), static_cast<std::size_t>(got));
  }
  std::string out = buffer_.substr(0, whole);
  buffer_.erase(0, whole);
  return out;
}

void PeerConnection::send(std::string_view bytes) {
  while (ssl_ == nullptr && !bytes.empty()) {
    const auto sent = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  ERR_clear_error();
  if (!bytes.empty()) SSL_write(ssl_, bytes.data(), static_cast<int>(bytes.size()));
}

void PeerConnection::goodbye() {
  if (ssl_ == nullptr) {
    ::shutdown(fd_, SHUT_WR);
  } else {
    SSL_shutdown(ssl_);
  }
}

void PeerConnection::reset() {
  const linger hard{1, 0};
  setsockopt(fd_, SOL_SOCKET, SO_LINGER, &hard, sizeof hard);
}

void PeerConnection::waitForEnd() {
  while (!request().empty()) {
  }
}

ScriptedPeer::ScriptedPeer(const certs::PemPair& pair, Script script,
                           const std::function<void(SSL_CTX*)>& change, Serves serves)
    : context_(SSL_CTX_new(TLS_server_method()), SSL_CTX_free),
      script_(std::move(script)),
      stop_(::eventfd(0, EFD_CLOEXEC)),
      serves_(serves) {
  std::signal(SIGPIPE, SIG_IGN);
  const auto chain = certs::test::parse(pair.certificate);
  const auto key = certs::test::must(certs::parsePrivateKey(pair.privateKey, "test"));
  if (SSL_CTX_use_certificate(context_.get(), chain.get()) != 1 ||
      SSL_CTX_use_PrivateKey(context_.get(), key.get()) != 1) {
    throw std::runtime_error{"cannot use the certificate"};
  }
  if (change) change(context_.get());
  listen("127.0.0.1");
}

ScriptedPeer::ScriptedPeer(Script script, Serves serves, const std::string& address)
    : script_(std::move(script)), stop_(::eventfd(0, EFD_CLOEXEC)), serves_(serves) {
  listen(address);
}

void ScriptedPeer::listen(const std::string& address) {
  auto listening = listenOn({address, 0}, {false, 10s});
  listener_ = std::move(std::get<Listening>(listening).fd);
  port_ = std::get<Listening>(listening).port;
  thread_ = std::thread{[this] { serve(); }};
}

ScriptedPeer::~ScriptedPeer() {
  const std::uint64_t one = 1;
  if (::write(stop_.get(), &one, sizeof one) != sizeof one) std::terminate();
  thread_.join();
}

void ScriptedPeer::serve() {
  for (;;) {
    std::array<pollfd, 2> waiting{{{listener_.get(), POLLIN, 0}, {stop_.get(), POLLIN, 0}}};
    ::poll(waiting.data(), waiting.size(), -1);
    if (waiting[1].revents != 0) break;
    UniqueFd fd{::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC)};
    if (!fd) continue;
    boundWaits(fd.get());
    ++accepted_;
    if (serves_ == Serves::OneByOne) {
      serveOne(std::move(fd));
    } else {
      connections_.emplace_back([this, taken = std::move(fd)]() mutable { serveOne(std::move(taken)); });
    }
  }
  for (std::thread& each : connections_) each.join();
}

void ScriptedPeer::serveOne(UniqueFd fd) {
  if (!context_) {
    PeerConnection connection{fd.get(), nullptr};
    return script_(connection);
  }
  ERR_clear_error();
  const std::unique_ptr<SSL, decltype(&SSL_free)> ssl{SSL_new(context_.get()), SSL_free};
  SSL_set_fd(ssl.get(), fd.get());
  if (SSL_accept(ssl.get()) != 1) return;
  PeerConnection connection{fd.get(), ssl.get()};
  script_(connection);
}

ClientContext trusting(std::string_view pem) {
  auto made = makeClientContext({.authorities = pem, .verify = true, .certificate = {}, .key = {}});
  if (auto* error = std::get_if<std::string>(&made)) throw std::runtime_error{*error};
  return std::get<ClientContext>(std::move(made));
}

std::string ok(std::string_view body, std::string_view extraHeaders) {
  std::string out{"HTTP/1.1 200 OK\r\n"};
  out.append(extraHeaders).append("Content-Length: ").append(std::to_string(body.size()));
  return out.append("\r\n\r\n").append(body);
}

}  // namespace dynamo::runtime::test
