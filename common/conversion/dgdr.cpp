#include "common/conversion/dgdr.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "common/api/dgdr.h"
#include "common/api/kinds.h"
#include "common/conversion/annotation_budget.h"
#include "common/conversion/base_mapping.h"
#include "common/conversion/carried.h"
#include "common/conversion/profiler_config.h"
#include "common/conversion/remainder.h"
#include "common/json/utf8.h"
#include "common/k8s/object.h"

namespace dynamo::conversion {
namespace {

using json::Allocator;
using json::Value;
using k8s::annotationsOf;

namespace keys = api::dgdr;

constexpr std::string_view kProfilerImage = "/spec/profilingConfig/profilerImage";
constexpr std::size_t kUsualFields = 16;  // of a remainder
constexpr std::string_view kWorkersImage = "/spec/deploymentOverrides/workersImage";
constexpr std::string_view kBelowWorkload = "/spec/workload/";
constexpr std::string_view kPhase = "/status/phase";
constexpr std::string_view kState = "/status/state";

/// apiVersion, kind and metadata of the result. Our annotations are replaced by `own`.
Draft shell(const Value& object, std::string_view version, const std::vector<Annotation>& own,
            Allocator& allocator) {
  const View source = View{&object}.findObject("metadata");
  Draft metadata = Draft::object(allocator, source.size() + 1);
  for (std::uint32_t i = 0; i < source.size(); ++i) {
    const NamedView member = source.member(i);
    if (member.name != "annotations") metadata.add(member.name, member.view, allocator);
  }
  const View annotations = source.findObject("annotations");
  const auto most = annotations.size() + static_cast<std::uint32_t>(own.size());
  Draft kept = Draft::object(allocator, most);
  for (std::uint32_t i = 0; i < annotations.size(); ++i) {
    const NamedView member = annotations.member(i);
    if (!keys::isPrivateAnnotation(member.name)) kept.add(member.name, member.view, allocator);
  }
  for (const Annotation& annotation : own) {
    kept.add(annotation.key, keep(json::string(annotation.value, allocator), allocator), allocator);
  }
  if (kept.view().size() != 0) metadata.add("annotations", std::move(kept), allocator);
  Draft result = Draft::object(allocator, 5);
  result.add("apiVersion", keep(Value{json::ref(version)}, allocator), allocator);
  result.add("kind", keep(Value{json::ref(api::kDynamoGraphDeploymentRequest)}, allocator), allocator);
  result.add("metadata", std::move(metadata), allocator);
  return result;
}

/// The whole result: its shell with spec and status of `mapped`.
View assembled(Draft result, const Draft& mapped, Allocator& allocator) {
  for (const std::string_view name : {"spec", "status"}) {
    if (const View part = mapped.view().findRaw(name)) result.add(name, part, allocator);
  }
  return result.view();
}

/// The fields to restore. An object without a status is new and may be a copy of another object: then the
/// saved status is that of the other object and is not restored.
std::vector<Field> savedFields(const Value& object, std::string_view specKey, std::string_view statusKey,
                               Allocator& allocator) {
  const Value* annotations = annotationsOf(object);
  std::vector<Field> fields = decode(json::findText(annotations, specKey), "/spec", allocator);
  if (json::find(object, "status") == nullptr) return fields;
  for (Field& field : decode(json::findText(annotations, statusKey), "/status", allocator)) {
    fields.push_back(std::move(field));
  }
  return fields;
}

/// Drops a saved phase or state that the live object contradicts (conv-Q15).
template <typename ReadsAs>
void dropOvertaken(std::vector<Field>& saved, std::string_view pointer, std::string_view shown,
                   const ReadsAs& readsAs) {
  std::erase_if(saved, [&](const Field& field) {
    return field.pointer == pointer && !readsAs(field.value.text(), shown);
  });
}

bool restoresWorkload(const std::vector<Field>& saved) {
  return std::any_of(saved.begin(), saved.end(), [](const Field& field) {
    return !field.guarded && field.value && field.pointer.starts_with(kBelowWorkload);
  });
}

/// Whether `beta` has fields of a workload that v1alpha1 lacks.
bool savesWorkload(View beta) {
  const View workload = beta.find("spec").findObject("workload");
  const auto at = kRepresentedInV1beta1.down(kRepresentedInV1beta1.down({}, "spec"), "workload");
  for (std::uint32_t i = 0; i < workload.size(); ++i) {
    const auto step = kRepresentedInV1beta1.down(at, workload.member(i).name);
    if (step.place() == Represented::Place::TargetOnly) return true;
  }
  return false;
}

/// What the base mapping gets wrong on the way back: `mapped` is what it makes of the converted object.
std::vector<Field> remainderOf(View mapped, View object, const Represented& represented) {
  std::vector<Field> fields;
  fields.reserve(kUsualFields);
  for (const std::string_view name : {"spec", "status"}) {
    difference(mapped, object, name, represented, fields);
  }
  return fields;
}

/// profilerImage and workersImage share spec.image (quirk conv-Q3): a workersImage that gave the image is
/// restored only while the image is still that one.
void guardWorkersImage(View beta, View alpha, std::vector<Field>& fields) {
  if (!alpha.find("spec").find("profilingConfig").findText("profilerImage").empty()) return;
  const View image = beta.find("spec").find("image");
  if (!image) return;
  for (Field& field : fields) {
    if (field.pointer != kWorkersImage) continue;
    field.guarded = true;
    field.seen = image;
    field.guardPointer = kProfilerImage;
  }
}

/// An object in the other version, and what that version cannot hold of it.
struct Mapped {
  Draft object;  ///< spec and status
  Carried carried;
  std::vector<Field> remainder;  ///< guarded: of what the other version speaks for
};

/// Whether every guard of `mapped` is one of `plain`, too: then what was restored changes nothing that the
/// live object says.
bool saysNoMore(const Mapped& mapped, const Mapped& plain) {
  return std::all_of(mapped.remainder.begin(), mapped.remainder.end(), [&](const Field& field) {
    return !field.guarded ||
           std::any_of(plain.remainder.begin(), plain.remainder.end(), [&](const Field& other) {
             return other.guarded && other.pointer == field.pointer && equal(other.seen, field.seen);
           });
  });
}

/// Up to this many saved fields are tried one by one. Conversion itself writes only a few.
constexpr std::ptrdiff_t kMostJudged = 16;

/// Maps and restores what was saved in annotations. Anyone may write those, so the live object wins: a field
/// that it speaks for is restored only behind a guard, as conversion saves it, and only to a value that reads
/// the same in the live version.
template <typename Map>
Mapped faithful(std::vector<Field>& saved, const Represented& represented, const Map& map) {
  const auto spokenFor = [&](const Field& field) {
    return represented.placeOf(field.pointer) != Represented::Place::TargetOnly;
  };
  std::erase_if(saved, [&](const Field& field) { return !field.guarded && spokenFor(field); });
  Mapped mapped = map(saved);
  const auto isGuarded = [](const Field& field) { return field.guarded; };
  if (std::none_of(mapped.remainder.begin(), mapped.remainder.end(), isGuarded)) return mapped;
  const auto spoken = std::count_if(saved.begin(), saved.end(), spokenFor);
  if (spoken == 0) return mapped;
  for (Field& field : saved) field.skipped = spokenFor(field);
  Mapped plain = map(saved);
  if (saysNoMore(mapped, plain)) return mapped;
  if (spoken > kMostJudged) return plain;
  for (Field& field : saved) {
    if (!field.skipped) continue;
    field.skipped = false;
    field.skipped = !saysNoMore(map(saved), plain);
  }
  return map(saved);
}

/// Like faithful(), but keeps the status when leaving it out, as the object did before, would lose saved
/// fields: an object without a status is read as a new one (savedFields).
template <typename Map>
Mapped keepingStatus(std::vector<Field> saved, const Represented& represented, const Map& map) {
  Mapped mapped = faithful(saved, represented, map);
  const bool hidden = !mapped.object.view().find("status");
  const auto ofStatus = [](const Field& field) { return field.pointer.starts_with("/status/"); };
  if (!hidden || std::none_of(mapped.remainder.begin(), mapped.remainder.end(), ofStatus)) return mapped;
  std::erase_if(saved, [](const Field& field) { return field.pointer == "/status"; });
  for (Field& field : saved) field.skipped = false;
  return faithful(saved, represented, map);
}

View toV1beta1(const Value& alpha, Allocator& allocator, std::size_t unseenAnnotations) {
  const auto map = [&](const std::vector<Field>& saved) {
    Mapped mapped;
    mapped.object = mapToV1beta1(&alpha, allocator);
    if (restoresWorkload(saved)) defaultWorkload(mapped.object, allocator);
    restore(saved, mapped.object, allocator);
    const View beta = mapped.object.view();
    Carried& carried = mapped.carried = carriedOf(&alpha, allocator);
    const std::string_view dgdName = beta.find("status").findText("dgdName");
    if (carried.deploymentStatus && equal(carried.deploymentStatus, minimalDeployment(dgdName, allocator))) {
      carried.deploymentStatus = {};  // the name says the same
    }
    if (const View spec = beta.findObject("spec"); spec && carried.profilingConfig) {
      // A configuration that the typed fields represent completely is not kept beside them.
      const View told = profilerConfigFromSpec(spec, {}, allocator);
      if (equal(told, carried.profilingConfig)) carried.profilingConfig = {};
    }
    const Draft back = mapToV1alpha1(beta, carried, allocator);
    mapped.remainder = remainderOf(back.view(), &alpha, kRepresentedInV1alpha1);
    return mapped;
  };
  std::vector<Field> saved =
      savedFields(alpha, keys::kBetaSpecRemainder, keys::kBetaStatusRemainder, allocator);
  dropOvertaken(saved, kPhase, json::findText(json::find(&alpha, "status"), "state"), readsAsState);
  Mapped mapped = keepingStatus(std::move(saved), kRepresentedInV1beta1, map);
  guardWorkersImage(mapped.object.view(), &alpha, mapped.remainder);
  const std::vector<Annotation> annotations =
      fitAnnotations(annotationsOf(alpha), unseenAnnotations, writeCarried(mapped.carried),
                     std::move(mapped.remainder), keys::kAlphaSpecRemainder, keys::kAlphaStatusRemainder);
  return assembled(shell(alpha, api::kV1beta1, annotations, allocator), mapped.object, allocator);
}

View toV1alpha1(const Value& beta, Allocator& allocator, std::size_t unseenAnnotations) {
  const Carried carried = readCarried(annotationsOf(beta), allocator);
  const auto map = [&](const std::vector<Field>& saved) {
    Mapped mapped;
    mapped.object = mapToV1alpha1(&beta, carried, allocator);
    restore(saved, mapped.object, allocator);
    Draft back = mapToV1beta1(mapped.object.view(), allocator);
    if (savesWorkload(&beta)) defaultWorkload(back, allocator);
    mapped.remainder = remainderOf(back.view(), &beta, kRepresentedInV1beta1);
    return mapped;
  };
  std::vector<Field> saved =
      savedFields(beta, keys::kAlphaSpecRemainder, keys::kAlphaStatusRemainder, allocator);
  dropOvertaken(saved, kState, json::findText(json::find(&beta, "status"), "phase"), readsAsPhase);
  Mapped mapped = keepingStatus(std::move(saved), kRepresentedInV1alpha1, map);
  const std::vector<Annotation> annotations =
      fitAnnotations(annotationsOf(beta), unseenAnnotations, {}, std::move(mapped.remainder),
                     keys::kBetaSpecRemainder, keys::kBetaStatusRemainder);
  return assembled(shell(beta, api::kV1alpha1, annotations, allocator), mapped.object, allocator);
}

ConvertError failure(const Value& object, std::string_view what) {
  const Value* metadata = json::find(&object, "metadata");
  const std::string_view name = json::findText(metadata, "name");
  const std::string_view space = json::findText(metadata, "namespace");
  return {
      fmt::format("{}{}{}: {}", space, space.empty() ? "" : "/", name.empty() ? "(no name)" : name, what)};
}

}  // namespace

std::optional<ConvertError> convertDgdr(const Value& object, std::string_view desiredVersion, View& converted,
                                        Allocator& allocator, std::size_t unseenAnnotations) {
  if (!object.IsObject()) return failure(object, "the item is not an object");
  if (json::findText(&object, "kind") != api::kDynamoGraphDeploymentRequest) {
    return failure(object, fmt::format("kind: Unsupported value: \"{}\": supported values: \"{}\"",
                                       json::excerpt(json::findText(&object, "kind")),
                                       api::kDynamoGraphDeploymentRequest));
  }
  const std::string_view version = json::findText(&object, "apiVersion");
  const auto supported = [](std::string_view v) { return v == api::kV1alpha1 || v == api::kV1beta1; };
  if (!supported(version) || !supported(desiredVersion)) {
    return failure(
        object,
        fmt::format("apiVersion: cannot convert \"{}\" to \"{}\": supported values: \"{}\", \"{}\"",
                    json::excerpt(version), json::excerpt(desiredVersion), api::kV1alpha1, api::kV1beta1));
  }
  if (version == desiredVersion) {
    converted = &object;
  } else if (version == api::kV1beta1) {
    converted = toV1alpha1(object, allocator, unseenAnnotations);
  } else {
    converted = toV1beta1(object, allocator, unseenAnnotations);
  }
  return std::nullopt;
}

std::optional<ConvertError> convertDgdr(const Value& object, std::string_view desiredVersion,
                                        Value& converted, Allocator& allocator) {
  View view;
  if (auto error = convertDgdr(object, desiredVersion, view, allocator)) return error;
  converted = toValue(view, allocator);
  return std::nullopt;
}

}  // namespace dynamo::conversion
