#include "common/defaults/annotations.h"

#include <array>

#include "common/api/dynamo.h"
#include "common/defaults/digest.h"

namespace dynamo::defaults {
namespace {

using json::Allocator;
using json::Value;

constexpr std::array kOwned = {api::annotation::kOriginVersion, api::annotation::kDefaulted,
                               api::annotation::kCurrentWorkerHash};

const Value* find(const Value& object, std::string_view key) {
  return json::find(json::findObject(json::findObject(&object, "metadata"), "annotations"), key);
}

void setAnnotation(Value& object, std::string_view key, std::string_view text, Allocator& allocator) {
  Value& metadata = json::ensureObject(object, "metadata", allocator);
  Value& annotations = json::ensureObject(metadata, "annotations", allocator);
  json::set(annotations, key, json::string(text, allocator), allocator);
}

}  // namespace

void carryAnnotations(Value& object, const Value& old, std::vector<field::Warning>& warnings,
                      Allocator& allocator) {
  const bool replaced = find(object, api::annotation::kDefaulted) == nullptr &&
                        find(old, api::annotation::kDefaulted) != nullptr;
  for (const std::string_view key : kOwned) {
    const Value* stored = find(old, key);
    if (stored == nullptr || find(object, key) != nullptr) continue;
    setAnnotation(object, key, json::text(*stored), allocator);
    if (key == api::annotation::kOriginVersion && !replaced) {
      warnings.push_back({field::Path{"metadata.annotations"}.key(key),
                          "cannot be removed; the stored value is kept", std::string{kOriginVersionRemoved}});
    }
  }
}

std::string stampOrigin(Value& object, std::string_view operatorVersion, Allocator& allocator) {
  const bool names = !operatorVersion.empty() && operatorVersion != "unknown";
  if (!names || find(object, api::annotation::kOriginVersion) != nullptr) return {};
  setAnnotation(object, api::annotation::kOriginVersion, operatorVersion, allocator);
  return digestOf(*find(object, api::annotation::kOriginVersion));
}

void setRecord(Value& object, const Value& record, const Record& before, const Record& now,
               Allocator& allocator) {
  if (record.ObjectEmpty()) {
    dropAnnotation(object, api::annotation::kDefaulted);
    return;
  }
  for (const Record* known : {&before, &now}) {
    if (!known->present() || !json::equal(known->value(), record)) continue;
    if (json::text(find(object, api::annotation::kDefaulted)) != known->text()) {
      setAnnotation(object, api::annotation::kDefaulted, known->text(), allocator);
    }
    return;
  }
  setAnnotation(object, api::annotation::kDefaulted, json::dump(record), allocator);
}

void dropAnnotation(Value& object, std::string_view key) {
  Value* metadata = json::find(object, "metadata");
  Value* annotations = metadata == nullptr ? nullptr : json::find(*metadata, "annotations");
  if (annotations == nullptr || !json::remove(*annotations, key)) return;
  if (annotations->ObjectEmpty()) json::remove(*metadata, "annotations");
}

}  // namespace dynamo::defaults
