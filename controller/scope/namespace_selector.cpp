#include "controller/scope/namespace_selector.h"

#include <algorithm>

#include "common/json/build.h"
#include "common/json/parse.h"

namespace dynamo::controller {
namespace {

using json::Value;

/// The API server sets this label on every namespace, and it cannot be changed.
constexpr std::string_view kNameLabel = "kubernetes.io/metadata.name";

bool isOnName(const Value& requirement) {
  return json::findText(&requirement, "key") == kNameLabel;
}

bool isOwn(const Value& webhook, const WebhookService& service) {
  const Value* used = json::findObject(json::findObject(&webhook, "clientConfig"), "service");
  if (used == nullptr) return true;
  return json::findText(used, "namespace") == service.namespaceName &&
         (service.name.empty() || json::findText(used, "name") == service.name);
}

/// Removes the first requirement for which `drop` is true.
template <class Drop>
bool removeRequirement(Value& requirements, Drop drop) {
  for (auto* at = requirements.Begin(); at != requirements.End(); ++at) {
    if (!drop(*at)) continue;
    requirements.Erase(at);
    return true;
  }
  return false;
}

json::Document recordedRequirement(const Value& configuration) {
  json::Document recorded;
  const Value* annotations = json::findObject(json::findObject(&configuration, "metadata"), "annotations");
  const std::string_view text = json::findText(annotations, kSelectorAnnotation);
  if (!text.empty() && json::parse(text, recorded)) recorded.SetNull();
  return recorded;
}

std::string pointerTo(std::string_view annotation) {
  std::string out = "/metadata/annotations/";
  for (const char c : annotation) {
    if (c == '/') {
      out += "~1";
    } else {
      out += c;
    }
  }
  return out;
}

/// Appends the operation that sets the annotation to the text of `requirement`.
void recordRequirement(const Value& configuration, const Value& requirement, const json::Maker& make,
                       Value& patch) {
  const Value* annotations = json::findObject(json::findObject(&configuration, "metadata"), "annotations");
  const Value* present = json::find(annotations, kSelectorAnnotation);
  const std::string text = requirement.IsNull() ? std::string{} : json::dump(requirement);
  if (json::text(present) == text) return;
  if (text.empty()) {
    make.push(patch, make.object("op", "remove", "path", pointerTo(kSelectorAnnotation)));
  } else if (annotations == nullptr) {
    make.push(patch, make.object("op", "add", "path", "/metadata/annotations", "value",
                                 make.object(kSelectorAnnotation, text)));
  } else {
    make.push(patch, make.object("op", "add", "path", pointerTo(kSelectorAnnotation), "value", text));
  }
}

}  // namespace

Value selectorRequirement(const ServedNamespaces& served, json::Allocator& allocator) {
  const json::Maker make{allocator};
  if (served.only.empty() && served.without.empty()) return Value{};
  Value names = make.list();
  if (!served.only.empty()) {
    make.push(names, served.only);
  } else {
    for (const std::string& name : served.without) make.push(names, name);
  }
  return make.object("key", kNameLabel, "operator", served.only.empty() ? "NotIn" : "In", "values",
                     std::move(names));
}

Value wantedSelector(const Value* current, const Value* recorded, const ServedNamespaces& served,
                     json::Allocator& allocator) {
  const json::Maker make{allocator};
  Value selector =
      current != nullptr && current->IsObject() ? json::copy(*current, allocator) : make.object();
  const Value requirement = selectorRequirement(served, allocator);
  Value& requirements = json::ensureList(selector, "matchExpressions", allocator);
  if (recorded != nullptr)
    removeRequirement(requirements, [&](const Value& each) { return json::equal(each, *recorded); });
  bool satisfied = requirement.IsNull();
  if (!served.only.empty()) {
    while (removeRequirement(requirements, isOnName)) {
    }
    Value* labels = json::find(selector, "matchLabels");
    satisfied = json::findText(labels, kNameLabel) == served.only;
    if (labels != nullptr && !satisfied) json::remove(*labels, kNameLabel);
  }
  // The annotation may be lost while the requirement still exists.
  for (const Value& each : requirements.GetArray()) satisfied = satisfied || json::equal(each, requirement);
  if (!satisfied) make.push(requirements, requirement);
  for (const std::string_view key : {"matchExpressions", "matchLabels"}) {
    const Value* member = json::findRaw(selector, key);
    if (member != nullptr && json::isEmpty(*member)) json::remove(selector, key);
  }
  return selector;
}

std::string selectorPatch(const Value& configuration, const ServedNamespaces& served,
                          const WebhookService& service) {
  const Value* webhooks = json::find(configuration, "webhooks");
  if (webhooks == nullptr || !webhooks->IsArray()) return {};
  json::Document document;
  const json::Maker make{document.GetAllocator()};
  Value patch = make.list();
  const json::Document recorded = recordedRequirement(configuration);
  bool own = false;
  for (rapidjson::SizeType i = 0; i < webhooks->Size(); ++i) {
    const Value& webhook = (*webhooks)[i];
    if (!isOwn(webhook, service)) continue;
    own = true;
    const Value* current = json::find(webhook, "namespaceSelector");
    Value wanted =
        wantedSelector(current, recorded.IsObject() ? &recorded : nullptr, served, document.GetAllocator());
    if (current != nullptr ? json::equal(*current, wanted) : json::isEmpty(wanted)) continue;
    const std::string path = "/webhooks/" + std::to_string(i) + "/namespaceSelector";
    make.push(patch, make.object("op", "add", "path", path, "value", std::move(wanted)));
  }
  if (own)
    recordRequirement(configuration, selectorRequirement(served, document.GetAllocator()), make, patch);
  if (patch.Empty()) return {};
  const std::string_view version = json::findText(json::find(configuration, "metadata"), "resourceVersion");
  // An optimistic lock: the API server compares the version that a patch sets with the stored one.
  make.push(patch, make.object("op", "add", "path", "/metadata/resourceVersion", "value", version));
  return json::dump(patch);
}

}  // namespace dynamo::controller
