#include "common/admission/pod_findings.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <list>
#include <span>

#include "common/admission/never_starts.h"
#include "common/render/origin.h"
#include "common/rules/pod/pod.h"
#include "common/rules/pod/rules.h"

namespace dynamo::admission {
namespace {

using field::FieldError;
using field::Findings;
using field::Path;
using field::PathView;
using field::Warning;
using json::Value;
using render::Origin;
using render::Origins;

namespace id = rules::pod::id;

/// More findings do not help a user, and each finding is compared with all others.
constexpr std::size_t kMostFindings = 100;

/// The findings about one pod template.
struct CheckedTemplate {
  std::size_t child;     ///< index in Children::items
  std::size_t position;  ///< index of the template in the child
  const Value* podTemplate;
  Findings findings;
};

/// A rule that requires unique values. It reports the second of two equal items. If the operator wrote the
/// second item, the finding moves to the item of the user.
struct Unique {
  std::string_view rule;
  std::array<std::string_view, 2> lists;  ///< lists of the pod spec; empty: only the item's own list
  std::string_view note;                  ///< added to the detail
};
constexpr std::array kUnique = {
    Unique{id::kContainerUnique, {"initContainers", "containers"}, ""},
    Unique{id::kMountPath, {}, ": the operator mounts something there"},
    Unique{id::kVolumeUnique, {}, ""},
};

/// The path without its last segment.
PathView parentOf(PathView path) {
  PathView rest = path;
  while (!rest.rest().empty()) rest = rest.rest();
  return path.before(rest);
}

/// The field of the user's last item in `list` whose member `name` is `value`; nullopt if there is none.
std::optional<Path> userItemField(const Value& podTemplate, PathView list, std::string_view name,
                                  const Value& value, const Origins& origins) {
  const Value* items = field::valueAt(podTemplate, list);
  if (items == nullptr || !items->IsArray()) return std::nullopt;
  for (rapidjson::SizeType i = items->Size(); i > 0; --i) {
    const Value* other = json::find((*items)[i - 1], name);
    if (other == nullptr || *other != value) continue;
    Origin origin = origins.of(Path{list}[i - 1] / name);
    if (origin.source == Origin::Source::User) return std::move(origin.field);
  }
  return std::nullopt;
}

/// The field of the user's item with the same value as the operator's item at `path`.
std::optional<Path> conflictingUserField(const Unique& unique, const Value& podTemplate, PathView path,
                                         const Origins& origins) {
  const Value* value = field::valueAt(podTemplate, path);
  if (value == nullptr) return std::nullopt;
  const std::string_view name = path.back().name;
  for (const std::string_view list : unique.lists) {
    if (list.empty()) continue;
    if (auto field = userItemField(podTemplate, Path{"spec"} / list, name, *value, origins)) return field;
  }
  if (!unique.lists[0].empty()) return std::nullopt;
  return userItemField(podTemplate, parentOf(parentOf(path)), name, *value, origins);
}

void moveToOrigin(FieldError& error, const Value& podTemplate, const Origins& origins) {
  Origin origin = origins.of(error.field);
  const auto unique = std::find_if(kUnique.begin(), kUnique.end(),
                                   [&](const Unique& each) { return each.rule == error.rule; });
  if (unique != kUnique.end() && origin.source == Origin::Source::Operator) {
    if (auto other = conflictingUserField(*unique, podTemplate, error.field, origins))
      origin.field = std::move(*other);
    error.detail += unique->note;
  }
  error.field = std::move(origin.field);
}

/// A default probe may use a port that the user's container lacks. The warning then moves to the container's
/// `ports`, which the user can change.
void moveToOrigin(Warning& warning, const Value& podTemplate, const Origins& origins) {
  const Path rendered = std::move(warning.field);
  Origin origin = origins.of(rendered);
  const Value* port = field::valueAt(podTemplate, rendered);
  warning.field = std::move(origin.field);
  if (warning.rule != id::kProbePortUnknown || origin.source != Origin::Source::Default || port == nullptr)
    return;
  const PathView inContainer = rendered.view().rest().rest().rest();  // the path below spec.containers[i]
  warning.field = origins.of(rendered.view().before(inContainer)).field / "ports";
  warning.text = fmt::format("lacks {}, which the default probes use", field::showValue(*port));
}

bool same(const FieldError& a, const FieldError& b) {
  return a.field == b.field && a.rule == b.rule && a.detail == b.detail;
}
bool same(const Warning& a, const Warning& b) {
  return a.field == b.field && a.text == b.text;
}

/// Adds each finding once: the pod templates of a component share most of their findings.
template <typename Finding>
void addFindings(std::vector<Finding>& found, const Value& podTemplate, const Origins& origins,
                 std::vector<Finding>& all) {
  for (Finding& finding : found) {
    if (all.size() >= kMostFindings) return;
    moveToOrigin(finding, podTemplate, origins);
    const bool known =
        std::any_of(all.begin(), all.end(), [&](const Finding& other) { return same(other, finding); });
    if (!known) all.push_back(std::move(finding));
  }
}

}  // namespace

void checkPods(render::Children& children, const std::function<render::Children()>& recorded,
               Findings& findings) {
  std::list<Value> made;  // owns the templates of PodCliqueSets
  std::vector<CheckedTemplate> checkedTemplates;
  for (std::size_t i = 0; i < children.items.size(); ++i) {
    Value& child = children.items[i].object;
    const bool job = json::findText(&child, "kind") == "Job";
    const auto workload = job ? rules::pod::Workload::Job : rules::pod::Workload::Service;
    const auto templates = render::podTemplates(child, made.emplace_back(), children.memory());
    for (std::size_t position = 0; position < templates.size(); ++position) {
      const Value& podTemplate = *templates[position];
      Findings found;
      rules::pod::checkPodTemplate(podTemplate, {}, workload, found);
      rejectUnstartable(podTemplate, {}, found);
      if (found.errors.empty() && found.warnings.empty()) continue;
      checkedTemplates.push_back({i, position, &podTemplate, std::move(found)});
    }
  }
  if (checkedTemplates.empty()) return;
  const render::Children origins = recorded();
  for (CheckedTemplate& each : checkedTemplates) {
    const Origins& known = origins.items.at(each.child).origins.at(each.position);
    addFindings(each.findings.errors, *each.podTemplate, known, findings.errors);
    addFindings(each.findings.warnings, *each.podTemplate, known, findings.warnings);
  }
}

}  // namespace dynamo::admission
