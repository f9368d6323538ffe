#pragma once
// Key pairs for SSH.

#include <string>

namespace dynamo::certs {

struct SshKeyPair {
  std::string privateKey;  ///< PEM, PKCS#1
  std::string publicKey;   ///< a line of authorized_keys
};

/// A new RSA key pair of 2048 bits. Throws std::runtime_error if OpenSSL fails.
SshKeyPair makeSshKeyPair();

}  // namespace dynamo::certs
