#include "certs/ssh_key.h"

#include <openssl/bio.h>
#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>

#include <memory>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "certs/openssl.h"

namespace dynamo::certs {
namespace {

using NumberPtr = std::unique_ptr<BIGNUM, OpensslDeleter<BN_free>>;

constexpr unsigned kKeyBits = 2048;

[[noreturn]] void fail() {
  throw std::runtime_error{"cannot make an SSH key: " + opensslReason()};
}

/// A string of RFC 4251: its length in four bytes, then its bytes.
void appendString(std::string& out, std::string_view text) {
  for (int shift = 24; shift >= 0; shift -= 8) out += static_cast<char>((text.size() >> shift) & 0xff);
  out.append(text);
}

/// A positive mpint of RFC 4251: big-endian, with a leading zero byte if the highest bit is set.
void appendNumber(std::string& out, const EVP_PKEY& key, const char* parameter) {
  BIGNUM* read = nullptr;
  if (EVP_PKEY_get_bn_param(&key, parameter, &read) != 1) fail();
  const NumberPtr number{read};
  std::vector<unsigned char> bytes(static_cast<std::size_t>(BN_num_bytes(number.get())));
  BN_bn2bin(number.get(), bytes.data());
  std::string text{bytes.begin(), bytes.end()};
  if (!bytes.empty() && (bytes.front() & 0x80) != 0) text.insert(text.begin(), '\0');
  appendString(out, text);
}

std::string base64(std::string_view bytes) {
  std::string text(4 * ((bytes.size() + 2) / 3) + 1, '\0');
  const int size =
      EVP_EncodeBlock(reinterpret_cast<unsigned char*>(text.data()),
                      reinterpret_cast<const unsigned char*>(bytes.data()), static_cast<int>(bytes.size()));
  text.resize(static_cast<std::size_t>(size));
  return text;
}

}  // namespace

SshKeyPair makeSshKeyPair() {
  const KeyPtr key{EVP_RSA_gen(kKeyBits)};
  const BioPtr pem{BIO_new(BIO_s_mem())};
  if (!key || !pem ||
      PEM_write_bio_PrivateKey_traditional(pem.get(), key.get(), nullptr, nullptr, 0, nullptr, nullptr) != 1)
    fail();
  char* text = nullptr;
  const long size = BIO_get_mem_data(pem.get(), &text);
  SshKeyPair pair;
  pair.privateKey.assign(text, static_cast<std::size_t>(size));
  std::string blob;
  appendString(blob, "ssh-rsa");
  appendNumber(blob, *key, OSSL_PKEY_PARAM_RSA_E);
  appendNumber(blob, *key, OSSL_PKEY_PARAM_RSA_N);
  pair.publicKey = "ssh-rsa " + base64(blob) + "\n";
  return pair;
}

}  // namespace dynamo::certs
