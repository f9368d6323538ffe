#include "common/commands/convert.h"

#include <iostream>
#include <optional>
#include <string_view>

#include "common/admission/settings.h"
#include "common/api/kinds.h"
#include "common/commands/manifest_review.h"
#include "common/config/operator_config.h"
#include "common/conversion/dgdr.h"
#include "common/field/finding.h"
#include "common/schema/registry.h"
#include "common/text/manifests.h"
#include "common/text/yaml_writer.h"

namespace dynamo::commands {
namespace {

std::string prettyJson(const json::Value& value) {
  rapidjson::StringBuffer buffer;
  rapidjson::PrettyWriter<rapidjson::StringBuffer> writer{buffer};
  writer.SetIndent(' ', 2);
  value.Accept(writer);
  return std::string{buffer.GetString(), buffer.GetSize()} + "\n";
}

/// Converts the object; objects of other kinds are copied unchanged.
std::optional<conversion::ConvertError> convert(text::Manifest& manifest, std::string_view to,
                                                json::Value& converted) {
  json::Document& object = manifest.object;
  const std::string_view version = json::findText(&object, "apiVersion");
  const bool ours = schema::find(version, manifest.kind()) != nullptr;
  if (ours && manifest.kind() == api::kDynamoGraphDeploymentRequest) {
    return conversion::convertDgdr(object, to, converted, object.GetAllocator());
  }
  converted = json::copy(object, object.GetAllocator());
  return std::nullopt;
}

}  // namespace

int runConvert(const ConvertOptions& options, const Program& program) {
  const std::string prefix = std::string{api::kGroup} + "/";
  const std::string to = options.to.starts_with(prefix) ? options.to : prefix + options.to;
  const admission::Settings settings{config::defaultConfig(), options.operatorVersion};
  text::Manifests manifests = text::readManifests(options.files);
  std::vector<std::string> texts;
  bool refused = false;
  bool complete = true;
  for (text::Manifest& manifest : manifests.objects) {
    const ManifestReview review = reviewManifest(manifest, options.namespaceName, settings);
    refused = reportErrors(review.findings, std::cerr) || refused;
    if (review.category == ManifestKind::Category::Invalid) {
      complete = false;
      continue;
    }
    json::Value converted;
    if (const auto error = convert(manifest, to, converted)) {
      manifests.errors.push_back(field::oneLine(manifest.file + ": " + error->message));
      continue;
    }
    texts.push_back(options.output == "json" ? prettyJson(converted) : text::toYaml(converted));
  }
  for (const std::string& error : manifests.errors) std::cerr << program.name << ": " << error << '\n';
  if (!manifests.errors.empty()) return 2;
  for (std::size_t i = 0; complete && i < texts.size(); ++i) {
    if (i != 0 && options.output != "json") std::cout << "---\n";
    std::cout << texts[i];
  }
  if (!std::cout.flush()) return 2;
  return refused ? 1 : 0;
}

}  // namespace dynamo::commands
