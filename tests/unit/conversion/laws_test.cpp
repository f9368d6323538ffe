// The laws of conversion (common/decisions.md) over generated objects. DYNAMO_LAW_OBJECTS sets their number.

#include <catch2/catch.hpp>
#include <cstdlib>
#include <stdexcept>
#include <string>

#include "common/api/dgdr.h"
#include "common/api/kinds.h"
#include "common/conversion/dgdr.h"
#include "common/json/parse.h"
#include "common/schema/defaults.h"
#include "common/schema/registry.h"
#include "tests/unit/conversion/generator.h"

namespace dynamo {
namespace {

using conversion::convertDgdr;
using json::Allocator;
using json::Value;

std::uint64_t objects() {
  const char* set = std::getenv("DYNAMO_LAW_OBJECTS");
  return set == nullptr ? 20000 : std::strtoull(set, nullptr, 10);
}

Value convert(const Value& object, std::string_view version, Allocator& allocator) {
  Value converted;
  const auto error = convertDgdr(object, version, converted, allocator);
  if (error) FAIL(error->message << "\n" << json::dump(object));
  return converted;
}

const Value* part(const Value& object, std::string_view key) {
  return json::find(object, key);
}

std::string show(const Value* value) {
  return value == nullptr ? "(absent)" : json::dump(*value);
}

void requireSame(const char* law, std::uint64_t seed, const Value& before, const Value& after,
                 const Value& between) {
  for (const char* key : {"spec", "status", "metadata", "kind", "apiVersion"}) {
    if (json::equal(part(before, key), part(after, key))) continue;
    FAIL(law << " seed " << seed << " " << key << "\nbefore  " << show(part(before, key)) << "\nafter   "
             << show(part(after, key)) << "\nbetween " << json::dump(between));
  }
}

/// A copy without the annotations that conversion owns. An edit makes some of them stale, and the next
/// conversion rewrites them.
Value withoutOurs(const Value& object, Allocator& allocator) {
  Value clean = json::copy(object, allocator);
  Value* metadata = json::find(clean, "metadata");
  Value* annotations = json::find(*metadata, "annotations");
  if (annotations == nullptr) return clean;
  for (const std::string_view key : api::dgdr::kPrivateAnnotations) json::remove(*annotations, key);
  if (annotations->ObjectEmpty()) json::remove(*metadata, "annotations");
  return clean;
}

/// A copy with the JSON in the private annotations parsed, so that the order of members does not matter.
Value parsedOurs(const Value& object, Allocator& allocator) {
  Value parsed = json::copy(object, allocator);
  Value* annotations = json::find(*json::find(parsed, "metadata"), "annotations");
  if (annotations == nullptr) return parsed;
  for (const std::string_view key : api::dgdr::kPrivateAnnotations) {
    Value* value = json::find(*annotations, key);
    json::Document document{&allocator};
    if (value == nullptr || json::parse(json::text(*value), document)) continue;
    value->Swap(document);
  }
  return parsed;
}

struct Way {
  const char* name;
  std::string_view from;
  std::string_view to;
  Value (test::Generator::*make)();
};

const Way kWays[] = {
    {"v1alpha1 -> v1beta1 -> v1alpha1", api::kV1alpha1, api::kV1beta1, &test::Generator::alpha},
    {"v1beta1 -> v1alpha1 -> v1beta1", api::kV1beta1, api::kV1alpha1, &test::Generator::beta}};

/// Adds the v1beta1 schema defaults, as the API server does on a read from storage.
void applyStorageDefaults(Value& beta, Allocator& allocator) {
  static const schema::Node* const kind = schema::find(api::kV1beta1, api::kDynamoGraphDeploymentRequest);
  REQUIRE(kind != nullptr);
  schema::applySchemaDefaults(*kind, beta, allocator);
}

TEST_CASE("a round trip loses nothing (L1-L8, L11, L12)") {
  std::uint64_t held = 0;
  for (std::uint64_t seed = 0; seed < objects(); ++seed) {
    Allocator allocator;
    const Way& way = kWays[seed % 2];
    test::Generator generator{seed, allocator};
    const Value object = (generator.*way.make)();
    const Value there = convert(object, way.to, allocator);
    const Value back = convert(there, way.from, allocator);
    requireSame(way.name, seed, withoutOurs(object, allocator), withoutOurs(back, allocator), there);
    const Value again = convert(back, way.to, allocator);
    requireSame("idempotence", seed, parsedOurs(there, allocator), parsedOurs(again, allocator), back);
    if (json::dump(convert(object, way.to, allocator)) != json::dump(there))
      FAIL("not deterministic " << seed);
    ++held;
  }
  CHECK(held == objects());
}

TEST_CASE("schema defaults added in storage are not visible in v1alpha1") {
  std::uint64_t held = 0;
  for (std::uint64_t seed = 0; seed < objects() / 4; ++seed) {
    Allocator allocator;
    test::Generator generator{seed, allocator};
    const Value alpha = generator.alpha();
    Value stored = convert(alpha, api::kV1beta1, allocator);
    applyStorageDefaults(stored, allocator);
    const Value view = convert(stored, api::kV1alpha1, allocator);
    requireSame("defaulted in storage", seed, withoutOurs(alpha, allocator), withoutOurs(view, allocator),
                stored);
    requireSame("and back", seed, withoutOurs(stored, allocator),
                withoutOurs(convert(view, api::kV1beta1, allocator), allocator), view);
    ++held;
  }
  CHECK(held == objects() / 4);
}

/// The same edit in both versions, with the pointer of the field in each.
struct Edit {
  const char* beta;
  const char* alpha;
  const char* value;   ///< JSON; nullptr removes the field
  bool images = true;  ///< whether each edit maps to the other; otherwise an edit must only not be undone
};

const Edit kEdits[] = {
    {"/spec/model", "/spec/model", "\"edited\""},
    {"/spec/backend", "/spec/backend", "\"sglang\""},
    {"/spec/image", "/spec/profilingConfig/profilerImage", "\"edited:1\""},
    {"/spec/autoApply", "/spec/autoApply", "false"},
    {"/spec/autoApply", "/spec/autoApply", "true"},
    {"/spec/features/mocker/enabled", "/spec/useMocker", "true"},
    {"/spec/features/planner", "/spec/profilingConfig/config/planner", "{\"edited\":1}"},
    {"/spec/features/planner", "/spec/profilingConfig/config/planner", nullptr},
    {"/spec/sla/ttft", "/spec/profilingConfig/config/sla/ttft", "77.5"},
    {"/spec/sla/ttft", "/spec/profilingConfig/config/sla/ttft", nullptr},
    {"/spec/sla/itl", "/spec/profilingConfig/config/sla/itl", "7"},
    {"/spec/workload/isl", "/spec/profilingConfig/config/sla/isl", "77"},
    {"/spec/workload/osl", "/spec/profilingConfig/config/sla/osl", "78"},
    {"/spec/modelCache/pvcName", "/spec/profilingConfig/config/deployment/modelCache/pvcName", "\"edited\""},
    {"/spec/overrides/profilingJob/template/spec/tolerations", "/spec/profilingConfig/tolerations",
     "[{\"key\":\"edited\"}]"},
    {"/status/observedGeneration", "/status/observedGeneration", "77"},
    {"/status/dgdName", "/status/deployment/name", "\"edited\""},
    {"/status/dgdName", "/status/deployment", nullptr},
    {"/spec/workload/requestRate", "/spec/profilingConfig/config", nullptr, false},
    {"/status/profilingResults/selectedConfig", "/status/generatedDeployment", "{\"edited\":1}"},
};

using Pointer = rapidjson::GenericPointer<Value, rapidjson::CrtAllocator>;

void apply(const Pointer& at, const char* value, Value& object, Allocator& allocator) {
  if (value == nullptr) {
    at.Erase(object);
    return;
  }
  json::Document parsed{&allocator};
  if (json::parse(value, parsed)) throw std::logic_error{value};
  at.Set(object, Value{parsed, allocator}, allocator);
}

/// The schema requires the list of containers in every pod.
void completePod(Value& beta, Allocator& allocator) {
  const std::string pod = "/spec/overrides/profilingJob/template/spec";
  const Pointer containers{(pod + "/containers").c_str()};
  if (Pointer{pod.c_str()}.Get(beta) == nullptr || containers.Get(beta) != nullptr) return;
  containers.Set(beta, Value{rapidjson::kArrayType}, allocator);
}

TEST_CASE("an edit in one version appears in the other, and nothing else changes (L9, L10)") {
  std::uint64_t held = 0;
  for (std::uint64_t seed = 0; seed < objects(); ++seed) {
    Allocator allocator;
    test::Generator generator{seed, allocator};
    const Way& way = kWays[seed % 2];
    Value object = (generator.*way.make)();
    if (json::find(object, "spec") == nullptr || json::find(object, "status") == nullptr) continue;
    const Edit& edit = kEdits[generator.below(std::size(kEdits))];
    const bool editsBeta = way.to == api::kV1beta1;
    const bool stored = !editsBeta && generator.below(2) == 0;
    if (stored) applyStorageDefaults(object, allocator);
    Value there = convert(object, way.to, allocator);
    if (part(there, "status") == nullptr) continue;
    const Pointer source{editsBeta ? edit.beta : edit.alpha};
    const Pointer image{editsBeta ? edit.alpha : edit.beta};
    const std::string before = show(source.Get(there));
    apply(source, edit.value, there, allocator);
    if (editsBeta) completePod(there, allocator);
    if (show(source.Get(there)) == before) continue;  // the edit changes nothing
    const Value back = convert(there, way.from, allocator);
    const Value* seen = image.Get(back);
    const Value* made = source.Get(there);
    if (edit.images && !json::equal(seen, made)) {
      FAIL("seed " << seed << " edit " << edit.beta << " = " << show(made) << " seen as " << show(seen)
                   << "\nobject " << json::dump(object) << "\nedited " << json::dump(there) << "\nback   "
                   << json::dump(back));
    }
    // The edited object itself survives the next round trip.
    requireSame("edited", seed, withoutOurs(there, allocator),
                withoutOurs(convert(back, way.to, allocator), allocator), back);
    if (stored) {
      Value read = json::copy(back, allocator);
      applyStorageDefaults(read, allocator);
      requireSame("edited and read from storage", seed, withoutOurs(there, allocator),
                  withoutOurs(convert(read, way.to, allocator), allocator), read);
    }
    ++held;
  }
  CHECK(held > objects() / 3);
}

}  // namespace
}  // namespace dynamo
