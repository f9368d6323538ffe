#include "common/admission/field_advice.h"

#include <fmt/format.h>

#include <algorithm>

#include "common/admission/renamed_fields.h"
#include "common/admission/schema_search.h"
#include "common/api/dynamo.h"
#include "common/api/kinds.h"
#include "common/field/suggest.h"
#include "common/k8s/names.h"
#include "common/schema/registry.h"

namespace dynamo::admission {
namespace {

using field::FieldError;
using field::Path;
using field::PathView;
using json::Value;
using schema::Node;

constexpr std::string_view kUnknownField = "schema.unknown-field";

/// An object of the manifest on the way to a field.
struct Holder {
  const Node* node;
  Path path;
};

std::string_view specName(std::string_view kind, std::string_view version) {
  if (kind == api::kDynamoGraphDeployment) return "graph";
  if (kind == api::kDynamoComponentDeployment) return "service";
  if (kind == api::kDynamoGraphDeploymentScalingAdapter) return "adapter";
  if (kind == api::kDynamoGraphDeploymentRequest) return version == "v1alpha1" ? "alpha" : "request";
  return "spec";
}

/// An unknown field with the objects that contain it.
class Unknown {
 public:
  Unknown(std::string_view kind, std::string_view version, const Value& object, PathView field)
      : kind_{kind},
        version_{version},
        object_{&object},
        field_{field},
        value_{field::valueAt(object, field)} {
    const Node* node = schema::find(fmt::format("{}/{}", api::kGroup, version), kind);
    Path path;
    for (const field::Segment segment : field) {
      if (node == nullptr) break;
      holders_.push_back({node, path});
      node = segment.isIndex() ? node->items : node->member(segment.name);
      path.append(segment);
    }
    complete_ = path == Path{field};
    const std::size_t service = kind == api::kDynamoGraphDeployment       ? 3
                                : kind == api::kDynamoComponentDeployment ? 1
                                                                          : std::string::npos;
    const Path services{"spec.services"};
    const bool inSpec =
        kind == api::kDynamoComponentDeployment ? field.isWithin(Path{"spec"}) : field.isWithin(services);
    service_ = inSpec && service < holders_.size() ? service : std::string::npos;
  }

  std::optional<Advice> advice() const {
    if (!complete_ || holders_.empty() || field_.back().isIndex()) return std::nullopt;
    const std::string_view name = field_.back().name;
    if (auto found = resource(name)) return found;
    if (const RenamedField* row = renamed(name)) return ofRow(*row);
    if (auto found = innerAdvice(name)) return found;
    if (auto found = ofSidecar(name)) return found;
    if (auto found = longer(name)) return found;
    if (auto found = outer(name)) return found;
    if (auto found = deeper(name)) return found;
    if (auto found = otherVersion(name)) return found;
    if (similar(*parent().node, name)) return std::nullopt;
    if (auto found = outerInner(name)) return found;
    return misspelt(name);
  }

 private:
  const Holder& parent() const { return holders_.back(); }
  bool inService() const { return service_ != std::string::npos; }
  /// Whether the parent is a part of a pod or container that has fields of its own, such as a probe, a volume
  /// or a variable. What is elsewhere in the service has nothing to do with it.
  bool inDetail() const {
    const PathView inside =
        inService() ? parent().path.view().below(holders_[service_].path) : parent().path.view();
    for (const field::Segment segment : inside) {
      if (segment.isIndex()) return true;
    }
    if (!inService() || inside.empty()) return false;
    const std::string_view top = inside.front().name;
    if (top == "livenessProbe" || top == "readinessProbe") return true;
    const Path pod{"extraPodSpec"};
    const Path main{"extraPodSpec.mainContainer"};
    return top == "extraPodSpec" && inside != pod.view() && inside != main.view();
  }
  /// The outermost holder whose fields a user may have put too deep: the spec.
  std::size_t first() const { return std::min<std::size_t>(1, holders_.size() - 1); }

  /// "service.resources.limits", the name of the parent in the table.
  std::string parentName() const {
    if (holders_.size() == 1) return "root";
    // The names of the table are those of fields of the spec.
    if (field_.front().name != "spec") return std::string{field_.front().name};
    const std::size_t start = inService() ? service_ : 1;
    std::string name{inService() ? "service" : specName(kind_, version_)};
    for (const field::Segment segment : parent().path.view().below(holders_[start].path)) {
      if (!segment.isIndex()) name += fmt::format(".{}", segment.name);
    }
    return name;
  }

  const RenamedField* renamed(std::string_view name) const {
    if (kind_ == api::kDynamoComponentDeployment && holders_.size() == 2 && field_.front().name == "spec") {
      if (const RenamedField* row = findRenamedField("component", name)) return row;
    }
    return findRenamedField(parentName(), name);
  }

  static bool similar(const Node& node, std::string_view name) {
    std::vector<std::string_view> names;
    names.reserve(node.properties.size());
    for (const schema::Property& property : node.properties) names.push_back(property.name);
    return !field::nearest(name, names).empty();
  }

  static std::string text(Origin origin, std::string_view use) {
    const std::string_view from = origin == Origin::Before  ? ": a field of releases before 0.9"
                                  : origin == Origin::Later ? ": a field of later releases"
                                                            : "";
    if (use.empty()) return fmt::format("unknown field{}, which has no counterpart here: leave it out", from);
    return fmt::format("unknown field{}, use {}", from, use);
  }

  Advice ofRow(const RenamedField& row) const {
    Advice advice{text(row.origin, row.use), {}};
    if (!row.moves) return advice;
    if (row.use.find("[]") != row.use.npos) {
      advice.place = parent().path / row.use.substr(row.use.rfind('.') + 1);
    } else if (row.use.starts_with("spec.")) {
      advice.place = Path{field::Members::dotted(row.use)};
    } else if (inService()) {
      advice.place = holders_[service_].path / field::Members::dotted(row.use);
    }
    return advice;
  }

  /// How a place below `holder` is printed: relative to the service, or from the root.
  std::string printed(const Holder& holder, std::string_view place) const {
    if (!inService() || holder.path.view() == PathView{} || !holder.path.isWithin(holders_[service_].path)) {
      return holder.path.empty() ? std::string{place} : fmt::format("{}.{}", holder.path.text(), place);
    }
    const PathView inside = holder.path.view().below(holders_[service_].path);
    if (inside.empty() && place.find('.') == place.npos) return fmt::format("{} of the service", place);
    return inside.empty() ? std::string{place} : fmt::format("{}.{}", inside.text(), place);
  }

  Advice at(const Holder& holder, const Candidate& found) const {
    Advice advice{text(Origin::Elsewhere, printed(holder, found.place)), {}};
    if (found.place.find('[') == found.place.npos)
      advice.place = holder.path / field::Members::dotted(found.place);
    return advice;
  }

  std::optional<Advice> innerAdvice(std::string_view name) const {
    if (Candidate found = inner(*parent().node, name, value_); found.node != nullptr)
      return at(parent(), found);
    const bool ofGraph = kind_ == api::kDynamoGraphDeployment && parent().path == Path{"spec"};
    if (!ofGraph) return std::nullopt;
    // A field of services in the spec of a graph.
    const Node& service = *parent().node->property("services")->node->additional;
    Candidate found =
        service.property(name) != nullptr ? member({&service, {}}, name) : inner(service, name, value_);
    if (found.node == nullptr) return std::nullopt;
    return Advice{text(Origin::Elsewhere, found.place + " of each service"), {}};
  }

  /// The only field of a detail whose name is longer: `size` for `sizeLimit`, `name` for `claimName`.
  std::optional<Advice> longer(std::string_view name) const {
    constexpr std::size_t kShortest = 4;
    if (name.size() < kShortest || !inDetail()) return std::nullopt;
    std::vector<std::string_view> found;
    for (const schema::Property& property : parent().node->properties) {
      if (property.name.starts_with(name) || k8s::lowerAscii(property.name).ends_with(k8s::lowerAscii(name)))
        found.push_back(property.name);
    }
    if (found.size() != 1) return std::nullopt;
    return Advice{fmt::format("unknown field, did you mean \"{}\"?", found.front()),
                  parent().path / found.front()};
  }

  /// A field of an object around the parent, without the root, that the object lacks.
  std::optional<Advice> outer(std::string_view name) const {
    for (std::size_t i = holders_.size() - 1; i > first(); --i) {
      const Holder& holder = holders_[i - 1];
      if (field::valueAt(*object_, holder.path / name) != nullptr) continue;
      if (holder.node->property(name) != nullptr) return at(holder, member({holder.node, {}}, name));
    }
    return std::nullopt;
  }

  /// A field that only endpoint pickers have, in another service.
  std::optional<Advice> ofPicker(const Holder& holder, const Candidate& found) const {
    constexpr std::string_view kPicker = "eppConfig";
    if (!inService() || holder.path != holders_[service_].path || !found.place.starts_with(kPicker))
      return std::nullopt;
    const Value* type = field::valueAt(*object_, holder.path / "componentType");
    if (type == nullptr || json::text(*type) == api::kEpp) return std::nullopt;
    return Advice{
        fmt::format("unknown field: only services of componentType epp have one, as {}", found.place), {}};
  }

  /// A field of one member of the parent, of an object around it, or of a container.
  std::optional<Advice> deeper(std::string_view name) const {
    const std::size_t outermost = inDetail() ? holders_.size() - 1 : first();
    for (std::size_t i = holders_.size(); i > outermost; --i) {
      const Holder& holder = holders_[i - 1];
      Candidate found = oneDeeper(*holder.node, name);
      if (found.node == nullptr) continue;
      if (auto advice = ofPicker(holder, found)) return advice;
      return at(holder, found);
    }
    for (const std::string_view names : kInner) {
      const Candidate holder = below(*parent().node, names);
      if (holder.node == nullptr) continue;
      Candidate found = oneDeeper(*holder.node, name);
      if (found.node == nullptr) continue;
      found.place = fmt::format("{}.{}", holder.place, found.place);
      return at(parent(), found);
    }
    return std::nullopt;
  }

  /// A field of containers that the frontend beside a worker does not have.
  std::optional<Advice> ofSidecar(std::string_view name) const {
    if (parentName() != "service.frontendSidecar") return std::nullopt;
    const Candidate container = below(*holders_[service_].node, "extraPodSpec.mainContainer");
    if (container.node == nullptr || container.node->property(name) == nullptr) return std::nullopt;
    return Advice{text(Origin::Elsewhere, "extraPodSpec.containers for a container with more settings"), {}};
  }

  /// A field of pods or containers too deep in a service.
  std::optional<Advice> outerInner(std::string_view name) const {
    if (!inService() || holders_.size() - 1 == service_ || name == "name") return std::nullopt;
    const Holder& service = holders_[service_];
    Candidate found = inner(*service.node, name, value_);
    if (found.node == nullptr) return std::nullopt;
    return at(service, found);
  }

  /// A field at the same place of another version of the kind.
  std::optional<Advice> otherVersion(std::string_view name) const {
    for (const schema::KindVersion& other : schema::kindVersions()) {
      if (other.kind != kind_ || other.version == version_) continue;
      const Node* node = schema::find(fmt::format("{}/{}", api::kGroup, other.version), kind_);
      for (const field::Segment segment : parent().path.view()) {
        if (node != nullptr) node = segment.isIndex() ? node->items : node->member(segment.name);
      }
      if (node == nullptr || node->property(name) == nullptr) continue;
      return Advice{fmt::format("unknown field: a field of {0}/{1}, use apiVersion {0}/{1}", api::kGroup,
                                other.version),
                    {}};
    }
    return std::nullopt;
  }

  /// A name of a resource among the fields of a service or of its resources.
  std::optional<Advice> resource(std::string_view name) const {
    if (!inService()) return std::nullopt;
    const std::string in = parentName();
    const bool amounts = in == "service.resources.limits" || in == "service.resources.requests";
    const bool qualified = name.find('/') != name.npos;
    const bool native = name == "ephemeral-storage" || name.starts_with("hugepages-");
    if (in == "service.resources" && parent().node->property("limits")->node->property(name) != nullptr)
      return ofRow({"", name, Origin::Elsewhere, fmt::format("resources.limits.{}", name), true});
    const bool here = in == "service" || in == "service.resources" || amounts;
    if (!here || (!qualified && !native)) return std::nullopt;
    const std::string_view list = in == "service.resources.requests" ? "requests" : "limits";
    const std::string item = fmt::format("resources.{}.", list);
    const Path base = holders_[service_].path / "resources" / list;
    if (name == "nvidia.com/gpu") return Advice{text(Origin::Elsewhere, item + "gpu"), base / "gpu"};
    return Advice{text(Origin::Elsewhere, fmt::format("{}custom[{}]", item, name)),
                  (base / "custom").key(name)};
  }

  /// A misspelt field of pods or containers at a service.
  std::optional<Advice> misspelt(std::string_view name) const {
    for (const std::string_view names : kInner) {
      const Candidate holder = below(*parent().node, names);
      if (holder.node == nullptr) continue;
      std::vector<std::string_view> known;
      known.reserve(holder.node->properties.size());
      for (const schema::Property& property : holder.node->properties) known.push_back(property.name);
      const std::string_view near = field::nearest(name, known);
      if (near.empty()) continue;
      Advice advice = at(parent(), {nullptr, fmt::format("{}.{}", holder.place, near)});
      advice.text = fmt::format("unknown field, did you mean \"{}\"?",
                                printed(parent(), fmt::format("{}.{}", holder.place, near)));
      return advice;
    }
    return std::nullopt;
  }

  std::string_view kind_;
  std::string_view version_;
  const Value* object_;
  PathView field_;
  const Value* value_;
  std::vector<Holder> holders_;  ///< from the root to the parent
  std::size_t service_ = std::string::npos;
  bool complete_ = false;
};

}  // namespace

std::optional<Advice> adviceFor(std::string_view kind, std::string_view version, const Value& object,
                                PathView unknown) {
  return Unknown{kind, version, object, unknown}.advice();
}

void explainUnknownFields(std::string_view kind, std::string_view version, const Value& object,
                          std::vector<FieldError>& errors) {
  for (FieldError& error : errors) {
    if (error.rule != kUnknownField) continue;
    if (auto advice = adviceFor(kind, version, object, error.field)) error.detail = std::move(advice->text);
  }
}

}  // namespace dynamo::admission
