#pragma once
// Who is at the other end of a connection, and why TLS ended it.

#include <openssl/types.h>

#include <array>
#include <cstdint>
#include <string>

namespace dynamo::runtime {

/// The other end of a TCP connection, taken at its start: once it is reset the system no longer knows.
class Peer {
 public:
  explicit Peer(int fd);
  /// "10.0.0.1:41234", "[fd00::1]:41234"; empty when it is not known.
  std::string text() const;

 private:
  std::array<unsigned char, 16> address_{};  ///< IPv6, or mapped IPv4
  std::uint16_t port_ = 0;
};

/// Why TLS ended a connection.
struct TlsFault {
  std::string reason;      ///< "remote error: bad certificate", "no shared cipher"; empty: it did not
  int alert = 0;           ///< that the peer sent; 0: none, we refused
  bool untrusted = false;  ///< we refused the peer's certificate
};

/// What the oldest error in OpenSSL's queue says of the session; no reason when it is none of TLS, as where
/// the peer only closed.
TlsFault oldestFault(const SSL* ssl);

}  // namespace dynamo::runtime
