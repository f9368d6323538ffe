#include "common/conversion/profiler_config.h"

#include <cmath>
#include <cstdint>
#include <limits>

namespace dynamo::conversion {
namespace {

using json::Allocator;
using json::Value;

/// The object member `key` of an object that is owned, to be changed.
Value& ownedObject(Value& object, std::string_view key, Allocator& allocator) {
  Value& member = json::ensureObject(object, key, allocator);
  json::own(member, allocator);
  return member;
}

bool isNumber(const Value& value) {
  return value.IsNumber();
}
bool isText(const Value& value) {
  return value.IsString();
}

Value toInt32(const Value& value) {
  return value.IsInt() ? json::alias(value) : Value{static_cast<std::int32_t>(value.GetDouble())};
}

bool isPlanner(const Value& value) {
  return value.IsObject() && !value.ObjectEmpty();
}

/// One scalar of the configuration and its typed field.
struct Scalar {
  std::string_view configKey;
  std::string_view oldKey;  ///< spelling before 1.0, read when the new one is absent (quirk conv-Q8)
  std::string_view specKey;
  bool (*represents)(const Value&);
};

constexpr Scalar kSla[] = {{"ttft", {}, "ttft", isNumber}, {"itl", {}, "itl", isNumber}};
constexpr Scalar kWorkload[] = {{"isl", {}, "isl", isTokenCount}, {"osl", {}, "osl", isTokenCount}};
constexpr Scalar kModelCache[] = {{"pvcName", {}, "pvcName", isText},
                                  {"modelPathInPvc", "pvcPath", "pvcModelPath", isText},
                                  {"pvcMountPath", "mountPath", "pvcMountPath", isText}};

/// The configuration's value for `field` if v1beta1 can hold it.
const Value* represented(const Value* group, const Scalar& field) {
  const Value* value = json::find(group, field.configKey);
  if (value == nullptr && !field.oldKey.empty()) value = json::find(group, field.oldKey);
  return value != nullptr && field.represents(*value) ? value : nullptr;
}

/// Removes from `group` what a typed field spoke for before it was cleared, in both spellings.
void strip(Value& group, const Scalar& field) {
  for (const std::string_view key : {field.configKey, field.oldKey}) {
    const Value* value = key.empty() ? nullptr : json::find(group, key);
    if (value != nullptr && field.represents(*value)) json::remove(group, key);
  }
}

/// Puts the live value of `field` into `group`: as the saved configuration wrote it, when it says the same.
void put(const Value& live, const Scalar& field, const Value* savedGroup, Value& group,
         Allocator& allocator) {
  const Value* saved = represented(savedGroup, field);
  const bool oldName = saved != nullptr && json::find(savedGroup, field.configKey) == nullptr;
  if (saved != nullptr && json::equal(*saved, live)) {
    // The user's own spelling of an unchanged number (30.0) stays, and so does the field's old name.
    json::set(group, oldName ? field.oldKey : field.configKey, json::alias(*saved), allocator);
    return;
  }
  if (oldName) json::remove(group, field.oldKey);
  json::set(group, field.configKey, json::alias(live), allocator);
}

/// Refills or strips `fields` of config.<groupKey...>; `live` is their typed object, nullptr when absent.
template <std::size_t N>
void replaceScalars(const Scalar (&fields)[N], const Value* live, const Value* savedGroup, Value& group,
                    Allocator& allocator) {
  for (const Scalar& field : fields) {
    const Value* value = json::find(live, field.specKey);
    const bool shown = value != nullptr && !(value->IsString() && json::text(*value).empty());
    if (shown) {
      put(*value, field, savedGroup, group, allocator);
    } else {
      strip(group, field);
    }
  }
}

}  // namespace

/// 3000.7 or 3e10 stay in the configuration (conv-Q16).
bool isTokenCount(const Value& value) {
  if (value.IsInt()) return true;
  if (!value.IsDouble()) return false;
  const double number = value.GetDouble();
  return std::trunc(number) == number && number >= std::numeric_limits<std::int32_t>::min() &&
         number <= std::numeric_limits<std::int32_t>::max();
}

void profilerConfigToSpec(const Value& config, Value& spec, Allocator& allocator) {
  if (const Value* sla = json::findObject(&config, "sla")) {
    Value& typed = json::ensureObject(spec, "sla", allocator);
    for (const Scalar& field : kSla) {
      if (const Value* value = represented(sla, field)) {
        json::set(typed, field.specKey, json::alias(*value), allocator);
      }
    }
    for (const Scalar& field : kWorkload) {
      if (const Value* value = represented(sla, field)) {
        json::set(json::ensureObject(spec, "workload", allocator), field.specKey, toInt32(*value), allocator);
      }
    }
  }
  if (const Value* cache = json::findObject(json::findObject(&config, "deployment"), "modelCache")) {
    Value& typed = json::ensureObject(spec, "modelCache", allocator);
    for (const Scalar& field : kModelCache) {
      if (const Value* value = represented(cache, field)) {
        json::set(typed, field.specKey, json::alias(*value), allocator);
      }
    }
  }
  const Value* planner = json::find(config, "planner");
  if (planner != nullptr && isPlanner(*planner)) {
    json::set(json::ensureObject(spec, "features", allocator), "planner", json::alias(*planner), allocator);
  }
}

Value profilerConfigFromSpec(const Value& spec, const Value* saved, Allocator& allocator) {
  const Value* sla = json::find(spec, "sla");
  const Value* workload = json::find(spec, "workload");
  const Value* modelCache = json::find(spec, "modelCache");
  const Value* planner = json::find(json::find(spec, "features"), "planner");
  const bool any = sla != nullptr || workload != nullptr || modelCache != nullptr || planner != nullptr;
  if (saved == nullptr && !any) return Value{};
  Value config = saved == nullptr ? Value{rapidjson::kObjectType} : json::alias(*saved);
  json::own(config, allocator);

  const bool showsTargets = sla != nullptr || workload != nullptr;
  const Value* savedSla = json::findObject(saved, "sla");
  if (showsTargets || savedSla != nullptr) {
    Value& group = ownedObject(config, "sla", allocator);
    replaceScalars(kSla, sla, savedSla, group, allocator);
    replaceScalars(kWorkload, workload, savedSla, group, allocator);
    if (!showsTargets && group.ObjectEmpty()) json::remove(config, "sla");
  }

  const Value* savedDeployment = json::findObject(saved, "deployment");
  const Value* savedCache = json::findObject(savedDeployment, "modelCache");
  bool cacheShown = savedCache != nullptr;
  for (const Scalar& field : kModelCache) {
    const Value* value = json::find(modelCache, field.specKey);
    cacheShown = cacheShown || (value != nullptr && !(value->IsString() && json::text(*value).empty()));
  }
  if (cacheShown) {
    Value& deployment = ownedObject(config, "deployment", allocator);
    Value& group = ownedObject(deployment, "modelCache", allocator);
    replaceScalars(kModelCache, modelCache, savedCache, group, allocator);
    if (modelCache == nullptr && group.ObjectEmpty()) json::remove(deployment, "modelCache");
    if (modelCache == nullptr && deployment.ObjectEmpty()) json::remove(config, "deployment");
  }

  const Value* savedPlanner = json::find(saved, "planner");
  if (planner != nullptr && isPlanner(*planner)) {
    json::set(config, "planner", json::alias(*planner), allocator);
  } else if (savedPlanner != nullptr && isPlanner(*savedPlanner)) {
    json::remove(config, "planner");
  }
  return config;
}

}  // namespace dynamo::conversion
