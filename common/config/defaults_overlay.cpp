#include "common/config/defaults_overlay.h"

#include <fmt/format.h>

#include <algorithm>

#include "common/api/dynamo.h"
#include "common/api/kinds.h"
#include "common/api/min_ready.h"
#include "common/field/suggest.h"
#include "common/schema/registry.h"
#include "common/schema/validator.h"

namespace dynamo::config {
namespace {

using field::At;
using field::ErrorType;
using field::FieldError;
using field::Findings;
using field::Path;
using json::Value;

constexpr std::string_view kRule = "config-defaults";

/// The schema at a field path of an nvidia.com kind. The path must exist.
const schema::Node& nodeAt(std::string_view kind, std::initializer_list<std::string_view> path) {
  const schema::Node* node = schema::find(api::kV1alpha1, kind);
  for (const std::string_view name : path) node = node->member(name);
  return *node;
}

struct Nodes {
  const schema::Node& sharedMemory = nodeAt(api::kDynamoComponentDeployment, {"spec", "sharedMemory"});
  const schema::Node& podSpec = nodeAt(api::kDynamoCheckpoint, {"spec", "job", "podTemplateSpec", "spec"});
  const schema::Node& container = *podSpec.member("containers")->items;
  const schema::Node& preStop = *container.member("lifecycle")->member("preStop");
  const schema::Node& variable = *container.member("env")->items->member("valueFrom");
};

void addFinding(FieldError error, const At& at, Findings& findings) {
  if (error.type == ErrorType::Required) return;
  // The detail names the field by its path in the schema; the reported path starts at `at`.
  error.detail = error.why();
  error.namesField = false;
  error.field.prepend(at.path());
  if (error.rule == "schema.unknown-field") {
    findings.warn(std::move(error.field), std::move(error.detail), "config-unknown-field");
    return;
  }
  error.rule = kRule;
  findings.error(std::move(error));
}

void checkAgainstSchema(const schema::Node& node, const Value& value, const At& at, Findings& findings) {
  for (FieldError& error : schema::validate(node, value)) addFinding(std::move(error), at, findings);
}

/// In defaults, `env` is a map from a name to a value or a valueFrom source; null removes the variable.
void checkEnvironment(const Nodes& nodes, const Value& map, const At& at, Findings& findings) {
  if (map.IsNull()) return;
  if (!map.IsObject()) {
    return findings.error({ErrorType::TypeInvalid, at.path(), "",
                           "must be an object that maps names to values or valueFrom sources",
                           std::string{kRule}});
  }
  for (const auto& entry : map.GetObject()) {
    const At variable = at / json::text(entry.name);
    if (entry.value.IsObject()) {
      checkAgainstSchema(nodes.variable, entry.value, variable, findings);
    } else if (!entry.value.IsString() && !entry.value.IsNull()) {
      findings.error({ErrorType::TypeInvalid, variable.path(), field::showValue(entry.value),
                      "must be a string or a source such as {fieldRef: …}", std::string{kRule}});
    }
  }
}

void checkContainer(const Nodes& nodes, const Value& given, const At& at, Findings& findings) {
  json::Document document;
  Value rest = json::copy(given, document.GetAllocator());
  json::remove(rest, "env");
  checkAgainstSchema(nodes.container, rest, at, findings);
  if (const Value* env = json::find(given, "env")) checkEnvironment(nodes, *env, at / "env", findings);
}

void checkComponent(const Nodes& nodes, ObjectDecoder& d, const At& at, Findings& findings) {
  std::int64_t minReady = 0;
  d.read("minReadySeconds", minReady);
  if (minReady < 0 || minReady >= api::kProgressDeadline.count()) {
    const At field = at / "minReadySeconds";
    findings.error({ErrorType::Invalid, field.path(), std::to_string(minReady),
                    std::string{api::kMinReadyProblem}, std::string{kRule}});
  }
  if (const Value* preStop = d.object("preStop"))
    checkAgainstSchema(nodes.preStop, *preStop, at / "preStop", findings);
  if (const Value* env = d.object("preStopEnv")) checkEnvironment(nodes, *env, at / "preStopEnv", findings);
  if (const Value* memory = d.object("sharedMemory")) {
    checkAgainstSchema(nodes.sharedMemory, *memory, at / "sharedMemory", findings);
  }
  if (const Value* pod = d.object("podSpec"))
    checkAgainstSchema(nodes.podSpec, *pod, at / "podSpec", findings);
  if (const Value* main = d.object("mainContainer")) {
    checkContainer(nodes, *main, at / "mainContainer", findings);
  }
}

/// A site may define its own component types, so only a name similar to a built-in type is reported.
void checkTypeName(std::string_view name, Findings& findings) {
  const auto& types = api::kComponentTypes;
  if (std::find(types.begin(), types.end(), name) != types.end()) return;
  const std::string_view near = field::nearest(name, types);
  if (near.empty()) return;
  findings.warn(Path{"defaults.types"} / field::oneLine(name, 64),
                fmt::format("is not a component type of the operator; did you mean \"{}\"?", near),
                std::string{kRule});
}

void checkUserLists(ObjectDecoder& d, Findings& findings) {
  std::string word;
  d.read("userLists", word);
  if (word.empty() || word == "complete" || word == "leave") return;
  findings.error({ErrorType::NotSupported, Path{"defaults.userLists"}, field::showValue(word),
                  R"(supported values: "complete", "leave")", std::string{kRule}});
}

}  // namespace

void checkDefaultsOverlay(ObjectDecoder& defaults, const Value& overlay, Findings& findings) {
  const Nodes nodes;
  checkUserLists(defaults, findings);
  defaults.section("common",
                   [&](ObjectDecoder& d) { checkComponent(nodes, d, "defaults.common", findings); });
  const Value* types = json::findObject(&overlay, "types");
  const At typesAt = "defaults.types";
  defaults.section("types", [&](ObjectDecoder& d) {
    for (const auto& type : types->GetObject()) {
      const std::string_view name = json::text(type.name);
      checkTypeName(name, findings);
      d.section(name, [&](ObjectDecoder& one) { checkComponent(nodes, one, typesAt / name, findings); });
    }
  });
}

}  // namespace dynamo::config
