#include "certs/ssh_key.h"

#include <openssl/core_names.h>
#include <openssl/pem.h>

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "certs/openssl.h"

namespace dynamo::certs {
namespace {

std::string decoded(const std::string& base64) {
  std::string bytes(base64.size() / 4 * 3, '\0');
  const int size =
      EVP_DecodeBlock(reinterpret_cast<unsigned char*>(bytes.data()),
                      reinterpret_cast<const unsigned char*>(base64.data()), static_cast<int>(base64.size()));
  REQUIRE(size >= 0);
  return bytes;
}

/// The next string of RFC 4251, which is removed from `blob`.
std::string nextString(std::string& blob) {
  REQUIRE(blob.size() >= 4);
  std::size_t size = 0;
  for (int i = 0; i < 4; ++i)
    size = size << 8 | static_cast<unsigned char>(blob[static_cast<std::size_t>(i)]);
  REQUIRE(blob.size() >= 4 + size);
  std::string text = blob.substr(4, size);
  blob.erase(0, 4 + size);
  return text;
}

std::string parameterOf(const EVP_PKEY& key, const char* name) {
  BIGNUM* number = nullptr;
  REQUIRE(EVP_PKEY_get_bn_param(&key, name, &number) == 1);
  std::vector<unsigned char> bytes(static_cast<std::size_t>(BN_num_bytes(number)));
  BN_bn2bin(number, bytes.data());
  BN_free(number);
  return {bytes.begin(), bytes.end()};
}

TEST_CASE("an SSH key pair: PKCS#1 and a line of authorized_keys of the same RSA key") {
  const SshKeyPair pair = makeSshKeyPair();
  CHECK(pair.privateKey.starts_with("-----BEGIN RSA PRIVATE KEY-----\n"));
  const BioPtr pem{BIO_new_mem_buf(pair.privateKey.data(), static_cast<int>(pair.privateKey.size()))};
  const KeyPtr key{PEM_read_bio_PrivateKey(pem.get(), nullptr, nullptr, nullptr)};
  REQUIRE(key);
  CHECK(EVP_PKEY_get_bits(key.get()) == 2048);

  REQUIRE(pair.publicKey.starts_with("ssh-rsa "));
  REQUIRE(pair.publicKey.ends_with("\n"));
  std::string blob = decoded(pair.publicKey.substr(8, pair.publicKey.size() - 9));
  CHECK(nextString(blob) == "ssh-rsa");
  CHECK(nextString(blob) == parameterOf(*key, OSSL_PKEY_PARAM_RSA_E));
  // The highest bit of a modulus is set, so a zero byte precedes it.
  CHECK(nextString(blob) == std::string(1, '\0') + parameterOf(*key, OSSL_PKEY_PARAM_RSA_N));
}

TEST_CASE("two SSH keys differ") {
  CHECK(makeSshKeyPair().publicKey != makeSshKeyPair().publicKey);
}

}  // namespace
}  // namespace dynamo::certs
