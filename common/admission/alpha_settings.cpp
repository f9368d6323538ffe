#include "common/admission/alpha_settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <string_view>

#include "common/api/contains.h"
#include "common/api/dgdr.h"
#include "common/conversion/profiler_config.h"
#include "common/field/check.h"
#include "common/k8s/object.h"

namespace dynamo::admission {
namespace {

using api::contains;
using field::Path;
using field::Report;
using json::Value;

constexpr std::string_view kRule = "dgdr-ineffective-field";
constexpr field::Members kConfig = "spec.profilingConfig.config";
constexpr std::string_view kNotRead = "has no effect because nothing reads it";
constexpr std::string_view kNoObject = "has no effect because it is not an object";

constexpr std::array<std::string_view, 3> kConfigKeys = {"sla", "deployment", "planner"};
constexpr std::array<std::string_view, 4> kSlaKeys = {"ttft", "itl", "isl", "osl"};
constexpr std::array<std::string_view, 1> kDeploymentKeys = {"modelCache"};
constexpr std::array<std::string_view, 3> kCacheKeys = {"pvcName", "modelPathInPvc", "pvcMountPath"};

/// Keys that profilers before 1.0 read, and their replacements.
struct Successor {
  field::Members path;  ///< below the configuration
  std::string_view use;
};
constexpr std::array<Successor, 7> kSuccessors = {{{"hardware", "spec.hardware of v1beta1"},
                                                   {"sweep", "spec.searchStrategy of v1beta1"},
                                                   {"engine.backend", "spec.backend"},
                                                   {"deployment.model", "spec.model"},
                                                   {"deployment.namespace", "metadata.namespace"},
                                                   {"deployment.dgd_image", "spec.overrides.dgd of v1beta1"},
                                                   {"sla.e2eLatency", "spec.sla.e2eLatency of v1beta1"}}};
constexpr std::array<std::string_view, 3> kFormerKeys = {"hardware", "engine", "sweep"};

/// Spellings before 1.0, read when the new one is absent (conv-Q8).
struct Spelling {
  std::string_view old;
  std::string_view now;
};
constexpr std::array<Spelling, 2> kSpellings = {
    {{"pvcPath", "modelPathInPvc"}, {"mountPath", "pvcMountPath"}}};

/// The full path of a path below the configuration.
Path at(const Path& path) {
  return kConfig / path;
}

/// `path`: below the configuration.
std::string ineffectiveText(const Path& path, std::span<const std::string_view> candidates) {
  for (const Successor& successor : kSuccessors) {
    if (path == Path{successor.path}) return fmt::format("no longer has an effect: use {}", successor.use);
  }
  const std::string_view key = path.view().back().name;
  const bool first = path.view().rest().empty();
  if (first && contains(kFormerKeys, key)) return "no longer has an effect";
  return std::string{kNotRead} + field::Suggestions{candidates}(key);
}

/// Warns of members of `object` at `path` that are not in `known`.
void warnUnknownKeys(const Value* object, const Path& path, std::span<const std::string_view> known,
                     const Report& report) {
  field::forEachMember(object, [&](std::string_view key, const Value&) {
    if (contains(known, key)) return;
    const Path full = path / key;
    report.warn(at(full), ineffectiveText(full, known));
  });
}

/// The object `key` of `parent`, at `path`. Warns of a value of another type.
const Value* objectMember(const Value* parent, std::string_view key, const Path& path, const Report& report) {
  const Value* value = json::find(parent, key);
  if (value == nullptr || value->IsObject()) return value;
  report.warn(at(path), std::string{kNoObject});
  return nullptr;
}

void slaTargets(const Value& config, const Report& report) {
  const Path path{"sla"};
  const Value* sla = objectMember(&config, "sla", path, report);
  warnUnknownKeys(sla, path, kSlaKeys, report);
  for (const std::string_view key : {"ttft", "itl"}) {
    const Value* value = json::find(sla, key);
    if (value == nullptr || value->IsNumber()) continue;
    report.warn(at(path / key),
                fmt::format("has no effect because {} is not a number", field::showValue(*value)));
  }
  const auto tokens = [&](std::string_view key, int otherwise) {
    const Value* value = json::find(sla, key);
    if (value == nullptr || conversion::isTokenCount(*value)) return;
    report.warn(at(path / key),
                fmt::format("has no effect because {} is not a whole number; the default {} is used",
                            field::showValue(*value), otherwise));
  };
  tokens("isl", api::dgdr::kDefaultInputSequenceLength);
  tokens("osl", api::dgdr::kDefaultOutputSequenceLength);
}

void modelCache(const Value& config, const Report& report) {
  const Path above{"deployment"};
  const Value* deployment = objectMember(&config, "deployment", above, report);
  warnUnknownKeys(deployment, above, kDeploymentKeys, report);
  const Path cacheAt = above / "modelCache";
  const Value* cache = objectMember(deployment, "modelCache", cacheAt, report);
  field::forEachMember(cache, [&](std::string_view key, const Value& value) {
    const Path path = cacheAt / key;
    const auto* spelling = std::find_if(kSpellings.begin(), kSpellings.end(),
                                        [&](const Spelling& each) { return each.old == key; });
    const bool old = spelling != kSpellings.end();
    if (old && json::find(cache, spelling->now) != nullptr) {
      report.warn(at(path), fmt::format("has no effect because {} is set", spelling->now));
    } else if (!old && !contains(kCacheKeys, key)) {
      report.warn(at(path), ineffectiveText(path, kCacheKeys));
    } else if (!value.IsString()) {
      report.warn(at(path), fmt::format("has no effect because {} is not a string", field::showValue(value)));
    }
  });
}

void planner(const Value& config, const Report& report) {
  const Path path{"planner"};
  const Value* planner = objectMember(&config, "planner", path, report);
  if (planner != nullptr && planner->ObjectEmpty()) {
    report.warn(at(path), "has no effect because it is empty");
  }
}

void profilerConfig(const Value* config, const Report& report) {
  if (config == nullptr || !config->IsObject()) return;  // the schema reports it
  warnUnknownKeys(config, {}, kConfigKeys, report);
  slaTargets(*config, report);
  modelCache(*config, report);
  planner(*config, report);
}

}  // namespace

void checkAlphaSettings(const Value& alpha, field::Findings& findings) {
  const Report report{findings, kRule};
  const Value* spec = k8s::specOf(alpha);
  const Value* profiling = json::findObject(spec, "profilingConfig");
  profilerConfig(json::find(profiling, "config"), report);
  if (json::find(profiling, "configMapRef") != nullptr) {
    report.warn("spec.profilingConfig.configMapRef",
                "is mounted but not used as a base: use spec.overrides.dgd of v1beta1");
  }
  const Value* nodes = json::findObject(profiling, "nodeSelector");
  if (nodes != nullptr && !nodes->ObjectEmpty()) {
    report.warn("spec.profilingConfig.nodeSelector",
                "no longer has an effect: use spec.overrides.profilingJob of v1beta1");
  }
  if (json::findBool(spec, "enableGpuDiscovery") == false) {
    report.warn("spec.enableGpuDiscovery", "no longer has an effect: use spec.hardware of v1beta1");
  }
  const std::string_view workers =
      json::findText(json::findObject(spec, "deploymentOverrides"), "workersImage");
  const std::string_view profiler = json::findText(profiling, "profilerImage");
  if (!workers.empty() && !profiler.empty() && workers != profiler) {
    report.warn("spec.deploymentOverrides.workersImage",
                "no longer has an effect when profilerImage is set: use spec.overrides.dgd of v1beta1");
  }
}

}  // namespace dynamo::admission
