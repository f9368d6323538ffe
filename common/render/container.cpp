#include "common/render/container.h"

#include "common/api/dynamo.h"
#include "common/json/build.h"
#include "common/model/env.h"
#include "common/render/resources.h"

namespace dynamo::render {
namespace {

using json::Allocator;
using json::Value;

void appendEnvFromSecret(Value& container, const Value& component, Allocator& allocator) {
  const Value* secret = json::find(component, "envFromSecret");
  if (secret == nullptr || !secret->IsString()) return;
  const json::Maker make{allocator};
  json::ensureList(container, "envFrom", allocator)
      .PushBack(make.object("secretRef", make.object("name", *secret)), allocator);
}

}  // namespace

model::Completion complete(const Component& component, const Context& context, Allocator& allocator) {
  model::Completion completion = model::complete(
      component.spec, model::completionInput(component, context.defaults, context.config), allocator);
  if (api::isWorkerType(component.type) && !component.workerHash.empty()) {
    constexpr std::string_view kSuffix = "DYN_NAMESPACE_WORKER_SUFFIX";
    const json::Maker make{allocator};
    completion.env.push_back(
        {std::string{kSuffix}, make.object("name", kSuffix, "value", component.workerHash)});
  }
  return completion;
}

Value mainContainer(const Component& component, model::Completion& completion, Errors& errors,
                    Allocator& allocator) {
  Value container = model::completedContainer(component.spec, component.envs, completion, allocator);
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
  model::CompletionInput input = model::completionInput(component, context.defaults, context.config);
  input.type = api::kFrontend;
  Value container = model::defaultContainer(input, allocator);
  make.set(container, "name", api::kSidecarContainer);
  if (const Value* image = json::find(sidecar, "image")) make.set(container, "image", *image);
  if (const Value* args = json::find(sidecar, "args"); args != nullptr && !json::isEmpty(*args)) {
    make.set(container, "args", *args);
  }
  appendEnvFromSecret(container, sidecar, allocator);
  make.set(container, "env",
           model::mergeEnv({json::find(container, "env"), json::find(sidecar, "envs")}, allocator));
  return container;
}

}  // namespace dynamo::render
