#pragma once
// Bytes over a non-blocking socket, through TLS or plain. OpenSSL works on the socket itself: no copy
// through a BIO pair, one system call a message.

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

/// A server session of `context` over the socket, or nullptr when OpenSSL is out of memory. It keeps the
/// context alive.
SslPtr newServerSession(SSL_CTX* context, int fd);
/// The same for a client.
SslPtr newClientSession(SSL_CTX* context, int fd);

class Wire {
 public:
  /// `ssl` nullptr: plain. The socket is not owned and must outlive the wire.
  Wire(int fd, SslPtr ssl) : fd_(fd), ssl_(std::move(ssl)) {}

  /// Any thread's error queue must be empty before TLS calls: call once after other code ran.
  static void clearErrors();

  Io handshake();
  IoResult read(char* data, std::size_t size);
  IoResult write(const char* data, std::size_t size);
  /// Received bytes wait inside TLS, where the system cannot announce them.
  bool pending() const;
  /// A read would not wait: bytes or the end of the stream have arrived.
  bool readable() const { return pending() || arrived(); }
  /// The same of the system alone: a piece of a record that TLS holds does not count.
  bool arrived() const;
  /// A write would not wait.
  bool writable() const;
  /// The peer has ended its direction of the connection, or all of it.
  bool hungUp() const;
  /// The client's certificate, if it presented one and a CA of the context signed it; else nullptr.
  const X509* clientCertificate() const;
  /// Why TLS failed; without a reason: it did not, the peer only left.
  const TlsFault& fault() const { return fault_; }
  /// Bytes that have come through TLS or for it, since the start.
  std::uint64_t received() const;
  /// Bytes sent that the kernel still holds, as the peer has not acknowledged them.
  std::size_t untaken() const;
  /// Has the kernel throw those away when the socket is closed (a reset): by itself it would go on offering
  /// them.
  void giveUpUntaken();
  /// Says goodbye (close_notify) and ends our direction of the connection.
  void shutdown();
  /// Throws received bytes away, undecrypted.
  IoResult discard();
  /// Gives up the TLS record buffers (34 KiB) until the next read or write.
  void releaseBuffers();

 private:
  Io wantOf(int result);

  int fd_;
  SslPtr ssl_;
  bool broken_ = false;      ///< TLS failed: nothing may be sent any more
  TlsFault fault_;           ///< why
  std::uint64_t heard_ = 0;  ///< bytes that had been received when TLS last gave some of ours
};

}  // namespace dynamo::runtime
