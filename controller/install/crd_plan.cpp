#include "controller/install/crd_plan.h"

#include <fmt/format.h>

#include <compare>

#include "common/json/build.h"
#include "common/k8s/semver.h"

namespace dynamo::install {
namespace {

using json::Value;

const Value* metadataOf(const Value& object) {
  return json::findObject(&object, "metadata");
}

const Value* conversionOf(const Value& crd) {
  return json::findObject(json::findObject(&crd, "spec"), "conversion");
}

bool hasWebhook(const Value& crd) {
  return json::findText(conversionOf(crd), "strategy") == "Webhook";
}

/// Whether kCrdManager owns fields of spec.conversion through server-side apply.
bool ownsConversion(const Value& live) {
  const Value* const entries = json::find(metadataOf(live), "managedFields");
  if (entries == nullptr || !entries->IsArray()) return false;
  for (const Value& entry : entries->GetArray()) {
    if (json::findText(&entry, "manager") != kCrdManager || json::findText(&entry, "operation") != "Apply")
      continue;
    const Value* const spec = json::findObject(json::findObject(&entry, "fieldsV1"), "f:spec");
    if (json::find(spec, "f:conversion") != nullptr) return true;
  }
  return false;
}

const Value* findCondition(const Value& live, std::string_view type) {
  const Value* const conditions = json::find(json::findObject(&live, "status"), "conditions");
  if (conditions == nullptr || !conditions->IsArray()) return nullptr;
  for (const Value& condition : conditions->GetArray())
    if (json::findText(&condition, "type") == type) return &condition;
  return nullptr;
}

}  // namespace

std::string crdProblem(const Value& object) {
  const std::string_view kind = json::findText(&object, "kind");
  const std::string_view apiVersion = json::findText(&object, "apiVersion");
  if (kind != "CustomResourceDefinition") {
    return fmt::format("is no CustomResourceDefinition{}",
                       kind.empty() ? "" : fmt::format(" but a {}", kind));
  }
  if (apiVersion != "apiextensions.k8s.io/v1")
    return fmt::format("has apiVersion \"{}\" in place of apiextensions.k8s.io/v1", apiVersion);
  if (json::findText(metadataOf(object), "name").empty()) return "has no metadata.name";
  if (json::findObject(&object, "spec") == nullptr) return "has no spec";
  return {};
}

CrdPlan planCrd(const Value& crd, const Value* live, std::string_view version) {
  CrdPlan plan;
  if (live != nullptr) {
    const std::string_view present =
        json::findText(json::findObject(metadataOf(*live), "annotations"), kVersionAnnotation);
    const auto theirs = k8s::parseVersion(present);
    const auto ours = k8s::parseVersion(version);
    if (theirs && ours && std::is_gt(k8s::comparePrecedence(*theirs, *ours))) {
      plan.leaveAlone = true;
      plan.note =
          fmt::format("version {} of the operator has applied it, which is newer than {}", present, version);
      return plan;
    }
    if (!present.empty() && !theirs)
      plan.note = fmt::format("its annotation {} is \"{}\", which is no version and does not count as newer",
                              kVersionAnnotation, present);
  }
  json::Document memory;
  const json::Maker make{memory.GetAllocator()};
  Value body = make.value(crd);
  Value& metadata = json::ensureObject(body, "metadata", make.allocator());
  make.set(json::ensureObject(metadata, "annotations", make.allocator()), kVersionAnnotation, version);
  if (live != nullptr)
    make.set(metadata, "resourceVersion", json::findText(metadataOf(*live), "resourceVersion"));
  json::remove(body, "status");
  Value& spec = json::ensureObject(body, "spec", make.allocator());
  json::remove(spec, "conversion");
  if (live != nullptr && conversionOf(*live) != nullptr && ownsConversion(*live))
    make.set(spec, "conversion", *conversionOf(*live));
  plan.body = json::dump(body);
  return plan;
}

std::string planConversion(const Value& crd, const Value& live) {
  if (!hasWebhook(crd) || hasWebhook(live)) return {};
  json::Document operations{rapidjson::kArrayType};
  const json::Maker make{operations.GetAllocator()};
  constexpr std::string_view kPointer = "/spec/conversion";
  // The controller may write it at the same time.
  if (const Value* const present = conversionOf(live); present != nullptr)
    make.push(operations, make.object("op", "test", "path", kPointer, "value", *present));
  make.push(operations, make.object("op", "add", "path", kPointer, "value", *conversionOf(crd)));
  return json::dump(operations);
}

bool sameContent(const Value& a, const Value& b) {
  return json::equal(json::find(a, "spec"), json::find(b, "spec")) &&
         json::equal(json::find(metadataOf(a), "labels"), json::find(metadataOf(b), "labels")) &&
         json::equal(json::find(metadataOf(a), "annotations"), json::find(metadataOf(b), "annotations"));
}

CrdHealth healthOf(const Value& live) {
  if (json::find(metadataOf(live), "deletionTimestamp") != nullptr)
    return {CrdState::Terminating, "it is being deleted, with all its objects"};
  const auto described = [](const Value& condition) {
    return fmt::format("{} is {}: {}: {}", json::findText(&condition, "type"),
                       json::findText(&condition, "status"), json::findText(&condition, "reason"),
                       json::findText(&condition, "message"));
  };
  const Value* const names = findCondition(live, "NamesAccepted");
  // A CRD whose names were accepted once stays Established.
  const Value* const established = findCondition(live, "Established");
  if (json::findText(established, "status") == "True") return {CrdState::Established, {}};
  if (json::findText(names, "status") == "False") return {CrdState::Refused, described(*names)};
  return {CrdState::Starting,
          established == nullptr ? "it has no condition Established yet" : described(*established)};
}

}  // namespace dynamo::install
