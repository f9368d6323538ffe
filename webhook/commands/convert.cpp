#include "webhook/commands/convert.h"

#include <fmt/format.h>

#include <algorithm>
#include <iostream>
#include <optional>

#include "common/api/kinds.h"
#include "common/conversion/dgdr.h"
#include "common/field/finding.h"
#include "common/schema/registry.h"
#include "common/text/manifests.h"
#include "common/text/yaml_writer.h"

namespace dynamo::webhook {
namespace {

std::string prettyJson(const json::Value& value) {
  rapidjson::StringBuffer buffer;
  rapidjson::PrettyWriter<rapidjson::StringBuffer> writer{buffer};
  writer.SetIndent(' ', 2);
  value.Accept(writer);
  return std::string{buffer.GetString(), buffer.GetSize()} + "\n";
}

/// Whether the kind is one of Dynamo's, in any version or without one.
bool isOurs(const text::Manifest& manifest) {
  const std::string_view version = json::findText(&manifest.object, "apiVersion");
  if (!version.empty() && version.substr(0, version.find('/')) != api::kGroup) return false;
  const auto kinds = schema::kindVersions();
  return std::any_of(kinds.begin(), kinds.end(), [&](const auto& k) { return k.kind == manifest.kind(); });
}

/// Converts the object; objects of other kinds are copied unchanged.
std::optional<conversion::ConvertError> convert(text::Manifest& manifest, std::string_view to,
                                                json::Value& converted) {
  json::Document& object = manifest.object;
  const std::string_view version = json::findText(&object, "apiVersion");
  const bool ours = isOurs(manifest);
  if (ours && schema::find(version, manifest.kind()) == nullptr) {
    return conversion::ConvertError{
        fmt::format("{} {}: apiVersion: {}", manifest.kind(), manifest.name(),
                    version.empty() ? "Required value"
                                    : fmt::format("Unsupported value: {}", field::showValue(version)))};
  }
  if (ours && manifest.kind() == api::kDynamoGraphDeploymentRequest) {
    return conversion::convertDgdr(object, to, converted, object.GetAllocator());
  }
  converted = json::copy(object, object.GetAllocator());
  return std::nullopt;
}

}  // namespace

int runConvert(const ConvertOptions& options) {
  const std::string prefix = std::string{api::kGroup} + "/";
  const std::string to = options.to.starts_with(prefix) ? options.to : prefix + options.to;
  text::Manifests manifests = text::readManifests(options.files);
  std::vector<std::string> texts;
  for (text::Manifest& manifest : manifests.objects) {
    json::Value converted;
    if (const auto error = convert(manifest, to, converted)) {
      manifests.errors.push_back(field::oneLine(manifest.file + ": " + error->message));
      continue;
    }
    texts.push_back(options.output == "json" ? prettyJson(converted) : text::toYaml(converted));
  }
  for (const std::string& error : manifests.errors) std::cerr << "dynamo-webhook: " << error << '\n';
  if (!manifests.errors.empty()) return 2;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    if (i != 0 && options.output != "json") std::cout << "---\n";
    std::cout << texts[i];
  }
  return std::cout.flush() ? 0 : 2;
}

}  // namespace dynamo::webhook
