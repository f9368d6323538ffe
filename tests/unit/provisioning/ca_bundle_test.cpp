#include "controller/certs/ca_bundle.h"

#include <catch2/catch.hpp>
#include <vector>

#include "tests/unit/provisioning/support.h"

namespace dynamo::provisioning::test {
namespace {

std::size_t certificatesIn(const std::string& pem) {
  return must(certs::parseCertificates(pem, "test")).size();
}

}  // namespace

TEST_CASE("which CAs a caBundle gets") {
  const std::string current = authority(kNow - days{1}, kNow + days{100}).certificate;
  const std::string old = authority(kNow - days{50}, kNow + days{1}).certificate;
  const std::string expired = authority(kNow - days{90}, kNow - days{1}).certificate;
  const std::string foreign = authority(kNow - days{1}, kNow + days{100}, "cluster-ca").certificate;
  const std::string leaf = forge({.alternativeNames = "DNS:Dynamo-Webhook-CA"}).certificate;
  struct Row {
    const char* name;
    std::string bundle;
    bool keepAnyName;
    std::vector<std::string> expected;  // empty: the bundle is not written
  };
  const std::vector<Row> rows{
      {"an empty bundle gets the CA", "", false, {current}},
      {"a bundle with the CA alone is right", current, false, {}},
      {"text between certificates does not matter", "# CA\n" + current + "\n\n", false, {}},
      {"a repeated CA does not matter", current + current, false, {}},
      {"an invalid bundle is replaced", "not PEM", false, {current}},
      {"an invalid certificate is replaced",
       "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
       false,
       {current}},
      {"the earlier CA is kept behind the new one", old, false, {current, old}},
      {"a bundle with both CAs is right", current + old, false, {}},
      {"the order does not matter", old + current, false, {}},
      {"an expired CA is removed", current + expired, false, {current}},
      {"a CA of another name is removed", current + foreign, false, {current}},
      {"in manual mode a CA of another name is kept", foreign, true, {current, foreign}},
      {"in manual mode a bundle with a second CA is right", current + foreign, true, {}},
      {"a certificate that is not a CA is removed", current + leaf, true, {current}},
  };
  for (const Row& row : rows) {
    INFO(row.name);
    const auto written = planBundle({current, row.keepAnyName}, row.bundle, kNow);
    REQUIRE(written.has_value() == !row.expected.empty());
    if (!written) continue;
    std::string expected;
    for (const std::string& each : row.expected) expected += each;
    CHECK(*written == expected);
    CHECK_FALSE(planBundle({current, row.keepAnyName}, *written, kNow));
  }
}

TEST_CASE("a bundle keeps the newest earlier CAs") {
  const std::string current = authority(kNow, kNow + days{100}).certificate;
  std::string bundle;
  std::vector<std::string> earlier;
  for (int age = 1; age <= 5; ++age)
    earlier.push_back(authority(kNow - days{age}, kNow + days{100}).certificate);
  for (const std::string& each : earlier) bundle = each + bundle;
  const auto written = planBundle({current, false}, bundle, kNow);
  REQUIRE(written);
  CHECK(*written == current + earlier[0] + earlier[1] + earlier[2]);
  // A replica that starts later, from the result, decides the same.
  CHECK_FALSE(planBundle({current, false}, *written, kNow));
}

TEST_CASE("the earlier CA leaves the bundle when it expires") {
  const std::string current = authority(kNow, kNow + days{100}).certificate;
  const std::string old = authority(kNow - days{1}, kNow + days{1}).certificate;
  CHECK_FALSE(planBundle({current, false}, current + old, kNow + hours{23}));
  CHECK(planBundle({current, false}, current + old, kNow + hours{24}) == current);
}

TEST_CASE("only certificates of ca.crt get into a bundle") {
  const PemPair ca = authority(kNow, kNow + days{100});
  const auto written = planBundle({ca.certificate + ca.privateKey, false}, "", kNow);
  CHECK(written == ca.certificate);
  CHECK_FALSE(planBundle({"", false}, ca.certificate, kNow));
  CHECK_FALSE(planBundle({"not PEM", false}, ca.certificate, kNow));
}

TEST_CASE("a ca.crt with two certificates is injected whole") {
  const std::string a = authority(kNow, kNow + days{100}, "a").certificate;
  const std::string b = authority(kNow, kNow + days{100}, "b").certificate;
  const auto written = planBundle({a + b, true}, a, kNow);
  REQUIRE(written);
  CHECK(certificatesIn(*written) == 2);
  CHECK(containsCas(*written, a + b));
  CHECK(containsCas(*written, b));
  CHECK_FALSE(containsCas(a, b));
  CHECK_FALSE(containsCas("", a));
  CHECK_FALSE(containsCas(a, ""));
}

}  // namespace dynamo::provisioning::test
