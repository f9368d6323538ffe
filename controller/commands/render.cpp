#include "controller/commands/render.h"

#include <fmt/format.h>

#include <iostream>

#include "common/api/kinds.h"
#include "common/config/load.h"
#include "common/conversion/dgdr.h"
#include "common/defaults/apply.h"
#include "common/defaults/dgdr.h"
#include "common/field/finding.h"
#include "common/k8s/object.h"
#include "common/lifecycle/restart.h"
#include "common/model/pathway.h"
#include "common/render/children.h"
#include "common/render/facts.h"
#include "common/render/object.h"
#include "common/schema/defaults.h"
#include "common/schema/registry.h"
#include "common/text/manifests.h"
#include "common/text/yaml_writer.h"
#include "controller/commands/tree.h"

namespace dynamo::controller {
namespace {

using json::Value;

/// Applies the defaults of the API server and the webhook to a manifest.
void admit(Value& object, const RenderOptions& options, const render::Context& context,
           json::Allocator& allocator) {
  if (json::findText(&object, "kind") == api::kDynamoGraphDeploymentRequest) {
    Value stored;
    // Only objects of unknown versions cannot be converted, and they are not rendered.
    if (!conversion::convertDgdr(object, api::kV1beta1, stored, allocator)) object = std::move(stored);
  }
  const auto* node = schema::find(json::findText(&object, "apiVersion"), json::findText(&object, "kind"));
  if (node != nullptr) schema::applySchemaDefaults(*node, object, allocator);
  k8s::ensureNamespace(object, options.namespaceName, allocator);
  defaults::applyComponentDefaults(
      object, nullptr, {context.defaults, context.config, options.operatorVersion, options.namespaceName},
      allocator);
  if (json::findText(&object, "kind") == api::kDynamoGraphDeploymentRequest)
    defaults::defaultDgdr(object, options.operatorVersion, allocator);
}

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
  std::optional<config::OperatorConfig> config = config::loadForCommand(options.configFile, std::cerr);
  if (!config) return 2;
  if (const std::string problem = config::operatorVersionProblem(options.operatorVersion); !problem.empty()) {
    std::cerr << "dynamo-controller: " << problem << '\n';
    return 2;
  }
  model::choosePathway(options.pathway, config->orchestrators);
  render::Facts facts;
  if (!options.factsFile.empty()) {
    if (const std::string error = render::loadFacts(options.factsFile, facts); !error.empty()) {
      std::cerr << "dynamo-controller: " << error << '\n';
      return 2;
    }
  }
  const model::ComponentDefaults defaults{config->defaults.get()};
  const render::Context context{*config, defaults, facts};
  text::Manifests manifests = text::readManifests(options.files);
  for (const std::string& error : manifests.errors) std::cerr << "dynamo-controller: " << error << '\n';
  bool good = true;
  for (text::Manifest& manifest : manifests.objects) {
    auto& allocator = manifest.object.GetAllocator();
    admit(manifest.object, options, context, allocator);
    if (!hasChildren(manifest.kind())) continue;
    const render::Children children = childrenOf(manifest.object, context);
    print(manifest.object, children, options.output);
    for (const field::FieldError& error : children.errors) {
      const std::string line = fmt::format("{} {}: {}", manifest.kind(), manifest.name(), error.message());
      std::cerr << field::oneLine(line) << '\n';
      good = false;
    }
  }
  if (!manifests.errors.empty() || !std::cout) return 2;
  return good ? 0 : 1;
}

}  // namespace dynamo::controller
