#include "certs/load.h"

#include <openssl/err.h>

#include <catch2/catch.hpp>
#include <ctime>

#include "certs/make.h"
#include "tests/unit/certs/support.h"

using namespace dynamo::certs;
using namespace dynamo::certs::test;

namespace {

Result<ServingPair> load(const PemPair& pem, Time at = kNow) {
  return loadServingPair(pem, "/certs/tls.crt", "/certs/tls.key", at);
}

std::string repeat(const std::string& text, std::size_t bytes) {
  std::string result;
  while (result.size() + text.size() <= bytes) result += text;
  return result;
}

}  // namespace

TEST_CASE("a usable pair loads with its chain and dates") {
  const CertificateData data = makeData();
  const ServingPair pair =
      must(load({data.serving.certificate + data.ca.certificate, data.serving.privateKey}));
  CHECK(pair.chain.size() == 2);
  CHECK(pair.notBefore == kNow - hours{1});
  CHECK(pair.notAfter == kNow + days{365});
}

TEST_CASE("unusable pairs are rejected with file and cause") {
  const CertificateData data = makeData();
  const std::string& crt = data.serving.certificate;
  const std::string& key = data.serving.privateKey;
  const PemPair client = forge({.extendedKeyUsage = "clientAuth"});
  struct Row {
    PemPair pem;
    Time at;
    Problem problem;
    std::string text;
  };
  const std::vector<Row> rows{
      {{"", key}, kNow, Problem::Empty, "/certs/tls.crt: is empty"},
      {{crt, ""}, kNow, Problem::Empty, "/certs/tls.key: is empty"},
      {{"hello", key}, kNow, Problem::NotPem, "/certs/tls.crt: contains no PEM block of type CERTIFICATE"},
      {{key, key}, kNow, Problem::NotPem, "/certs/tls.crt: contains no PEM block of type CERTIFICATE"},
      {{crt, crt}, kNow, Problem::NotPem, "/certs/tls.key: contains no PEM block of type PRIVATE KEY"},
      {{crt.substr(0, 200), key}, kNow, Problem::Malformed, "/certs/tls.crt: certificate 1 cannot be parsed"},
      {{crt + crt.substr(0, 200), key},
       kNow,
       Problem::Malformed,
       "/certs/tls.crt: certificate 2 cannot be parsed"},
      {{crt, key.substr(0, 100) + key.substr(104)},
       kNow,
       Problem::Malformed,
       "/certs/tls.key: the private key cannot be parsed"},
      {{crt, encryptedKey(key)}, kNow, Problem::Encrypted, "/certs/tls.key: is encrypted"},
      {{crt, data.ca.privateKey},
       kNow,
       Problem::KeyMismatch,
       "/certs/tls.key: does not match the first certificate of /certs/tls.crt"},
      {{crt, key}, kNow + days{366}, Problem::Expired, "/certs/tls.crt: expired on 2027-03-01T00:00:00Z"},
      {{crt, key},
       kNow - hours{2},
       Problem::NotYetValid,
       "/certs/tls.crt: not valid before 2026-02-28T23:00:00Z"},
      {client, kNow, Problem::WrongUsage, "/certs/tls.crt: extended key usage lacks serverAuth"},
      {{repeat(crt, kMaxPemBytes), key}, kNow, Problem::TooLarge, "/certs/tls.crt: contains more than 16"},
  };
  for (const Row& row : rows) {
    const auto result = load(row.pem, row.at);
    const auto* error = std::get_if<Error>(&result);
    REQUIRE(error != nullptr);
    INFO(error->text);
    CHECK(toString(error->problem) == toString(row.problem));
    CHECK(error->text.starts_with(row.text));
    CHECK(error->text.find('\n') == std::string::npos);
    CHECK(ERR_peek_error() == 0);
    // No part of the key appears in an error text.
    CHECK(error->text.find(key.substr(40, 12)) == std::string::npos);
  }
}

TEST_CASE("the validity limits themselves are valid") {
  const PemPair pair = makeData().serving;
  CHECK(problemOf(load(pair, kNow - hours{1})) == Problem::None);
  CHECK(problemOf(load(pair, kNow - hours{1} - seconds{1})) == Problem::NotYetValid);
  CHECK(problemOf(load(pair, kNow + days{365})) == Problem::None);
  CHECK(problemOf(load(pair, kNow + days{365} + seconds{1})) == Problem::Expired);
}

TEST_CASE("common key encodings and usages are accepted") {
  const PemPair rsa = forge({.keyType = "RSA:2048"});
  const PemPair ec = forge({.keyType = "EC:P-384", .extendedKeyUsage = ""});
  const std::string parameters = "-----BEGIN EC PARAMETERS-----\nBgUrgQQAIg==\n-----END EC PARAMETERS-----\n";
  CHECK(problemOf(load(rsa)) == Problem::None);
  CHECK(problemOf(load({rsa.certificate, traditionalKey(rsa.privateKey)})) == Problem::None);
  CHECK(problemOf(load({ec.certificate, traditionalKey(ec.privateKey)})) == Problem::None);
  CHECK(problemOf(load({ec.certificate, parameters + traditionalKey(ec.privateKey)})) == Problem::None);
  CHECK(problemOf(load(forge({.extendedKeyUsage = "anyExtendedKeyUsage"}))) == Problem::None);
  CHECK(problemOf(load({"Bag Attributes\n  x: y\n" + rsa.certificate, rsa.privateKey})) == Problem::None);
}

TEST_CASE("hostile PEM is rejected quickly") {
  const PemPair good = makeData().serving;
  const std::string megabytes10(std::size_t{10} * 1024 * 1024, 'A');
  const std::vector<std::string> inputs{
      megabytes10,
      "-----BEGIN CERTIFICATE-----\n" + megabytes10,
      repeat("-----BEGIN ", std::size_t{10} * 1024 * 1024),
      // Just below the limit, so the parser runs.
      repeat("-----BEGIN ", kMaxPemBytes),
      repeat("-----BEGIN CERTIFICATE-----\n", kMaxPemBytes),
      repeat("-----BEGIN PRIVATE KEY-----\n", kMaxPemBytes),
      repeat("-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----\n", kMaxPemBytes),
      repeat("-----BEGIN PRIVATE KEY-----\n-----END PRIVATE KEY-----\n", kMaxPemBytes),
      repeat("-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n", kMaxPemBytes),
      "PRIVATE KEY-----\n" + repeat("-----BEGIN X-----\nAAAA\n-----END X-----\n", kMaxPemBytes - 30),
      repeat("-----BEGIN CERTIFICATE-----\nProc-Type: 4,\n\n", kMaxPemBytes),
      std::string(kMaxPemBytes, '-'),
      std::string(kMaxPemBytes, '\n'),
      std::string(kMaxPemBytes, '\0'),
  };
  for (const std::string& input : inputs) {
    // Processor time, so that a busy machine cannot fail the test.
    const std::clock_t start = std::clock();
    CHECK(problemOf(load({input, good.privateKey})) != Problem::None);
    CHECK(problemOf(load({good.certificate, input})) != Problem::None);
    CHECK(problemOf(load({good.certificate, input.substr(0, kMaxKeyPemBytes)})) != Problem::None);
    const double seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
    INFO(input.substr(0, 40));
    CHECK(seconds < 1.0);
  }
}
