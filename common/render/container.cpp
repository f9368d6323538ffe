#include "common/render/container.h"

#include "common/api/dynamo.h"
#include "common/json/build.h"
#include "common/model/env.h"
#include "common/render/resources.h"

namespace dynamo::render {
namespace {

using json::Allocator;
using json::Value;

constexpr std::string_view kWorkerSuffix = "DYN_NAMESPACE_WORKER_SUFFIX";

/// `component` stands at `from`.
void appendEnvFromSecret(Value& container, const Value& component, const field::Path& from,
                         const model::Recording& recording, Allocator& allocator) {
  const Value* secret = json::find(component, "envFromSecret");
  if (secret == nullptr || !secret->IsString()) return;
  const json::Maker make{allocator};
  Value& sources = json::ensureList(container, "envFrom", allocator);
  if (recording.origins != nullptr) {
    const field::Path at = (recording.at / "envFrom")[sources.Size()];
    recording.origins->made(at, from / "envFromSecret");
    recording.origins->user(at / "secretRef.name", from / "envFromSecret");
  }
  sources.PushBack(make.object("secretRef", make.object("name", *secret)), allocator);
}

/// The suffix of the workers' namespace is no default that the user could give in its place.
void recordWorkerSuffix(const Value& container, const model::Recording& recording) {
  const Value* env = json::find(container, "env");
  for (rapidjson::SizeType i = 0; env != nullptr && i < env->Size(); ++i) {
    const field::Path at = (recording.at / "env")[i];
    if (json::findText(&(*env)[i], "name") == kWorkerSuffix &&
        recording.origins->of(at).source == Origin::Source::Default) {
      recording.origins->byOperator(at);
    }
  }
}

}  // namespace

model::Completion complete(const Component& component, const Context& context, Allocator& allocator) {
  model::Completion completion = model::complete(
      component.spec, model::completionInput(component, context.defaults, context.config), allocator);
  if (api::isWorkerType(component.type) && !component.workerHash.empty()) {
    const json::Maker make{allocator};
    completion.env.push_back(
        {std::string{kWorkerSuffix}, make.object("name", kWorkerSuffix, "value", component.workerHash)});
  }
  return completion;
}

Value mainContainer(const Component& component, model::Completion& completion, Errors& errors,
                    Allocator& allocator, const model::Recording& recording) {
  Origins* origins = recording.origins;
  Value container =
      model::completedContainer(component.spec, component.envs, completion, allocator, recording);
  if (origins != nullptr) recordWorkerSuffix(container, recording);
  for (const std::string_view probe : {"livenessProbe", "readinessProbe"}) {
    const Value* given = json::findObject(&component.spec, probe);
    if (given == nullptr) continue;
    if (origins != nullptr) origins->user(recording.at / probe, field::Path{probe});
    json::set(container, probe, json::copy(*given, allocator), allocator);
  }
  if (json::findText(&container, "name").empty()) {
    json::set(container, "name", json::string(api::kMainContainer, allocator), allocator);
    if (origins != nullptr) origins->byOperator(recording.at / "name");
  }
  applyResources(component, container, errors, recording, allocator);
  appendEnvFromSecret(container, component.spec, {}, recording, allocator);
  return container;
}

Value frontendSidecar(const Component& component, const Value& sidecar, const Context& context,
                      const model::Recording& recording, Allocator& allocator) {
  static const field::Path kSidecar{"frontendSidecar"};
  Origins* origins = recording.origins;
  if (origins != nullptr) {
    origins->byOperator(recording.at, kSidecar);
    origins->user(recording.at / "image", kSidecar / "image");
  }
  const json::Maker make{allocator};
  model::CompletionInput input = model::completionInput(component, context.defaults, context.config);
  input.type = api::kFrontend;
  Value container = model::defaultContainer(input, allocator);
  make.set(container, "name", api::kSidecarContainer);
  if (const Value* image = json::find(sidecar, "image")) make.set(container, "image", *image);
  if (const Value* args = json::find(sidecar, "args"); args != nullptr && !json::isEmpty(*args)) {
    make.set(container, "args", *args);
    if (origins != nullptr) origins->user(recording.at / "args", kSidecar / "args");
  }
  appendEnvFromSecret(container, sidecar, kSidecar, recording, allocator);
  const Value* own = json::find(sidecar, "envs");
  const std::vector<const Value*> variables = model::mergedEnv({json::find(container, "env"), own});
  if (origins != nullptr) {
    model::recordEnv(variables, {{own, {Origin::Source::User, kSidecar / "envs"}}}, recording.at / "env",
                     *origins);
  }
  make.set(container, "env", model::copyEnv(variables, allocator));
  return container;
}

}  // namespace dynamo::render
