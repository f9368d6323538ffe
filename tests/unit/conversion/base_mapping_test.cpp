// L14: an object without its private annotations is converted by the base mapping alone. The tables here are
// an independent copy of that mapping. They are compared with the conversion of generated objects.
// DYNAMO_LAW_OBJECTS sets their number.

#include <catch2/catch.hpp>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <stdexcept>
#include <string>

#include "common/api/dgdr.h"
#include "common/api/kinds.h"
#include "common/conversion/dgdr.h"
#include "common/json/parse.h"
#include "tests/unit/conversion/generator.h"

namespace dynamo::test {
namespace {

using json::Allocator;
using json::Value;
using Pointer = rapidjson::GenericPointer<Value, rapidjson::CrtAllocator>;

std::uint64_t objects() {
  const char* set = std::getenv("DYNAMO_LAW_OBJECTS");
  return set == nullptr ? 20000 : std::strtoull(set, nullptr, 10);
}

using Predicate = bool (*)(const Value&);

bool isThere(const Value& value) {
  return !(value.IsString() && value.GetStringLength() == 0);
}
bool isAnything(const Value& /*value*/) {
  return true;
}
bool isNumber(const Value& value) {
  return value.IsNumber();
}
bool isText(const Value& value) {
  return value.IsString();
}
bool isAnyObject(const Value& value) {
  return value.IsObject();
}
bool isFilledObject(const Value& value) {
  return value.IsObject() && !value.ObjectEmpty();
}
bool isFilledList(const Value& value) {
  return value.IsArray() && !value.Empty();
}
bool isTrue(const Value& value) {
  return value.IsTrue();
}
/// v1alpha1 has no field for claims alone.
bool hasAmounts(const Value& value) {
  const auto filled = [&](std::string_view key) {
    const Value* amounts = json::findObject(&value, key);
    return amounts != nullptr && !amounts->ObjectEmpty();
  };
  return filled("requests") || filled("limits");
}
bool isTokenCount(const Value& value) {
  constexpr double kLeast = std::numeric_limits<std::int32_t>::min();
  constexpr double kMost = std::numeric_limits<std::int32_t>::max();
  if (!value.IsNumber()) return false;
  const double number = value.GetDouble();
  return std::trunc(number) == number && number >= kLeast && number <= kMost;
}

/// Copies the value at `from` to `to` if `wanted` accepts it. If `value` is given, `value` is set instead. A
/// later row overrides an earlier one.
struct Row {
  const char* from;
  const char* to;
  Predicate wanted = isThere;
  const char* value = nullptr;  ///< JSON
};

const Row kToV1beta1[] = {
    {"", "/spec/model", isAnyObject, "\"\""},
    {"/spec/model", "/spec/model"},
    {"", "/spec/backend", isAnyObject, "\"auto\""},
    {"/spec/backend", "/spec/backend"},
    {"/spec/deploymentOverrides/workersImage", "/spec/image"},
    {"/spec/profilingConfig/profilerImage", "/spec/image"},
    {"", "/spec/autoApply", isAnyObject, "false"},
    {"/spec/autoApply", "/spec/autoApply"},
    {"", "/spec/searchStrategy", isAnyObject, "\"rapid\""},
    {"/spec/useMocker", "/spec/features/mocker/enabled", isTrue},
    {"/spec/profilingConfig/config/planner", "/spec/features/planner", isFilledObject},
    {"/spec/profilingConfig/config/sla", "/spec/sla", isAnyObject, "{}"},
    {"/spec/profilingConfig/config/sla/ttft", "/spec/sla/ttft", isNumber},
    {"/spec/profilingConfig/config/sla/itl", "/spec/sla/itl", isNumber},
    // A workload gets the schema defaults for fields that the configuration does not set.
    {"/spec/profilingConfig/config/sla/isl", "/spec/workload", isTokenCount, "{\"isl\":4000,\"osl\":1000}"},
    {"/spec/profilingConfig/config/sla/osl", "/spec/workload", isTokenCount, "{\"isl\":4000,\"osl\":1000}"},
    {"/spec/profilingConfig/config/sla/isl", "/spec/workload/isl", isTokenCount},
    {"/spec/profilingConfig/config/sla/osl", "/spec/workload/osl", isTokenCount},
    {"/spec/profilingConfig/config/deployment/modelCache", "/spec/modelCache", isAnyObject,
     "{\"pvcMountPath\":\"/opt/model-cache\"}"},
    {"/spec/profilingConfig/config/deployment/modelCache/pvcName", "/spec/modelCache/pvcName", isText},
    // The spellings before 1.0. The present spelling takes precedence even if its value has no effect.
    {"/spec/profilingConfig/config/deployment/modelCache/modelPathInPvc", "/spec/modelCache/pvcModelPath",
     isText},
    {"/spec/profilingConfig/config/deployment/modelCache/pvcMountPath", "/spec/modelCache/pvcMountPath",
     isText},
    {"/spec/profilingConfig/tolerations", "/spec/overrides/profilingJob/template/spec/containers",
     isFilledList, "[]"},
    {"/spec/profilingConfig/tolerations", "/spec/overrides/profilingJob/template/spec/tolerations",
     isFilledList},
    {"/spec/profilingConfig/resources", "/spec/overrides/profilingJob/template/spec/containers", isThere,
     "[{\"name\":\"\"}]"},
    {"/spec/profilingConfig/resources", "/spec/overrides/profilingJob/template/spec/containers/0/resources"},
    {"", "/status/phase", isAnyObject, "\"Pending\""},
    {"/status/observedGeneration", "/status/observedGeneration"},
    {"/status/conditions", "/status/conditions"},
    {"/status/generatedDeployment", "/status/profilingResults", isAnything, "{}"},
    {"/status/generatedDeployment", "/status/profilingResults/selectedConfig"},
    {"/status/deployment/name", "/status/dgdName"},
};

const Row kToV1alpha1[] = {
    {"", "/spec/model", isAnyObject, "\"\""},
    {"/spec/model", "/spec/model"},
    {"", "/spec/backend", isAnyObject, "\"\""},
    {"/spec/backend", "/spec/backend"},
    {"", "/spec/autoApply", isAnyObject, "true"},
    {"/spec/autoApply", "/spec/autoApply"},
    {"/spec/features/mocker/enabled", "/spec/useMocker", isTrue},
    {"", "/spec/profilingConfig/profilerImage", isAnyObject, "\"\""},
    {"/spec/image", "/spec/profilingConfig/profilerImage"},
    {"/spec/modelCache", "/spec/profilingConfig/config", isAnyObject, "{}"},
    {"/spec/features/planner", "/spec/profilingConfig/config", isAnyObject, "{}"},
    {"/spec/workload", "/spec/profilingConfig/config", isAnyObject, "{\"sla\":{}}"},
    {"/spec/sla", "/spec/profilingConfig/config", isAnyObject, "{\"sla\":{}}"},
    {"/spec/sla/ttft", "/spec/profilingConfig/config/sla/ttft"},
    {"/spec/sla/itl", "/spec/profilingConfig/config/sla/itl"},
    {"/spec/workload/isl", "/spec/profilingConfig/config/sla/isl"},
    {"/spec/workload/osl", "/spec/profilingConfig/config/sla/osl"},
    {"/spec/modelCache/pvcName", "/spec/profilingConfig/config/deployment/modelCache/pvcName"},
    {"/spec/modelCache/pvcModelPath", "/spec/profilingConfig/config/deployment/modelCache/modelPathInPvc"},
    {"/spec/modelCache/pvcMountPath", "/spec/profilingConfig/config/deployment/modelCache/pvcMountPath"},
    {"/spec/features/planner", "/spec/profilingConfig/config/planner", isFilledObject},
    {"/spec/overrides/profilingJob/template/spec/containers/0/resources", "/spec/profilingConfig/resources",
     hasAmounts},
    {"/spec/overrides/profilingJob/template/spec/tolerations", "/spec/profilingConfig/tolerations",
     isFilledList},
    {"", "/status/state", isAnyObject, "\"Pending\""},
    {"/status/observedGeneration", "/status/observedGeneration"},
    {"/status/conditions", "/status/conditions"},
    {"/status/profilingResults/selectedConfig", "/status/generatedDeployment"},
    {"/status/dgdName", "/status/deployment/name"},
    {"/status/dgdName", "/status/deployment/state", isThere, "\"initializing\""},
};

/// Corresponding values of a field in both versions.
struct Word {
  const char* from;
  const char* to;
};
// Every other text, and an absent one, is Pending.
const Word kPhases[] = {{"Profiling", "Profiling"},
                        {"Deploying", "Deploying"},
                        {"Ready", "Ready"},
                        {"DeploymentDeleted", "Ready"},
                        {"Failed", "Failed"}};
const Word kStates[] = {{"Profiling", "Profiling"},
                        {"Deploying", "Deploying"},
                        {"Ready", "Ready"},
                        {"Deployed", "Ready"},
                        {"Failed", "Failed"}};

template <std::size_t N>
void translate(const Word (&words)[N], const char* from, const char* to, const Value& object, Value& made,
               Allocator& allocator) {
  const Value* text = Pointer{from}.Get(object);
  for (const Word& word : words) {
    if (text != nullptr && *text == word.from) Pointer{to}.Set(made, Value{json::ref(word.to)}, allocator);
  }
}

template <std::size_t N>
Value mapped(const Row (&rows)[N], const Value& object, Allocator& allocator) {
  Value made{rapidjson::kObjectType};
  for (const Row& row : rows) {
    const Value* found = Pointer{row.from}.Get(object);
    if (found == nullptr || !row.wanted(*found)) continue;
    if (row.value == nullptr) {
      Pointer{row.to}.Set(made, json::copy(*found, allocator), allocator);
      continue;
    }
    json::Document value{&allocator};
    if (json::parse(row.value, value)) throw std::logic_error{row.value};
    Pointer{row.to}.Set(made, json::copy(value, allocator), allocator);
  }
  return made;
}

/// An old spelling is used where the present one is absent.
void takeOldSpelling(const char* present, const char* old, const char* to, const Value& object, Value& made,
                     Allocator& allocator) {
  const std::string cache = "/spec/profilingConfig/config/deployment/modelCache/";
  const Value* group = Pointer{"/spec/profilingConfig/config/deployment/modelCache"}.Get(object);
  const Value* value = Pointer{(cache + old).c_str()}.Get(object);
  if (group == nullptr || !group->IsObject() || Pointer{(cache + present).c_str()}.Get(object) != nullptr)
    return;
  if (value != nullptr && value->IsString()) Pointer{to}.Set(made, json::copy(*value, allocator), allocator);
}

Value expected(const Value& object, std::string_view to, Allocator& allocator) {
  if (to == api::kV1alpha1) {
    Value made = mapped(kToV1alpha1, object, allocator);
    translate(kStates, "/status/phase", "/status/state", object, made, allocator);
    return made;
  }
  Value made = mapped(kToV1beta1, object, allocator);
  takeOldSpelling("modelPathInPvc", "pvcPath", "/spec/modelCache/pvcModelPath", object, made, allocator);
  takeOldSpelling("pvcMountPath", "mountPath", "/spec/modelCache/pvcMountPath", object, made, allocator);
  translate(kPhases, "/status/state", "/status/phase", object, made, allocator);
  const Value* state = Pointer{"/status/state"}.Get(object);
  const Value* created = Pointer{"/status/deployment/created"}.Get(object);
  if (state != nullptr && *state == "Ready" && created != nullptr && created->IsTrue()) {
    Pointer{"/status/phase"}.Set(made, Value{"Deployed"}, allocator);
  }
  return made;
}

Value stripped(const Value& object, Allocator& allocator) {
  Value clean = json::copy(object, allocator);
  Value* annotations = json::find(*json::find(clean, "metadata"), "annotations");
  if (annotations == nullptr) return clean;
  for (const std::string_view key : api::dgdr::kPrivateAnnotations) json::remove(*annotations, key);
  return clean;
}

Value converted(const Value& object, std::string_view to, Allocator& allocator) {
  Value made;
  const auto error = conversion::convertDgdr(object, to, made, allocator);
  if (error) FAIL(error->message << "\n" << json::dump(object));
  return made;
}

void requireBaseMapping(const char* what, std::uint64_t seed, const Value& object, std::string_view to,
                        Allocator& allocator) {
  const Value given = stripped(object, allocator);
  const Value got = converted(given, to, allocator);
  const Value wanted = expected(given, to, allocator);
  for (const char* key : {"spec", "status"}) {
    if (json::equal(json::find(&wanted, key), json::find(&got, key))) continue;
    FAIL(what << " to " << to << ", seed " << seed << "\nof     " << json::dump(given) << "\nwanted " << key
              << " " << json::dump(wanted) << "\ngot    " << json::dump(got));
  }
}

TEST_CASE("an object without private annotations is converted by the base mapping alone (L14)") {
  std::uint64_t held = 0;
  for (std::uint64_t seed = 0; seed < objects(); ++seed, ++held) {
    Allocator allocator;
    Generator generator{seed, allocator};
    const bool alpha = seed % 2 == 0;
    const Value object = alpha ? generator.alpha() : generator.beta();
    const std::string_view own = alpha ? api::kV1alpha1 : api::kV1beta1;
    const std::string_view other = alpha ? api::kV1beta1 : api::kV1alpha1;
    requireBaseMapping("written by a client", seed, object, other, allocator);
    requireBaseMapping("read, and written back without annotations", seed,
                       converted(object, other, allocator), own, allocator);
  }
  CHECK(held == objects());
}

}  // namespace
}  // namespace dynamo::test
