#include "certs/rotate.h"

#include <openssl/x509v3.h>

#include <catch2/catch.hpp>

#include "certs/check.h"
#include "certs/make.h"
#include "tests/unit/certs/support.h"

using namespace dynamo::certs;
using namespace dynamo::certs::test;

namespace {

const ServiceName kService{"svc", "ns"};

// A CA as the reference operator leaves it in the Secret: RSA 2048, PKCS#1 key.
PemPair referenceCa() {
  PemPair ca = forge({.keyType = "RSA:2048",
                      .commonName = kCaName,
                      .basicConstraints = "critical,CA:TRUE",
                      .keyUsage = "critical,digitalSignature,keyEncipherment,keyCertSign",
                      .extendedKeyUsage = "",
                      .alternativeNames = std::string{"DNS:"} + kCaName,
                      .end = kNow + days{3000}});
  ca.privateKey = traditionalKey(ca.privateKey);
  return ca;
}

CertificateData with(CertificateData data, void (*change)(CertificateData&)) {
  change(data);
  return data;
}

}  // namespace

TEST_CASE("decisions of the validity check") {
  const CertificateData good = makeData();
  const PemPair foreignCa = must(makeCa(kNow));
  const auto leaf = [&](const Forgery& forgery) {
    return CertificateData{good.ca, forge(forgery, &good.ca)};
  };
  const auto serving = [&](days left) {
    return CertificateData{good.ca,
                           must(makeServing(good.ca, {servingDnsNames("svc", "ns"), {}}, kNow, left))};
  };
  const auto authority = [&](days left) {
    CertificateData data{must(makeCa(kNow, left)), {}};
    data.serving = must(makeServing(data.ca, {servingDnsNames("svc", "ns"), {}}, kNow));
    return data;
  };
  struct Row {
    const char* name;
    CertificateData data;
    Action action;
    Problem problem;
  };
  const std::vector<Row> rows{
      {"valid", good, Action::Nothing, Problem::None},
      {"placeholder", {}, Action::NewCaAndServing, Problem::Empty},
      {"serving 91 days", serving(days{91}), Action::Nothing, Problem::None},
      {"serving 89 days", serving(days{89}), Action::NewServing, Problem::Expired},
      {"CA 91 days", authority(days{91}), Action::Nothing, Problem::None},
      {"CA 89 days", authority(days{89}), Action::NewCaAndServing, Problem::Expired},
      {"no ca.key", with(good, [](auto& d) { d.ca.privateKey.clear(); }), Action::NewCaAndServing,
       Problem::Empty},
      {"no ca.crt", with(good, [](auto& d) { d.ca.certificate.clear(); }), Action::NewCaAndServing,
       Problem::Empty},
      {"no tls.key", with(good, [](auto& d) { d.serving.privateKey.clear(); }), Action::NewServing,
       Problem::Empty},
      {"no tls.crt", with(good, [](auto& d) { d.serving.certificate.clear(); }), Action::NewServing,
       Problem::Empty},
      {"corrupt tls.crt", with(good, [](auto& d) { d.serving.certificate[60] = '!'; }), Action::NewServing,
       Problem::Malformed},
      {"corrupt tls.key", with(good, [](auto& d) { d.serving.privateKey[60] = '!'; }), Action::NewServing,
       Problem::Malformed},
      {"corrupt ca.crt", with(good, [](auto& d) { d.ca.certificate = "not PEM"; }), Action::NewCaAndServing,
       Problem::NotPem},
      {"tls.key of another certificate",
       {good.ca, {good.serving.certificate, good.ca.privateKey}},
       Action::NewServing,
       Problem::KeyMismatch},
      {"ca.key of another CA",
       {{good.ca.certificate, foreignCa.privateKey}, good.serving},
       Action::NewCaAndServing,
       Problem::KeyMismatch},
      {"signed by another CA", {foreignCa, good.serving}, Action::NewServing, Problem::Untrusted},
      {"a leaf certificate as CA",
       {good.serving, good.serving},
       Action::NewCaAndServing,
       Problem::WrongUsage},
      {"CA of another name",
       {forge({.basicConstraints = "CA:TRUE", .extendedKeyUsage = "", .alternativeNames = "DNS:other"}), {}},
       Action::NewCaAndServing,
       Problem::WrongName},
      {"primary name absent", leaf({.alternativeNames = "DNS:svc,DNS:svc.ns"}), Action::NewServing,
       Problem::WrongName},
      {"name only in the subject", leaf({.commonName = "svc.ns.svc", .alternativeNames = ""}),
       Action::NewServing, Problem::WrongName},
      {"extra names differ", leaf({.alternativeNames = "DNS:svc.ns.svc,DNS:else"}), Action::Nothing,
       Problem::None},
      {"clientAuth only", leaf({.extendedKeyUsage = "clientAuth"}), Action::NewServing, Problem::WrongUsage},
      {"no extended key usage", leaf({.extendedKeyUsage = ""}), Action::Nothing, Problem::None},
      {"not valid yet", leaf({.begin = kNow + days{1}}), Action::NewServing, Problem::NotYetValid},
      {"expired", leaf({.begin = kNow - days{9}, .end = kNow - days{1}}), Action::NewServing,
       Problem::Expired},
      {"1024-bit RSA", leaf({.keyType = "RSA:1024"}), Action::NewServing, Problem::TooWeak},
  };
  for (const Row& row : rows) {
    const RenewalPlan plan = planRenewal(row.data, kService, kNow);
    INFO(row.name << (plan.reason ? ": " + plan.reason->text : ""));
    CHECK(plan.action == row.action);
    CHECK(toString(plan.reason ? plan.reason->problem : Problem::None) == toString(row.problem));
    CHECK(plan.dnsNames.empty() == (row.action == Action::Nothing));

    const CertificateData renewed = must(renew(row.data, plan, kNow));
    CHECK(planRenewal(renewed, kService, kNow).action == Action::Nothing);
    const bool caKept =
        renewed.ca.certificate == row.data.ca.certificate && renewed.ca.privateKey == row.data.ca.privateKey;
    CHECK(caKept == (row.action != Action::NewCaAndServing));
    CHECK((renewed.serving.certificate == row.data.serving.certificate) == (row.action == Action::Nothing));
  }
}

TEST_CASE("the reason of a renewal is expired or due") {
  const CertificateData data = makeData();
  const auto text = [&](Time at) { return planRenewal(data, kService, at).reason->text; };
  CHECK(text(kNow + days{300}) == "tls.crt: expires on 2027-03-01T00:00:00Z, in less than 90 days");
  CHECK(text(kNow + days{366}) == "tls.crt: certificate has expired");
}

TEST_CASE("another service or namespace requires a new serving certificate") {
  const CertificateData data = makeData();
  CHECK(planRenewal(data, {"svc2", "ns"}, kNow).action == Action::NewServing);
  CHECK(planRenewal(data, {"svc", "ns2"}, kNow).action == Action::NewServing);
}

TEST_CASE("two releases sharing one Secret agree after one renewal") {
  const CertificateData first = makeData(kNow, "alpha", "ns");
  const ServiceName beta{"beta", "ns"};
  const RenewalPlan plan = planRenewal(first, beta, kNow);
  CHECK(plan.action == Action::NewServing);
  CHECK(plan.keptNames == servingDnsNames("alpha", "ns"));
  const CertificateData both = must(renew(first, plan, kNow));
  CHECK(planRenewal(both, beta, kNow).action == Action::Nothing);
  CHECK(planRenewal(both, {"alpha", "ns"}, kNow).action == Action::Nothing);

  // A renewal by either release keeps both names.
  const RenewalPlan later = planRenewal(both, {"alpha", "ns"}, kNow + days{300});
  CHECK(later.keptNames == servingDnsNames("beta", "ns"));
  // A new CA also keeps both names while the old chain is valid.
  const RenewalPlan caDue = planRenewal({{both.ca.certificate, ""}, both.serving}, beta, kNow);
  CHECK(caDue.action == Action::NewCaAndServing);
  CHECK(caDue.keptNames == servingDnsNames("alpha", "ns"));
}

TEST_CASE("names are only kept from a valid certificate") {
  const CertificateData data = makeData(kNow, "alpha", "ns");
  const ServiceName beta{"beta", "ns"};
  CHECK(planRenewal({must(makeCa(kNow)), data.serving}, beta, kNow).keptNames.empty());
  CHECK(planRenewal({data.ca, {data.serving.certificate, data.ca.privateKey}}, beta, kNow).keptNames.empty());
  CHECK(planRenewal(data, beta, kNow + days{366}).keptNames.empty());
  CHECK(planRenewal(makeData(kNow, "alpha", "elsewhere"), beta, kNow).keptNames.empty());
}

TEST_CASE("the RSA CA of the reference operator keeps signing") {
  const PemPair ca = referenceCa();
  REQUIRE(ca.privateKey.starts_with("-----BEGIN RSA PRIVATE KEY-----"));
  const CertificateData data{ca, forge({.keyType = "RSA:2048"}, &ca)};
  CHECK(planRenewal(data, kService, kNow).action == Action::Nothing);
  const RenewalPlan plan = planRenewal({ca, {}}, kService, kNow);
  CHECK(plan.action == Action::NewServing);
  const CertificateData renewed = must(renew({ca, {}}, plan, kNow));
  CHECK(planRenewal(renewed, kService, kNow).action == Action::Nothing);
}

TEST_CASE("issuing rejects an empty service name") {
  CHECK(problemOf(renew({}, planRenewal({}, {"", "ns"}, kNow), kNow)) == Problem::InvalidInput);
}
