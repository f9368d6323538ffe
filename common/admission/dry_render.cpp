#include "common/admission/dry_render.h"

#include <fmt/format.h>

#include <algorithm>

#include "common/admission/never_starts.h"
#include "common/admission/source_path.h"
#include "common/api/dynamo.h"
#include "common/api/kinds.h"
#include "common/defaults/record.h"
#include "common/model/graph.h"
#include "common/model/pathway.h"
#include "common/render/children.h"
#include "common/render/deployment_config.h"
#include "common/render/object.h"
#include "common/rules/pod/pod.h"
#include "common/rules/pod/rules.h"

namespace dynamo::admission {
namespace {

using field::Findings;
using field::Path;
using field::PathView;
using json::Value;

Value* memberOf(Value* object, std::string_view name) {
  return object == nullptr ? nullptr : json::find(*object, name);
}

/// The pod templates of `child` that run `service`. A PodCliqueSet has none as such: they are made of its
/// parts, which it loses.
std::vector<const Value*> templatesOf(Value& child, std::string_view service, json::Allocator& allocator,
                                      Value& made) {
  std::vector<const Value*> found;
  const auto add = [&](const Value* holder, std::string_view name) {
    if (const Value* podTemplate = json::findObject(holder, name)) found.push_back(podTemplate);
  };
  const std::string_view kind = json::findText(&child, "kind");
  const Value* spec = render::specOf(child);
  if (kind == "Deployment" || kind == "Job") add(spec, "template");
  if (kind == "LeaderWorkerSet") {
    const Value* body = json::findObject(spec, "leaderWorkerTemplate");
    add(body, "leaderTemplate");
    add(body, "workerTemplate");
  }
  if (kind != "PodCliqueSet") return found;
  const json::Maker make{allocator};
  made = make.list();
  Value* cliques = memberOf(memberOf(memberOf(&child, "spec"), "template"), "cliques");
  if (cliques == nullptr || !cliques->IsArray()) return found;
  for (Value& clique : cliques->GetArray()) {
    Value* podSpec = memberOf(memberOf(&clique, "spec"), "podSpec");
    if (podSpec == nullptr ||
        json::findText(json::findObject(&clique, "labels"), api::label::kComponent) != service)
      continue;
    Value metadata = make.object();
    for (const std::string_view field : {"labels", "annotations"}) {
      if (Value* given = memberOf(&clique, field)) make.set(metadata, field, std::move(*given));
    }
    make.push(made, make.object("metadata", std::move(metadata), "spec", std::move(*podSpec)));
  }
  for (const Value& podTemplate : made.GetArray()) found.push_back(&podTemplate);
  return found;
}

// As long as a real one: lengths of names are judged.
constexpr std::string_view kAnyHash = "0a1b2c3d";

render::Context trialOf(const render::Context& context, std::optional<bool> grove) {
  return {context.config, context.defaults, context.facts, grove, kAnyHash};
}

/// Nobody reads more, and each is looked for in the user's lists.
constexpr std::size_t kMostFindings = 100;

bool sameFinding(const field::FieldError& a, const field::FieldError& b) {
  return a.field == b.field && a.rule == b.rule && a.detail == b.detail;
}

const Value* mainContainerIn(const Value* component) {
  return json::findObject(json::findObject(component, "extraPodSpec"), "mainContainer");
}

/// Whether the user has given `probe` of the main container, not the webhook.
bool isUsers(std::string_view probe, const Source& source) {
  if (json::find(mainContainerIn(source.component), probe) == nullptr) return false;
  const defaults::Record record{source.object};
  const auto service = serviceIn(source.path);
  const Value* written = service ? record.service(*service) : record.component();
  return json::find(mainContainerIn(written), probe) == nullptr;
}

/// That a default probe lacks its port is told at the user's ports. `rendered` is the port's path in the
/// template.
void tellOfDefaultProbe(const Source& source, const Value& podTemplate, const Path& rendered,
                        field::Warning& warning) {
  const Path main = source.path / "extraPodSpec.mainContainer";
  if (warning.rule != rules::pod::id::kProbePortUnknown || !warning.field.isWithin(main)) return;
  const PathView below = warning.field.view().below(main);
  if (below.empty() || isUsers(below.front().name, source)) return;
  const Value* port = field::valueAt(podTemplate, rendered);
  if (port == nullptr) return;
  warning.field = main / "ports";
  warning.text = fmt::format("lacks {}, which the default probes use", field::showValue(*port));
}

void checkTemplates(Value& child, std::string_view service, const Source& source, json::Allocator& allocator,
                    Findings& findings) {
  const bool job = json::findText(&child, "kind") == "Job";
  const auto workload = job ? rules::pod::Workload::Job : rules::pod::Workload::Service;
  Value made;
  for (const Value* each : templatesOf(child, service, allocator, made)) {
    Findings found;
    rules::pod::checkPodTemplate(*each, {}, workload, found);
    refuseWhatNeverStarts(*each, {}, found);
    for (field::FieldError& error : found.errors) {
      if (findings.errors.size() >= kMostFindings) return;
      error.field = sourcePath(source, *each, error.field);
      const bool known = std::any_of(findings.errors.begin(), findings.errors.end(),
                                     [&](const auto& other) { return sameFinding(other, error); });
      if (!known) findings.errors.push_back(std::move(error));
    }
    for (field::Warning& warning : found.warnings) {
      if (findings.warnings.size() >= kMostFindings) break;
      const Path rendered = std::move(warning.field);
      warning.field = sourcePath(source, *each, rendered);
      tellOfDefaultProbe(source, *each, rendered, warning);
      const bool known = std::any_of(
          findings.warnings.begin(), findings.warnings.end(),
          [&](const auto& other) { return other.field == warning.field && other.text == warning.text; });
      if (!known) findings.warnings.push_back(std::move(warning));
    }
  }
}

std::vector<std::string> servicesOf(const Value& graph) {
  std::vector<std::string> names;
  const Value* services = json::findObject(render::specOf(graph), "services");
  if (services == nullptr) return names;
  for (const auto& service : services->GetObject()) names.emplace_back(json::text(service.name));
  return names;
}

/// What DYN_DEPLOYMENT_CONFIG says of the service's resources; `config` keeps it.
void readConfigured(std::string_view service, json::Document& config, Source& source) {
  const auto found = render::deploymentConfigSource(json::find(source.component, "envs"),
                                                    field::At{source.path, "envs"}, source.graphEnvs);
  if (!found || !render::readDeploymentConfig(found->text, config) ||
      !render::deploymentConfigProblem(config, service).empty()) {
    return;
  }
  source.configured = render::deploymentConfigResources(config, service);
  source.configPath = found->path;
}

Findings renderOnce(const Value& graph, const render::Context& context) {
  Findings findings;
  render::Children children = render::renderAll(graph, context, {});
  findings.errors = std::move(children.errors);
  const Value* services = json::findObject(render::specOf(graph), "services");
  const Value* envs = json::find(render::specOf(graph), "envs");
  for (const std::string& service : servicesOf(graph)) {
    Source source{json::find(services, service), Path{"spec.services"}.key(service), envs};
    source.object = &graph;
    json::Document config;
    if (!render::usesGrove(graph, context)) readConfigured(service, config, source);
    for (render::Child& child : children.items) {
      const bool whole = child.key.kind == "PodCliqueSet";
      if (whole || child.service == service) {
        checkTemplates(child.object, service, source, children.memory(), findings);
      }
    }
  }
  return findings;
}

/// nullopt: nobody has said what is installed.
std::optional<bool> groveFor(const Value& graph, const render::Context& context) {
  if (model::refusesGrove(render::annotationsOf(graph))) return false;
  return model::groveEnabled(context.config.orchestrators, context.facts.api(render::Api::Grove));
}

bool isSetOfNone(const Value* component) {
  const Value* replicas = json::find(component, "replicas");
  return replicas != nullptr && replicas->IsInt64() && replicas->GetInt64() == 0 &&
         model::nodeCount(*component) > 1;
}

}  // namespace

void warnOfSetsOfNone(const Value& object, const render::Context& context, Findings& findings) {
  const bool isGraph = json::findText(&object, "kind") == api::kDynamoGraphDeployment;
  const Value* spec = render::specOf(object);
  if (findings.errors.empty() || !render::lwsEnabled(context)) return;
  std::vector<Path> unstarted;
  if (!isGraph) {
    if (isSetOfNone(spec)) unstarted.push_back(Path{"spec"});
  } else if (groveFor(object, context) == false) {
    const Value* services = json::findObject(spec, "services");
    for (const std::string& service : servicesOf(object)) {
      if (isSetOfNone(json::find(services, service))) unstarted.push_back(Path{"spec.services"}.key(service));
    }
  }
  const auto unused = [&](const field::FieldError& error) {
    return std::any_of(unstarted.begin(), unstarted.end(),
                       [&](const Path& component) { return error.field.isWithin(component); });
  };
  for (const field::FieldError& error : findings.errors) {
    if (unused(error)) findings.warn(error.field, "once it has replicas: " + error.body(), error.rule);
  }
  std::erase_if(findings.errors, unused);
}

Findings dryRenderGraph(const Value& graph, const render::Context& context) {
  const std::optional<bool> grove = groveFor(graph, context);
  const auto on = [&](bool enabled) { return renderOnce(graph, trialOf(context, enabled)); };
  if (grove) return on(*grove);
  // Nobody has said what is installed: what works on one pathway may be meant for it.
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
  Findings findings;
  render::Children children = render::renderComponentDeployment(deployment, trialOf(context, context.grove));
  findings.errors = std::move(children.errors);
  Source source{render::specOf(deployment), Path{"spec"}, nullptr};
  source.object = &deployment;
  for (render::Child& child : children.items) {
    checkTemplates(child.object, child.service, source, children.memory(), findings);
  }
  return findings;
}

Findings dryRenderCheckpoint(const Value& checkpoint, const render::Context& context) {
  Findings findings;
  render::Children children = render::renderCheckpoint(checkpoint, context);
  findings.errors = std::move(children.errors);
  const Value* given =
      json::findObject(json::findObject(render::specOf(checkpoint), "job"), "podTemplateSpec");
  if (given == nullptr || children.items.empty()) return findings;
  // The Job's pod: it has volumes and probes that the template need not have, and loses others.
  const Value& made = *json::find(render::specOf(children.items.front().object), "template");
  static const Path kPodTemplate{"spec.job.podTemplateSpec"};
  Findings found;
  rules::pod::checkPodTemplate(made, {}, rules::pod::Workload::Job, found);
  refuseWhatNeverStarts(made, {}, found);
  for (field::FieldError& error : found.errors) {
    Path field = checkpointSourcePath(*given, made, error.field);
    const bool appended = field != kPodTemplate / error.field;
    if (appended && error.rule == rules::pod::id::kMountPath)
      error.detail += ": the operator mounts something there";
    error.field = std::move(field);
    findings.error(std::move(error));
  }
  for (field::Warning& warning : found.warnings) {
    warning.field = checkpointSourcePath(*given, made, warning.field);
    findings.warnings.push_back(std::move(warning));
  }
  return findings;
}

}  // namespace dynamo::admission
