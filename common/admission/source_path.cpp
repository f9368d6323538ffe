#include "common/admission/source_path.h"

#include "common/api/dynamo.h"
#include "common/json/build.h"
#include "common/render/deployment_config.h"
#include "common/render/resources.h"

namespace dynamo::admission {
namespace {

using field::Path;
using field::PathView;
using field::Segment;
using json::Value;

/// The way down: "containers[2].env[0].name" -> "containers[2]", "env[0]", "name".
struct Step {
  std::string_view member;
  std::optional<Segment> in;  ///< the item or the key of the member

  std::optional<rapidjson::SizeType> index() const {
    return in && in->isIndex() ? std::optional{static_cast<rapidjson::SizeType>(in->index)} : std::nullopt;
  }
  std::optional<std::string_view> key() const {
    return in && !in->isIndex() ? std::optional{in->name} : std::nullopt;
  }
};

/// Takes the first step off `path`.
Step takeStep(PathView& path) {
  Step step;
  if (path.empty()) return step;
  step.member = path.front().name;
  path = path.rest();
  if (!path.empty() && path.front().kind != Segment::Kind::Member) {
    step.in = path.front();
    path = path.rest();
  }
  return step;
}

const Value* item(const Value* list, std::optional<rapidjson::SizeType> index) {
  return list != nullptr && list->IsArray() && index && *index < list->Size() ? &(*list)[*index] : nullptr;
}

/// The index of the last item whose `member` is `text`: of equal names the last counts.
std::optional<rapidjson::SizeType> lastWith(const Value* list, std::string_view member,
                                            std::string_view text) {
  if (list == nullptr || !list->IsArray()) return std::nullopt;
  for (rapidjson::SizeType i = list->Size(); i > 0; --i) {
    if (json::findText(&(*list)[i - 1], member) == text) return i - 1;
  }
  return std::nullopt;
}

class Locator {
 public:
  Locator(const Source& source, const Value& podTemplate)
      : source_(source),
        podSpec_(json::findObject(&podTemplate, "spec")),
        extra_(json::findObject(source.component, "extraPodSpec")),
        main_(json::findObject(extra_, "mainContainer")) {}

  Path locate(PathView path) const {
    const Step first = takeStep(path);
    if (first.member == "metadata") return metadata(path);
    if (first.member != "spec") return source_.path;
    const PathView below = path;
    const Step step = takeStep(path);
    if (step.member == "containers") return container(step, path);
    if (step.member == "volumes") return volume(step, path);
    // The operator makes none, so that what is missing in it is the user's to give.
    const bool dns = step.member == "dnsConfig";
    const Value* own = json::find(extra_, step.member);
    if (step.member == "initContainers" && item(own, step.index()) == nullptr)
      return ownInitContainer(step, path);
    if (dns || own != nullptr) return source_.path / "extraPodSpec" / below;
    return source_.path;
  }

 private:
  /// The operator's, behind the user's: what has its name is in the way.
  Path ownInitContainer(const Step& step, PathView rest) const {
    const std::string_view name = nameOfItem(json::find(podSpec_, step.member), step);
    const Path base = source_.path / "extraPodSpec";
    for (const std::string_view list : {"initContainers", "containers"}) {
      const auto at = lastWith(json::find(extra_, list), "name", name);
      if (at) return (base / list)[*at] / rest;
    }
    return json::findText(main_, "name") == name ? base / "mainContainer" / rest : source_.path;
  }

  Path metadata(PathView path) const {
    const Step step = takeStep(path);
    const auto key = step.key();
    if (!key) return source_.path;
    const Value* extraMetadata = json::findObject(source_.component, "extraPodMetadata");
    if (json::find(json::findObject(extraMetadata, step.member), *key) != nullptr) {
      return (source_.path / "extraPodMetadata" / step.member).key(*key);
    }
    if (json::find(json::findObject(source_.component, step.member), *key) != nullptr) {
      return (source_.path / step.member).key(*key);
    }
    return source_.path;
  }

  Path container(const Step& step, PathView path) const {
    const Value* own = json::find(extra_, "containers");
    const rapidjson::SizeType count = own != nullptr && own->IsArray() ? own->Size() : 0;
    const auto index = step.index();
    if (!index) return source_.path;
    if (*index < count) return (source_.path / "extraPodSpec.containers")[*index] / path;
    const Value* rendered = item(json::find(podSpec_, "containers"), index);
    if (rendered == nullptr) return source_.path;
    return *index == count ? mainContainer(*rendered, path) : sidecar(*rendered, path);
  }

  Path mainContainer(const Value& rendered, PathView path) const {
    const PathView below = path;
    const Step step = takeStep(path);
    Path fallback = source_.path / "extraPodSpec.mainContainer" / below;
    if (step.member == "livenessProbe" || step.member == "readinessProbe") {
      return json::findObject(source_.component, step.member) != nullptr ? source_.path / below : fallback;
    }
    if (step.member == "env") return variable(rendered, step, path);
    if (step.member == "resources") return resource(path, fallback);
    if (step.member == "volumeMounts") return mount(rendered, step, path);
    if (step.member == "envFrom") return envFrom(rendered, step, path);
    if (step.member == "name" && json::find(main_, "name") == nullptr) return source_.path;
    return fallback;
  }

  Path sidecar(const Value& rendered, PathView path) const {
    Path base = source_.path / "frontendSidecar";
    const PathView below = path;
    const Step step = takeStep(path);
    if (step.member == "image" || step.member == "args") return base / below;
    if (step.member == "envFrom") return base / "envFromSecret";
    if (step.member != "env") return base;
    const Value* envs = json::find(json::findObject(source_.component, "frontendSidecar"), "envs");
    const auto at = lastWith(envs, "name", nameOfItem(json::find(rendered, "env"), step));
    return at ? (base / "envs")[*at] / path : base;
  }

  static std::string_view nameOfItem(const Value* list, const Step& step) {
    return json::findText(item(list, step.index()), "name");
  }

  Path variable(const Value& rendered, const Step& step, PathView rest) const {
    const std::string_view name = nameOfItem(json::find(rendered, "env"), step);
    if (const auto at = lastWith(json::find(source_.component, "envs"), "name", name)) {
      return (source_.path / "envs")[*at] / rest;
    }
    if (const auto at = lastWith(source_.graphEnvs, "name", name)) {
      return Path{"spec.envs"}[*at] / rest;
    }
    if (const auto at = lastWith(json::find(main_, "env"), "name", name)) {
      return (source_.path / "extraPodSpec.mainContainer.env")[*at] / rest;
    }
    return source_.path;
  }

  Path resource(PathView path, const Path& fallback) const {
    const Value* resources = json::findObject(source_.component, "resources");
    const PathView below = path;
    const Step step = takeStep(path);
    const std::string_view limitType = json::findText(json::findObject(resources, "limits"), "gpuType");
    const auto key = step.key();
    if (source_.configured != nullptr && key && render::hasResource(*source_.configured, *key, limitType)) {
      return source_.configPath;
    }
    if (resources == nullptr) return fallback;
    if (step.member == "claims") return source_.path / "resources" / below;
    const Value* kind = json::findObject(resources, step.member);
    const Path base = source_.path / "resources" / step.member;
    if (!key) return kind != nullptr ? base : fallback;
    if (json::find(json::findObject(kind, "custom"), *key) != nullptr) {
      return (base / "custom").key(*key);
    }
    if ((*key == "cpu" || *key == "memory") && json::find(kind, *key) != nullptr) return base / *key;
    const bool gpu = *key == render::gpuResource(resources);
    return gpu && json::find(kind, "gpu") != nullptr ? base / "gpu" : fallback;
  }

  Path mount(const Value& rendered, const Step& step, PathView rest) const {
    const Value* mounted = item(json::find(rendered, "volumeMounts"), step.index());
    const std::string_view path = json::findText(mounted, "mountPath");
    const std::string_view name = json::findText(mounted, "name");
    const Value* own = json::find(main_, "volumeMounts");
    // The main container's own mounts stand first.
    if (item(own, step.index()) != nullptr) {
      return (source_.path / "extraPodSpec.mainContainer.volumeMounts")[*step.index()] / rest;
    }
    if (const Value* mounts = json::find(source_.component, "volumeMounts");
        mounts != nullptr && mounts->IsArray()) {
      for (rapidjson::SizeType i = mounts->Size(); i > 0; --i) {
        const Value& entry = (*mounts)[i - 1];
        if (json::findText(&entry, "name") != name || json::findText(&entry, "mountPoint") != path) continue;
        const bool point = !rest.empty() && rest.front().name == "mountPath";
        return (source_.path / "volumeMounts")[i - 1] / std::string_view{point ? "mountPoint" : "name"};
      }
    }
    return source_.path;
  }

  Path envFrom(const Value& rendered, const Step& step, PathView rest) const {
    const Value* own = json::find(main_, "envFrom");
    if (item(own, step.index()) != nullptr) {
      return (source_.path / "extraPodSpec.mainContainer.envFrom")[*step.index()] / rest;
    }
    return item(json::find(rendered, "envFrom"), step.index()) != nullptr ? source_.path / "envFromSecret"
                                                                          : source_.path;
  }

  Path volume(const Step& step, PathView rest) const {
    const Value* own = json::find(extra_, "volumes");
    const std::string_view name = nameOfItem(json::find(podSpec_, "volumes"), step);
    const Value* picker = json::findObject(source_.component, "eppConfig");
    if (name == api::kEppConfigVolume && json::find(picker, "configMapRef") != nullptr) {
      const bool key = !rest.empty() && rest.back().name == "key";
      return source_.path / "eppConfig.configMapRef" / std::string_view{key ? "key" : "name"};
    }
    if (item(own, step.index()) != nullptr) {
      return (source_.path / "extraPodSpec.volumes")[*step.index()] / rest;
    }
    if (const auto at = lastWith(json::find(source_.component, "volumeMounts"), "name", name)) {
      return (source_.path / "volumeMounts")[*at] / "name";
    }
    if (name == api::kSharedMemory) return source_.path / "sharedMemory";
    return source_.path;
  }

  const Source& source_;
  const Value* podSpec_;
  const Value* extra_;
  const Value* main_;
};

}  // namespace

std::optional<std::string_view> serviceIn(PathView path) {
  static const Path kServices{"spec.services"};
  if (!path.isWithin(kServices)) return std::nullopt;
  const PathView below = path.below(kServices);
  return below.empty() ? std::nullopt : std::optional{below.front().name};
}

Path sourcePath(const Source& source, const Value& podTemplate, PathView path) {
  return Locator{source, podTemplate}.locate(path);
}

Path checkpointSourcePath(const Value& given, const Value& rendered, PathView path) {
  Path place{"spec.job.podTemplateSpec"};
  const Value* own = &given;
  const Value* made = &rendered;
  while (!path.empty()) {
    const PathView below = path;
    const Step step = takeStep(path);
    own = json::find(own, step.member);
    made = json::find(made, step.member);
    // What is missing is the user's to give.
    if (!step.in) {
      place.append(field::Members{step.member});
      continue;
    }
    if (!step.index()) return place / below;
    rapidjson::SizeType index = *step.index();
    if (item(own, index) == nullptr) {
      const std::string_view mountPath = json::findText(item(made, index), "mountPath");
      const auto taken = lastWith(own, "mountPath", mountPath);
      if (mountPath.empty() || !taken) return place;
      index = *taken;
    }
    place.append(field::Members{step.member}).appendIndex(index);
    own = item(own, index);
    made = item(made, *step.index());
  }
  return place;
}

}  // namespace dynamo::admission
