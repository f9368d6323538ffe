// How CRDs are applied: versions, conversion, health.
#include "controller/install/crd_plan.h"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "common/json/parse.h"

namespace dynamo::install {
namespace {

json::Document parsed(const std::string& text) {
  json::Document document;
  REQUIRE_FALSE(json::parse(text, document));
  return document;
}

constexpr const char* kWebhook =
    R"({"strategy": "Webhook", "webhook": {"clientConfig": {"service": {"name": "ours"}}}})";

std::string crd(const std::string& metadata, const std::string& spec = {}, const std::string& status = {}) {
  return R"({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
             "metadata": {"name": "a.nvidia.com")" +
         metadata + R"(}, "spec": {"group": "nvidia.com")" + spec + "}" + status + "}";
}

json::Document fileWithConversion() {
  return parsed(crd(R"(, "annotations": {"helm.sh/resource-policy": "keep"})",
                    std::string{R"(, "conversion": )"} + kWebhook));
}

std::string annotated(const std::string& version) {
  return crd(R"(, "resourceVersion": "7", "annotations": {"dynamo.nvidia.com/operator-version": ")" +
             version + "\"}");
}

}  // namespace

TEST_CASE("only a newer version leaves a CRD alone") {
  struct Row {
    std::string live;
    std::string own;
    bool alone;
    bool noted;
  };
  const std::vector<Row> rows = {
      {"1.0.0", "1.0.0", false, false},
      {"0.9.9", "1.0.0", false, false},
      {"1.0.1", "1.0.0", true, true},
      {"1.10.0", "1.9.0", true, true},
      {"1.0.0-rc1", "1.0.0", false, false},
      {"1.0.0", "1.0.0-rc1", true, true},
      {"1.0.0-rc10", "1.0.0-rc9", false, false},  // words, so rc10 is before rc9
      {"1.0.0-rc.10", "1.0.0-rc.9", true, true},
      {"1.0.0+b", "1.0.0+a", false, false},
      {"v2", "1.5", true, true},
      {"unknown", "1.0.0", false, true},
      {"2.0.0.0", "1.0.0", false, true},
      {"", "1.0.0", false, false},
  };
  const json::Document file = fileWithConversion();
  for (const Row& row : rows) {
    const json::Document live = parsed(annotated(row.live));
    const CrdPlan plan = planCrd(file, &live, row.own);
    INFO(row.live << " in the cluster, " << row.own << " applies: " << plan.note);
    CHECK(plan.leaveAlone == row.alone);
    CHECK(plan.body.empty() == row.alone);
    CHECK(plan.note.empty() != row.noted);
  }
}

TEST_CASE("the body has the version, keeps annotations, and has no conversion and no status") {
  const json::Document file = parsed(crd(R"(, "annotations": {"helm.sh/resource-policy": "keep"})",
                                         std::string{R"(, "conversion": )"} + kWebhook, R"(, "status": {})"));
  const json::Document fresh = parsed(planCrd(file, nullptr, "1.2.3").body);
  CHECK(json::equal(fresh, parsed(crd(R"(, "annotations": {"helm.sh/resource-policy": "keep",
                                          "dynamo.nvidia.com/operator-version": "1.2.3"})"))));
  const json::Document live = parsed(annotated("1.0.0"));
  const json::Document again = parsed(planCrd(file, &live, "1.2.3").body);
  CHECK(json::findText(json::find(&again, "metadata"), "resourceVersion") == "7");
}

TEST_CASE("the live conversion is applied only if this manager owns it") {
  const auto live = [](const std::string& manager, const std::string& operation, const std::string& owned) {
    return parsed(crd(R"(, "managedFields": [{"manager": ")" + manager + R"(", "operation": ")" + operation +
                          R"(", "fieldsV1": {"f:spec": {")" + owned + R"(": {}}}}])",
                      std::string{R"(, "conversion": )"} + kWebhook));
  };
  const json::Document file = fileWithConversion();
  const auto applied = [&](const json::Document& present) {
    const json::Document body = parsed(planCrd(file, &present, "1.0.0").body);
    return json::find(json::find(&body, "spec"), "conversion") != nullptr;
  };
  CHECK(applied(live("dynamo-crd-apply", "Apply", "f:conversion")));
  CHECK_FALSE(applied(live("dynamo-crd-apply", "Update", "f:conversion")));
  CHECK_FALSE(applied(live("dynamo-crd-apply", "Apply", "f:versions")));
  CHECK_FALSE(applied(live("dynamo-controller", "Apply", "f:conversion")));
}

TEST_CASE("a conversion is given only to a CRD without a conversion webhook") {
  const json::Document file = fileWithConversion();
  const json::Document none = parsed(crd("", R"(, "conversion": {"strategy": "None"})"));
  const json::Document webhook = parsed(
      crd("", R"(, "conversion": {"strategy": "Webhook", "webhook": {"clientConfig": {"url": "u"}}})"));
  CHECK(planConversion(file, webhook).empty());
  CHECK(planConversion(parsed(crd("")), none).empty());
  CHECK(json::equal(
      parsed(planConversion(file, none)),
      parsed(std::string{R"([{"op": "test", "path": "/spec/conversion", "value": {"strategy": "None"}},
                             {"op": "add", "path": "/spec/conversion", "value": )"} +
             kWebhook + "}]")));
  CHECK(json::equal(
      parsed(planConversion(file, parsed(crd("")))),
      parsed(std::string{R"([{"op": "add", "path": "/spec/conversion", "value": )"} + kWebhook + "}]")));
}

TEST_CASE("a changed status or resourceVersion is no change of the content") {
  const std::string written = R"(, "annotations": {"a": "b"})";
  const json::Document before = parsed(crd(written + R"(, "resourceVersion": "1")"));
  CHECK(sameContent(before,
                    parsed(crd(written + R"(, "resourceVersion": "2")", "", R"(, "status": {"a": 1})"))));
  CHECK_FALSE(sameContent(before, parsed(crd(written, R"(, "scope": "Cluster")"))));
  CHECK_FALSE(sameContent(before, parsed(crd(written + R"(, "labels": {"a": "b"})"))));
  CHECK_FALSE(sameContent(before, parsed(crd(""))));
}

TEST_CASE("what is no CRD is named") {
  CHECK(crdProblem(fileWithConversion()).empty());
  CHECK(crdProblem(parsed("{}")) == "is no CustomResourceDefinition");
  CHECK(crdProblem(parsed("[]")) == "is no CustomResourceDefinition");
  CHECK(crdProblem(parsed(R"({"kind": "ConfigMap"})")) == "is no CustomResourceDefinition but a ConfigMap");
  CHECK(crdProblem(parsed(
            R"({"kind": "CustomResourceDefinition", "apiVersion": "apiextensions.k8s.io/v1beta1"})")) ==
        "has apiVersion \"apiextensions.k8s.io/v1beta1\" in place of apiextensions.k8s.io/v1");
  const std::string start = R"({"kind": "CustomResourceDefinition", "apiVersion": "apiextensions.k8s.io/v1")";
  CHECK(crdProblem(parsed(start + "}")) == "has no metadata.name");
  CHECK(crdProblem(parsed(start + R"(, "metadata": {"name": "a"}})")) == "has no spec");
}

TEST_CASE("the health of a CRD follows from its conditions") {
  const auto health = [](const std::string& metadata, const std::string& conditions) {
    return healthOf(parsed(crd(metadata, "", R"(, "status": {"conditions": [)" + conditions + "]}")));
  };
  const std::string accepted = R"({"type": "NamesAccepted", "status": "True"})";
  const std::string refused =
      R"({"type": "NamesAccepted", "status": "False", "reason": "ShortNamesConflict", "message": "dgd is taken"})";
  const std::string established = R"({"type": "Established", "status": "True"})";
  const std::string installing =
      R"({"type": "Established", "status": "False", "reason": "Installing", "message": "soon"})";

  CHECK(health("", established + "," + accepted).state == CrdState::Established);
  CHECK(health("", established + "," + refused).state == CrdState::Established);
  CHECK(health("", "").state == CrdState::Starting);
  const CrdHealth starting = health("", accepted + "," + installing);
  CHECK(starting.state == CrdState::Starting);
  CHECK(starting.reason == "Established is False: Installing: soon");
  const CrdHealth taken = health("", refused + "," + installing);
  CHECK(taken.state == CrdState::Refused);
  CHECK(taken.reason == "NamesAccepted is False: ShortNamesConflict: dgd is taken");
  CHECK(health(R"(, "deletionTimestamp": "2026-01-01T00:00:00Z")", established).state ==
        CrdState::Terminating);
}

}  // namespace dynamo::install
