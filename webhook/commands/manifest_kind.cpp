#include "webhook/commands/manifest_kind.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "common/api/kinds.h"
#include "common/config/operator_config_decode.h"
#include "common/field/suggest.h"
#include "common/schema/registry.h"

namespace dynamo::webhook {
namespace {

using field::ErrorType;
using field::FieldError;
using Is = ManifestKind::Is;

constexpr const char* kRule = "schema.kind";

/// Kinds of the GPU operator, which has the same API group.
constexpr std::array<std::string_view, 2> kOthersOfGroup = {"ClusterPolicy", "NVIDIADriver"};

std::vector<std::string_view> ourKinds() {
  std::vector<std::string_view> kinds;
  for (const schema::KindVersion& entry : schema::kindVersions()) {
    if (kinds.empty() || kinds.back() != entry.kind) kinds.push_back(entry.kind);
  }
  return kinds;
}

/// The versions of a kind, quoted; of all kinds when it is none of ours.
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

ManifestKind wrong(FieldError error) {
  ManifestKind kind{Is::Wrong, nullptr, {}};
  kind.errors.push_back(std::move(error));
  return kind;
}

/// An object of our API group that no schema of ours describes.
ManifestKind unknownOfGroup(std::string_view version, std::string_view kind,
                            const std::vector<std::string_view>& kinds) {
  const auto has = [&](const auto& list) { return std::find(list.begin(), list.end(), kind) != list.end(); };
  if (has(kOthersOfGroup)) return {};
  if (has(kinds)) return wrong(unsupported("apiVersion", version, versionsOf(kind, true)));
  std::string all;
  for (const schema::KindVersion& entry : schema::kindVersions()) {
    all += fmt::format("{}{} {}", all.empty() ? "" : ", ", entry.kind, entry.version);
  }
  const std::string_view near = field::nearest(kind, kinds);
  if (!near.empty()) all += fmt::format("; did you mean \"{}\"?", near);
  return wrong(unsupported("kind", kind, std::move(all)));
}

}  // namespace

ManifestKind kindOf(const text::Manifest& manifest) {
  const std::string_view version = json::findText(&manifest.object, "apiVersion");
  const std::string_view kind = manifest.kind();
  const std::string_view group = version.substr(0, version.find('/'));
  if (group == config::kConfigGroup || (version.empty() && kind == config::kConfigKind)) {
    return {Is::Configuration, nullptr, {}};
  }
  if (version.empty() || kind.empty()) {
    ManifestKind none{Is::Wrong, nullptr, {}};
    if (version.empty())
      none.errors.push_back({ErrorType::Required, field::Path{"apiVersion"}, {}, {}, kRule});
    if (kind.empty()) none.errors.push_back({ErrorType::Required, field::Path{"kind"}, {}, {}, kRule});
    return none;
  }
  const std::vector<std::string_view> kinds = ourKinds();
  if (group == api::kGroup) {
    const schema::Node* node = schema::find(version, kind);
    return node != nullptr ? ManifestKind{Is::Ours, node, {}} : unknownOfGroup(version, kind, kinds);
  }
  constexpr std::array<std::string_view, 1> kGroups = {api::kGroup};
  constexpr std::array<std::string_view, 1> kConfigGroups = {config::kConfigGroup};
  if (kind == config::kConfigKind && !field::nearest(group, kConfigGroups).empty()) {
    return {Is::Configuration, nullptr, {}};
  }
  const bool exact = std::find(kinds.begin(), kinds.end(), kind) != kinds.end();
  const bool meant =
      exact || (!field::nearest(group, kGroups).empty() && !field::nearest(kind, kinds).empty());
  if (!meant) return {};
  return wrong(unsupported("apiVersion", version, versionsOf(kind, exact)));
}

}  // namespace dynamo::webhook
