#include "common/commands/convert.h"

#include <fmt/format.h>

#include <iostream>
#include <optional>
#include <string_view>
#include <vector>

#include "common/admission/settings.h"
#include "common/api/kinds.h"
#include "common/commands/manifest_review.h"
#include "common/config/operator_config.h"
#include "common/conversion/dgdr.h"
#include "common/field/finding.h"
#include "common/field/path.h"
#include "common/k8s/names.h"
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

/// Adds the fields of `before` that `after` lacks.
void addMissing(const json::Value& before, const json::Value* after, const field::Path& at,
                std::vector<field::Path>& missing) {
  if (before.IsNull()) return;
  // An object with one member is there because of that member.
  if (after == nullptr && !(before.IsObject() && before.MemberCount() == 1)) {
    missing.push_back(at);
  } else if (before.IsObject()) {
    for (const auto& member : before.GetObject()) {
      const std::string_view name = json::text(member.name);
      addMissing(member.value, json::find(after, name), at / name, missing);
    }
  } else if (before.IsArray()) {
    for (rapidjson::SizeType i = 0; i < before.Size(); ++i) {
      const bool exists = after->IsArray() && i < after->Size();
      addMissing(before[i], exists ? &(*after)[i] : nullptr, at[i], missing);
    }
  }
}

/// The fields that the converted object cannot keep, because its annotations have no room (conv-Q17).
std::vector<field::Path> lostFields(json::Document& object, const json::Value& converted) {
  std::vector<field::Path> lost;
  if (json::dump(object).size() < k8s::kMaxAnnotationBytes) return lost;
  json::Value back;
  const std::string_view version = json::findText(&object, "apiVersion");
  if (conversion::convertDgdr(converted, version, back, object.GetAllocator())) return lost;
  for (const std::string_view part : {"spec", "status"}) {
    if (const json::Value* before = json::find(object, part))
      addMissing(*before, json::find(back, part), field::Path{field::Members{part}}, lost);
  }
  return lost;
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
    for (const field::Path& lost : lostFields(manifest.object, converted)) {
      std::cerr << program.name << ": "
                << field::oneLine(fmt::format("{}: {}: {} is lost: the annotations of {} that would keep it "
                                              "exceed {} bytes",
                                              manifest.file == "-" ? "stdin" : manifest.file, manifest.name(),
                                              lost.text(), options.to, k8s::kMaxAnnotationBytes))
                << '\n';
      refused = true;
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
