#include "common/render/container.h"

#include <algorithm>
#include <array>

#include "common/api/dynamo.h"
#include "common/json/build.h"
#include "common/render/env.h"
#include "common/render/resources.h"

namespace dynamo::render {
namespace {

using json::Allocator;
using json::Value;

constexpr std::array<std::string_view, 4> kHandlers = {"exec", "httpGet", "tcpSocket", "grpc"};

/// The defaults of `type` as a container; its environment is not merged yet: a name's last entry counts.
Value typeDefaults(const Component& component, std::string_view type, const Context& context,
                   Allocator& allocator) {
  const Value* page = json::findObject(&context.defaults.of(type), "mainContainer");
  Value container{rapidjson::kObjectType};
  if (page != nullptr) {
    for (const auto& member : page->GetObject()) {
      if (json::text(member.name) == "env") continue;
      container.AddMember(json::string(json::text(member.name), allocator),
                          json::copy(member.value, allocator), allocator);
    }
  }
  defaults::fillAll(container, placeholdersOf(component, type), allocator);
  Value env = standardEnv(component, context, allocator);
  Value own = defaultEnv(json::find(page, "env"), component, type, allocator);
  for (Value& variable : own.GetArray()) env.PushBack(variable, allocator);
  if (api::isWorkerType(type) && !component.workerHash.empty()) {
    const json::Maker make{allocator};
    make.push(env, make.object("name", "DYN_NAMESPACE_WORKER_SUFFIX", "value", component.workerHash));
  }
  json::set(container, "env", std::move(env), allocator);
  return container;
}

/// The user's mounts, then default ones whose name and path the user has not given (quirk pod-Q7).
Value completeByName(const Value& given, const Value* defaults, Allocator& allocator) {
  Value list = json::copy(given, allocator);
  if (defaults == nullptr || !defaults->IsArray()) return list;
  for (const Value& item : defaults->GetArray()) {
    const std::string_view path = json::findText(&item, "mountPath");
    const bool taken = std::any_of(given.Begin(), given.End(), [&](const Value& mount) {
      return json::findText(&mount, "mountPath") == path;
    });
    if (!taken && json::findNamed(&given, json::findText(&item, "name")) == nullptr) {
      list.PushBack(json::copy(item, allocator), allocator);
    }
  }
  return list;
}

/// `given` over `fallback`, member by member; a given handler replaces the default one (quirk pod-Q5).
Value mergeProbe(const Value* fallback, const Value& given, Allocator& allocator) {
  if (fallback == nullptr || !fallback->IsObject()) return json::copy(given, allocator);
  Value probe = json::copy(*fallback, allocator);
  const bool handled = std::any_of(kHandlers.begin(), kHandlers.end(), [&](std::string_view handler) {
    return json::find(given, handler) != nullptr;
  });
  if (handled) {
    for (const std::string_view handler : kHandlers) json::remove(probe, handler);
  }
  for (const auto& member : given.GetObject()) {
    if (!member.value.IsNull())
      json::set(probe, json::text(member.name), json::copy(member.value, allocator), allocator);
  }
  return probe;
}

void layUserContainer(Value& container, const Value& user, Allocator& allocator) {
  for (const auto& member : user.GetObject()) {
    const std::string_view name = json::text(member.name);
    const Value& given = member.value;
    const Value* fallback = json::find(container, name);
    if (given.IsNull() || name == "env") continue;
    if (json::isEmpty(given) && (fallback != nullptr || !given.IsObject())) continue;
    if ((name == "livenessProbe" || name == "readinessProbe") && given.IsObject()) {
      json::set(container, name, mergeProbe(fallback, given, allocator), allocator);
    } else if (name == "volumeMounts" && given.IsArray()) {
      json::set(container, name, completeByName(given, fallback, allocator), allocator);
    } else {
      json::set(container, name, json::copy(given, allocator), allocator);
    }
  }
}

void appendEnvFromSecret(Value& container, const Value& component, Allocator& allocator) {
  const Value* secret = json::find(component, "envFromSecret");
  if (secret == nullptr || !secret->IsString()) return;
  const json::Maker make{allocator};
  json::ensureList(container, "envFrom", allocator)
      .PushBack(make.object("secretRef", make.object("name", *secret)), allocator);
}

}  // namespace

Value mainContainer(const Component& component, const Context& context, Errors& errors,
                    Allocator& allocator) {
  Value container = typeDefaults(component, component.type(), context, allocator);
  const Value* user = component.mainContainer();
  if (user != nullptr) layUserContainer(container, *user, allocator);
  Value env = mergeEnv(
      {json::find(container, "env"), json::find(user, "env"), json::find(component.spec, "envs")}, allocator);
  json::set(container, "env", std::move(env), allocator);
  for (const std::string_view probe : {"livenessProbe", "readinessProbe"}) {
    const Value* given = json::findObject(&component.spec, probe);
    if (given != nullptr) json::set(container, probe, json::copy(*given, allocator), allocator);
  }
  if (json::findText(&container, "name").empty()) {
    json::set(container, "name", json::string(api::kMainContainer, allocator), allocator);
  }
  applyResources(component, container, errors, allocator);
  appendEnvFromSecret(container, component.spec, allocator);
  return container;
}

Value frontendSidecar(const Component& component, const Value& sidecar, const Context& context,
                      Allocator& allocator) {
  const json::Maker make{allocator};
  Value container = typeDefaults(component, api::kFrontend, context, allocator);
  make.set(container, "name", api::kSidecarContainer);
  if (const Value* image = json::find(sidecar, "image")) make.set(container, "image", *image);
  if (const Value* args = json::find(sidecar, "args"); args != nullptr && !json::isEmpty(*args)) {
    make.set(container, "args", *args);
  }
  appendEnvFromSecret(container, sidecar, allocator);
  make.set(container, "env",
           mergeEnv({json::find(container, "env"), json::find(sidecar, "envs")}, allocator));
  return container;
}

}  // namespace dynamo::render
