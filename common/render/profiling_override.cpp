#include "common/render/profiling_override.h"

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <unordered_map>

#include "common/api/contains.h"
#include "common/api/dgdr.h"
#include "common/json/build.h"
#include "common/k8s/mounts.h"

namespace dynamo::render {
namespace {

using field::Path;
using field::PathView;
using json::Allocator;
using json::Value;

struct Field {
  std::string_view name;
  Take take;
};

constexpr std::array<Field, 6> kJob = {{{"backoffLimit", Take::Given},
                                        {"activeDeadlineSeconds", Take::Given},
                                        {"ttlSecondsAfterFinished", Take::Given},
                                        {"completions", Take::Given},
                                        {"parallelism", Take::Given},
                                        {"suspend", Take::Given}}};
constexpr std::array<Field, 2> kPodMetadata = {{{"labels", Take::Keys}, {"annotations", Take::Keys}}};
constexpr std::array<Field, 16> kPod = {{
    {"tolerations", Take::NonEmpty},
    {"nodeSelector", Take::NonEmpty},
    {"topologySpreadConstraints", Take::NonEmpty},
    {"affinity", Take::Given},
    {"runtimeClassName", Take::Given},
    {"dnsConfig", Take::Given},
    {"terminationGracePeriodSeconds", Take::Given},
    {"automountServiceAccountToken", Take::Given},
    {"priorityClassName", Take::NonEmpty},
    {"serviceAccountName", Take::NonEmpty},
    {"dnsPolicy", Take::NonEmpty},
    {"imagePullSecrets", Take::ByName},
    {"volumes", Take::ByName},
    {"initContainers", Take::ByName},
    {"resourceClaims", Take::ByName},  // `resources.claims` of the profiler refers to them (life-Q25)
    {"securityContext", Take::Keys},   // only the fields in kPodSecurity
}};
constexpr std::array<Field, 11> kPodSecurity = {{{"runAsNonRoot", Take::Given},
                                                 {"runAsUser", Take::Given},
                                                 {"runAsGroup", Take::Given},
                                                 {"fsGroup", Take::Given},
                                                 {"supplementalGroups", Take::Given},
                                                 {"sysctls", Take::Given},
                                                 {"fsGroupChangePolicy", Take::Given},
                                                 {"seccompProfile", Take::Given},
                                                 {"appArmorProfile", Take::Given},
                                                 {"seLinuxOptions", Take::Given},
                                                 {"windowsOptions", Take::Given}}};
constexpr std::array<Field, 6> kProfiler = {{{"image", Take::NonEmpty},
                                             {"resources", Take::NonEmpty},
                                             {"securityContext", Take::Given},
                                             {"env", Take::ByName},
                                             {"volumeMounts", Take::ByMountPath},
                                             {"envFrom", Take::Appended}}};

std::span<const Field> fieldsOf(OverridePart part) {
  switch (part) {
    case OverridePart::Job:
      return kJob;
    case OverridePart::PodMetadata:
      return kPodMetadata;
    case OverridePart::Pod:
      return kPod;
    case OverridePart::PodSecurity:
      return kPodSecurity;
    case OverridePart::Profiler:
      return kProfiler;
  }
  return {};
}

bool isList(Take take) {
  return take == Take::ByName || take == Take::ByMountPath || take == Take::Appended;
}

std::string_view nameKey(const Value& item) {
  return json::findText(&item, "name");
}
std::string pathKey(const Value& item) {
  return k8s::cleanMountPath(json::findText(&item, "mountPath"));
}
/// The merge key of an item of a list. An item with an empty key replaces no other item.
std::string keyOf(const Value& item, Take take) {
  if (take == Take::ByName) return std::string{nameKey(item)};
  return take == Take::ByMountPath ? pathKey(item) : std::string{};
}

const Value* firstContainer(const Value* podSpec) {
  const Value* containers = json::find(podSpec, "containers");
  return containers != nullptr && containers->IsArray() && !containers->Empty() ? containers->Begin()
                                                                                : nullptr;
}

class Merge {
 public:
  Merge(Texts texts, Allocator& allocator) : texts_(texts), allocator_(allocator) {}

  void part(OverridePart part, Value& target, const Value* given) const {
    if (given == nullptr || !given->IsObject()) return;
    for (const auto& member : given->GetObject()) {
      const std::string_view name = json::text(member.name);
      const std::optional<Take> how = member.value.IsNull() ? std::nullopt : howTaken(part, name);
      if (!how) continue;
      if (*how == Take::Keys) {
        keys(part, name, target, member.value);
      } else if (isList(*how)) {
        items(json::ensureList(target, name, allocator_), member.value, *how);
      } else if (*how == Take::Given || !json::isEmpty(member.value)) {
        json::set(target, name, copy(member.value), allocator_);
      }
    }
  }

 private:
  Value copy(const Value& value) const {
    return texts_ == Texts::Shared ? json::share(value, allocator_) : json::copy(value, allocator_);
  }

  void keys(OverridePart part, std::string_view name, Value& target, const Value& given) const {
    if (!given.IsObject()) return;
    Value& map = json::ensureObject(target, name, allocator_);
    if (part == OverridePart::Pod) return this->part(OverridePart::PodSecurity, map, &given);
    for (const auto& member : given.GetObject()) {
      const std::string_view key = json::text(member.name);
      if (member.value.IsNull() || (name == "labels" && isOperatorLabel(key))) continue;
      json::set(map, key, copy(member.value), allocator_);
    }
  }

  void items(Value& list, const Value& given, Take how) const {
    if (!given.IsArray()) return;
    if (how == Take::ByName) return itemsByKey(list, given, nameKey);
    if (how == Take::ByMountPath) return itemsByKey(list, given, pathKey);
    for (const Value& item : given.GetArray()) list.PushBack(copy(item), allocator_);
  }

  template <typename Key>
  void itemsByKey(Value& list, const Value& given, Key (*keyOfItem)(const Value&)) const {
    std::unordered_map<Key, rapidjson::SizeType> places;
    places.reserve(list.Size() + given.Size());
    // Views as keys stay valid: they refer to the override or to memory of the allocator, which frees
    // nothing.
    for (rapidjson::SizeType i = 0; i < list.Size(); ++i) places.emplace(keyOfItem(list[i]), i);
    for (const Value& item : given.GetArray()) {
      Key key = keyOfItem(item);
      const auto known = key.empty() ? places.end() : places.find(key);
      if (known != places.end()) {
        list[known->second] = copy(item);
        continue;
      }
      places.emplace(std::move(key), list.Size());
      list.PushBack(copy(item), allocator_);
    }
  }

  Texts texts_;
  Allocator& allocator_;
};

// Paths

/// The index of the item in `given` from which item `index` of the merged `list` was copied.
std::optional<rapidjson::SizeType> itemOf(const Value& list, std::size_t index, const Value& given,
                                          Take how) {
  if (!list.IsArray() || !given.IsArray() || index >= list.Size()) return std::nullopt;
  const std::string key = keyOf(list[static_cast<rapidjson::SizeType>(index)], how);
  // Items without a key are added in order, so they are counted from the end of both lists.
  rapidjson::SizeType behind = 0;
  for (std::size_t i = index + 1; i < list.Size(); ++i) {
    if (key.empty() && keyOf(list[static_cast<rapidjson::SizeType>(i)], how).empty()) ++behind;
  }
  for (rapidjson::SizeType i = given.Size(); i > 0; --i) {
    if (keyOf(given[i - 1], how) != key) continue;
    if (behind == 0) return i - 1;
    --behind;
  }
  return std::nullopt;
}

/// The same part of the merged Job (`made`) and of the override (`given`), and the path of both.
struct Place {
  OverridePart part;
  const Value* made;
  const Value* given;
  Path path;

  Place below(OverridePart inner, std::string_view member) const {
    return {inner, json::find(made, member), json::find(given, member), path / member};
  }
};

std::optional<Path> pathIn(const Place& place, PathView path) {
  if (path.empty()) return place.path;
  const std::string_view name = path.front().name;
  const PathView rest = path.rest();
  const std::optional<Take> how = howTaken(place.part, name);
  const Value* made = json::find(place.made, name);
  if (!how) return made == nullptr ? std::optional{place.path / path} : std::nullopt;
  const Value* given = json::find(place.given, name);
  if (how == Take::Keys && place.part == OverridePart::Pod && !rest.empty()) {
    return pathIn(place.below(OverridePart::PodSecurity, name), rest);
  }
  const bool unused = given == nullptr || (how == Take::NonEmpty && json::isEmpty(*given));
  if (unused && made != nullptr) return std::nullopt;
  const bool item = made != nullptr && isList(*how) && !rest.empty() && rest.front().isIndex();
  if (unused || !item) return place.path / path;
  const auto index = itemOf(*made, rest.front().index, *given, *how);
  if (!index) return std::nullopt;
  return (place.path / name)[*index] / rest.rest();
}

}  // namespace

std::optional<Take> howTaken(OverridePart part, std::string_view name) {
  const std::span<const Field> fields = fieldsOf(part);
  const auto found =
      std::find_if(fields.begin(), fields.end(), [&](const Field& field) { return field.name == name; });
  return found == fields.end() ? std::nullopt : std::optional{found->take};
}

bool isOperatorLabel(std::string_view key) {
  return api::contains(api::dgdr::kTrackingLabels, key) || api::contains(api::dgdr::kJobLabels, key);
}

void mergeJobOverride(Value& jobSpec, const Value& override, Texts texts, Allocator& allocator) {
  const Merge merge{texts, allocator};
  merge.part(OverridePart::Job, jobSpec, &override);
  const Value* podTemplate = json::findObject(&override, "template");
  Value& madeTemplate = json::ensureObject(jobSpec, "template", allocator);
  if (const Value* metadata = json::findObject(podTemplate, "metadata")) {
    merge.part(OverridePart::PodMetadata, json::ensureObject(madeTemplate, "metadata", allocator), metadata);
  }
  const Value* podSpec = json::findObject(podTemplate, "spec");
  Value& pod = json::ensureObject(madeTemplate, "spec", allocator);
  merge.part(OverridePart::Pod, pod, podSpec);
  Value& containers = json::ensureList(pod, "containers", allocator);
  if (!containers.Empty()) merge.part(OverridePart::Profiler, *containers.Begin(), firstContainer(podSpec));
}

std::optional<Path> overridePath(const Value& jobSpec, const Value& override, PathView path) {
  const Place job{OverridePart::Job, &jobSpec, &override, {}};
  if (path.empty() || path.front().name != "template") return pathIn(job, path);
  const Place podTemplate = job.below(OverridePart::Job, "template");
  path = path.rest();
  if (path.empty()) return podTemplate.path;
  const std::string_view member = path.front().name;
  path = path.rest();
  if (member == "metadata") return pathIn(podTemplate.below(OverridePart::PodMetadata, member), path);
  if (member != "spec") return std::nullopt;
  const Place pod = podTemplate.below(OverridePart::Pod, member);
  if (path.empty() || path.front().name != "containers") return pathIn(pod, path);
  const Path containers = pod.path / path.front().name;
  path = path.rest();
  if (path.empty()) return containers;
  if (path.front().index != 0) return std::nullopt;
  return pathIn({OverridePart::Profiler, firstContainer(pod.made), firstContainer(pod.given), containers[0]},
                path.rest());
}

}  // namespace dynamo::render
