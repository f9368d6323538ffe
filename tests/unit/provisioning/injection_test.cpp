#include "controller/certs/injection.h"

#include <catch2/catch.hpp>
#include <vector>

#include "tests/unit/provisioning/support.h"

namespace dynamo::provisioning::test {
namespace {

const certs::ServiceName kService{"svc", "ns"};
const std::string kAnnotated = R"("annotations":{"cert-manager.io/inject-ca-from":"ns/cert"})";

const std::string& current() {
  static const std::string pem = authority(kNow - days{1}, kNow + days{100}).certificate;
  return pem;
}
const std::string& old() {
  static const std::string pem = authority(kNow - days{9}, kNow + days{100}).certificate;
  return pem;
}
const std::string& ca() {
  static const std::string trusted = current();
  return trusted;
}

std::string service(const std::string& name, const std::string& namespaceName) {
  return R"("service":{"name":")" + name + R"(","namespace":")" + namespaceName + R"("})";
}
std::string entry(const std::string& name, const std::string& clientConfig, const std::string& bundle = {}) {
  return R"({"name":")" + name + R"(","clientConfig":{)" + clientConfig +
         (bundle.empty() ? "" : R"(,"caBundle":")" + base64(bundle) + "\"") + "}}";
}
std::string configuration(const std::string& entries, const std::string& metadata = {}) {
  return std::string{R"({"metadata":{"resourceVersion":"7")"} + (metadata.empty() ? "" : ",") + metadata +
         R"(},"webhooks":[)" + entries + "]}";
}

/// The operations as "op path value", with PEM texts decoded.
std::vector<std::string> operationsOf(const std::string& patch) {
  std::vector<std::string> found;
  if (patch.empty()) return found;
  const json::Document operations = object(patch);
  for (const json::Value& each : operations.GetArray()) {
    const std::string path{json::findText(&each, "path")};
    const json::Value& value = *json::find(each, "value");
    std::string text = value.IsString() ? std::string{json::text(value)} : json::dump(value);
    if (path.ends_with("/caBundle")) text = kube::decodeBase64(text).value();
    found.push_back(std::string{json::findText(&each, "op")} + " " + path + " " + text);
  }
  return found;
}

using Operations = std::vector<std::string>;

}  // namespace

TEST_CASE("which entries of a webhook configuration get the CA") {
  const std::string own = service("svc", "ns");
  struct Row {
    const char* name;
    std::string configuration;
    Operations operations;
    bool problem;
  };
  const std::string marked = R"("annotations":{"nvidia.com/ca-injected":"true"})";
  const std::string refused = R"("annotations":{"nvidia.com/ca-injected":"false"})";
  const Operations mark{"add /metadata/annotations/nvidia.com~1ca-injected true"};
  const std::vector<Row> rows{
      {"the administrator has another CA", configuration(entry("a", own, old()), refused), {}, true},
      {"the administrator has the CA", configuration(entry("a", own, current()), refused), {}, false},
      {"one of an earlier version without the mark",
       configuration(entry("a", own, current())),
       {"test /metadata/resourceVersion 7", "add /metadata/annotations {}", mark[0]},
       false},
      {"an entry without a caBundle",
       configuration(entry("a", own), marked),
       {"test /webhooks/0/name a", "add /webhooks/0/clientConfig/caBundle " + current()},
       false},
      {"an entry with the CA", configuration(entry("a", own, current()), marked), {}, false},
      {"only the entry that differs",
       configuration(entry("a", own, current()) + "," + entry("b", own, "x"), marked),
       {"test /webhooks/1/name b", "add /webhooks/1/clientConfig/caBundle " + current()},
       false},
      {"the earlier CA is kept",
       configuration(entry("a", own, old()), marked),
       {"test /webhooks/0/name a", "add /webhooks/0/clientConfig/caBundle " + current() + old()},
       false},
      {"another Service", configuration(entry("a", service("other", "ns"))), {}, false},
      {"a Service in another namespace", configuration(entry("a", service("svc", "other"))), {}, false},
      {"a URL", configuration(entry("a", R"("url":"https://127.0.0.1:1/x")")), {}, false},
      {"no entries", configuration(""), {}, false},
      {"no list", R"({"metadata":{}})", {}, false},
      {"cert-manager injects another CA", configuration(entry("a", own, old()), kAnnotated), {}, true},
      {"cert-manager injects our CA", configuration(entry("a", own, current()), kAnnotated), {}, false},
      {"a caBundle that is not base64",
       configuration(R"({"name":"a","clientConfig":{)" + own + R"(,"caBundle":"%"}})", marked),
       {"test /webhooks/0/name a", "add /webhooks/0/clientConfig/caBundle " + current()},
       false},
  };
  for (const Row& row : rows) {
    INFO(row.name);
    const InjectionPlan plan =
        planWebhooks(object(row.configuration), kService, ca(), kNow, Injection::Everywhere);
    CHECK(operationsOf(plan.patch) == row.operations);
    CHECK(plan.problem.empty() != row.problem);
  }
}

TEST_CASE("in manual mode only objects without a CA get it, and keep it up to date") {
  const std::string own = service("svc", "ns");
  const std::string marked = R"("annotations":{"nvidia.com/ca-injected":"true"})";
  const Operations added{"test /webhooks/0/name a", "add /webhooks/0/clientConfig/caBundle " + current()};
  const auto with = [&](Operations more) {
    more.insert(more.begin(), added.begin(), added.end());
    return more;
  };
  struct Row {
    const char* name;
    std::string configuration;
    Operations operations;
  };
  const std::vector<Row> rows{
      {"no caBundle", configuration(entry("a", own)),
       with({"test /metadata/resourceVersion 7", "add /metadata/annotations {}",
             "add /metadata/annotations/nvidia.com~1ca-injected true"})},
      {"other annotations", configuration(entry("a", own), R"("annotations":{"a":"b"})"),
       with({"add /metadata/annotations/nvidia.com~1ca-injected true"})},
      {"beside an entry of another Service",
       configuration(entry("a", own) + "," + entry("b", service("other", "ns"), old()), marked), added},
      {"it was injected, and the CA is another one now",
       configuration(entry("a", own, old()), marked),
       {"test /webhooks/0/name a", "add /webhooks/0/clientConfig/caBundle " + current() + old()}},
      {"it was injected and is right", configuration(entry("a", own, current()), marked), {}},
      {"another CA of the administrator", configuration(entry("a", own, old())), {}},
      {"the administrator has set one of them",
       configuration(entry("a", own) + "," + entry("b", own, old())),
       {}},
      {"cert-manager injects it", configuration(entry("a", own), kAnnotated), {}},
      {"the administrator wants none",
       configuration(entry("a", own), R"("annotations":{"nvidia.com/ca-injected":"false"})"),
       {}},
  };
  for (const Row& row : rows) {
    INFO(row.name);
    const InjectionPlan plan =
        planWebhooks(object(row.configuration), kService, ca(), kNow, Injection::WhereEmpty);
    CHECK(operationsOf(plan.patch) == row.operations);
    CHECK(plan.problem.empty());
  }
}

namespace {

std::string crd(const std::string& conversion, const std::string& metadata = {}) {
  return R"({"metadata":{)" + metadata + R"(},"spec":{)" +
         (conversion.empty() ? "" : R"("conversion":)" + conversion) + "}}";
}
std::string stanza(const std::string& name, const std::string& namespaceName, const std::string& bundle,
                   const std::string& path = "/convert", const std::string& port = "443") {
  return R"({"strategy":"Webhook","webhook":{"conversionReviewVersions":["v1"],"clientConfig":{"service":{"name":")" +
         name + R"(","namespace":")" + namespaceName + R"(","path":")" + path + R"(","port":)" + port + "}" +
         (bundle.empty() ? "" : R"(,"caBundle":")" + base64(bundle) + "\"") + "}}}";
}
Operations whole(const std::string& before, const std::string& after) {
  Operations operations;
  if (!before.empty()) operations.push_back("test /spec/conversion " + json::dump(object(before)));
  operations.push_back("add /spec/conversion " + json::dump(object(after)));
  return operations;
}
Operations bundleOnly(const std::string& bundle) {
  const std::string at = "/spec/conversion/webhook/clientConfig";
  return {"test " + at + "/service/name svc", "test " + at + "/service/namespace ns",
          "add " + at + "/caBundle " + bundle};
}

const std::string kNone = R"({"strategy":"None"})";
const std::string kUrl =
    R"({"strategy":"Webhook","webhook":{"conversionReviewVersions":["v1"],"clientConfig":{"url":"https://127.0.0.1:1"}}})";

}  // namespace

TEST_CASE("what a cluster-wide operator writes to the CRD") {
  const std::string right = stanza("svc", "ns", current());
  struct Row {
    const char* name;
    std::string crd;
    Operations operations;
    bool problem;
  };
  const std::vector<Row> rows{
      {"no stanza", crd(""), whole("", right), false},
      {"strategy None", crd(kNone), whole(kNone, right), false},
      {"the right stanza", crd(right), {}, false},
      {"no caBundle", crd(stanza("svc", "ns", "")), bundleOnly(current()), false},
      {"the earlier CA is kept", crd(stanza("svc", "ns", old())), bundleOnly(current() + old()), false},
      {"another Service, whose CA is not kept", crd(stanza("other", "ns", old())),
       whole(stanza("other", "ns", old()), right), false},
      {"another path", crd(stanza("svc", "ns", current(), "/x")),
       whole(stanza("svc", "ns", current(), "/x"), right), false},
      {"another port of our Service is kept",
       crd(stanza("svc", "ns", current(), "/convert", "8443")),
       {},
       false},
      {"another port and another path", crd(stanza("svc", "ns", current(), "/x", "8443")),
       whole(stanza("svc", "ns", current(), "/x", "8443"),
             stanza("svc", "ns", current(), "/convert", "8443")),
       false},
      {"a URL", crd(kUrl), {}, false},
      {"cert-manager injects our CA", crd(right, kAnnotated), {}, false},
      {"cert-manager injects another CA", crd(stanza("svc", "ns", old()), kAnnotated), {}, true},
      {"cert-manager injects into a stanza without the Service", crd(kNone, kAnnotated),
       whole(kNone, stanza("svc", "ns", "")), true},
      {"cert-manager has injected into another Service", crd(stanza("other", "ns", current()), kAnnotated),
       whole(stanza("other", "ns", current()), right), false},
  };
  for (const Row& row : rows) {
    INFO(row.name);
    const ConversionPlan plan =
        planConversion(object(row.crd), settings(), ca(), ServiceState::Unknown, kNow);
    CHECK(operationsOf(plan.patch) == row.operations);
    CHECK(plan.problem.empty() != row.problem);
    CHECK_FALSE(plan.other);
  }
}

TEST_CASE("in manual mode the CRD gets ca.crt of the Secret if there is one") {
  struct Row {
    const char* name;
    std::string crd;
    std::string ca;
    Operations operations;
    bool problem;
  };
  const std::string foreign = authority(kNow, kNow + days{9}, "x").certificate;
  const std::vector<Row> rows{
      {"the CA of the Secret", crd(stanza("svc", "ns", "")), foreign, bundleOnly(foreign), false},
      {"a changed CA, whose predecessor is kept", crd(stanza("svc", "ns", old())), foreign,
       bundleOnly(foreign + old()), false},
      {"no CA in the Secret, but in the CRD", crd(stanza("svc", "ns", foreign)), "", {}, false},
      {"no CA at all", crd(stanza("svc", "ns", "")), "", {}, true},
      {"no CA and no stanza", crd(kNone), "", whole(kNone, stanza("svc", "ns", "")), true},
      {"cert-manager owns the caBundle", crd(stanza("svc", "ns", foreign), kAnnotated), "", {}, false},
  };
  for (const Row& row : rows) {
    INFO(row.name);
    const ConversionPlan plan =
        planConversion(object(row.crd), settings(false), row.ca, ServiceState::Unknown, kNow);
    CHECK(operationsOf(plan.patch) == row.operations);
    CHECK(plan.problem.empty() != row.problem);
  }
}

TEST_CASE("a restricted operator leaves the conversion to another operator while its Service exists") {
  const std::string right = stanza("svc", "ns", current());
  const std::string other = stanza("other", "elsewhere", old());
  struct Row {
    const char* name;
    std::string crd;
    ServiceState other;
    Operations operations;
    bool namesOther;
  };
  const std::vector<Row> rows{
      {"no stanza", crd(kNone), ServiceState::Unknown, whole(kNone, right), false},
      {"our stanza", crd(stanza("svc", "ns", "")), ServiceState::Unknown, bundleOnly(current()), false},
      {"another Service, not known to exist", crd(other), ServiceState::Unknown, {}, true},
      {"another Service that exists", crd(other), ServiceState::Exists, {}, true},
      {"another Service that is gone", crd(other), ServiceState::Gone, whole(other, right), true},
      {"a URL", crd(kUrl), ServiceState::Gone, {}, false},
  };
  for (const Row& row : rows) {
    INFO(row.name);
    const ConversionPlan plan = planConversion(object(row.crd), settings(true, false), ca(), row.other, kNow);
    CHECK(operationsOf(plan.patch) == row.operations);
    CHECK(plan.problem.empty());
    REQUIRE(plan.other.has_value() == row.namesOther);
    if (plan.other) CHECK(toText(*plan.other) == "elsewhere/other");
  }
}

}  // namespace dynamo::provisioning::test
