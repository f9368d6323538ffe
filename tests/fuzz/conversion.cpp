// Round trips of conversion keep spec, status and the user's metadata of every object. An input that starts
// with "{" is an object that an API server would store. The bytes of other inputs select members and values
// of both versions, and sometimes arbitrary values.

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "common/api/dgdr.h"
#include "common/api/kinds.h"
#include "common/conversion/dgdr.h"
#include "common/json/parse.h"
#include "common/schema/defaults.h"
#include "common/schema/registry.h"
#include "common/schema/validator.h"
#include "require.h"

namespace dynamo {
namespace {

using fuzz::require;
using json::Allocator;
using json::Value;

constexpr std::array kNames = {"model",
                               "backend",
                               "image",
                               "autoApply",
                               "features",
                               "mocker",
                               "enabled",
                               "planner",
                               "sla",
                               "ttft",
                               "itl",
                               "e2eLatency",
                               "workload",
                               "isl",
                               "osl",
                               "concurrency",
                               "requestRate",
                               "modelCache",
                               "pvcName",
                               "pvcModelPath",
                               "pvcMountPath",
                               "overrides",
                               "profilingJob",
                               "template",
                               "spec",
                               "containers",
                               "name",
                               "resources",
                               "limits",
                               "requests",
                               "claims",
                               "tolerations",
                               "dgd",
                               "hardware",
                               "gpuSku",
                               "totalGpus",
                               "searchStrategy",
                               "useMocker",
                               "enableGpuDiscovery",
                               "profilingConfig",
                               "config",
                               "configMapRef",
                               "key",
                               "profilerImage",
                               "outputPVC",
                               "nodeSelector",
                               "deploymentOverrides",
                               "namespace",
                               "labels",
                               "annotations",
                               "workersImage",
                               "deployment",
                               "modelPathInPvc",
                               "pvcPath",
                               "mountPath",
                               "phase",
                               "state",
                               "observedGeneration",
                               "conditions",
                               "profilingResults",
                               "selectedConfig",
                               "pareto",
                               "generatedDeployment",
                               "dgdName",
                               "created",
                               "profilingJobName",
                               "profilingPhase",
                               "deploymentInfo",
                               "replicas",
                               "metadata",
                               "a/b~c",
                               "0",
                               "",
                               "-"};

constexpr std::array kTexts = {
    "",     "m",       "auto",    "vllm",      "Ready",  "Deployed",    "Profiling",
    "true", "Pending", "Failed",  "Deploying", "1000m",  "image:1",     "DeploymentDeleted",
    "{}",   "[1]",     "{\"v\":", "garbage",   "1024Mi", "\xC3\xA9<&>", "Initializing"};

/// Whether a field may hold any JSON. In other fields the API server stores no nulls.
bool isFree(std::string_view name) {
  return name == "config" || name == "planner" || name == "dgd" || name == "selectedConfig" ||
         name == "generatedDeployment";
}

/// Builds a JSON value from bytes. After the last byte every choice is the smallest one.
class Recipe {
 public:
  Recipe(const std::uint8_t* data, std::size_t size, Allocator& allocator)
      : at_(data), end_(data + size), allocator_(allocator) {}

  Value any(int depth) {
    const unsigned choice = byte();
    if (depth > 0 && choice >= 128) return object(depth, choice % 12);
    if (depth > 0 && choice >= 112) return list(depth, choice % 4);
    switch (choice % 8) {
      case 0:
        return nulls_ ? Value{} : Value{true};
      case 1:
        return Value{byte() % 2 == 0};
      case 2:
        return Value{static_cast<int>(byte()) - 64};
      case 3:
        return Value{static_cast<double>(byte()) / 8.0};
      case 4:
        return number();
      case 5:
        return json::string(std::string(byte(), 'x'), allocator_);
      default:
        return json::string(kTexts[byte() % kTexts.size()], allocator_);
    }
  }

  Value object(int depth, unsigned members) {
    Value made{rapidjson::kObjectType};
    for (; members > 0 && at_ != end_; --members) {
      const char* name = kNames[byte() % kNames.size()];
      const bool outer = nulls_;
      nulls_ = nulls_ || isFree(name);
      Value value = any(depth - 1);
      nulls_ = outer;
      // A null field is absent.
      if (nulls_ || !value.IsNull()) json::set(made, name, std::move(value), allocator_);
    }
    return made;
  }

  Value list(int depth, unsigned items) {
    Value made{rapidjson::kArrayType};
    for (; items > 0 && at_ != end_; --items) made.PushBack(any(depth - 1), allocator_);
    return made;
  }

  unsigned byte() { return at_ == end_ ? 0U : *at_++; }

 private:
  Value number() {
    static constexpr std::array<double, 6> kDoubles = {3000.7, 3e10, -1.0, 30.0, 1e300, 5e-324};
    static constexpr std::array<std::int64_t, 5> kIntegers = {9007199254740993, 4000, 1000, -2147483649,
                                                              2147483648};
    const unsigned choice = byte() % 12;
    if (choice < kDoubles.size()) return Value{kDoubles[choice]};
    if (choice < 11) return Value{kIntegers[choice - 6]};
    return Value{std::uint64_t{18446744073709551615U}};
  }

  const std::uint8_t* at_;
  const std::uint8_t* end_;
  bool nulls_ = false;
  Allocator& allocator_;
};

constexpr std::array kPaths = {"/spec",
                               "/spec/model",
                               "/spec/hardware",
                               "/spec/sla/ttft",
                               "/spec/features/planner",
                               "/spec/overrides/profilingJob/template/spec/containers",
                               "/spec/overrides/profilingJob/template/spec/containers/0/name",
                               "/spec/overrides/profilingJob/template/spec/containers/2",
                               "/spec/profilingConfig/nodeSelector",
                               "/spec/profilingConfig/config",
                               "/spec/deploymentOverrides",
                               "/status",
                               "/status/phase",
                               "/status/state",
                               "/status/deployment/created",
                               "/metadata/name"};

/// A text with the form of the private annotations.
std::string remainder(Recipe& recipe, Allocator& allocator) {
  Value fields{rapidjson::kArrayType};
  for (unsigned i = recipe.byte() % 4; i > 0; --i) {
    Value field{rapidjson::kObjectType};
    field.AddMember("path", json::string(kPaths[recipe.byte() % kPaths.size()], allocator), allocator);
    const unsigned choice = recipe.byte();
    if (choice % 4 != 0) field.AddMember("value", recipe.any(4), allocator);
    if (choice % 8 >= 4) field.AddMember("while", recipe.any(4), allocator);
    if (choice % 16 >= 8) field.AddMember("inside", true, allocator);
    fields.PushBack(field, allocator);
  }
  Value whole{rapidjson::kObjectType};
  whole.AddMember("v", 1, allocator);
  whole.AddMember("fields", fields, allocator);
  return json::dump(whole);
}

/// Annotations of the user, and sometimes private annotations with any text, because users can write these
/// too.
Value annotations(Recipe& recipe, Allocator& allocator) {
  Value made{rapidjson::kObjectType};
  for (unsigned i = recipe.byte() % 4; i > 0; --i) {
    const unsigned choice = recipe.byte();
    if (choice % 2 == 0) {
      json::set(made, kNames[choice % kNames.size()], json::string("value", allocator), allocator);
      continue;
    }
    const auto& keys = api::dgdr::kPrivateAnnotations;
    const std::string text = choice % 4 == 1 ? json::dump(recipe.any(6)) : remainder(recipe, allocator);
    json::set(made, keys[choice / 2 % keys.size()], json::string(text, allocator), allocator);
  }
  return made;
}

Value objectFrom(Recipe& recipe, std::string_view version, Allocator& allocator) {
  Value metadata{rapidjson::kObjectType};
  metadata.AddMember("name", "r", allocator);
  if (recipe.byte() % 2 == 0) metadata.AddMember("annotations", annotations(recipe, allocator), allocator);
  if (recipe.byte() % 4 == 0) metadata.AddMember("labels", recipe.any(2), allocator);
  Value object{rapidjson::kObjectType};
  object.AddMember("apiVersion", json::string(version, allocator), allocator);
  object.AddMember("kind", "DynamoGraphDeploymentRequest", allocator);
  object.AddMember("metadata", metadata, allocator);
  if (const unsigned choice = recipe.byte(); choice != 0) {
    object.AddMember("spec", recipe.object(8, choice % 16), allocator);
  }
  if (const unsigned choice = recipe.byte(); choice != 0) {
    object.AddMember("status", recipe.object(6, choice % 8), allocator);
  }
  return object;
}

Value withoutOurs(const Value& object, Allocator& allocator) {
  const Value* source = json::find(object, "metadata");
  Value metadata = source == nullptr ? Value{} : json::copy(*source, allocator);
  Value* texts = json::find(metadata, "annotations");
  if (texts == nullptr) return metadata;
  for (const std::string_view key : api::dgdr::kPrivateAnnotations) json::remove(*texts, key);
  if (texts->IsObject() && texts->ObjectEmpty()) json::remove(metadata, "annotations");
  return metadata;
}

/// The object with the list of containers in its pod, which the schema requires (b1-Q5).
Value completed(const Value& object, Allocator& allocator) {
  Value made = json::copy(object, allocator);
  Value* at = &made;
  for (const char* name : {"spec", "overrides", "profilingJob", "template", "spec"}) {
    at = at->IsObject() ? json::find(*at, name) : nullptr;
    if (at == nullptr) return made;
  }
  if (at->IsObject() && !at->ObjectEmpty() && json::findRaw(*at, "containers") == nullptr) {
    json::set(*at, "containers", Value{rapidjson::kArrayType}, allocator);
  }
  return made;
}

/// Returns the object in the version `there`, or nullopt when it cannot be converted.
std::optional<json::Document> checkRoundTrip(const Value& object, std::string_view there,
                                             std::string_view back, Allocator& allocator) {
  const std::string text = json::dump(object);
  Value middle;
  require(!conversion::convertDgdr(object, there, middle, allocator), "every object is converted", text);
  const std::string middleText = json::dump(middle);
  // The object passes through text, as in the API server's storage, so no memory is shared.
  json::Document stored{&allocator};
  require(!json::parse(middleText, stored), "the converted object is JSON", middleText);
  require(json::findText(&stored, "apiVersion") == there, "it has the version", middleText);
  const Value* model = json::find(json::findObject(&object, "spec"), "model");
  // An object without a spec is converted to one with an empty model.
  require(json::text(model).empty() || json::equal(model, json::find(json::find(&stored, "spec"), "model")),
          "no annotation overrides the live object", text + "\n" + middleText);
  Value last;
  const auto error = conversion::convertDgdr(stored, back, last, allocator);
  require(!error, "what was converted converts back", middleText);
  const std::string trip = text + "\n" + middleText + "\n" + json::dump(last);
  const Value whole = back == api::kV1beta1 ? completed(object, allocator) : json::copy(object, allocator);
  for (const char* part : {"spec", "status"}) {
    require(json::equal(json::find(whole, part), json::find(last, part)), part, trip);
  }
  require(json::equal(withoutOurs(object, allocator), withoutOurs(last, allocator)), "metadata", trip);
  require(json::equal(withoutOurs(object, allocator), withoutOurs(stored, allocator)), "metadata there",
          trip);
  return stored;
}

/// Reads a request as an API server stores it. Returns false when it would reject `text`.
bool readStorable(std::string_view text, json::Document& request) {
  if (json::parse(text, request) || !request.IsObject()) return false;
  if (json::findText(&request, "kind") != api::kDynamoGraphDeploymentRequest) return false;
  const schema::Node* node =
      schema::find(json::findText(&request, "apiVersion"), api::kDynamoGraphDeploymentRequest);
  if (node == nullptr) return false;
  schema::applySchemaDefaults(*node, request, request.GetAllocator());
  return schema::validate(*node, request, {nullptr, true, true}).empty();
}

/// Two requests, one per line. The first is converted, and then another client writes the fields of the
/// second.
void checkObjects(std::string_view text, Allocator& allocator) {
  const std::size_t end = std::min(text.find('\n'), text.size());
  json::Document request{&allocator};
  if (!readStorable(text.substr(0, end), request)) return;
  const std::string_view from = json::findText(&request, "apiVersion");
  const std::string_view to = from == api::kV1alpha1 ? api::kV1beta1 : api::kV1alpha1;
  auto stored = checkRoundTrip(request, to, from, allocator);
  json::Document written{&allocator};
  if (!stored || end == text.size() || !readStorable(text.substr(end + 1), written)) return;
  if (json::findText(&written, "apiVersion") != to) return;
  for (const char* part : {"spec", "status"}) {
    if (Value* value = json::find(written, part)) json::set(*stored, part, std::move(*value), allocator);
    checkRoundTrip(*stored, from, to, allocator);
  }
}

}  // namespace
}  // namespace dynamo

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace dynamo;
  json::Allocator allocator;
  if (size != 0 && data[0] == '{') {
    checkObjects({reinterpret_cast<const char*>(data), size}, allocator);
    return 0;
  }
  Recipe recipe{data, size, allocator};
  const bool alpha = recipe.byte() % 2 == 0;
  const std::string_view from = alpha ? api::kV1alpha1 : api::kV1beta1;
  const std::string_view to = alpha ? api::kV1beta1 : api::kV1alpha1;
  auto stored = checkRoundTrip(objectFrom(recipe, from, allocator), to, from, allocator);
  if (!stored) return 0;
  // Fields that another client writes beside the annotations of conversion also survive.
  const unsigned choice = recipe.byte();
  if (choice == 0) return 0;
  json::set(*stored, choice % 2 == 0 ? "spec" : "status", recipe.object(6, choice % 8), allocator);
  checkRoundTrip(*stored, from, to, allocator);
  return 0;
}
