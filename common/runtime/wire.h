#pragma once
// Transfers bytes over a non-blocking socket, with or without TLS. OpenSSL uses the socket directly, so there
// is no copy through a BIO pair, and a message needs one system call.

#include <openssl/types.h>

#include <cstddef>
#include <cstdint>
#include <memory>

#include "common/runtime/peer.h"

namespace dynamo::runtime {

enum class Io { ok, wantRead, wantWrite, closed };

struct IoResult {
  Io io = Io::ok;
  std::size_t bytes = 0;
};

struct SslDelete {
  void operator()(SSL* ssl) const;
};
using SslPtr = std::unique_ptr<SSL, SslDelete>;

/// Creates a server session over the socket. Returns nullptr if OpenSSL is out of memory. The session keeps
/// the context alive.
SslPtr newServerSession(SSL_CTX* context, int fd);
/// Creates a client session over the socket.
SslPtr newClientSession(SSL_CTX* context, int fd);

class Wire {
 public:
  /// Without `ssl` the bytes are not encrypted. The socket is not owned and must outlive the wire.
  Wire(int fd, SslPtr ssl) : fd_(fd), ssl_(std::move(ssl)) {}

  /// Clears the thread's OpenSSL error queue. It must be empty before TLS calls, so call this after other
  /// code has run.
  static void clearErrors();

  Io handshake();
  IoResult read(char* data, std::size_t size);
  IoResult write(const char* data, std::size_t size);
  /// Returns whether TLS holds received bytes. The socket does not become readable for them.
  bool pending() const;
  /// Returns whether bytes or the end of the stream have arrived, so that a read would not wait.
  bool readable() const { return pending() || arrived(); }
  /// Like readable(), but ignores a partial record that TLS holds.
  bool arrived() const;
  /// Returns whether a write would not wait.
  bool writable() const;
  /// Returns whether the peer has closed its direction of the connection, or the whole connection.
  bool hungUp() const;
  /// Returns the client's certificate if a CA of the context signed it, otherwise nullptr.
  const X509* clientCertificate() const;
  /// Reads the bytes that the peer sent before it closed the connection, and stores the fault if they contain
  /// an alert. Must be called after a failed write. In TLS 1.3, a server rejects the client's certificate
  /// only after the handshake.
  void readAlert();
  /// Returns the TLS failure. If it has no reason, TLS did not fail, and the peer only closed the connection.
  const TlsFault& fault() const { return fault_; }
  /// Returns the number of bytes received since the start, including TLS overhead.
  std::uint64_t received() const;
  /// Returns the number of sent bytes that the kernel still holds because the peer has not acknowledged them.
  std::size_t unacknowledged() const;
  /// Makes the kernel discard these bytes with a reset when the socket is closed. By default it would
  /// continue to send them.
  void discardUnacknowledged();
  /// Sends close_notify and closes the sending direction of the connection.
  void shutdown();
  /// Discards received bytes without decrypting them.
  IoResult discard();
  /// Releases the TLS record buffers (34 KiB) until the next read or write.
  void releaseBuffers();

 private:
  Io ioOf(int result);

  int fd_;
  SslPtr ssl_;
  bool broken_ = false;                   ///< TLS failed, so nothing may be sent
  TlsFault fault_;                        ///< why TLS failed
  std::uint64_t receivedAtLastRead_ = 0;  ///< received() at the last read that returned data
};

}  // namespace dynamo::runtime
