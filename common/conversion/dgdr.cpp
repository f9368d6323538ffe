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
constexpr std::size_t kExpectedFields = 16;  // of a remainder
constexpr std::string_view kWorkersImage = "/spec/deploymentOverrides/workersImage";
constexpr std::string_view kBelowWorkload = "/spec/workload/";
constexpr std::string_view kPhase = "/status/phase";
constexpr std::string_view kState = "/status/state";

/// apiVersion, kind and metadata of the result. `added` replaces the annotations of the conversion.
Draft resultHead(const Value& object, std::string_view version, const std::vector<Annotation>& added,
                 Allocator& allocator) {
  const View source = View{&object}.findObject("metadata");
  Draft metadata = Draft::object(allocator, source.size() + 1);
  for (std::uint32_t i = 0; i < source.size(); ++i) {
    const NamedView member = source.member(i);
    if (member.name != "annotations") metadata.add(member.name, member.view, allocator);
  }
  const View annotations = source.findObject("annotations");
  const auto expected = annotations.size() + static_cast<std::uint32_t>(added.size());
  Draft kept = Draft::object(allocator, expected);
  for (std::uint32_t i = 0; i < annotations.size(); ++i) {
    const NamedView member = annotations.member(i);
    if (!keys::isPrivateAnnotation(member.name)) kept.add(member.name, member.view, allocator);
  }
  for (const Annotation& annotation : added) {
    kept.add(annotation.key, keep(json::string(annotation.value, allocator), allocator), allocator);
  }
  if (kept.view().size() != 0) metadata.add("annotations", std::move(kept), allocator);
  Draft result = Draft::object(allocator, 5);
  result.add("apiVersion", keep(Value{json::ref(version)}, allocator), allocator);
  result.add("kind", keep(Value{json::ref(api::kDynamoGraphDeploymentRequest)}, allocator), allocator);
  result.add("metadata", std::move(metadata), allocator);
  return result;
}

/// `result` with spec and status of `mapped`.
View withSpecAndStatus(Draft result, const Draft& mapped, Allocator& allocator) {
  for (const std::string_view name : {"spec", "status"}) {
    if (const View part = mapped.view().findRaw(name)) result.add(name, part, allocator);
  }
  return result.view();
}

/// The fields to restore. The status is not restored for an object without a status: such an object is new
/// and may be a copy of another object, to which the saved status belongs.
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
void dropContradicted(std::vector<Field>& saved, std::string_view pointer, std::string_view shown,
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

/// Whether the workload of `beta` has fields that v1alpha1 cannot represent.
bool savesWorkload(View beta) {
  const View workload = beta.find("spec").findObject("workload");
  const auto at = kRepresentedInV1beta1.descend(kRepresentedInV1beta1.descend({}, "spec"), "workload");
  for (std::uint32_t i = 0; i < workload.size(); ++i) {
    const auto step = kRepresentedInV1beta1.descend(at, workload.member(i).name);
    if (step.relation() == RepresentedFields::Relation::Unrepresented) return true;
  }
  return false;
}

/// The differences between `object` and `mapped`, the result of mapping the converted object back.
std::vector<Field> remainderOf(View mapped, View object, const RepresentedFields& represented) {
  std::vector<Field> fields;
  fields.reserve(kExpectedFields);
  for (const std::string_view name : {"spec", "status"}) {
    difference(mapped, object, name, represented, fields);
  }
  return fields;
}

/// profilerImage and workersImage share spec.image (quirk conv-Q3). A workersImage that became spec.image is
/// restored only if spec.image has not changed.
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

/// An object in the other version, and the data that this version cannot represent.
struct Mapped {
  Draft object;  ///< spec and status
  Carried carried;
  std::vector<Field> remainder;  ///< guarded fields are those that the other version represents
};

/// Whether `plain` has every guard of `mapped`, too. Then the restored fields change nothing that the live
/// object represents.
bool addsNoGuard(const Mapped& mapped, const Mapped& plain) {
  return std::all_of(mapped.remainder.begin(), mapped.remainder.end(), [&](const Field& field) {
    return !field.guarded ||
           std::any_of(plain.remainder.begin(), plain.remainder.end(), [&](const Field& other) {
             return other.guarded && other.pointer == field.pointer && equal(other.seen, field.seen);
           });
  });
}

/// Maximum number of saved fields that are tried one by one. Conversion itself writes only a few.
constexpr std::ptrdiff_t kMaxTriedFields = 16;

/// Maps the object and restores the saved fields. The live object takes precedence, because users can write
/// the annotations: a field that the live version represents is restored only with a guard, and only if the
/// restored object maps back to the same live object.
template <typename Map>
Mapped mapAndRestore(std::vector<Field>& saved, const RepresentedFields& represented, const Map& map) {
  const auto isRepresented = [&](const Field& field) {
    return represented.relationOf(field.pointer) != RepresentedFields::Relation::Unrepresented;
  };
  std::erase_if(saved, [&](const Field& field) { return !field.guarded && isRepresented(field); });
  Mapped mapped = map(saved);
  const auto isGuarded = [](const Field& field) { return field.guarded; };
  if (std::none_of(mapped.remainder.begin(), mapped.remainder.end(), isGuarded)) return mapped;
  const auto representedCount = std::count_if(saved.begin(), saved.end(), isRepresented);
  if (representedCount == 0) return mapped;
  for (Field& field : saved) field.skipped = isRepresented(field);
  Mapped plain = map(saved);
  if (addsNoGuard(mapped, plain)) return mapped;
  if (representedCount > kMaxTriedFields) return plain;
  for (Field& field : saved) {
    if (!field.skipped) continue;
    field.skipped = false;
    field.skipped = !addsNoGuard(map(saved), plain);
  }
  return map(saved);
}

/// Like mapAndRestore(), but does not remove the status if the remainder has fields of the status: these
/// would be lost, because the status of an object without a status is not restored (see savedFields).
template <typename Map>
Mapped mapKeepingStatus(std::vector<Field> saved, const RepresentedFields& represented, const Map& map) {
  Mapped mapped = mapAndRestore(saved, represented, map);
  const bool hidden = !mapped.object.view().find("status");
  const auto isStatusField = [](const Field& field) { return field.pointer.starts_with("/status/"); };
  if (!hidden || std::none_of(mapped.remainder.begin(), mapped.remainder.end(), isStatusField)) return mapped;
  std::erase_if(saved, [](const Field& field) { return field.pointer == "/status"; });
  for (Field& field : saved) field.skipped = false;
  return mapAndRestore(saved, represented, map);
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
      carried.deploymentStatus = {};  // the name alone gives the same status
    }
    if (const View spec = beta.findObject("spec"); spec && carried.profilingConfig) {
      // The configuration is not saved if the typed fields represent it completely.
      const View typedConfig = profilerConfigFromSpec(spec, {}, allocator);
      if (equal(typedConfig, carried.profilingConfig)) carried.profilingConfig = {};
    }
    const Draft back = mapToV1alpha1(beta, carried, allocator);
    mapped.remainder = remainderOf(back.view(), &alpha, kRepresentedInV1alpha1);
    return mapped;
  };
  std::vector<Field> saved =
      savedFields(alpha, keys::kBetaSpecRemainder, keys::kBetaStatusRemainder, allocator);
  dropContradicted(saved, kPhase, json::findText(json::find(&alpha, "status"), "state"), readsAsState);
  Mapped mapped = mapKeepingStatus(std::move(saved), kRepresentedInV1beta1, map);
  guardWorkersImage(mapped.object.view(), &alpha, mapped.remainder);
  const std::vector<Annotation> annotations =
      fitAnnotations(annotationsOf(alpha), unseenAnnotations, writeCarried(mapped.carried),
                     std::move(mapped.remainder), keys::kAlphaSpecRemainder, keys::kAlphaStatusRemainder);
  return withSpecAndStatus(resultHead(alpha, api::kV1beta1, annotations, allocator), mapped.object,
                           allocator);
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
  dropContradicted(saved, kState, json::findText(json::find(&beta, "status"), "phase"), readsAsPhase);
  Mapped mapped = mapKeepingStatus(std::move(saved), kRepresentedInV1alpha1, map);
  const std::vector<Annotation> annotations =
      fitAnnotations(annotationsOf(beta), unseenAnnotations, {}, std::move(mapped.remainder),
                     keys::kBetaSpecRemainder, keys::kBetaStatusRemainder);
  return withSpecAndStatus(resultHead(beta, api::kV1alpha1, annotations, allocator), mapped.object,
                           allocator);
}

ConvertError failure(const Value& object, std::string_view what) {
  const Value* metadata = json::find(&object, "metadata");
  const std::string_view name = json::findText(metadata, "name");
  const std::string_view namespaceName = json::findText(metadata, "namespace");
  return {fmt::format("{}{}{}: {}", namespaceName, namespaceName.empty() ? "" : "/",
                      name.empty() ? "(no name)" : name, what)};
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
