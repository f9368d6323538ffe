#include "controller/certs/secret_plan.h"

#include <catch2/catch.hpp>
#include <functional>
#include <vector>

#include "certs/check.h"
#include "certs/make.h"
#include "tests/unit/provisioning/support.h"

namespace dynamo::provisioning::test {
namespace {

using certs::Action;

std::string secretText(const CertificateData& data, const std::string& more = {}) {
  return R"({"apiVersion":"v1","kind":"Secret","metadata":{"name":"s","namespace":"ns","resourceVersion":"7"},)"
         R"("data":{"ca.crt":")" +
         base64(data.ca.certificate) + R"(","ca.key":")" + base64(data.ca.privateKey) + R"(","tls.crt":")" +
         base64(data.serving.certificate) + R"(","tls.key":")" + base64(data.serving.privateKey) + "\"" +
         more + "}}";
}

SecretPlan planOf(const CertificateData& data, const Settings& with = settings(), Time now = kNow) {
  const json::Document secret = object(secretText(data));
  return planSecret(&secret, with, now);
}

CertificateData changed(CertificateData data, const std::function<void(CertificateData&)>& change) {
  change(data);
  return data;
}

CertificateData withServing(days left, const std::string& service = "svc") {
  CertificateData data = makeData();
  data.serving = must(certs::makeServing(data.ca, {certs::servingDnsNames(service, "ns"), {}}, kNow, left));
  return data;
}

CertificateData withCa(days left) {
  CertificateData data{must(certs::makeCa(kNow, left)), {}};
  data.serving = must(certs::makeServing(data.ca, {certs::servingDnsNames("svc", "ns"), {}}, kNow));
  return data;
}

}  // namespace

TEST_CASE("what is renewed in automatic mode, whether the webhook can serve, and which CA to trust") {
  enum class Ca { None, Present };
  struct Row {
    const char* name;
    CertificateData data;
    Action action;
    bool serves;
    Ca ca;
  };
  const CertificateData good = makeData();
  const std::vector<Row> rows{
      {"valid certificates", good, Action::Nothing, true, Ca::Present},
      {"the placeholder of the reference", {}, Action::NewCaAndServing, false, Ca::None},
      {"a serving certificate with 91 days left", withServing(days{91}), Action::Nothing, true, Ca::Present},
      {"a serving certificate with 89 days left", withServing(days{89}), Action::NewServing, true,
       Ca::Present},
      {"a CA with 89 days left", withCa(days{89}), Action::NewCaAndServing, true, Ca::Present},
      {"a certificate of another Service", withServing(days{365}, "other"), Action::NewServing, false,
       Ca::Present},
      {"no CA key", changed(good, [](CertificateData& d) { d.ca.privateKey.clear(); }),
       Action::NewCaAndServing, true, Ca::Present},
      {"no serving key", changed(good, [](CertificateData& d) { d.serving.privateKey.clear(); }),
       Action::NewServing, false, Ca::Present},
      {"an invalid CA", changed(good, [](CertificateData& d) { d.ca.certificate = "x"; }),
       Action::NewCaAndServing, false, Ca::None},
  };
  for (const Row& row : rows) {
    INFO(row.name);
    const SecretPlan plan = planOf(row.data);
    CHECK(plan.renewal.action == row.action);
    CHECK(plan.problem.empty() == row.serves);
    CHECK(plan.ca == (row.ca == Ca::Present ? row.data.ca.certificate : ""));
    CHECK(plan.resourceVersion == "7");
  }
}

TEST_CASE("what counts in manual mode, where nothing is renewed") {
  const CertificateData good = makeData();
  struct Row {
    const char* name;
    CertificateData data;
    std::string problem;
    bool ca;
  };
  const std::vector<Row> rows{
      {"valid certificates", good, "", true},
      {"no ca.crt, no ca.key", {{}, good.serving}, "", false},
      {"no ca.key", {{good.ca.certificate, ""}, good.serving}, "", true},
      {"a certificate with one day left", withServing(days{1}), "", true},
      {"a certificate of another CA", {authority(kNow, kNow + days{9}, "x"), good.serving}, "", true},
      {"an empty Secret", {}, "tls.crt: is empty", false},
      {"a certificate of another Service", withServing(days{365}, "other"),
       "tls.crt: is not valid for \"svc.ns.svc\"", true},
  };
  for (const Row& row : rows) {
    INFO(row.name);
    const SecretPlan plan = planOf(row.data, settings(false));
    CHECK(plan.renewal.action == Action::Nothing);
    CHECK(plan.problem == row.problem);
    CHECK(plan.ca == (row.ca ? row.data.ca.certificate : ""));
  }
  CHECK(planOf(withServing(days{1}), settings(false), kNow + days{2}).problem.find("expired") !=
        std::string::npos);
}

TEST_CASE("a Secret that does not exist is created in automatic mode") {
  const SecretPlan automatic = planSecret(nullptr, settings(), kNow);
  CHECK(automatic.renewal.action == Action::NewCaAndServing);
  CHECK(automatic.resourceVersion.empty());
  CHECK(automatic.problem == "the Secret does not exist");
  CHECK(automatic.ca.empty());
  const SecretPlan manual = planSecret(nullptr, settings(false), kNow);
  CHECK(manual.renewal.action == Action::Nothing);
  CHECK(manual.problem == "the Secret does not exist");
}

TEST_CASE("data that is not base64 counts as absent") {
  const json::Document secret =
      object(R"({"metadata":{"resourceVersion":"1"},"data":{"ca.crt":"%%","tls.crt":5,"tls.key":null}})");
  CHECK(readData(secret).ca.certificate.empty());
  CHECK(planSecret(&secret, settings(), kNow).renewal.action == Action::NewCaAndServing);
}

TEST_CASE("when the certificates are checked again") {
  struct Row {
    const char* name;
    days servingLeft;
    Time now;
    std::chrono::seconds wait;
  };
  const std::vector<Row> rows{
      {"nothing due", days{365}, kNow, hours{12}},
      {"a renewal due in an hour", days{90}, kNow - hours{1}, hours{1} + std::chrono::seconds{1}},
      {"a renewal due at this second", days{90}, kNow, std::chrono::seconds{1}},
      {"a renewal overdue", days{89}, kNow, hours{12}},
      {"the certificate expires in an hour", days{1}, kNow + hours{23}, hours{1} + std::chrono::seconds{1}},
      {"the certificate has expired", days{1}, kNow + days{2}, hours{12}},
  };
  for (const Row& row : rows) {
    INFO(row.name);
    const SecretPlan plan = planOf(withServing(row.servingLeft), settings(), row.now);
    CHECK(nextCheck(plan, row.now) - row.now == row.wait);
  }
  CHECK(nextCheck(planSecret(nullptr, settings(), kNow), kNow) == kNow + hours{12});
}

TEST_CASE("at the time of the next check the renewal is due") {
  const CertificateData data = withServing(days{90});
  const Time before = kNow - hours{1};
  const SecretPlan plan = planOf(data, settings(), before);
  CHECK(plan.renewal.action == Action::Nothing);
  CHECK(planOf(data, settings(), nextCheck(plan, before)).renewal.action == Action::NewServing);
}

TEST_CASE("a created Secret has the type, labels and keys of the reference") {
  const CertificateData data = makeData();
  const json::Document secret = object(secretBody(settings(), data));
  CHECK(json::findText(&secret, "type") == "kubernetes.io/tls");
  const json::Value* const metadata = json::find(secret, "metadata");
  CHECK(json::findText(metadata, "name") == "webhook-server-cert");
  CHECK(json::findText(metadata, "namespace") == "ns");
  const json::Value* const labels = json::find(metadata, "labels");
  CHECK(json::findText(labels, "app.kubernetes.io/managed-by") == "dynamo-operator");
  CHECK(json::findText(labels, "app.kubernetes.io/component") == "webhook");
  CHECK(json::findText(labels, "app.kubernetes.io/part-of") == "dynamo-operator");
  CHECK(labels->MemberCount() == 3);
  CHECK(json::find(secret, "data")->MemberCount() == 4);
  const CertificateData read = readData(secret);
  CHECK(read.ca.certificate == data.ca.certificate);
  CHECK(read.ca.privateKey == data.ca.privateKey);
  CHECK(read.serving.certificate == data.serving.certificate);
  CHECK(read.serving.privateKey == data.serving.privateKey);
}

TEST_CASE("a renewal changes only its keys, and only the version that it was planned for") {
  struct Row {
    const char* name;
    CertificateData data;
    std::vector<std::string> keys;
  };
  const std::vector<Row> rows{
      {"serving certificate", withServing(days{89}), {"tls.crt", "tls.key"}},
      {"CA and serving certificate", withCa(days{89}), {"ca.crt", "ca.key", "tls.crt", "tls.key"}},
  };
  for (const Row& row : rows) {
    INFO(row.name);
    const SecretPlan plan = planOf(row.data);
    const CertificateData renewed = must(certs::renew(plan.present, plan.renewal, kNow));
    const json::Document patch = object(secretPatch(plan, renewed));
    CHECK(patch.MemberCount() == 2);
    CHECK(json::findText(json::find(patch, "metadata"), "resourceVersion") == "7");
    std::vector<std::string> keys;
    for (const auto& member : json::find(patch, "data")->GetObject())
      keys.emplace_back(member.name.GetString());
    CHECK(keys == row.keys);
  }
}

}  // namespace dynamo::provisioning::test
