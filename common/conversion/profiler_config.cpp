#include "common/conversion/profiler_config.h"

#include <cmath>
#include <cstdint>
#include <limits>

namespace dynamo::conversion {
namespace {

using json::Allocator;
using json::Value;

bool isNumber(View view) {
  return view.value() != nullptr && view.value()->IsNumber();
}
bool isText(View view) {
  return view.isString();
}
bool isCount(View view) {
  return view.value() != nullptr && isTokenCount(*view.value());
}

bool isPlanner(View view) {
  return view.isObject() && view.size() != 0;
}

/// `view` as an int32. It must be a token count.
View toInt32(View view, Allocator& allocator) {
  const Value& number = *view.value();
  return number.IsInt() ? view : keep(Value{static_cast<std::int32_t>(number.GetDouble())}, allocator);
}

/// A scalar of the configuration and the typed field of v1beta1.
struct Scalar {
  std::string_view configKey;
  std::string_view oldKey;  ///< name before 1.0, read if `configKey` is absent (quirk conv-Q8)
  std::string_view specKey;
  bool (*represents)(View);
};

constexpr Scalar kSla[] = {{"ttft", {}, "ttft", isNumber}, {"itl", {}, "itl", isNumber}};
constexpr Scalar kWorkload[] = {{"isl", {}, "isl", isCount}, {"osl", {}, "osl", isCount}};
constexpr Scalar kModelCache[] = {{"pvcName", {}, "pvcName", isText},
                                  {"modelPathInPvc", "pvcPath", "pvcModelPath", isText},
                                  {"pvcMountPath", "mountPath", "pvcMountPath", isText}};

/// The value of `field` in the configuration; empty if v1beta1 cannot represent it.
View represented(View group, const Scalar& field) {
  View value = group.find(field.configKey);
  if (!value && !field.oldKey.empty()) value = group.find(field.oldKey);
  return value && field.represents(value) ? value : View{};
}

/// Removes both names of `field` from `group`, if v1beta1 could represent the value.
void strip(Draft& group, const Scalar& field) {
  for (const std::string_view key : {field.configKey, field.oldKey}) {
    const View value = key.empty() ? View{} : group.view().find(key);
    if (value && field.represents(value)) group.remove(key);
  }
}

/// Sets `field` in `group` to the live value. If the saved value is equal, its name and number format are
/// kept.
void put(View live, const Scalar& field, View savedGroup, Draft& group, Allocator& allocator) {
  const View saved = represented(savedGroup, field);
  const bool oldName = saved && !savedGroup.find(field.configKey);
  if (saved && equal(saved, live)) {
    // Keeps the number format of the user (30.0) and the old name of the field.
    group.set(oldName ? field.oldKey : field.configKey, saved, allocator);
    return;
  }
  if (oldName) group.remove(field.oldKey);
  group.set(field.configKey, live, allocator);
}

/// Sets `fields` of `group` to the values of the typed object `live`, and removes those that `live` lacks.
template <std::size_t N>
void replaceScalars(const Scalar (&fields)[N], View live, View savedGroup, Draft& group,
                    Allocator& allocator) {
  for (const Scalar& field : fields) {
    const View value = live.find(field.specKey);
    if (value && !value.isEmptyText()) {
      put(value, field, savedGroup, group, allocator);
    } else {
      strip(group, field);
    }
  }
}

bool isEmpty(const Draft& object) {
  return object.view().size() == 0;
}

}  // namespace

bool isTokenCount(const Value& value) {
  if (value.IsInt()) return true;
  if (!value.IsDouble()) return false;
  const double number = value.GetDouble();
  return std::trunc(number) == number && number >= std::numeric_limits<std::int32_t>::min() &&
         number <= std::numeric_limits<std::int32_t>::max();
}

void profilerConfigToSpec(View config, Draft& spec, Allocator& allocator) {
  if (const View sla = config.findObject("sla")) {
    Draft& typed = spec.ensureObject("sla", allocator);
    for (const Scalar& field : kSla) {
      if (const View value = represented(sla, field)) typed.set(field.specKey, value, allocator);
    }
    for (const Scalar& field : kWorkload) {
      if (const View value = represented(sla, field)) {
        spec.ensureObject("workload", allocator).set(field.specKey, toInt32(value, allocator), allocator);
      }
    }
  }
  if (const View cache = config.findObject("deployment").findObject("modelCache")) {
    Draft& typed = spec.ensureObject("modelCache", allocator);
    for (const Scalar& field : kModelCache) {
      if (const View value = represented(cache, field)) typed.set(field.specKey, value, allocator);
    }
  }
  if (const View planner = config.find("planner"); isPlanner(planner)) {
    spec.ensureObject("features", allocator).set("planner", planner, allocator);
  }
}

View profilerConfigFromSpec(View spec, View saved, Allocator& allocator) {
  const View sla = spec.find("sla");
  const View workload = spec.find("workload");
  const View modelCache = spec.find("modelCache");
  const View planner = spec.find("features").find("planner");
  if (!saved && !sla && !workload && !modelCache && !planner) return {};
  Draft config = saved ? Draft{saved} : Draft::object(allocator);
  config.own(allocator);

  const bool showsTargets = sla || workload;
  const View savedSla = saved.findObject("sla");
  if (showsTargets || savedSla) {
    Draft& group = config.ensureObject("sla", allocator);
    replaceScalars(kSla, sla, savedSla, group, allocator);
    replaceScalars(kWorkload, workload, savedSla, group, allocator);
    if (!showsTargets && isEmpty(group)) config.remove("sla");
  }

  const View savedCache = saved.findObject("deployment").findObject("modelCache");
  bool cacheShown = static_cast<bool>(savedCache);
  for (const Scalar& field : kModelCache) {
    const View value = modelCache.find(field.specKey);
    cacheShown = cacheShown || (value && !value.isEmptyText());
  }
  if (cacheShown) {
    Draft& deployment = config.ensureObject("deployment", allocator);
    Draft& group = deployment.ensureObject("modelCache", allocator);
    replaceScalars(kModelCache, modelCache, savedCache, group, allocator);
    if (!modelCache && isEmpty(group)) deployment.remove("modelCache");
    if (!modelCache && isEmpty(deployment)) config.remove("deployment");
  }

  if (isPlanner(planner)) {
    config.set("planner", planner, allocator);
  } else if (isPlanner(saved.find("planner"))) {
    config.remove("planner");
  }
  return config.view();
}

}  // namespace dynamo::conversion
