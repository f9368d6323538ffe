#include "tests/unit/defaults/api_server.h"

#include <algorithm>
#include <string>

#include "common/json/build.h"
#include "common/k8s/object.h"
#include "common/model/component_defaults.h"
#include "common/schema/defaults.h"
#include "common/schema/registry.h"

namespace dynamo::test {
namespace {

using json::Allocator;
using json::Value;
using schema::Node;

const Node* specNode(const Value& object) {
  return schema::find(json::findText(&object, "apiVersion"), json::findText(&object, "kind"))->member("spec");
}

bool isListMap(const Node* node) {
  return node != nullptr && node->listType == schema::ListType::Map;
}

/// The sorted keys of an item in the form of FieldsV1: {"name":"x"}.
std::string keyOf(const Value& item, const Node& list) {
  auto names = list.listMapKeys;
  std::sort(names.begin(), names.end());
  std::string key;
  for (const std::string_view name : names) {
    const Value* value = json::find(&item, name);
    std::string text = value != nullptr ? json::dump(*value) : "";
    if (value == nullptr) {
      const Node* member = list.items->member(name);
      if (member == nullptr || member->defaultValue == nullptr) continue;
      text = json::dump(*member->defaultValue);
    }
    key += (key.empty() ? "{\"" : ",\"") + std::string{name} + "\":" + text;
  }
  return key + "}";
}

Value fieldsOf(const Value& value, const Node* node, Allocator& allocator) {
  Value fields{rapidjson::kObjectType};
  if (value.IsObject()) {
    for (const auto& member : value.GetObject()) {
      const Node* below = node == nullptr ? nullptr : node->member(json::text(member.name));
      json::set(fields, "f:" + std::string{json::text(member.name)}, fieldsOf(member.value, below, allocator),
                allocator);
    }
    if (node != nullptr && node->additional != nullptr) {
      json::set(fields, ".", Value{rapidjson::kObjectType}, allocator);
    }
  } else if (value.IsArray() && isListMap(node)) {
    json::set(fields, ".", Value{rapidjson::kObjectType}, allocator);
    for (const Value& item : value.GetArray()) {
      if (!item.IsObject()) continue;
      Value below = fieldsOf(item, node->items, allocator);
      json::set(below, ".", Value{rapidjson::kObjectType}, allocator);
      json::set(fields, "k:" + keyOf(item, *node), std::move(below), allocator);
    }
  }
  return fields;
}

void merge(Value& stored, const Value& applied, const Node* node, Allocator& allocator) {
  if (stored.IsObject() && applied.IsObject()) {
    for (const auto& member : applied.GetObject()) {
      const std::string_view name = json::text(member.name);
      Value* present = json::findRaw(stored, name);
      const Node* below = node == nullptr ? nullptr : node->member(name);
      if (present == nullptr) {
        json::set(stored, name, json::copy(member.value, allocator), allocator);
      } else {
        merge(*present, member.value, below, allocator);
      }
    }
    return;
  }
  const auto isObject = [](const Value& item) { return item.IsObject(); };
  if (!stored.IsArray() || !applied.IsArray() || !isListMap(node) ||
      !std::all_of(applied.Begin(), applied.End(), isObject)) {
    stored = json::copy(applied, allocator);
    return;
  }
  for (const Value& item : applied.GetArray()) {
    const std::string key = item.IsObject() ? keyOf(item, *node) : std::string{};
    const auto same = std::find_if(stored.Begin(), stored.End(), [&](const Value& present) {
      return present.IsObject() && keyOf(present, *node) == key;
    });
    if (same == stored.End()) {
      stored.PushBack(json::copy(item, allocator), allocator);
    } else {
      merge(*same, item, node->items, allocator);
    }
  }
}

}  // namespace

void setManagedFields(Value& object, const Value& written, Allocator& allocator) {
  const json::Maker make{allocator};
  Value fields = make.object("f:spec", fieldsOf(*json::find(&written, "spec"), specNode(object), allocator));
  const Value* annotations = json::find(json::find(&written, "metadata"), "annotations");
  if (annotations != nullptr) {
    json::set(fields, "f:metadata", make.object("f:annotations", fieldsOf(*annotations, nullptr, allocator)),
              allocator);
  }
  Value status = make.object("manager", "controller", "operation", "Update", "subresource", "status",
                             "fieldsV1", make.object("f:status", make.object("f:state", make.object())));
  Value user = make.object("manager", "kubectl", "operation", "Apply", "apiVersion", "nvidia.com/v1alpha1",
                           "fieldsType", "FieldsV1", "fieldsV1", std::move(fields));
  json::set(json::ensureObject(object, "metadata", allocator), "managedFields",
            make.list(std::move(status), std::move(user)), allocator);
}

void setLastApplied(Value& object, const Value& written, Allocator& allocator) {
  const std::string text = json::dump(written) + "\n";
  Value& metadata = json::ensureObject(object, "metadata", allocator);
  json::set(json::ensureObject(metadata, "annotations", allocator), k8s::kLastApplied,
            json::string(text, allocator), allocator);
}

Value serverSideApply(const Value& stored, const Value& manifest, Allocator& allocator) {
  Value request = json::copy(stored, allocator);
  merge(*json::find(request, "spec"), *json::find(&manifest, "spec"), specNode(stored), allocator);
  return request;
}

Value clientSideApply(const Value& stored, const Value& manifest, Allocator& allocator) {
  Value request = json::copy(stored, allocator);
  // The patch is computed against the last manifest. A null in it was never stored and is not sent.
  model::mergePatch(*json::find(request, "spec"), *json::find(&manifest, "spec"), allocator);
  schema::applySchemaDefaults(*specNode(stored), *json::find(request, "spec"), allocator);
  return request;
}

Value replace(const Value& stored, const Value& manifest, Allocator& allocator) {
  Value request = json::copy(manifest, allocator);
  schema::applySchemaDefaults(*specNode(stored), *json::find(request, "spec"), allocator);
  if (const Value* managers = json::find(json::find(&stored, "metadata"), "managedFields")) {
    json::set(*json::find(request, "metadata"), "managedFields", json::copy(*managers, allocator), allocator);
  }
  return request;
}

}  // namespace dynamo::test
