#include "common/admission/validate.h"

#include <algorithm>
#include <array>

#include "common/admission/dry_render.h"
#include "common/api/kinds.h"
#include "common/defaults/record.h"
#include "common/field/check.h"
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
using json::Value;

using Rules = Findings (*)(const rules::Request&);
using DryRender = Findings (*)(const Value&, const render::Context&);

struct Kind {
  std::string_view kind;
  Rules rules;
  DryRender dryRender;  ///< nullptr: the kind has no children that could be refused
};

constexpr std::array<Kind, 5> kKinds = {{
    {api::kDynamoGraphDeployment, rules::validateDgd, dryRenderGraph},
    {api::kDynamoComponentDeployment, rules::validateDcd, dryRenderComponentDeployment},
    {api::kDynamoGraphDeploymentScalingAdapter, rules::validateScalingAdapter, nullptr},
    {api::kDynamoModel, rules::validateModel, nullptr},
    {api::kDynamoCheckpoint, rules::validateCheckpoint, dryRenderCheckpoint},
}};

const Kind* kindOf(std::string_view name) {
  const auto found =
      std::find_if(kKinds.begin(), kKinds.end(), [&](const Kind& k) { return k.kind == name; });
  return found == kKinds.end() ? nullptr : &*found;
}

std::vector<FieldError> typeErrors(const Value& object) {
  const schema::Node* node =
      schema::find(json::findText(&object, "apiVersion"), json::findText(&object, "kind"));
  return node == nullptr ? std::vector<FieldError>{} : schema::wrongTypes(*node, object);
}

constexpr std::string_view kServices = "spec.services[";

/// "spec.services[a]", the part of a path that names a component; empty when it names none.
std::string_view componentOf(std::string_view path) {
  if (!path.starts_with(kServices)) return {};
  const std::size_t end = std::min(path.find("].", kServices.size()), path.rfind(']'));
  return end == std::string_view::npos ? std::string_view{} : path.substr(0, end + 1);
}

bool within(std::string_view path, std::string_view parent) {
  return path.starts_with(parent) &&
         (path.size() == parent.size() || path[parent.size()] == '.' || path[parent.size()] == '[');
}

/// The component whose main container's resources `path` speaks of: they are given in two places. Empty when
/// it speaks of something else.
std::string_view componentOfResources(std::string_view path) {
  constexpr std::string_view kOfDeployment = "spec";
  const std::string_view component = path.starts_with(kServices) ? componentOf(path) : kOfDeployment;
  if (component.empty() || !within(path, component)) return {};
  const std::string_view below = path.substr(component.size());
  const bool named = within(below, ".resources") || within(below, ".extraPodSpec.mainContainer.resources");
  return named ? component : std::string_view{};
}

/// Whether both speak of one thing: one field lies in the other, or both are about a component's resources.
bool related(std::string_view a, std::string_view b) {
  if (within(a, b) || within(b, a)) return true;
  const std::string_view component = componentOfResources(a);
  return !component.empty() && component == componentOfResources(b);
}

/// Whether rendering's `error` says what `known` says, or only follows from it.
bool repeats(const FieldError& known, const FieldError& error) {
  if (related(known.field, error.field)) return true;
  const std::string_view component = componentOf(error.field);
  // A name that two places share is told of one of them.
  if (known.type == field::ErrorType::Duplicate && error.type == known.type &&
      known.badValue == error.badValue && componentOf(known.field) == component) {
    return true;
  }
  // Another framework does not fit the command: that the framework was changed is the mistake.
  if (known.field == "spec.backendFramework" && error.rule == "render.framework") return true;
  // Labels and names are made of it.
  return known.field == "metadata.name" && (error.field == "spec" || error.field == component);
}

/// What the webhook wrote into a component, whose path is empty for a component deployment.
const Value* recordOf(const defaults::Record& record, std::string_view component) {
  if (component.empty()) return record.component();
  const std::size_t start = kServices.size();
  return record.service(component.substr(start, component.size() - start - 1));
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
    const std::string_view component = componentOf(error.field);
    const Value* written = json::find(json::find(recordOf(record, component), "extraPodSpec"), "volumes");
    if (written == nullptr || (written->IsObject() && json::find(*written, name) == nullptr)) continue;
    const std::string mounts = std::string{component.empty() ? "spec" : component} + ".volumeMounts";
    const Value* list = field::valueAt(object, mounts);
    if (list == nullptr || !list->IsArray()) continue;
    for (rapidjson::SizeType i = list->Size(); i > 0; --i) {
      if (json::findText(&(*list)[i - 1], "name") != name) continue;
      error.field = mounts + '[' + std::to_string(i - 1) + "].name";
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
    const Value* trie = recordOf(record, componentOf(warning.field));
    const Value* main = json::findObject(json::findObject(trie, "extraPodSpec"), "mainContainer");
    const std::string_view path = warning.field;
    return json::find(main, path.substr(path.rfind('.') + 1)) != nullptr;
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

bool hasRules(std::string_view kind) {
  return kindOf(kind) != nullptr;
}

bool isRendered(std::string_view kind) {
  const Kind* found = kindOf(kind);
  return found != nullptr && found->dryRender != nullptr;
}

Findings wrongTypes(const Value& object, const Value* old) {
  Findings now;
  now.errors = typeErrors(object);
  if (now.errors.empty() || old == nullptr) return now;
  Findings before;
  before.errors = typeErrors(*old);
  return field::ratchet(std::move(now), before, object, *old);
}

Findings validate(const Subject& subject, const Settings& settings) {
  const Kind* kind = kindOf(subject.kind);
  if (kind == nullptr || (subject.old != nullptr && k8s::isBeingDeleted(subject.object))) return {};
  const rules::Request request{subject.object, subject.old, subject.username, settings.policy};
  Findings findings;
  if (subject.kind == api::kDynamoGraphDeployment) {
    findings = sizeOf(subject.object, subject.old);
    // Looking at more of such a graph is what the bound is for; locks are not about the graph.
    if (!findings.errors.empty() || (!saysNothing(findings) && !render::judgeable(subject.object))) {
      if (subject.old != nullptr) findings.add(rules::validateDgdLocks(request));
      findings.sort();
      return findings;
    }
  }
  const bool small = saysNothing(findings);
  Findings types = wrongTypes(subject.object, subject.old);
  const bool typed = saysNothing(types);
  findings.add(std::move(types));
  findings.add(kind->rules(request));
  tellOfDefaultVolumes(subject.object, findings);
  dropSaidOfDefaults(subject.object, findings);
  // Rendering reads every field: not before the types are right. Nobody reads more of what is wrong than
  // this.
  if (kind->dryRender != nullptr && small && typed && findings.errors.size() < field::Report::kMostOfRule) {
    Findings rendered = kind->dryRender(subject.object, settings.context());
    if (subject.old != nullptr && !rendered.errors.empty()) {
      const Findings before = kind->dryRender(*subject.old, settings.context());
      rendered = field::ratchet(std::move(rendered), before, subject.object, *subject.old);
    }
    warnOfSetsOfNone(subject.object, settings.context(), rendered);
    append(findings, std::move(rendered));
  }
  findings.sort();
  return findings;
}

}  // namespace dynamo::admission
