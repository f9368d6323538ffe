// Equality of specs for the lock on the spec: values that the typed API reads as equal count as unchanged.

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <string_view>

#include "common/api/contains.h"
#include "common/api/dgdr.h"
#include "common/api/kinds.h"
#include "common/conversion/dgdr.h"
#include "common/k8s/object.h"
#include "common/k8s/quantity.h"
#include "common/rules/request/dgdr.h"

namespace dynamo::rules {
namespace {

using api::contains;
using json::Value;

/// Scalars whose zero value is the same as their absence (not pointers in the API).
constexpr std::array<std::string_view, 9> kBetaZeros = {"/image",
                                                        "/backend",
                                                        "/searchStrategy",
                                                        "/model",
                                                        "/hardware/gpuSku",
                                                        "/modelCache/pvcName",
                                                        "/modelCache/pvcModelPath",
                                                        "/modelCache/pvcMountPath",
                                                        "/features/mocker/enabled"};

constexpr std::array<std::string_view, 15> kAlphaZeros = {"/model",
                                                          "/backend",
                                                          "/useMocker",
                                                          "/autoApply",
                                                          "/profilingConfig/profilerImage",
                                                          "/profilingConfig/outputPVC",
                                                          "/profilingConfig/configMapRef/name",
                                                          "/profilingConfig/configMapRef/key",
                                                          "/profilingConfig/tolerations",
                                                          "/profilingConfig/nodeSelector",
                                                          "/deploymentOverrides/workersImage",
                                                          "/deploymentOverrides/name",
                                                          "/deploymentOverrides/namespace",
                                                          "/deploymentOverrides/labels",
                                                          "/deploymentOverrides/annotations"};
/// Fields with a default other than zero, which the schema of v1alpha1 sets on every write.
constexpr std::string_view kAlphaDiscovery = "/enableGpuDiscovery";
constexpr std::string_view kAlphaConfigMapKey = "/profilingConfig/configMapRef/key";

/// Fields that hold values of Kubernetes types.
constexpr std::array<std::string_view, 1> kBetaTyped = {"/overrides/profilingJob"};
constexpr std::array<std::string_view, 2> kAlphaTyped = {"/profilingConfig/resources",
                                                         "/profilingConfig/tolerations"};

/// The properties of a version.
struct Shape {
  std::span<const std::string_view> zeros;
  std::span<const std::string_view> typed;
  bool alpha = false;
};

constexpr Shape kBeta{kBetaZeros, kBetaTyped};
constexpr Shape kAlpha{kAlphaZeros, kAlphaTyped, true};

/// Annotations of v1beta1 that hold fields of the v1alpha1 spec.
constexpr std::array kAlphaSpecAnnotations = {api::dgdr::kAlphaSpecRemainder,  api::dgdr::kConfigMapRef,
                                              api::dgdr::kOutputPvc,           api::dgdr::kEnableGpuDiscovery,
                                              api::dgdr::kDeploymentOverrides, api::dgdr::kProfilingConfig};

/// Maps of quantities inside overrides.profilingJob. isQuantity() knows the single quantities.
constexpr std::array<std::string_view, 3> kQuantityMaps = {"limits", "requests", "overhead"};
/// Maps with keys of the user. A key does not determine the type of its value, and an empty string is a
/// value.
constexpr std::array<std::string_view, 5> kTextMaps = {"nodeSelector", "labels", "annotations", "matchLabels",
                                                       "volumeAttributes"};

/// Boolean pointers of Kubernetes types, for which false is not the same as absent.
constexpr std::array<std::string_view, 13> kPointerBooleans = {"automountServiceAccountToken",
                                                               "shareProcessNamespace",
                                                               "enableServiceLinks",
                                                               "setHostnameAsFQDN",
                                                               "hostUsers",
                                                               "runAsNonRoot",
                                                               "privileged",
                                                               "allowPrivilegeEscalation",
                                                               "readOnlyRootFilesystem",
                                                               "optional",
                                                               "suspend",
                                                               "manualSelector",
                                                               "controller"};
/// String pointers of Kubernetes types, for which "" is not the same as absent.
constexpr std::array<std::string_view, 23> kPointerTexts = {"storageClassName",
                                                            "volumeAttributesClassName",
                                                            "volumeMode",
                                                            "runtimeClassName",
                                                            "preemptionPolicy",
                                                            "procMount",
                                                            "fsGroupChangePolicy",
                                                            "supplementalGroupsPolicy",
                                                            "seLinuxChangePolicy",
                                                            "localhostProfile",
                                                            "gmsaCredentialSpecName",
                                                            "gmsaCredentialSpec",
                                                            "runAsUserName",
                                                            "mountPropagation",
                                                            "recursiveReadOnly",
                                                            "nodeAffinityPolicy",
                                                            "nodeTaintsPolicy",
                                                            "resourceClaimName",
                                                            "resourceClaimTemplateName",
                                                            "apiGroup",
                                                            "signerName",
                                                            "completionMode",
                                                            "podReplacementPolicy"};
/// Numbers of Kubernetes types that are not pointers, for which 0 is the same as absent.
constexpr std::array<std::string_view, 10> kPlainNumbers = {"initialDelaySeconds",
                                                            "timeoutSeconds",
                                                            "periodSeconds",
                                                            "successThreshold",
                                                            "failureThreshold",
                                                            "hostPort",
                                                            "containerPort",
                                                            "maxSkew",
                                                            "weight",
                                                            "partition"};
/// Fields of metadata that the typed API reads. The CRD preserves other fields, which do not count.
constexpr std::array<std::string_view, 15> kObjectMeta = {"name",
                                                          "generateName",
                                                          "namespace",
                                                          "selfLink",
                                                          "uid",
                                                          "resourceVersion",
                                                          "generation",
                                                          "creationTimestamp",
                                                          "deletionTimestamp",
                                                          "deletionGracePeriodSeconds",
                                                          "labels",
                                                          "annotations",
                                                          "ownerReferences",
                                                          "finalizers",
                                                          "managedFields"};
/// Maps and structs that typed clients may write as empty objects.
constexpr std::array<std::string_view, 9> kEmptyIsAbsent = {"nodeSelector", "labels",    "annotations",
                                                            "matchLabels",  "limits",    "requests",
                                                            "overhead",     "resources", "metadata"};

bool isQuantity(std::string_view parent, std::string_view key) {
  return (parent == "resourceFieldRef" && key == "divisor") || (parent == "emptyDir" && key == "sizeLimit");
}

bool isZeroQuantity(const Value& value) {
  const auto text = k8s::quantityText(value);
  const auto quantity = text ? k8s::parseQuantity(*text) : std::nullopt;
  return quantity && quantity->nano == 0;
}

bool isZero(const Value& value) {
  return value.IsFalse() || (value.IsString() && value.GetStringLength() == 0) ||
         (value.IsArray() && value.Empty()) || (value.IsObject() && value.ObjectEmpty());
}

class Comparison {
 public:
  explicit Comparison(const Shape& shape) : shape_(shape) {}

  bool same(const Value* a, const Value* b, std::string_view key) {
    if (a != nullptr && a->IsNull()) a = nullptr;
    if (b != nullptr && b->IsNull()) b = nullptr;
    if (a == nullptr || b == nullptr) return a == b || absentEquals(a == nullptr ? *b : *a, key);
    if (inJob_ && quantity_) return k8s::sameQuantity(*a, *b);
    if (a->IsObject() && b->IsObject()) return sameObjects(*a, *b);
    if (a->IsArray() && b->IsArray()) {
      if (a->Size() != b->Size()) return false;
      for (rapidjson::SizeType i = 0; i < a->Size(); ++i) {
        if (!same(&(*a)[i], &(*b)[i], {})) return false;
      }
      return true;
    }
    return json::equal(*a, *b);
  }

 private:
  static bool sameText(const Value* a, const Value* b) {
    const auto present = [](const Value* value) {
      return value != nullptr && value->IsNull() ? nullptr : value;
    };
    return json::equal(present(a), present(b));
  }

  bool absentEquals(const Value& other, std::string_view key) const {
    if (isZero(other) && contains(shape_.zeros, pointer_)) return true;
    if (shape_.alpha && pointer_ == kAlphaDiscovery) return other.IsTrue();
    if (shape_.alpha && pointer_ == kAlphaConfigMapKey)
      return json::text(&other) == api::dgdr::kDefaultConfigMapKey;
    return inJob_ && absentInJob(other, key);
  }

  /// Whether the typed JobSpec omits the value when it is serialized.
  static bool absentInJob(const Value& value, std::string_view key) {
    if (value.IsNull()) return true;
    if (key == "divisor" && isZeroQuantity(value)) return true;
    if (value.IsFalse()) return !contains(kPointerBooleans, key);
    if (value.IsNumber()) return value.GetDouble() == 0 && contains(kPlainNumbers, key);
    if (value.IsString()) return value.GetStringLength() == 0 && !contains(kPointerTexts, key);
    if (value.IsArray()) return value.Empty() && key != "containers";
    if (!value.IsObject() || !contains(kEmptyIsAbsent, key)) return false;
    const bool texts = contains(kTextMaps, key);
    return std::all_of(value.MemberBegin(), value.MemberEnd(), [texts](const auto& m) {
      return texts ? m.value.IsNull() : absentInJob(m.value, json::text(m.name));
    });
  }

  bool sameObjects(const Value& a, const Value& b) {
    return std::all_of(a.MemberBegin(), a.MemberEnd(),
                       [&](const auto& m) {
                         const std::string_view key = json::text(m.name);
                         return descend(&m.value, json::findRaw(b, key), key);
                       }) &&
           std::all_of(b.MemberBegin(), b.MemberEnd(), [&](const auto& m) {
             const std::string_view key = json::text(m.name);
             return json::findRaw(a, key) != nullptr || descend(nullptr, &m.value, key);
           });
  }

  bool descend(const Value* a, const Value* b, std::string_view key) {
    if (inJob_ && parent_ == "metadata" && !contains(kObjectMeta, key)) return true;
    const std::size_t length = pointer_.size();
    const bool wasInJob = inJob_;
    const bool wasQuantity = quantity_;
    const bool wasMap = quantityMap_;
    const std::string_view wasParent = parent_;
    const bool inTexts = inJob_ && contains(kTextMaps, parent_);
    pointer_ += '/';
    pointer_ += key;
    if (contains(shape_.typed, pointer_)) inJob_ = true;
    quantity_ = quantityMap_ || isQuantity(parent_, key);
    quantityMap_ = inJob_ && contains(kQuantityMaps, key);
    if (quantityMap_) quantity_ = false;
    parent_ = key;
    const bool result = inTexts ? sameText(a, b) : same(a, b, key);
    parent_ = wasParent;
    pointer_.resize(length);
    inJob_ = wasInJob;
    quantity_ = wasQuantity;
    quantityMap_ = wasMap;
    return result;
  }

  const Shape& shape_;
  std::string pointer_;
  std::string_view parent_;  ///< the key of the object that is compared
  bool inJob_ = false;
  bool quantity_ = false;
  bool quantityMap_ = false;
};

bool sameSpec(const Value* before, const Value* after, const Shape& shape) {
  static const Value kEmpty{rapidjson::kObjectType};
  const auto given = [](const Value* spec) { return spec == nullptr || spec->IsNull() ? &kEmpty : spec; };
  return Comparison{shape}.same(given(before), given(after), {});
}

}  // namespace

bool sameDgdrSpec(const Value* before, const Value* after) {
  return sameSpec(before, after, kBeta);
}

bool sameAlphaSpec(const Value& before, const Value& after) {
  const Value* was = k8s::annotationsOf(before);
  const Value* now = k8s::annotationsOf(after);
  const auto unchanged = [&](std::string_view key) {
    return json::findText(was, key) == json::findText(now, key);
  };
  const bool annotations = std::all_of(kAlphaSpecAnnotations.begin(), kAlphaSpecAnnotations.end(), unchanged);
  if (annotations) return true;
  json::Document document;
  json::Allocator& allocator = document.GetAllocator();
  Value alphaBefore;
  Value alphaAfter;
  if (conversion::convertDgdr(before, api::kV1alpha1, alphaBefore, allocator) ||
      conversion::convertDgdr(after, api::kV1alpha1, alphaAfter, allocator)) {
    return false;
  }
  return sameSpec(json::find(alphaBefore, "spec"), json::find(alphaAfter, "spec"), kAlpha);
}

}  // namespace dynamo::rules
