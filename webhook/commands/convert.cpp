#include "webhook/commands/convert.h"

#include <iostream>

#include "common/api/kinds.h"
#include "common/config/manifests.h"
#include "common/conversion/dgdr.h"
#include "common/json/yaml_writer.h"

namespace dynamo::webhook {
namespace {

std::string prettyJson(const json::Value& value) {
  rapidjson::StringBuffer buffer;
  rapidjson::PrettyWriter<rapidjson::StringBuffer> writer{buffer};
  writer.SetIndent(' ', 2);
  value.Accept(writer);
  return std::string{buffer.GetString(), buffer.GetSize()} + "\n";
}

}  // namespace

int runConvert(const ConvertOptions& options) {
  const std::string prefix = std::string{api::kGroup} + "/";
  const std::string to = options.to.starts_with(prefix) ? options.to : prefix + options.to;
  config::Manifests manifests = config::readManifests(options.files);
  std::vector<std::string> texts;
  for (config::Manifest& manifest : manifests.objects) {
    json::Document& object = manifest.object;
    json::Value converted;
    if (manifest.kind() == api::kDynamoGraphDeploymentRequest &&
        json::findText(&object, "apiVersion").starts_with(prefix)) {
      if (const auto error = conversion::convertDgdr(object, to, converted, object.GetAllocator())) {
        manifests.errors.push_back(manifest.file + ": " + error->message);
        continue;
      }
    } else {
      converted = json::copy(object, object.GetAllocator());
    }
    texts.push_back(options.output == "json" ? prettyJson(converted) : json::toYaml(converted));
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
