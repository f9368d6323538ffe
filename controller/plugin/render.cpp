#include "controller/plugin/render.h"

#include <fmt/format.h>

#include <iostream>
#include <string_view>
#include <utility>

#include "common/api/kinds.h"
#include "common/commands/manifest_review.h"
#include "common/commands/report.h"
#include "common/field/finding.h"
#include "common/lifecycle/restart.h"
#include "common/render/children.h"
#include "common/render/object.h"
#include "common/text/manifests.h"
#include "common/text/yaml_writer.h"
#include "controller/plugin/program.h"
#include "controller/plugin/tree.h"

namespace dynamo::plugin {
namespace {

using json::Value;

bool hasChildren(std::string_view kind) {
  return kind == api::kDynamoGraphDeployment || kind == api::kDynamoComponentDeployment ||
         kind == api::kDynamoCheckpoint || kind == api::kDynamoGraphDeploymentRequest;
}

render::Children childrenOf(const Value& object, const render::Context& context) {
  const std::string_view kind = json::findText(&object, "kind");
  if (kind == api::kDynamoGraphDeployment) {
    return render::renderAll(object, context,
                             {.restartAnnotations = lifecycle::storedRestartAnnotations(object)});
  }
  if (kind == api::kDynamoComponentDeployment) return render::renderComponentDeployment(object, context);
  if (kind == api::kDynamoCheckpoint) return render::renderCheckpoint(object, context);
  if (kind == api::kDynamoGraphDeploymentRequest) return render::renderProfiling(object, context);
  return {};
}

void print(const Value& root, const render::Children& children, const std::string& output) {
  if (output == "tree") {
    std::cout << toTree(root, children);
  } else if (output == "json") {
    json::Document list;
    auto& allocator = list.GetAllocator();
    const json::Maker make{allocator};
    Value items = make.list();
    for (const render::Child& child : children.items) make.push(items, child.object);
    std::cout << json::dump(make.object("apiVersion", "v1", "kind", "List", "items", std::move(items)))
              << '\n';
  } else {
    for (const render::Child& child : children.items) std::cout << "---\n" << text::toYaml(child.object);
  }
}

}  // namespace

int runRender(const RenderOptions& options) {
  const auto settings = commands::loadSettings(options, config::Purpose::Offline, kProgram.name, std::cerr);
  if (!settings) return 2;
  text::Manifests manifests = text::readManifests(options.files);
  for (const std::string& error : manifests.errors) std::cerr << kProgram.name << ": " << error << '\n';
  bool good = true;
  for (text::Manifest& manifest : manifests.objects) {
    commands::ManifestReview review = commands::reviewManifest(manifest, options.namespaceName, *settings);
    if (commands::reportErrors(review.findings, std::cerr)) {
      good = false;
      continue;
    }
    Value& object = review.admitted;
    if (!hasChildren(json::findText(&object, "kind"))) continue;
    // The restart of a stored graph stands in its status.
    if (Value* status = json::find(manifest.object, "status"))
      json::set(object, "status", std::move(*status), manifest.object.GetAllocator());
    const render::Children children = childrenOf(object, settings->context());
    print(object, children, options.output);
    for (const field::FieldError& error : children.errors) {
      const std::string line = fmt::format("{} {}: {}", manifest.kind(), manifest.name(), error.message());
      std::cerr << field::oneLine(line) << '\n';
      good = false;
    }
  }
  if (!manifests.errors.empty() || !std::cout) return 2;
  return good ? 0 : 1;
}

}  // namespace dynamo::plugin
