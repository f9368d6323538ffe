#include "common/admission/validate.h"

#include <algorithm>
#include <array>

#include "common/admission/dry_render.h"
#include "common/admission/kinds.h"
#include "common/admission/source_path.h"
#include "common/api/kinds.h"
#include "common/defaults/record.h"
#include "common/field/check.h"
#include "common/field/ratchet.h"
#include "common/k8s/object.h"
#include "common/render/object.h"
#include "common/render/size.h"
#include "common/rules/graph/locks.h"
#include "common/schema/registry.h"
#include "common/schema/validator.h"

namespace dynamo::admission {
namespace {

using field::FieldError;
using field::Findings;
using field::Path;
using field::PathView;
using json::Value;

std::vector<FieldError> typeErrors(const Value& object) {
  const schema::Node* node =
      schema::find(json::findText(&object, "apiVersion"), json::findText(&object, "kind"));
  return node == nullptr ? std::vector<FieldError>{} : schema::wrongTypes(*node, object);
}

/// "spec.services[a]", the part of a path that names a component; empty when it names none.
PathView componentOf(PathView path) {
  return serviceIn(path) ? path.before(path.rest().rest().rest()) : PathView{};
}

/// The component whose main container's resources `path` speaks of: they are given in two places. Empty when
/// it speaks of something else.
PathView componentOfResources(PathView path) {
  static const Path kOfDeployment{"spec"};
  static const Path kServices{"spec.services"};
  static const Path kResources{"resources"};
  static const Path kOfMain{"extraPodSpec.mainContainer.resources"};
  const PathView component = path.isWithin(kServices) ? componentOf(path) : kOfDeployment.view();
  if (component.empty() || !path.isWithin(component)) return {};
  const PathView below = path.below(component);
  return below.isWithin(kResources) || below.isWithin(kOfMain) ? component : PathView{};
}

/// Whether both speak of one thing: one field lies in the other, or both are about a component's resources.
bool related(PathView a, PathView b) {
  if (a.isWithin(b) || b.isWithin(a)) return true;
  const PathView component = componentOfResources(a);
  return !component.empty() && component == componentOfResources(b);
}

/// Whether rendering's `error` says what `known` says, or only follows from it.
bool repeats(const FieldError& known, const FieldError& error) {
  static const Path kFramework{"spec.backendFramework"};
  static const Path kName{"metadata.name"};
  static const Path kSpec{"spec"};
  if (related(known.field, error.field)) return true;
  const PathView component = componentOf(error.field);
  // A name that two places share is told of one of them.
  if (known.type == field::ErrorType::Duplicate && error.type == known.type &&
      known.badValue == error.badValue && componentOf(known.field) == component) {
    return true;
  }
  // Another framework does not fit the command: that the framework was changed is the mistake.
  if (known.field == kFramework && error.rule == "render.framework") return true;
  // Labels and names are made of it.
  return known.field == kName && (error.field == kSpec || error.field.view() == component);
}

/// What the webhook wrote into the component that `path` names: a service, or the component deployment.
const Value* recordOf(const defaults::Record& record, PathView path) {
  const auto service = serviceIn(path);
  return service ? record.service(*service) : record.component();
}

bool hasRule(const auto& findings, std::string_view rule) {
  return std::any_of(findings.begin(), findings.end(), [&](const auto& each) { return each.rule == rule; });
}

/// A claim of a default volume's name is told where it is mounted: the volume is not the user's.
void tellOfDefaultVolumes(const Value& object, Findings& findings) {
  constexpr std::string_view kTaken = "service.volume-taken";
  if (!hasRule(findings.errors, kTaken)) return;
  const defaults::Record record{&object};
  for (FieldError& error : findings.errors) {
    const Value* volume = error.rule == kTaken ? field::valueAt(object, error.field) : nullptr;
    if (volume == nullptr) continue;
    const std::string_view name = json::text(*volume);
    const Value* written = json::find(json::find(recordOf(record, error.field), "extraPodSpec"), "volumes");
    if (written == nullptr || (written->IsObject() && json::find(*written, name) == nullptr)) continue;
    const PathView component = componentOf(error.field);
    const Path mounts = (component.empty() ? Path{"spec"} : Path{component}) / "volumeMounts";
    const Value* list = field::valueAt(object, mounts);
    if (list == nullptr || !list->IsArray()) continue;
    for (rapidjson::SizeType i = list->Size(); i > 0; --i) {
      if (json::findText(&(*list)[i - 1], "name") != name) continue;
      error.field = mounts[i - 1] / "name";
      error.detail = "is the name of a default volume of the component";
    }
    std::erase_if(findings.warnings, [&](const field::Warning& warning) {
      return warning.rule == "service.mount-reserved" && warning.field == error.field;
    });
  }
}

/// Defaults are not the user's: nothing is said of a probe that the webhook wrote.
void dropSaidOfDefaults(const Value& object, Findings& findings) {
  constexpr std::string_view kDropped = "service.probes-dropped";
  if (!hasRule(findings.warnings, kDropped)) return;
  const defaults::Record record{&object};
  std::erase_if(findings.warnings, [&](const field::Warning& warning) {
    if (warning.rule != kDropped) return false;
    const Value* trie = recordOf(record, warning.field);
    const Value* main = json::findObject(json::findObject(trie, "extraPodSpec"), "mainContainer");
    return json::find(main, warning.field.view().back().name) != nullptr;
  });
}

/// What of rendering is too much in a graph. What was before and has not grown is a warning.
Findings sizeOf(const Value& object, const Value* old) {
  Findings findings;
  for (FieldError& error : render::tooLarge(object)) {
    if (old == nullptr || render::grown(error.field, object, *old)) {
      findings.errors.push_back(std::move(error));
    } else {
      findings.warn(error.field, error.body(), error.rule);
    }
  }
  return findings;
}

bool saysNothing(const Findings& findings) {
  return findings.errors.empty() && findings.warnings.empty();
}

/// What the rules have said, rendering need not say again.
void append(Findings& all, Findings&& more) {
  const std::size_t before = all.errors.size();
  for (FieldError& error : more.errors) {
    const bool known =
        std::any_of(all.errors.begin(), all.errors.begin() + static_cast<std::ptrdiff_t>(before),
                    [&](const FieldError& e) { return repeats(e, error); });
    if (!known) all.errors.push_back(std::move(error));
  }
  // Two warnings of one field doubt the same in other words: its name, its amount, its path.
  const auto told = all.warnings.size();
  for (field::Warning& warning : more.warnings) {
    const bool known =
        std::any_of(all.warnings.begin(), all.warnings.begin() + static_cast<std::ptrdiff_t>(told),
                    [&](const field::Warning& w) { return w.field == warning.field; });
    if (!known) all.warnings.push_back(std::move(warning));
  }
}

}  // namespace

Settings::Settings(config::OperatorConfig configuration, std::string_view operatorAccount,
                   render::Facts known)
    : config(std::move(configuration)),
      defaults(config.defaults.get()),
      facts(std::move(known)),
      policy(rules::graphPolicy(config, operatorAccount,
                                {facts.api(render::Api::Grove), facts.api(render::Api::LeaderWorkerSet),
                                 facts.api(render::Api::InferencePool)})) {}

std::shared_ptr<const Settings> usualSettings() {
  static const auto kSettings = std::make_shared<const Settings>(config::defaultConfig(), "");
  return kSettings;
}

Findings wrongTypes(const Value& object, const Value* old) {
  Findings now;
  now.errors = typeErrors(object);
  if (now.errors.empty() || old == nullptr) return now;
  Findings before;
  before.errors = typeErrors(*old);
  return field::ratchet(std::move(now), before, object, *old);
}

Findings validate(const ObjectRequest& request, const Settings& settings) {
  const Kind* kind = findKind(request.kind);
  if (kind == nullptr || kind->judge == nullptr) return {};
  if (request.old != nullptr && k8s::isBeingDeleted(request.object)) return {};
  const rules::Request ofRules{request.object, request.old, request.username, settings.policy};
  Findings findings;
  if (request.kind == api::kDynamoGraphDeployment) {
    findings = sizeOf(request.object, request.old);
    // Looking at more of such a graph is what the bound is for; locks are not about the graph.
    if (!findings.errors.empty() || (!saysNothing(findings) && !render::judgeable(request.object))) {
      if (request.old != nullptr) findings.add(rules::validateDgdLocks(ofRules));
      findings.sort();
      return findings;
    }
  }
  const bool small = saysNothing(findings);
  Findings types = wrongTypes(request.object, request.old);
  const bool typed = saysNothing(types);
  findings.add(std::move(types));
  findings.add(kind->judge(ofRules));
  tellOfDefaultVolumes(request.object, findings);
  dropSaidOfDefaults(request.object, findings);
  // Rendering reads every field: not before the types are right. Nobody reads more of what is wrong than
  // this.
  if (kind->dryRender != nullptr && small && typed && findings.errors.size() < field::Report::kMostOfRule) {
    Findings rendered = kind->dryRender(request.object, settings.context());
    if (request.old != nullptr && !rendered.errors.empty()) {
      const Findings before = kind->dryRender(*request.old, settings.context());
      rendered = field::ratchet(std::move(rendered), before, request.object, *request.old);
    }
    warnOfSetsOfNone(request.object, settings.context(), rendered);
    append(findings, std::move(rendered));
  }
  findings.sort();
  return findings;
}

}  // namespace dynamo::admission
