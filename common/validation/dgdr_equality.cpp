// When the spec is locked, what the typed API reads alike must count as unchanged (admission.md 10.3).

#include <algorithm>
#include <array>
#include <string_view>

#include "common/k8s/quantity.h"
#include "common/validation/dgdr.h"

namespace dynamo::validation {
namespace {

using json::Value;

/// Scalars whose zero value is the same as their absence (not pointers in the API).
constexpr std::array<std::string_view, 9> kZeroIsAbsent = {"/image",
                                                           "/backend",
                                                           "/searchStrategy",
                                                           "/model",
                                                           "/hardware/gpuSku",
                                                           "/modelCache/pvcName",
                                                           "/modelCache/pvcModelPath",
                                                           "/modelCache/pvcMountPath",
                                                           "/features/mocker/enabled"};

/// Maps whose values are quantities, and single quantities, inside overrides.profilingJob.
constexpr std::array<std::string_view, 3> kQuantityMaps = {"limits", "requests", "overhead"};
constexpr std::array<std::string_view, 2> kQuantities = {"divisor", "sizeLimit"};

/// Booleans of Kubernetes types that are pointers: there, false is not the same as absent.
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
/// Numbers of Kubernetes types that are no pointers: 0 is the same as absent.
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
/// What the typed API reads of metadata; the CRD lets everything else stand there.
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
/// Maps and structs that typed clients write out empty.
constexpr std::array<std::string_view, 9> kEmptyIsAbsent = {"nodeSelector", "labels",    "annotations",
                                                            "matchLabels",  "limits",    "requests",
                                                            "overhead",     "resources", "metadata"};

template <class List>
bool contains(const List& list, std::string_view item) {
  return std::find(list.begin(), list.end(), item) != list.end();
}

bool isZero(const Value& value) {
  return value.IsFalse() || (value.IsString() && value.GetStringLength() == 0);
}

class Comparison {
 public:
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
  bool absentEquals(const Value& other, std::string_view key) const {
    if (isZero(other) && contains(kZeroIsAbsent, pointer_)) return true;
    return inJob_ && absentInJob(other, key);
  }

  /// What the typed JobSpec omits when it writes itself.
  static bool absentInJob(const Value& value, std::string_view key) {
    if (value.IsNull()) return true;
    if (value.IsFalse()) return !contains(kPointerBooleans, key);
    if (value.IsNumber()) return value.GetDouble() == 0 && contains(kPlainNumbers, key);
    if (value.IsString()) return value.GetStringLength() == 0 && key != "storageClassName";
    if (value.IsArray()) return value.Empty() && key != "containers";
    return value.IsObject() && contains(kEmptyIsAbsent, key) &&
           std::all_of(value.MemberBegin(), value.MemberEnd(),
                       [](const auto& m) { return absentInJob(m.value, json::text(m.name)); });
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
    if (inJob_ && pointer_.ends_with("/metadata") && !contains(kObjectMeta, key)) return true;
    const std::size_t length = pointer_.size();
    const bool wasInJob = inJob_;
    const bool wasQuantity = quantity_;
    const bool wasMap = quantityMap_;
    pointer_ += '/';
    pointer_ += key;
    if (pointer_ == "/overrides/profilingJob") inJob_ = true;
    quantity_ = quantityMap_ || contains(kQuantities, key);
    quantityMap_ = inJob_ && contains(kQuantityMaps, key);
    if (quantityMap_) quantity_ = false;
    const bool result = same(a, b, key);
    pointer_.resize(length);
    inJob_ = wasInJob;
    quantity_ = wasQuantity;
    quantityMap_ = wasMap;
    return result;
  }

  std::string pointer_;
  bool inJob_ = false;
  bool quantity_ = false;
  bool quantityMap_ = false;
};

}  // namespace

bool sameDgdrSpec(const Value* before, const Value* after) {
  static const Value kEmpty{rapidjson::kObjectType};
  const auto given = [](const Value* spec) { return spec == nullptr || spec->IsNull() ? &kEmpty : spec; };
  return Comparison{}.same(given(before), given(after), {});
}

}  // namespace dynamo::validation
