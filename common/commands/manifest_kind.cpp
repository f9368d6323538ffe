#include "common/commands/manifest_kind.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "common/admission/field_advice.h"
#include "common/admission/metadata.h"
#include "common/api/kinds.h"
#include "common/config/operator_config_decode.h"
#include "common/field/suggest.h"
#include "common/schema/registry.h"
#include "common/schema/validator.h"

namespace dynamo::commands {
namespace {

using field::ErrorType;
using field::FieldError;
using json::Value;
using Category = ManifestKind::Category;

constexpr const char* kRule = "schema.kind";

/// The GPU operator's kinds, which are in the same API group.
constexpr std::array<std::string_view, 2> kGpuOperatorKinds = {"ClusterPolicy", "NVIDIADriver"};

/// A kind of releases before 0.4 and what replaced it.
struct FormerKind {
  std::string_view name;
  std::string_view use;
};
constexpr std::string_view kImages =
    "images are built elsewhere and named in extraPodSpec.mainContainer.image of a DynamoGraphDeployment";
constexpr std::array kFormerKinds = {FormerKind{"DynamoDeployment", "use DynamoGraphDeployment"},
                                     FormerKind{"DynamoNimDeployment", "use DynamoComponentDeployment"},
                                     FormerKind{"DynamoNim", kImages},
                                     FormerKind{"DynamoNimRequest", kImages},
                                     FormerKind{"DynamoComponent", kImages},
                                     FormerKind{"DynamoComponentRequest", kImages}};

/// What the fields of v1beta1 are called in v1alpha1; empty for kinds without a v1beta1 of later releases.
std::string_view inV1alpha1(std::string_view kind) {
  if (kind == api::kDynamoGraphDeployment) {
    return "components -> services (a map by name), type -> componentType and subComponentType, "
           "podTemplate.spec.containers[main] -> extraPodSpec.mainContainer, env -> envs";
  }
  if (kind == api::kDynamoComponentDeployment) {
    return "type -> componentType and subComponentType, podTemplate.spec.containers[main] -> "
           "extraPodSpec.mainContainer, env -> envs";
  }
  if (kind == api::kDynamoGraphDeploymentScalingAdapter) return "dgdRef.componentName -> dgdRef.serviceName";
  return {};
}

/// The schema of a text.
const schema::Node& textNode() {
  static const schema::Node kText = [] {
    schema::Node node;
    node.type = schema::Type::String;
    return node;
  }();
  return kText;
}

std::vector<std::string_view> dynamoKinds() {
  std::vector<std::string_view> kinds;
  for (const schema::KindVersion& entry : schema::kindVersions()) {
    if (kinds.empty() || kinds.back() != entry.kind) kinds.push_back(entry.kind);
  }
  return kinds;
}

/// The quoted versions of a kind, or of all kinds when `known` is false.
std::string versionsOf(std::string_view kind, bool known) {
  std::vector<std::string> versions;
  for (const schema::KindVersion& entry : schema::kindVersions()) {
    if (known && entry.kind != kind) continue;
    versions.push_back(fmt::format("\"{}/{}\"", api::kGroup, entry.version));
  }
  std::sort(versions.begin(), versions.end());
  versions.erase(std::unique(versions.begin(), versions.end()), versions.end());
  std::string text;
  for (const std::string& version : versions) text += (text.empty() ? "" : ", ") + version;
  return text;
}

FieldError unsupported(field::Members field, std::string_view value, std::string supported) {
  return {ErrorType::NotSupported, field, field::showValue(value),
          "supported values: " + std::move(supported), kRule};
}

/// An object of Dynamo that is refused because of `error`. What is wrong in its metadata is told, too: the
/// metadata of all kinds and versions is alike.
ManifestKind wrong(FieldError error, const Value& object) {
  ManifestKind kind{Category::Invalid, nullptr, {}};
  kind.errors.push_back(std::move(error));
  for (FieldError& other : admission::metadataErrors(object)) kind.errors.push_back(std::move(other));
  return kind;
}

/// The errors about a member that every object has as a text.
void checkText(const Value& object, std::string_view name, std::vector<FieldError>& errors) {
  const Value* value = json::find(object, name);
  if (value == nullptr) {
    errors.push_back({ErrorType::Required, field::Path{field::Members{name}}, {}, {}, kRule});
    return;
  }
  for (FieldError& error : schema::wrongTypes(textNode(), *value)) {
    error.field.prepend(field::Path{field::Members{name}});
    errors.push_back(std::move(error));
  }
  if (json::text(*value).empty() && value->IsString())
    errors.push_back({ErrorType::Required, field::Path{field::Members{name}}, {}, {}, kRule});
}

/// Classifies an object of Dynamo's API group whose kind or version has no schema.
ManifestKind classifyUnknownKind(const Value& object, std::string_view version, std::string_view kind,
                                 const std::vector<std::string_view>& kinds) {
  const auto has = [&](const auto& list) { return std::find(list.begin(), list.end(), kind) != list.end(); };
  if (has(kGpuOperatorKinds)) return {};
  if (has(kinds)) {
    std::string supported = versionsOf(kind, true);
    const std::string_view advice = inV1alpha1(kind);
    if (version.substr(version.find('/') + 1) != "v1beta1" || advice.empty())
      return wrong(unsupported("apiVersion", version, std::move(supported)), object);
    supported += fmt::format("; v1beta1 is of later releases, in v1alpha1: {}", advice);
    ManifestKind later = wrong(unsupported("apiVersion", version, std::move(supported)), object);
    for (FieldError& error : admission::laterFields(kind, object)) later.errors.push_back(std::move(error));
    return later;
  }
  std::string all;
  for (const schema::KindVersion& entry : schema::kindVersions()) {
    all += fmt::format("{}{} {}", all.empty() ? "" : ", ", entry.kind, entry.version);
  }
  const auto former = std::find_if(kFormerKinds.begin(), kFormerKinds.end(),
                                   [&](const FormerKind& each) { return each.name == kind; });
  if (former != kFormerKinds.end()) {
    all += fmt::format("; {} is a kind of releases before 0.9: {}", kind, former->use);
    return wrong(unsupported("kind", kind, std::move(all)), object);
  }
  const std::string_view near = field::nearest(kind, kinds);
  if (!near.empty()) all += fmt::format("; did you mean \"{}\"?", near);
  return wrong(unsupported("kind", kind, std::move(all)), object);
}

}  // namespace

ManifestKind classifyManifest(const text::Manifest& manifest) {
  const std::string_view version = json::findText(&manifest.object, "apiVersion");
  const std::string_view kind = manifest.kind();
  const std::string_view group = version.substr(0, version.find('/'));
  if (group == config::kConfigGroup || (version.empty() && kind == config::kConfigKind)) {
    return {Category::Configuration, nullptr, {}};
  }
  if (version.empty() || kind.empty()) {
    ManifestKind none{Category::Invalid, nullptr, {}};
    if (!manifest.object.IsObject()) {
      none.errors.push_back({ErrorType::Required,
                             field::Path{"apiVersion"},
                             {},
                             "a manifest is an object with apiVersion and kind",
                             kRule});
      return none;
    }
    for (const std::string_view name : {"apiVersion", "kind"}) checkText(manifest.object, name, none.errors);
    return none;
  }
  const std::vector<std::string_view> kinds = dynamoKinds();
  if (group == api::kGroup) {
    const schema::Node* node = schema::find(version, kind);
    return node != nullptr ? ManifestKind{Category::Dynamo, node, {}}
                           : classifyUnknownKind(manifest.object, version, kind, kinds);
  }
  constexpr std::array<std::string_view, 1> kGroups = {api::kGroup};
  constexpr std::array<std::string_view, 1> kConfigGroups = {config::kConfigGroup};
  if (kind == config::kConfigKind && !field::nearest(group, kConfigGroups).empty()) {
    return {Category::Configuration, nullptr, {}};
  }
  const bool exact = std::find(kinds.begin(), kinds.end(), kind) != kinds.end();
  const bool meant =
      exact || (!field::nearest(group, kGroups).empty() && !field::nearest(kind, kinds).empty());
  if (!meant) return {};
  return wrong(unsupported("apiVersion", version, versionsOf(kind, exact)), manifest.object);
}

}  // namespace dynamo::commands
