#include "common/admission/source_path.h"

#include <fmt/format.h>

#include <charconv>
#include <optional>

#include "common/api/dynamo.h"
#include "common/json/build.h"
#include "common/render/deployment_config.h"
#include "common/render/resources.h"

namespace dynamo::admission {
namespace {

using json::Value;

/// The way down: "containers[2].env[0].name" -> {"containers", "2"}, {"env", "0"}, {"name", ""}.
struct Step {
  std::string_view member;
  std::optional<std::string_view> key;  ///< inside brackets

  std::optional<rapidjson::SizeType> index() const {
    rapidjson::SizeType number = 0;
    if (!key) return std::nullopt;
    const auto parsed = std::from_chars(key->data(), key->data() + key->size(), number);
    if (parsed.ec != std::errc{} || parsed.ptr != key->data() + key->size()) return std::nullopt;
    return number;
  }
};

/// Takes the first step off `path`. Keys in brackets may hold dots.
Step takeStep(std::string_view& path) {
  Step step;
  const std::size_t end = std::min(path.find_first_of(".["), path.size());
  step.member = path.substr(0, end);
  path.remove_prefix(end);
  if (path.starts_with('[')) {
    const std::size_t close = path.find("].");
    const std::size_t last = close == std::string_view::npos ? path.rfind(']') : close;
    if (last == std::string_view::npos) {
      path = {};
      return step;
    }
    step.key = path.substr(1, last - 1);
    path.remove_prefix(last + 1);
  }
  if (path.starts_with('.')) path.remove_prefix(1);
  return step;
}

std::string join(std::string base, std::string_view rest) {
  if (rest.empty()) return base;
  return rest.starts_with('[') ? base.append(rest) : base.append(".").append(rest);
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

  std::string locate(std::string_view path) const {
    const Step first = takeStep(path);
    if (first.member == "metadata") return metadata(path);
    if (first.member != "spec") return source_.path;
    const std::string_view below = path;
    const Step step = takeStep(path);
    if (step.member == "containers") return container(step, path);
    if (step.member == "volumes") return volume(step, path);
    // The operator makes none, so that what is missing in it is the user's to give.
    const bool dns = step.member == "dnsConfig";
    const Value* own = json::find(extra_, step.member);
    if (step.member == "initContainers" && item(own, step.index()) == nullptr)
      return ownInitContainer(step, path);
    if (dns || own != nullptr) return join(source_.path + ".extraPodSpec", below);
    return source_.path;
  }

 private:
  /// The operator's, behind the user's: what has its name is in the way.
  std::string ownInitContainer(const Step& step, std::string_view rest) const {
    const std::string_view name = nameOfItem(json::find(podSpec_, step.member), step);
    const std::string base = source_.path + ".extraPodSpec.";
    for (const std::string_view list : {"initContainers", "containers"}) {
      const auto at = lastWith(json::find(extra_, list), "name", name);
      if (at) return join(fmt::format("{}{}[{}]", base, list, *at), rest);
    }
    return json::findText(main_, "name") == name ? join(base + "mainContainer", rest) : source_.path;
  }

  std::string metadata(std::string_view path) const {
    const Step step = takeStep(path);
    if (!step.key) return source_.path;
    const Value* extraMetadata = json::findObject(source_.component, "extraPodMetadata");
    if (json::find(json::findObject(extraMetadata, step.member), *step.key) != nullptr) {
      return fmt::format("{}.extraPodMetadata.{}[{}]", source_.path, step.member, *step.key);
    }
    if (json::find(json::findObject(source_.component, step.member), *step.key) != nullptr) {
      return fmt::format("{}.{}[{}]", source_.path, step.member, *step.key);
    }
    return source_.path;
  }

  std::string container(const Step& step, std::string_view path) const {
    const Value* own = json::find(extra_, "containers");
    const rapidjson::SizeType count = own != nullptr && own->IsArray() ? own->Size() : 0;
    const auto index = step.index();
    if (!index) return source_.path;
    if (*index < count)
      return join(fmt::format("{}.extraPodSpec.containers[{}]", source_.path, *index), path);
    const Value* rendered = item(json::find(podSpec_, "containers"), index);
    if (rendered == nullptr) return source_.path;
    return *index == count ? mainContainer(*rendered, path) : sidecar(*rendered, path);
  }

  std::string mainContainer(const Value& rendered, std::string_view path) const {
    const std::string_view below = path;
    const Step step = takeStep(path);
    std::string fallback = join(source_.path + ".extraPodSpec.mainContainer", below);
    if (step.member == "livenessProbe" || step.member == "readinessProbe") {
      return json::findObject(source_.component, step.member) != nullptr ? join(source_.path, below)
                                                                         : fallback;
    }
    if (step.member == "env") return variable(rendered, step, path);
    if (step.member == "resources") return resource(path, fallback);
    if (step.member == "volumeMounts") return mount(rendered, step, path);
    if (step.member == "envFrom") return envFrom(rendered, step, path);
    if (step.member == "name" && json::find(main_, "name") == nullptr) return source_.path;
    return fallback;
  }

  std::string sidecar(const Value& rendered, std::string_view path) const {
    std::string base = source_.path + ".frontendSidecar";
    const std::string_view below = path;
    const Step step = takeStep(path);
    if (step.member == "image" || step.member == "args") return join(base, below);
    if (step.member == "envFrom") return base + ".envFromSecret";
    if (step.member != "env") return base;
    const Value* envs = json::find(json::findObject(source_.component, "frontendSidecar"), "envs");
    const auto at = lastWith(envs, "name", nameOfItem(json::find(rendered, "env"), step));
    return at ? join(fmt::format("{}.envs[{}]", base, *at), path) : base;
  }

  static std::string_view nameOfItem(const Value* list, const Step& step) {
    return json::findText(item(list, step.index()), "name");
  }

  std::string variable(const Value& rendered, const Step& step, std::string_view rest) const {
    const std::string_view name = nameOfItem(json::find(rendered, "env"), step);
    if (const auto at = lastWith(json::find(source_.component, "envs"), "name", name)) {
      return join(fmt::format("{}.envs[{}]", source_.path, *at), rest);
    }
    if (const auto at = lastWith(source_.graphEnvs, "name", name)) {
      return join(fmt::format("spec.envs[{}]", *at), rest);
    }
    if (const auto at = lastWith(json::find(main_, "env"), "name", name)) {
      return join(fmt::format("{}.extraPodSpec.mainContainer.env[{}]", source_.path, *at), rest);
    }
    return source_.path;
  }

  std::string resource(std::string_view path, const std::string& fallback) const {
    const Value* resources = json::findObject(source_.component, "resources");
    const std::string_view below = path;
    const Step step = takeStep(path);
    const std::string_view limitType = json::findText(json::findObject(resources, "limits"), "gpuType");
    if (source_.configured != nullptr && step.key &&
        render::hasResource(*source_.configured, *step.key, limitType)) {
      return source_.configPath;
    }
    if (resources == nullptr) return fallback;
    if (step.member == "claims") return join(source_.path + ".resources", below);
    const Value* kind = json::findObject(resources, step.member);
    if (!step.key)
      return kind != nullptr ? source_.path + ".resources." + std::string{step.member} : fallback;
    const std::string base = fmt::format("{}.resources.{}", source_.path, step.member);
    if (json::find(json::findObject(kind, "custom"), *step.key) != nullptr) {
      return fmt::format("{}.custom[{}]", base, *step.key);
    }
    if ((*step.key == "cpu" || *step.key == "memory") && json::find(kind, *step.key) != nullptr) {
      return fmt::format("{}.{}", base, *step.key);
    }
    const bool gpu = *step.key == render::gpuResource(resources);
    return gpu && json::find(kind, "gpu") != nullptr ? base + ".gpu" : fallback;
  }

  std::string mount(const Value& rendered, const Step& step, std::string_view rest) const {
    const Value* mounted = item(json::find(rendered, "volumeMounts"), step.index());
    const std::string_view path = json::findText(mounted, "mountPath");
    const std::string_view name = json::findText(mounted, "name");
    const Value* own = json::find(main_, "volumeMounts");
    // The main container's own mounts stand first.
    if (item(own, step.index()) != nullptr) {
      return join(fmt::format("{}.extraPodSpec.mainContainer.volumeMounts[{}]", source_.path, *step.index()),
                  rest);
    }
    if (const Value* mounts = json::find(source_.component, "volumeMounts");
        mounts != nullptr && mounts->IsArray()) {
      for (rapidjson::SizeType i = mounts->Size(); i > 0; --i) {
        const Value& entry = (*mounts)[i - 1];
        if (json::findText(&entry, "name") != name || json::findText(&entry, "mountPoint") != path) continue;
        return fmt::format("{}.volumeMounts[{}].{}", source_.path, i - 1,
                           rest == "mountPath" ? "mountPoint" : "name");
      }
    }
    return source_.path;
  }

  std::string envFrom(const Value& rendered, const Step& step, std::string_view rest) const {
    const Value* own = json::find(main_, "envFrom");
    if (item(own, step.index()) != nullptr) {
      return join(fmt::format("{}.extraPodSpec.mainContainer.envFrom[{}]", source_.path, *step.index()),
                  rest);
    }
    return item(json::find(rendered, "envFrom"), step.index()) != nullptr ? source_.path + ".envFromSecret"
                                                                          : source_.path;
  }

  std::string volume(const Step& step, std::string_view rest) const {
    const Value* own = json::find(extra_, "volumes");
    const std::string_view name = nameOfItem(json::find(podSpec_, "volumes"), step);
    const Value* picker = json::findObject(source_.component, "eppConfig");
    if (name == api::kEppConfigVolume && json::find(picker, "configMapRef") != nullptr) {
      return fmt::format("{}.eppConfig.configMapRef.{}", source_.path,
                         rest.ends_with(".key") ? "key" : "name");
    }
    if (item(own, step.index()) != nullptr) {
      return join(fmt::format("{}.extraPodSpec.volumes[{}]", source_.path, *step.index()), rest);
    }
    if (const auto at = lastWith(json::find(source_.component, "volumeMounts"), "name", name)) {
      return fmt::format("{}.volumeMounts[{}].name", source_.path, *at);
    }
    if (name == api::kSharedMemory) return source_.path + ".sharedMemory";
    return source_.path;
  }

  const Source& source_;
  const Value* podSpec_;
  const Value* extra_;
  const Value* main_;
};

}  // namespace

std::string sourcePath(const Source& source, const Value& podTemplate, std::string_view path) {
  return Locator{source, podTemplate}.locate(path);
}

std::string checkpointSourcePath(const Value& given, const Value& rendered, std::string_view path) {
  std::string place = "spec.job.podTemplateSpec";
  const Value* own = &given;
  const Value* made = &rendered;
  while (!path.empty()) {
    const std::string_view below = path;
    const Step step = takeStep(path);
    own = json::find(own, step.member);
    made = json::find(made, step.member);
    // What is missing is the user's to give.
    if (!step.key) {
      place = join(std::move(place), step.member);
      continue;
    }
    if (!step.index()) return join(std::move(place), below);
    rapidjson::SizeType index = *step.index();
    if (item(own, index) == nullptr) {
      const std::string_view mountPath = json::findText(item(made, index), "mountPath");
      const auto taken = lastWith(own, "mountPath", mountPath);
      if (mountPath.empty() || !taken) return place;
      index = *taken;
    }
    place = fmt::format("{}.{}[{}]", place, step.member, index);
    own = item(own, index);
    made = item(made, *step.index());
  }
  return place;
}

}  // namespace dynamo::admission
