#include "common/admission/dry_render.h"

#include <fmt/format.h>

#include <algorithm>

#include "common/admission/pod_findings.h"
#include "common/api/kinds.h"
#include "common/lifecycle/restart.h"
#include "common/model/graph.h"
#include "common/model/pathway.h"
#include "common/render/children.h"
#include "common/render/object.h"

namespace dynamo::admission {
namespace {

using field::Findings;
using field::Path;
using json::Value;

// It has the length of a real hash, because the rules check the lengths of names.
constexpr std::string_view kPlaceholderHash = "0a1b2c3d";

render::Context trialOf(const render::Context& context, std::optional<bool> grove) {
  return {context.config, context.defaults, context.facts, grove, kPlaceholderHash};
}

std::vector<std::string> servicesOf(const Value& graph) {
  std::vector<std::string> names;
  const Value* services = json::findObject(render::specOf(graph), "services");
  if (services == nullptr) return names;
  for (const auto& service : services->GetObject()) names.emplace_back(json::text(service.name));
  return names;
}

/// The errors of `render`, and the findings about the pods of the children that it returns.
template <typename Render>
Findings validatePods(const render::Context& context, Render&& render) {
  Findings findings;
  render::Children children = render(context);
  findings.errors = std::move(children.errors);
  checkPods(
      children,
      [&] {
        render::Context recording = context;
        recording.recordOrigins = true;
        return render(recording);
      },
      findings);
  return findings;
}

/// nullopt when it is unknown whether Grove is installed.
std::optional<bool> groveFor(const Value& graph, const render::Context& context) {
  if (model::refusesGrove(render::annotationsOf(graph))) return false;
  return model::groveEnabled(context.config.orchestrators, context.facts.api(render::Api::Grove));
}

bool isMultinodeWithZeroReplicas(const Value* component) {
  const Value* replicas = json::find(component, "replicas");
  return replicas != nullptr && replicas->IsInt64() && replicas->GetInt64() == 0 &&
         model::nodeCount(*component) > 1;
}

}  // namespace

void warnZeroReplicas(const Value& object, const render::Context& context, Findings& findings) {
  const bool isGraph = json::findText(&object, "kind") == api::kDynamoGraphDeployment;
  const Value* spec = render::specOf(object);
  if (findings.errors.empty() || !render::lwsEnabled(context)) return;
  std::vector<Path> unusedComponents;
  if (!isGraph) {
    if (isMultinodeWithZeroReplicas(spec)) unusedComponents.push_back(Path{"spec"});
  } else if (groveFor(object, context) == false) {
    const Value* services = json::findObject(spec, "services");
    for (const std::string& service : servicesOf(object)) {
      if (isMultinodeWithZeroReplicas(json::find(services, service)))
        unusedComponents.push_back(Path{"spec.services"}.key(service));
    }
  }
  const auto unused = [&](const field::FieldError& error) {
    return std::any_of(unusedComponents.begin(), unusedComponents.end(),
                       [&](const Path& component) { return error.field.isWithin(component); });
  };
  for (const field::FieldError& error : findings.errors) {
    if (unused(error)) findings.warn(error.field, "once it has replicas: " + error.body(), error.rule);
  }
  std::erase_if(findings.errors, unused);
}

Findings dryRenderGraph(const Value& graph, const render::Context& context) {
  const std::optional<bool> grove = groveFor(graph, context);
  const render::LifecycleInputs inputs{.restartAnnotations = lifecycle::storedRestartAnnotations(graph)};
  const auto on = [&](bool enabled) {
    return validatePods(trialOf(context, enabled), [&](const render::Context& trial) {
      return render::renderAll(graph, trial, inputs);
    });
  };
  if (grove) return on(*grove);
  // It is unknown whether Grove is installed. An object that works on one of the two pathways is accepted:
  // the cluster may have that pathway.
  Findings withGrove = on(true);
  Findings without = on(false);
  if (!withGrove.errors.empty() && !without.errors.empty()) return withGrove;
  Findings& good = withGrove.errors.empty() ? withGrove : without;
  const Findings& bad = withGrove.errors.empty() ? without : withGrove;
  for (const field::FieldError& error : bad.errors) {
    good.warn(error.field,
              fmt::format("{} Grove: {}", withGrove.errors.empty() ? "without" : "with", error.body()),
              error.rule);
  }
  return std::move(good);
}

Findings dryRenderComponentDeployment(const Value& deployment, const render::Context& context) {
  return validatePods(trialOf(context, context.grove), [&](const render::Context& trial) {
    return render::renderComponentDeployment(deployment, trial);
  });
}

Findings dryRenderCheckpoint(const Value& checkpoint, const render::Context& context) {
  return validatePods(
      context, [&](const render::Context& each) { return render::renderCheckpoint(checkpoint, each); });
}

}  // namespace dynamo::admission
