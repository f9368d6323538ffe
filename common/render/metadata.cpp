#include "common/render/metadata.h"

#include "common/api/dynamo.h"
#include "common/json/build.h"
#include "common/model/names.h"
#include "common/render/checkpoint.h"
#include "common/render/hash.h"
#include "common/render/object.h"

namespace dynamo::render {
namespace {

using json::Allocator;
using json::Value;

std::string_view modelOf(const Component& component) {
  return json::findText(json::findObject(&component.spec, "modelRef"), "name");
}

const Value* extra(const Component& component, std::string_view field) {
  return json::findObject(json::findObject(&component.spec, "extraPodMetadata"), field);
}

void setIdentity(const Component& component, Value& labels, const json::Maker& make) {
  make.set(labels, api::label::kComponent, component.key);
  make.set(labels, api::label::kNamespace, component.dynamoNamespace);
  make.set(labels, api::label::kGraph, component.graph);
  if (!component.workerHash.empty()) make.set(labels, api::label::kWorkerHash, component.workerHash);
  if (const auto model = modelOf(component); !model.empty()) {
    make.set(labels, api::label::kBaseModelHash, modelHash(model));
  }
}

}  // namespace

Value componentLabels(const Component& component, Allocator& allocator) {
  const json::Maker make{allocator};
  Value labels = make.object();
  layOver(labels, component.labels, allocator);
  setIdentity(component, labels, make);
  return labels;
}

Value podLabels(const Component& component, std::string_view selector, Allocator& allocator,
                UserLabels stronger) {
  const json::Maker make{allocator};
  Value labels = make.object();
  const Value* annotations = component.annotations;
  if (json::findText(annotations, api::annotation::kEnableMetrics) != "false") {
    make.set(labels, api::label::kMetricsEnabled, "true");
  }
  const Value* own = component.labels;
  layOver(labels, own, allocator);
  layOver(labels, extra(component, "labels"), allocator);
  if (stronger == UserLabels::OfComponent) layOver(labels, own, allocator);
  setIdentity(component, labels, make);
  if (!component.type.empty()) make.set(labels, api::label::kComponentType, component.type);
  const std::string_view subType = json::findText(&component.spec, "subComponentType");
  if (!subType.empty()) make.set(labels, api::label::kSubComponentType, subType);
  json::remove(labels, api::label::kSelector);
  if (!selector.empty()) make.set(labels, api::label::kSelector, selector);
  if (!component.hosts.grove) json::remove(labels, api::label::kRestoreTarget);
  if (component.checkpoint.enabled && component.checkpoint.ready) {
    make.set(labels, api::label::kRestoreTarget, "true");
    if (!component.checkpoint.hash.empty())
      make.set(labels, api::label::kCheckpointHash, component.checkpoint.hash);
  }
  return labels;
}

Value componentAnnotations(const Component& component, Allocator& allocator) {
  const json::Maker make{allocator};
  Value annotations = make.object();
  layOver(annotations, component.annotations, allocator);
  layOver(annotations, extra(component, "annotations"), allocator);
  if (const auto model = modelOf(component); !model.empty())
    make.set(annotations, api::annotation::kBaseModel, model);
  return annotations;
}

Value podAnnotations(const Component& component, const Pod& pod, const Value* base, Allocator& allocator) {
  const json::Maker make{allocator};
  Value annotations = make.object();
  layOver(annotations, base, allocator);
  layOver(annotations, extra(component, "annotations"), allocator);
  const Value* own = component.annotations;
  if (const Value* restart = json::find(own, api::annotation::kRestartAt)) {
    make.set(annotations, api::annotation::kRestartAt, *restart);
  }
  if (component.checkpoint.enabled) addPodInfoAnnotations(pod.mainContainer(), annotations, allocator);
  return annotations;
}

}  // namespace dynamo::render
