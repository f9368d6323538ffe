#include "common/runtime/wire.h"

#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <memory>

namespace dynamo::runtime {
namespace {

constexpr std::size_t kDiscard = std::size_t{16} * 1024;
// The maximum number of received bytes without data. A record has 16 KiB, and the same amount may have been
// read ahead. A peer that sends more only sends TLS messages such as key updates, which cost the receiver
// much more than the sender.
constexpr std::uint64_t kMaxOverheadBytes = std::uint64_t{48} * 1024;

// The maximum number of bytes that one read may receive. Without this limit, OpenSSL would continue as long
// as messages without data arrive.
constexpr std::size_t kMaxBytesPerRead = std::size_t{32} * 1024;

struct Socket {
  int fd = -1;
  std::size_t left = SIZE_MAX;  ///< bytes that the current call may still receive
};

Socket& socketOf(BIO* bio) {
  return *static_cast<Socket*>(BIO_get_data(bio));
}

int afterCall(BIO* bio, ssize_t result, void (*setRetry)(BIO*)) {
  BIO_clear_retry_flags(bio);
  if (result < 0 && (errno == EAGAIN || errno == EINTR)) setRetry(bio);
  return static_cast<int>(result);
}

int bioRead(BIO* bio, char* out, int size) {
  Socket& socket = socketOf(bio);
  ssize_t got = -1;
  errno = EAGAIN;
  if (socket.left > 0) {
    got = ::recv(socket.fd, out, std::min(static_cast<std::size_t>(size), socket.left), 0);
    if (got > 0) socket.left -= static_cast<std::size_t>(got);
  }
  return afterCall(bio, got, [](BIO* b) { BIO_set_retry_read(b); });
}

// OpenSSL's own socket BIO raises SIGPIPE if the peer has gone, which would end the process.
int bioWrite(BIO* bio, const char* data, int size) {
  return afterCall(bio, ::send(socketOf(bio).fd, data, static_cast<std::size_t>(size), MSG_NOSIGNAL),
                   [](BIO* b) { BIO_set_retry_write(b); });
}

long bioControl(BIO*, int command, long, void*) {
  return command == BIO_CTRL_FLUSH ? 1 : 0;
}

int bioDestroy(BIO* bio) {
  delete static_cast<Socket*>(BIO_get_data(bio));
  BIO_set_data(bio, nullptr);
  return 1;
}

const BIO_METHOD* socketMethod() {
  static const BIO_METHOD* const kMethod = [] {
    BIO_METHOD* method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "socket without signals");
    BIO_meth_set_read(method, bioRead);
    BIO_meth_set_write(method, bioWrite);
    BIO_meth_set_ctrl(method, bioControl);
    BIO_meth_set_destroy(method, bioDestroy);
    return method;
  }();
  return kMethod;
}

SslPtr newSession(SSL_CTX* context, int fd) {
  SslPtr ssl{SSL_new(context)};
  BIO* bio = ssl ? BIO_new(socketMethod()) : nullptr;
  if (bio == nullptr) return nullptr;
  BIO_set_data(bio, std::make_unique<Socket>(Socket{fd}).release());
  BIO_set_init(bio, 1);
  SSL_set_bio(ssl.get(), bio, bio);
  // Without read-ahead each record needs two receive calls, for its header and its body.
  SSL_set_read_ahead(ssl.get(), 1);
  SSL_set_mode(ssl.get(), SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  // Otherwise a read would not return while messages without data arrive.
  SSL_clear_mode(ssl.get(), SSL_MODE_AUTO_RETRY);
  SSL_set_options(ssl.get(), SSL_OP_NO_RENEGOTIATION);
  return ssl;
}

Io plainWant(Io blocked) {
  return errno == EAGAIN || errno == EINTR ? blocked : Io::closed;
}

}  // namespace

void SslDelete::operator()(SSL* ssl) const {
  SSL_free(ssl);
}

SslPtr newServerSession(SSL_CTX* context, int fd) {
  auto ssl = newSession(context, fd);
  if (ssl) SSL_set_accept_state(ssl.get());
  return ssl;
}

SslPtr newClientSession(SSL_CTX* context, int fd) {
  auto ssl = newSession(context, fd);
  if (ssl) SSL_set_connect_state(ssl.get());
  return ssl;
}

void Wire::clearErrors() {
  ERR_clear_error();
}

Io Wire::ioOf(int result) {
  switch (SSL_get_error(ssl_.get(), result)) {
    case SSL_ERROR_WANT_READ:
      return Io::wantRead;
    case SSL_ERROR_WANT_WRITE:
      return Io::wantWrite;
    case SSL_ERROR_ZERO_RETURN:
      return Io::closed;
    default:
      broken_ = true;
      fault_ = oldestFault(ssl_.get());
      ERR_clear_error();
      return Io::closed;
  }
}

Io Wire::handshake() {
  if (!ssl_) return Io::ok;
  const int result = SSL_do_handshake(ssl_.get());
  return result == 1 ? Io::ok : ioOf(result);
}

IoResult Wire::read(char* data, std::size_t size) {
  if (ssl_) {
    std::size_t bytes = 0;
    Socket& socket = socketOf(SSL_get_rbio(ssl_.get()));
    socket.left = kMaxBytesPerRead;
    const int result = SSL_read_ex(ssl_.get(), data, size, &bytes);
    socket.left = SIZE_MAX;
    if (result == 1) {
      receivedAtLastRead_ = received();
      return {Io::ok, bytes};
    }
    const Io io = ioOf(result);
    if (io == Io::closed || received() - receivedAtLastRead_ <= kMaxOverheadBytes) return {io, 0};
    broken_ = true;
    return {Io::closed, 0};
  }
  const auto bytes = ::recv(fd_, data, size, 0);
  if (bytes > 0) return {Io::ok, static_cast<std::size_t>(bytes)};
  return {bytes == 0 ? Io::closed : plainWant(Io::wantRead), 0};
}

IoResult Wire::write(const char* data, std::size_t size) {
  if (ssl_) {
    std::size_t bytes = 0;
    const int result = SSL_write_ex(ssl_.get(), data, size, &bytes);
    return result == 1 ? IoResult{Io::ok, bytes} : IoResult{ioOf(result), 0};
  }
  const auto bytes = ::send(fd_, data, size, MSG_NOSIGNAL);
  if (bytes >= 0) return {Io::ok, static_cast<std::size_t>(bytes)};
  return {plainWant(Io::wantWrite), 0};
}

void Wire::readAlert() {
  if (!ssl_ || !fault_.reason.empty()) return;
  std::array<char, kDiscard> sink;
  const std::uint64_t end = received() + kMaxBytesPerRead;
  while (received() <= end) {
    clearErrors();
    if (read(sink.data(), sink.size()).io != Io::ok) return;
  }
}

const X509* Wire::clientCertificate() const {
  return ssl_ && SSL_get_verify_result(ssl_.get()) == X509_V_OK ? SSL_get0_peer_certificate(ssl_.get())
                                                                : nullptr;
}

bool Wire::pending() const {
  return ssl_ && SSL_has_pending(ssl_.get()) == 1;
}

bool Wire::arrived() const {
  char byte = 0;
  return ::recv(fd_, &byte, 1, MSG_PEEK | MSG_DONTWAIT) >= 0;
}

std::uint64_t Wire::received() const {
  return ssl_ ? BIO_number_read(SSL_get_rbio(ssl_.get())) : 0;
}

bool Wire::writable() const {
  pollfd socket{fd_, POLLOUT, 0};
  return ::poll(&socket, 1, 0) > 0;
}

bool Wire::hungUp() const {
  pollfd socket{fd_, POLLRDHUP, 0};
  return ::poll(&socket, 1, 0) > 0;
}

std::size_t Wire::unacknowledged() const {
  int bytes = 0;
  if (::ioctl(fd_, SIOCOUTQ, &bytes) != 0 || bytes <= 0) return 0;
  // After a reset or timeout the value does not change, although the kernel holds nothing.
  tcp_info info{};
  socklen_t size = sizeof info;
  const bool gone =
      ::getsockopt(fd_, IPPROTO_TCP, TCP_INFO, &info, &size) == 0 && info.tcpi_state == TCP_CLOSE;
  return gone ? 0 : static_cast<std::size_t>(bytes);
}

void Wire::discardUnacknowledged() {
  if (unacknowledged() == 0) return;
  const linger reset{1, 0};
  static_cast<void>(::setsockopt(fd_, SOL_SOCKET, SO_LINGER, &reset, sizeof reset));
}

void Wire::shutdown() {
  if (ssl_ && !broken_ && SSL_is_init_finished(ssl_.get()) == 1) {
    // Best effort: if the socket buffer is full, close_notify is lost, but the end of the stream follows
    // anyway.
    if (SSL_shutdown(ssl_.get()) < 0) ERR_clear_error();
    broken_ = true;
  }
  ::shutdown(fd_, SHUT_WR);
}

IoResult Wire::discard() {
  std::array<char, kDiscard> sink;
  const auto bytes = ::recv(fd_, sink.data(), sink.size(), 0);
  if (bytes > 0) return {Io::ok, static_cast<std::size_t>(bytes)};
  return {bytes == 0 ? Io::closed : plainWant(Io::wantRead), 0};
}

void Wire::releaseBuffers() {
  // OpenSSL keeps the buffers while a record is incomplete. They are then released after the next request.
  if (ssl_) SSL_free_buffers(ssl_.get());
}

}  // namespace dynamo::runtime
