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

const field::Path kLabels{"metadata.labels"};
const field::Path kAnnotations{"metadata.annotations"};
const field::Path kOwnLabels{"labels"};
const field::Path kOwnAnnotations{"annotations"};
const field::Path kExtraLabels{"extraPodMetadata.labels"};
const field::Path kExtraAnnotations{"extraPodMetadata.annotations"};
const field::Path kComponentType{"componentType"};
const field::Path kSubComponentType{"subComponentType"};
const field::Path kModel{"modelRef.name"};
const field::Path kCheckpoint{"checkpoint"};
const field::Path kWhole;

/// layOver(), and that the members are those of `field`.
void layRecorded(Value& to, const Value* from, const field::Path& at, const field::Path& field,
                 Origins* origins, Allocator& allocator) {
  layOver(to, from, allocator);
  if (origins == nullptr || from == nullptr) return;
  for (const auto& member : from->GetObject()) {
    const std::string_view key = json::text(member.name);
    if (!member.value.IsNull()) origins->user(at.key(key), field.key(key));
  }
}

/// Sets a label that the operator makes, of `field` where there is one. `origins` are those of the object.
void setLabel(Value& labels, std::string_view key, std::string_view value, const json::Maker& make,
              Origins* origins, Origin::Source source = Origin::Source::Operator,
              const field::Path& field = kWhole) {
  make.set(labels, key, value);
  if (origins != nullptr) origins->set(kLabels.key(key), {source, field});
}

void setIdentity(const Component& component, Value& labels, Origins* origins, const json::Maker& make) {
  setLabel(labels, api::label::kComponent, component.key, make, origins);
  setLabel(labels, api::label::kNamespace, component.dynamoNamespace, make, origins);
  setLabel(labels, api::label::kGraph, component.graph, make, origins);
  if (!component.workerHash.empty()) {
    setLabel(labels, api::label::kWorkerHash, component.workerHash, make, origins);
  }
  if (const auto model = modelOf(component); !model.empty()) {
    setLabel(labels, api::label::kBaseModelHash, modelHash(model), make, origins, Origin::Source::Made,
             kModel);
  }
}

}  // namespace

Value componentLabels(const Component& component, Allocator& allocator) {
  const json::Maker make{allocator};
  Value labels = make.object();
  layOver(labels, component.labels, allocator);
  setIdentity(component, labels, nullptr, make);
  return labels;
}

Value podLabels(const Component& component, std::string_view selector, Origins* origins, Allocator& allocator,
                UserLabels stronger) {
  const json::Maker make{allocator};
  const auto lay = [&](Value& labels, const Value* from, const field::Path& field) {
    layRecorded(labels, from, kLabels, field, origins, allocator);
  };
  Value labels = make.object();
  const Value* annotations = component.annotations;
  if (json::findText(annotations, api::annotation::kEnableMetrics) != "false") {
    setLabel(labels, api::label::kMetricsEnabled, "true", make, origins);
  }
  const Value* own = component.labels;
  lay(labels, own, kOwnLabels);
  lay(labels, extra(component, "labels"), kExtraLabels);
  if (stronger == UserLabels::OfComponent) lay(labels, own, kOwnLabels);
  setIdentity(component, labels, origins, make);
  if (!component.type.empty()) {
    setLabel(labels, api::label::kComponentType, component.type, make, origins, Origin::Source::User,
             kComponentType);
  }
  const std::string_view subType = json::findText(&component.spec, "subComponentType");
  if (!subType.empty()) {
    setLabel(labels, api::label::kSubComponentType, subType, make, origins, Origin::Source::User,
             kSubComponentType);
  }
  json::remove(labels, api::label::kSelector);
  if (!selector.empty()) setLabel(labels, api::label::kSelector, selector, make, origins);
  if (!component.hosts.grove) json::remove(labels, api::label::kRestoreTarget);
  if (component.checkpoint.enabled && component.checkpoint.ready) {
    setLabel(labels, api::label::kRestoreTarget, "true", make, origins, Origin::Source::Operator,
             kCheckpoint);
    if (!component.checkpoint.hash.empty()) {
      setLabel(labels, api::label::kCheckpointHash, component.checkpoint.hash, make, origins,
               Origin::Source::Operator, kCheckpoint);
    }
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

Value podAnnotations(const Component& component, const Pod& pod, BaseAnnotations base, Origins* origins,
                     Allocator& allocator) {
  const json::Maker make{allocator};
  Value annotations = make.object();
  const Value* own = component.annotations;
  if (base == BaseAnnotations::OfComponent)
    layRecorded(annotations, own, kAnnotations, kOwnAnnotations, origins, allocator);
  layRecorded(annotations, extra(component, "annotations"), kAnnotations, kExtraAnnotations, origins,
              allocator);
  if (const Value* restart = json::find(own, api::annotation::kRestartAt)) {
    make.set(annotations, api::annotation::kRestartAt, *restart);
    if (origins != nullptr) {
      origins->user(kAnnotations.key(api::annotation::kRestartAt),
                    kOwnAnnotations.key(api::annotation::kRestartAt));
    }
  }
  if (component.checkpoint.enabled) {
    const field::Path main = field::Path{"spec.containers"}[pod.main];
    addPodInfoAnnotations(pod.mainContainer(), main, annotations, origins, allocator);
  }
  return annotations;
}

}  // namespace dynamo::render
