#include "common/defaults/claims.h"

#include <string>

#include "common/json/parse.h"
#include "common/k8s/object.h"

namespace dynamo::defaults {
namespace {

using json::Value;

/// Whether a FieldsV1 name selects the item whose member `key` is `name`, for example k:{"name":"POD_UID"}.
bool namesItem(std::string_view field, std::string_view key, std::string_view name) {
  const auto skip = [&](std::string_view part) {
    if (!field.starts_with(part)) return false;
    field.remove_prefix(part.size());
    return true;
  };
  return skip("k:{\"") && skip(key) && skip("\":\"") && skip(name) && field == "\"}";
}

}  // namespace

Claim Claim::member(std::string_view name) const {
  Claim below;
  for (const Value* fields : managers_) {
    for (const auto& field : fields->GetObject()) {
      const std::string_view text = json::text(field.name);
      if (!text.starts_with("f:") || text.substr(2) != name || !field.value.IsObject()) continue;
      below.managers_.push_back(&field.value);
      break;
    }
  }
  below.applied_ = json::find(applied_, name);
  return below;
}

Claim Claim::item(std::string_view key, std::string_view name) const {
  Claim below;
  for (const Value* fields : managers_) {
    for (const auto& field : fields->GetObject()) {
      if (!namesItem(json::text(field.name), key, name) || !field.value.IsObject()) continue;
      below.managers_.push_back(&field.value);
      break;
    }
  }
  if (applied_ != nullptr && applied_->IsArray()) {
    for (const Value& item : applied_->GetArray()) {
      if (json::findText(&item, key) == name) below.applied_ = &item;
    }
  }
  return below;
}

Claim Claim::port(const Value& port) const {
  const Value* number = json::find(&port, "containerPort");
  const std::string keys = "k:{\"containerPort\":" + (number == nullptr ? "" : json::dump(*number)) +
                           ",\"protocol\":\"" + std::string{json::findText(&port, "protocol")} + "\"}";
  Claim below;
  for (const Value* fields : managers_) {
    const Value* field = json::findObject(fields, keys);
    if (field != nullptr) below.managers_.push_back(field);
  }
  below.applied_ = applied_;
  return below;
}

Claims::Claims(const Value& object) {
  const Value* metadata = json::findObject(&object, "metadata");
  const Value* managers = json::find(metadata, "managedFields");
  if (managers != nullptr && managers->IsArray()) {
    for (const Value& manager : managers->GetArray()) {
      if (const Value* fields = json::findObject(&manager, "fieldsV1")) root_.managers_.push_back(fields);
    }
  }
  const std::string_view applied =
      json::findText(json::findObject(metadata, "annotations"), k8s::kLastApplied);
  if (!applied.empty() && !json::parse(applied, applied_)) root_.applied_ = &applied_;
}

}  // namespace dynamo::defaults
