#include "common/admission/implied.h"

#include <algorithm>
#include <array>
#include <set>

#include "common/model/graph.h"
#include "common/render/origin.h"

namespace dynamo::admission {
namespace {

using field::FieldError;
using field::Path;
using field::PathView;
using json::Value;

using Where = Implication::Where;

constexpr std::array kImplications = {
    // Pods contain the names of the graph and the service in labels, ServiceAccounts and ConfigMaps.
    Implication{"dgd.name-length", "pod.label", Where::Operator},
    Implication{"dgd.service-name", "pod.name-field", Where::Operator},
    Implication{"dgd.service-name", "pod.object-name", Where::Operator},
    Implication{"dcd.graph-name-length", "pod.label", Where::Operator},
    Implication{"dcd.name-length", "pod.label", Where::Operator},
    Implication{"dcd.service-name", "pod.label", Where::Operator},
    // The graph of a component deployment may come from a label.
    Implication{"service.labels", "pod.label", Where::SameValue},
    // The container's command is still that of the old framework.
    Implication{"dgd.framework-immutable", "render.framework", Where::Object},
    Implication{"dcd.framework-immutable", "render.framework", Where::Object},
    Implication{"service.checkpoint-disabled", "render.checkpoint", Where::Component},
    Implication{"service.checkpoint-source", "render.checkpoint", Where::Component},
    Implication{"checkpoint.spec-required", "render.checkpoint-container", Where::Object},
    Implication{"service.request-limit", "pod.resource-limit", Where::Resources},
    Implication{"service.request-limit", "pod.hugepages", Where::Resources},
    Implication{"service.hugepages", "pod.hugepages", Where::Resources},
    Implication{"service.resource-name", "pod.resource-name", Where::Resources},
    Implication{"service.container-name", "pod.container-unique", Where::SameValue},
    Implication{"service.volume-taken", "pod.volume-unique", Where::SameValue},
};

const Path kDeployment{"spec"};

/// The path of the component that contains `path`: "spec.services[a]" in a graph, "spec" in a component
/// deployment.
PathView componentOf(PathView path) {
  if (model::serviceIn(path)) return path.before(path.rest().rest().rest());
  return path.isWithin(kDeployment) ? kDeployment.view() : PathView{};
}

bool isInResources(PathView path) {
  static const Path kOwn{"resources"};
  static const Path kOfMain{"extraPodSpec.mainContainer.resources"};
  const PathView component = componentOf(path);
  if (component.empty()) return false;
  const PathView below = path.below(component);
  return below.isWithin(kOwn) || below.isWithin(kOfMain);
}

/// Whether the operator wrote the value that an error at `path` is about. Errors about generated values have
/// the path of the component, and errors about defaults the path of the default.
bool isWrittenByOperator(PathView path, const Value& object) {
  return path == componentOf(path) || field::valueAt(object, path) == nullptr ||
         render::originOf(object, path).source != render::Origin::Source::User;
}

bool holds(Where where, const FieldError& rendered, const FieldError& known, const Value& object) {
  const bool sameComponent = componentOf(rendered.field) == componentOf(known.field);
  switch (where) {
    case Where::Object:
      return true;
    case Where::Component:
      return sameComponent;
    case Where::Resources:
      return sameComponent && isInResources(rendered.field);
    case Where::SameValue:
      return sameComponent && rendered.badValue == known.badValue;
    case Where::Operator:
      return isWrittenByOperator(rendered.field, object);
  }
  return false;
}

/// Rules about objects that must have one of several members.
constexpr std::array<std::string_view, 4> kOneOfMembers = {"pod.handler", "pod.env-from", "pod.env-source",
                                                           "render.epp-config"};

}  // namespace

std::span<const Implication> implications() {
  return kImplications;
}

bool isImplied(const FieldError& rendered, const FieldError& known, const Value& object) {
  if (rendered.field == known.field) return true;
  return std::any_of(kImplications.begin(), kImplications.end(), [&](const Implication& each) {
    return each.rule == known.rule && each.rendered == rendered.rule &&
           holds(each.where, rendered, known, object);
  });
}

void dropFollowing(field::Findings& findings) {
  std::set<Path> typed;
  std::set<Path> missing;
  for (const FieldError& error : findings.errors) {
    if (error.type == field::ErrorType::TypeInvalid) typed.insert(error.field);
    if (error.type == field::ErrorType::Required) missing.insert(error.field);
  }
  const auto isAround = [](const std::set<Path>& fields, const Path& field) {
    for (PathView rest = field; !rest.empty(); rest = rest.rest()) {
      if (fields.contains(Path{field.view().before(rest)})) return true;
    }
    return false;
  };
  const auto isTyped = [&](const Path& field) { return typed.contains(field) || isAround(typed, field); };
  // An object that must have one of several members has one, of a wrong type.
  const auto hasTyped = [&](const FieldError& error) {
    return std::find(kOneOfMembers.begin(), kOneOfMembers.end(), error.rule) != kOneOfMembers.end() &&
           std::any_of(typed.begin(), typed.end(),
                       [&](const Path& each) { return PathView{each}.isWithin(error.field); });
  };
  if (!missing.empty()) {
    std::erase_if(findings.errors, [&](const FieldError& error) {
      return error.type == field::ErrorType::Required &&
             (isTyped(error.field) || isAround(missing, error.field) || hasTyped(error));
    });
  }
  if (!typed.empty()) {
    std::erase_if(findings.warnings, [&](const field::Warning& warning) { return isTyped(warning.field); });
  }
}

}  // namespace dynamo::admission
