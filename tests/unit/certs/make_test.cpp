#include "certs/make.h"

#include <openssl/ec.h>
#include <openssl/objects.h>
#include <openssl/x509v3.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <set>

#include "certs/files.h"
#include "tests/unit/certs/support.h"

using namespace dynamo::certs;
using namespace dynamo::certs::test;

namespace {

std::string nameText(const X509_NAME* name) {
  const BioPtr bio{BIO_new(BIO_s_mem())};
  X509_NAME_print_ex(bio.get(), name, 0, XN_FLAG_RFC2253);
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio.get(), &data);
  return {data, static_cast<std::size_t>(size)};
}

std::string curveOf(const X509& certificate) {
  char group[32] = "";
  EVP_PKEY_get_group_name(X509_get0_pubkey(&certificate), group, sizeof group, nullptr);
  return group;
}

std::string serialOf(const X509& certificate) {
  BIGNUM* number = ASN1_INTEGER_to_BN(X509_get0_serialNumber(&certificate), nullptr);
  char* hex = BN_bn2hex(number);
  std::string text = hex;
  OPENSSL_free(hex);
  BN_free(number);
  return text;
}

int opensslVerify(const TemporaryDirectory& directory, const std::string& more) {
  const std::string at = std::to_string(kNow.time_since_epoch().count());
  const std::string dir = directory.path().string();
  const std::string command = "openssl verify -x509_strict -purpose sslserver -attime " + at + " " + more +
                              " -CAfile " + dir + "/ca.crt " + dir + "/tls.crt >/dev/null 2>&1";
  return std::system(command.c_str());
}

}  // namespace

TEST_CASE("CA certificate") {
  const PemPair made = must(makeCa(kNow));
  const CertificatePtr ca = parse(made.certificate);
  CHECK(nameText(X509_get_subject_name(ca.get())) == "CN=Dynamo-Webhook-CA,O=NVIDIA");
  CHECK(nameText(X509_get_issuer_name(ca.get())) == "CN=Dynamo-Webhook-CA,O=NVIDIA");
  CHECK(dnsNamesOf(*ca) == std::vector<std::string>{"Dynamo-Webhook-CA"});
  CHECK(notBefore(*ca) == kNow - hours{1});
  CHECK(notAfter(*ca) == kNow + days{3650});
  CHECK(extensionText(*ca, NID_basic_constraints) == "critical, CA:TRUE");
  CHECK(extensionText(*ca, NID_key_usage) == "critical, Digital Signature, Certificate Sign");
  CHECK(extensionText(*ca, NID_ext_key_usage).empty());
  CHECK_FALSE(extensionText(*ca, NID_subject_key_identifier).empty());
  // The reference only reads PKCS#1 from ca.key.
  CHECK(made.privateKey.starts_with("-----BEGIN RSA PRIVATE KEY-----"));
  CHECK(EVP_PKEY_get_bits(X509_get0_pubkey(ca.get())) == 2048);
  CHECK(X509_get_signature_nid(ca.get()) == NID_sha256WithRSAEncryption);
  CHECK(X509_get_version(ca.get()) == 2);
}

TEST_CASE("serving certificate") {
  const PemPair ca = must(makeCa(kNow));
  const auto names = servingDnsNames("svc", "ns");
  const PemPair pair = must(makeServing(ca, {names, {}}, kNow));
  const CertificatePtr leaf = parse(pair.certificate);
  CHECK(nameText(X509_get_subject_name(leaf.get())) == "CN=svc.ns.svc");
  CHECK(dnsNamesOf(*leaf) == names);
  CHECK(notBefore(*leaf) == kNow - hours{1});
  CHECK(notAfter(*leaf) == kNow + days{365});
  CHECK(extensionText(*leaf, NID_basic_constraints) == "critical, CA:FALSE");
  CHECK(extensionText(*leaf, NID_key_usage) == "critical, Digital Signature");
  CHECK(extensionText(*leaf, NID_ext_key_usage) == "TLS Web Server Authentication");
  CHECK_FALSE(extensionText(*leaf, NID_subject_key_identifier).empty());
  const std::string authorityKeyId = extensionText(*leaf, NID_authority_key_identifier);
  CHECK(authorityKeyId.find(extensionText(*parse(ca.certificate), NID_subject_key_identifier)) !=
        std::string::npos);
  CHECK(curveOf(*leaf) == "prime256v1");
  CHECK(X509_get_signature_nid(leaf.get()) == NID_sha256WithRSAEncryption);
  CHECK(pair.privateKey.starts_with("-----BEGIN PRIVATE KEY-----"));
  CHECK(pair.certificate.starts_with("-----BEGIN CERTIFICATE-----"));
}

TEST_CASE("self-signed serving certificate") {
  const PemPair pair = must(makeSelfSigned({{"a", "b"}, {}}, kNow, days{30}));
  const CertificatePtr leaf = parse(pair.certificate);
  CHECK(nameText(X509_get_subject_name(leaf.get())) == "CN=a");
  CHECK(nameText(X509_get_issuer_name(leaf.get())) == "CN=a");
  CHECK(X509_verify(leaf.get(), X509_get0_pubkey(leaf.get())) == 1);
  CHECK(dnsNamesOf(*leaf) == std::vector<std::string>{"a", "b"});
  CHECK(notAfter(*leaf) == kNow + days{30});
  CHECK(extensionText(*leaf, NID_basic_constraints) == "critical, CA:FALSE");
  CHECK(extensionText(*leaf, NID_ext_key_usage) == "TLS Web Server Authentication");
  CHECK(curveOf(*leaf) == "prime256v1");
  CHECK(problemOf(makeSelfSigned({}, kNow)) == Problem::InvalidInput);
  CHECK(problemOf(makeSelfSigned({{"a"}, {}}, kNow, days{0})) == Problem::InvalidInput);
}

TEST_CASE("DNS and IP names keep the given order") {
  const PemPair pair = must(makeServing(
      must(makeCa(kNow)), {{"b.example", "a.example"}, {"10.0.0.7", "127.0.0.1", "fd00::1"}}, kNow));
  CHECK(extensionText(*parse(pair.certificate), NID_subject_alt_name) ==
        "DNS:b.example, DNS:a.example, IP Address:10.0.0.7, IP Address:127.0.0.1, IP "
        "Address:FD00:0:0:0:0:0:0:1");
}

TEST_CASE("common name up to 64 bytes, otherwise none and a critical SAN") {
  struct Row {
    std::size_t service;
    std::size_t namespaceName;
    bool named;
  };
  // <service>.<namespace>.svc: two dots and "svc" are 5 bytes.
  for (const Row& row : {Row{19, 40, true}, Row{20, 40, false}, Row{50, 40, false}, Row{63, 63, false}}) {
    const auto names = servingDnsNames(std::string(row.service, 's'), std::string(row.namespaceName, 'n'));
    const CertificateData data{must(makeCa(kNow)), {}};
    const PemPair pair = must(makeServing(data.ca, {names, {}}, kNow));
    const CertificatePtr leaf = parse(pair.certificate);
    INFO(names.front().size());
    CHECK(X509_NAME_entry_count(X509_get_subject_name(leaf.get())) == (row.named ? 1 : 0));
    CHECK(extensionText(*leaf, NID_subject_alt_name).starts_with("critical") == !row.named);
    CHECK(dnsNamesOf(*leaf) == names);
  }
}

TEST_CASE("serials are 128 bits, positive and never repeated") {
  const PemPair ca = must(makeCa(kNow));
  std::set<std::string> seen;
  for (int i = 0; i < 20; ++i) {
    const PemPair pair = i == 0 ? ca : must(makeServing(ca, {{"a"}, {}}, kNow));
    const std::string serial = serialOf(*parse(pair.certificate));
    CHECK(serial.size() == 32);
    CHECK(serial.front() != '-');
    seen.insert(serial);
  }
  CHECK(seen.size() == 20);
}

TEST_CASE("a serving certificate does not outlive its CA") {
  const PemPair ca = must(makeCa(kNow, days{100}));
  CHECK(notAfter(*parse(must(makeServing(ca, {{"a"}, {}}, kNow)).certificate)) == kNow + days{100});
}

TEST_CASE("invalid requests are rejected with a reason") {
  const PemPair ca = must(makeCa(kNow));
  const PemPair other = must(makeCa(kNow));
  const PemPair leaf = must(makeServing(ca, {{"a"}, {}}, kNow));
  struct Row {
    PemPair ca;
    SubjectNames names;
    days lifetime;
    Problem problem;
  };
  const SubjectNames good{{"a"}, {}};
  for (const Row& row :
       {Row{ca, {}, days{1}, Problem::InvalidInput},
        Row{ca, {servingDnsNames("", "ns"), {}}, days{1}, Problem::InvalidInput},
        Row{ca, {{"a,IP:1.2.3.4"}, {}}, days{1}, Problem::InvalidInput},
        Row{ca, {{}, {"1.2.3"}}, days{1}, Problem::InvalidInput},
        Row{ca, good, days{0}, Problem::InvalidInput}, Row{ca, good, days{3651}, Problem::InvalidInput},
        Row{ca, good, days{3650}, Problem::None},
        Row{{ca.certificate, other.privateKey}, good, days{1}, Problem::KeyMismatch},
        Row{leaf, good, days{1}, Problem::WrongUsage},
        Row{{ca.certificate, ""}, good, days{1}, Problem::Empty},
        Row{{"", ca.privateKey}, good, days{1}, Problem::Empty}}) {
    const auto made = makeServing(row.ca, row.names, kNow, row.lifetime);
    CHECK(toString(problemOf(made)) == toString(row.problem));
  }
  CHECK(problemOf(makeServing(ca, good, kNow + days{3651})) == Problem::Expired);
  CHECK(problemOf(makeCa(kNow, days{0})) == Problem::InvalidInput);
}

TEST_CASE("openssl verify accepts the certificates") {
  if (std::system("openssl version >/dev/null 2>&1") != 0) {
    WARN("openssl command not present");
    return;
  }
  const TemporaryDirectory directory;
  for (const std::string& service : {std::string{"svc"}, std::string(50, 's')}) {
    const std::string namespaceName(40, 'n');
    REQUIRE_FALSE(writeFiles(directory.path(), makeData(kNow, service, namespaceName), Overwrite::Allow));
    CHECK(opensslVerify(directory, "-verify_hostname " + service + "." + namespaceName + ".svc") == 0);
    CHECK(opensslVerify(directory, "-verify_hostname other") != 0);
  }
  CertificateData data{must(makeCa(kNow)), {}};
  data.serving = must(makeServing(data.ca, {{}, {"127.0.0.1", "::1"}}, kNow));
  REQUIRE_FALSE(writeFiles(directory.path(), data, Overwrite::Allow));
  CHECK(opensslVerify(directory, "-verify_ip 127.0.0.1") == 0);
  CHECK(opensslVerify(directory, "-verify_ip ::1") == 0);
  CHECK(opensslVerify(directory, "-verify_ip 127.0.0.2") != 0);
}
