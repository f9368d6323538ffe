#include "common/admission/validate.h"

#include <algorithm>
#include <array>

#include "common/admission/dgdr.h"
#include "common/admission/dry_render.h"
#include "common/admission/implied.h"
#include "common/admission/kinds.h"
#include "common/admission/repair.h"
#include "common/admission/templates.h"
#include "common/api/kinds.h"
#include "common/field/check.h"
#include "common/field/ratchet.h"
#include "common/k8s/object.h"
#include "common/model/graph.h"
#include "common/render/object.h"
#include "common/render/origin.h"
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
  return model::serviceIn(path) ? path.before(path.rest().rest().rest()) : PathView{};
}

bool hasRule(const auto& findings, std::string_view rule) {
  return std::any_of(findings.begin(), findings.end(), [&](const auto& each) { return each.rule == rule; });
}

bool isDefault(const Value& object, PathView field) {
  return render::originOf(object, field).source == render::Origin::Source::Default;
}

/// Reports a claim with the name of a default volume at its mount, because the user did not write the volume.
void reportDefaultVolumesAtMounts(const Value& object, Findings& findings) {
  constexpr std::string_view kTaken = "service.volume-taken";
  if (!hasRule(findings.errors, kTaken)) return;
  for (FieldError& error : findings.errors) {
    const Value* volume = error.rule == kTaken ? field::valueAt(object, error.field) : nullptr;
    if (volume == nullptr || !isDefault(object, error.field)) continue;
    const std::string_view name = json::text(*volume);
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

/// Drops warnings about probes that the webhook wrote, because they are not the user's.
void dropWarningsAboutDefaults(const Value& object, Findings& findings) {
  constexpr std::string_view kDropped = "service.probes-dropped";
  if (!hasRule(findings.warnings, kDropped)) return;
  std::erase_if(findings.warnings, [&](const field::Warning& warning) {
    return warning.rule == kDropped && isDefault(object, warning.field);
  });
}

/// The parts of a graph that are too large to render. A part that has not grown is a warning.
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

bool empty(const Findings& findings) {
  return findings.errors.empty() && findings.warnings.empty();
}

/// Removes the errors of rendering that repeat errors of the rules.
void dropImplied(std::vector<FieldError>& rendered, const std::vector<FieldError>& known,
                 const Value& object) {
  std::erase_if(rendered, [&](const FieldError& error) {
    return std::any_of(known.begin(), known.end(),
                       [&](const FieldError& other) { return isImplied(error, other, object); });
  });
}

/// Adds the findings of rendering.
void append(Findings& all, Findings&& more) {
  // Two warnings at the same field report the same problem in other words.
  std::erase_if(more.warnings, [&](const field::Warning& warning) {
    return std::any_of(all.warnings.begin(), all.warnings.end(),
                       [&](const field::Warning& told) { return told.field == warning.field; });
  });
  all.add(std::move(more));
}

}  // namespace

Findings wrongTypes(const Value& object, const Value* old) {
  Findings now;
  now.errors = typeErrors(object);
  if (now.errors.empty() || old == nullptr) return now;
  Findings before;
  before.errors = typeErrors(*old);
  return field::ratchet(std::move(now), before, object, *old);
}

Findings judge(const Value& object, const Request& request, const Settings& settings) {
  const Kind* kind = findKind(request.kind);
  if (kind == nullptr) return {};
  if (kind->judge == nullptr) {
    Findings findings = wrongTypes(object, request.old);
    findings.add(validateDgdr({object, request.old, request.clientVersion, settings.dgdr}));
    return findings;
  }
  if (request.old != nullptr && k8s::isBeingDeleted(object)) return {};
  const rules::Write write{object, request.old, request.username, settings.policy};
  Findings findings;
  if (request.kind == api::kDynamoGraphDeployment) {
    findings = sizeOf(object, request.old);
    // The bound exists so that such a graph is not checked further. Locks concern only the change.
    if (!findings.errors.empty() || (!empty(findings) && !render::judgeable(object))) {
      if (request.old != nullptr) findings.add(rules::validateDgdLocks(write));
      findings.sort();
      return findings;
    }
  }
  const bool small = empty(findings);
  Findings types = wrongTypes(object, request.old);
  const bool wellTyped = empty(types);
  findings.add(std::move(types));
  findings.add(kind->judge(write));
  reportDefaultVolumesAtMounts(object, findings);
  dropWarningsAboutDefaults(object, findings);
  // Nobody reads more errors than the limit.
  if (kind->dryRender != nullptr && small && findings.errors.size() < field::Report::kMaxFindingsPerRule) {
    Findings rendered = dryRenderRepaired(*kind, object, settings.context(), wellTyped);
    if (request.old != nullptr && !rendered.errors.empty()) {
      const Findings before = dryRenderRepaired(*kind, *request.old, settings.context());
      rendered = field::ratchet(std::move(rendered), before, object, *request.old);
    }
    // Before errors become warnings, which nothing implies.
    dropImplied(rendered.errors, findings.errors, object);
    warnZeroReplicas(object, settings.context(), rendered);
    append(findings, std::move(rendered));
  }
  dropFollowing(findings);
  tellTemplates(object, findings);
  findings.sort();
  return findings;
}

}  // namespace dynamo::admission
