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
    std::vector<std::string> expected;  // empty: the bundle is not written
  };
  const std::vector<Row> rows{
      {"an empty bundle gets the CA", "", {current}},
      {"a bundle with the CA alone is right", current, {}},
      {"text between certificates does not matter", "# CA\n" + current + "\n\n", {}},
      {"a repeated CA does not matter", current + current, {}},
      {"an invalid bundle is replaced", "not PEM", {current}},
      {"an invalid certificate is replaced",
       "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
       {current}},
      {"the earlier CA is kept behind the new one", old, {current, old}},
      {"a bundle with both CAs is right", current + old, {}},
      {"the order does not matter", old + current, {}},
      {"an expired CA is removed", current + expired, {current}},
      {"an earlier CA of another name is kept", foreign, {current, foreign}},
      {"a bundle with a CA of another name is right", current + foreign, {}},
      {"a certificate that is not a CA is removed", current + leaf, {current}},
  };
  for (const Row& row : rows) {
    INFO(row.name);
    const auto written = planBundle(current, row.bundle, kNow);
    REQUIRE(written.has_value() == !row.expected.empty());
    if (!written) continue;
    std::string expected;
    for (const std::string& each : row.expected) expected += each;
    CHECK(*written == expected);
    CHECK_FALSE(planBundle(current, *written, kNow));
  }
}

TEST_CASE("a bundle keeps the newest earlier CAs") {
  const std::string current = authority(kNow, kNow + days{100}).certificate;
  std::string bundle;
  std::vector<std::string> earlier;
  for (std::size_t age = 1; age <= kMaxPreviousCas + 2; ++age)
    earlier.push_back(authority(kNow - days{age}, kNow + days{100}).certificate);
  for (const std::string& each : earlier) bundle = each + bundle;
  const auto written = planBundle(current, bundle, kNow);
  REQUIRE(written);
  std::string expected = current;
  for (std::size_t i = 0; i < kMaxPreviousCas; ++i) expected += earlier[i];
  CHECK(*written == expected);
  // A replica that starts later, from the result, decides the same.
  CHECK_FALSE(planBundle(current, *written, kNow));
}

TEST_CASE("a bundle with a ca.crt of many certificates can be parsed again") {
  const std::string previous = authority(kNow - days{1}, kNow + days{100}).certificate;
  std::string current;
  for (std::size_t age = 1; age <= certs::kMaxChainCertificates; ++age)
    current += authority(kNow - days{10 + age}, kNow + days{100}).certificate;
  const auto written = planBundle(current, previous, kNow);
  CHECK(written == current);
  CHECK_FALSE(planBundle(current, *written, kNow));
}

TEST_CASE("the earlier CA leaves the bundle when it expires") {
  const std::string current = authority(kNow, kNow + days{100}).certificate;
  const std::string old = authority(kNow - days{1}, kNow + days{1}).certificate;
  CHECK_FALSE(planBundle(current, current + old, kNow + hours{23}));
  CHECK(planBundle(current, current + old, kNow + hours{24}) == current);
}

TEST_CASE("only certificates of ca.crt get into a bundle") {
  const PemPair ca = authority(kNow, kNow + days{100});
  const auto written = planBundle(ca.certificate + ca.privateKey, "", kNow);
  CHECK(written == ca.certificate);
  CHECK_FALSE(planBundle("", ca.certificate, kNow));
  CHECK_FALSE(planBundle("not PEM", ca.certificate, kNow));
}

TEST_CASE("a ca.crt with two certificates is injected whole") {
  const std::string a = authority(kNow, kNow + days{100}, "a").certificate;
  const std::string b = authority(kNow, kNow + days{100}, "b").certificate;
  const auto written = planBundle(a + b, a, kNow);
  REQUIRE(written);
  CHECK(certificatesIn(*written) == 2);
  CHECK(containsCas(*written, a + b));
  CHECK(containsCas(*written, b));
  CHECK_FALSE(containsCas(a, b));
  CHECK_FALSE(containsCas("", a));
  CHECK_FALSE(containsCas(a, ""));
}

}  // namespace dynamo::provisioning::test
