#pragma once
// The peer of a connection, and the cause of a TLS failure.

#include <openssl/types.h>

#include <array>
#include <cstdint>
#include <string>

namespace dynamo::runtime {

/// The address of a TCP peer. It is read when the connection starts, because it is unknown after a reset.
class Peer {
 public:
  explicit Peer(int fd);
  /// Returns the address as "10.0.0.1:41234" or "[fd00::1]:41234", or an empty text if it is unknown.
  std::string text() const;

 private:
  std::array<unsigned char, 16> address_{};  ///< IPv6, or mapped IPv4
  std::uint16_t port_ = 0;
};

/// The cause of a TLS failure.
struct TlsFault {
  std::string reason;      ///< "remote error: bad certificate", "no shared cipher"; empty: no failure
  int alert = 0;           ///< the alert from the peer; 0: the failure is local
  bool untrusted = false;  ///< the peer's certificate was rejected
  bool http = false;       ///< the peer has sent an HTTP request without TLS
};

/// Returns the failure of the session from the oldest error in OpenSSL's queue. The reason is empty if it is
/// not a TLS error, for example if the peer only closed the connection.
TlsFault oldestFault(const SSL* ssl);

}  // namespace dynamo::runtime
