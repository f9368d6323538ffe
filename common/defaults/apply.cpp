#include "common/defaults/apply.h"

#include <algorithm>
#include <optional>

#include "common/api/dynamo.h"
#include "common/api/kinds.h"
#include "common/defaults/annotations.h"
#include "common/defaults/derive.h"
#include "common/defaults/digest.h"
#include "common/defaults/record.h"
#include "common/defaults/units.h"
#include "common/json/build.h"
#include "common/model/graph.h"
#include "common/model/scaling.h"
#include "common/schema/defaults.h"
#include "common/schema/registry.h"

namespace dynamo::defaults {
namespace {

using json::Allocator;
using json::Value;

/// One component of a request, with its state before the request.
struct ComponentChange {
  Value* now;
  const Value* before;        ///< in the stored object; nullptr if absent
  const Value* recordBefore;  ///< the trie in the stored object
  const Value* recordNow;     ///< the trie in the request
  const schema::Node* node;
  Claim claim;        ///< from the request
  Claim claimBefore;  ///< from the stored object
  bool replacesPods = false;
};

/// The schema of spec. Both kinds that have components have one.
const schema::Node& specNodeOf(const Value& object) {
  return *schema::find(api::kV1alpha1, json::findText(&object, "kind"))->member("spec");
}

/// Sets the default of `replicas`. An existing value is never derived again, because that could scale running
/// pods.
void defaultReplicas(const ComponentChange& component, bool honoursAutoscaling, Value& trie,
                     Allocator& allocator) {
  Value& now = *component.now;
  std::string digest;
  if (const Value* present = json::find(now, "replicas")) {
    for (const Value* record : {component.recordBefore, component.recordNow}) {
      const std::string_view known = json::findText(record, "replicas");
      if (digest.empty() && !known.empty() && matches(known, *present)) digest = known;
    }
  } else {
    const Value* stored = json::find(component.before, "replicas");
    Value replicas = stored != nullptr && model::hasScalingAdapter(now, honoursAutoscaling)
                         ? json::copy(*stored, allocator)
                         : Value{1};
    digest = digestOf(replicas);
    if (component.claim.member("replicas").managed()) digest += kNamedWithNull;
    json::set(now, "replicas", std::move(replicas), allocator);
  }
  if (digest.empty()) {
    json::remove(trie, "replicas");
  } else {
    json::set(trie, "replicas", json::string(digest, allocator), allocator);
  }
}

/// takeUnits() for all units except `replicas`.
void takeUnitsExceptReplicas(Value& component, const Value* trie, const Claim& claim, OwnedUnits owned,
                             const Value* other, Allocator& allocator) {
  if (trie == nullptr) return;
  Value replicas;
  if (const Value* present = json::find(component, "replicas")) replicas = json::copy(*present, allocator);
  takeUnits(component, *trie, claim, owned, other);
  if (!replicas.IsNull()) json::set(component, "replicas", std::move(replicas), allocator);
}

class RequestDefaulter {
 public:
  RequestDefaulter(Value& object, const Value* old, const DefaultContext& context, Allocator& allocator)
      : object_(object),
        old_(old),
        context_(context),
        allocator_(allocator),
        isGraph_(json::findText(&object, "kind") == api::kDynamoGraphDeployment),
        before_(old),
        now_(&object, &before_),
        graphContext_(graphContextOf(object, context.namespaceName)) {
    if (old_ == nullptr) return;
    const std::string_view requested = annotationOf(&object, api::annotation::kRedefault);
    redefault_ = !requested.empty() && requested != annotationOf(old_, api::annotation::kRedefault);
    rederive_ = redefault_ || graphContextOf(*old_, context.namespaceName) != graphContext_;
  }

  bool recordsAreNewer() const { return old_ != nullptr ? before_.newer() : now_.newer(); }

  /// Sets the defaults of all components and the record.
  void run(std::string stamp) {
    const json::Maker make{allocator_};
    Value record = make.object("v", kRecordVersion);
    if (stamp.empty()) stamp = storedStamp();
    if (!stamp.empty()) {
      make.set(record, "metadata",
               make.object("annotations", make.object(api::annotation::kOriginVersion, stamp)));
    }
    Value components = isGraph_ ? services() : component();
    if (!components.ObjectEmpty()) make.set(record, "spec", std::move(components));
    if (record.MemberCount() == 1) record.SetObject();
    setRecord(object_, record, before_, now_, allocator_);
  }

  /// Adds the defaults that admission leaves to rendering.
  void addDefaultsOfPods() {
    forEach([&](std::string_view, ComponentChange& component) {
      defaults::addDefaultsOfPods(*component.now, derivation(component), allocator_);
    });
  }

  /// Sets only `replicas`, which every version must set.
  void fillReplicas() {
    if (!isGraph_) return;
    forEach([&](std::string_view, ComponentChange& component) {
      Value trie{rapidjson::kObjectType};
      defaultReplicas(component, context_.config.compatibilityAutoscaling, trie, allocator_);
    });
  }

 private:
  const Value* spec(const Value* object) const { return json::findObject(object, "spec"); }

  std::string storedStamp() const {
    const Record& source = before_.present() ? before_ : now_;
    const std::string_view digest = source.stamp();
    const std::string_view held = annotationOf(&object_, api::annotation::kOriginVersion);
    if (digest.empty() || digest.substr(0, kDigestLength) != digestText(hashOf(held))) return {};
    return std::string{digest};
  }

  template <class Do>
  void forEach(Do&& visit) {
    Value& now = *json::find(object_, "spec");
    const schema::Node& node = specNodeOf(object_);
    if (!isGraph_) {
      ComponentChange component{&now, spec(old_), before_.component(), now_.component(), &node, {}, {}};
      visit({}, component);
      return;
    }
    Value* services = json::find(now, "services");
    if (services == nullptr || !services->IsObject()) return;
    const schema::Node& map = *node.member("services");
    const Value* old = json::findObject(spec(old_), "services");
    for (auto& service : services->GetObject()) {
      if (!service.value.IsObject()) continue;
      const std::string_view name = json::text(service.name);
      ComponentChange component{&service.value,
                                json::findObject(old, name),
                                before_.service(name),
                                now_.service(name),
                                map.member(name),
                                {},
                                {}};
      visit(name, component);
    }
  }

  Value services() {
    std::vector<std::pair<std::string_view, Value>> tries;
    forEach([&](std::string_view name, ComponentChange& component) {
      Value trie = defaultComponent(name, component);
      if (!trie.ObjectEmpty()) tries.emplace_back(name, std::move(trie));
    });
    std::sort(tries.begin(), tries.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    Value services{rapidjson::kObjectType};
    for (auto& [name, trie] : tries) json::set(services, name, std::move(trie), allocator_);
    Value spec{rapidjson::kObjectType};
    if (!services.ObjectEmpty()) json::set(spec, "services", std::move(services), allocator_);
    return spec;
  }

  Value component() {
    Value trie;
    forEach(
        [&](std::string_view name, ComponentChange& component) { trie = defaultComponent(name, component); });
    return trie;
  }

  /// Sets the defaults of `component` and returns its new trie.
  Value defaultComponent(std::string_view name, ComponentChange& component) {
    const bool same = component.before != nullptr && json::equal(*component.now, *component.before);
    Value trie{rapidjson::kObjectType};
    if (same && !rederive_) {
      if (component.recordBefore != nullptr) trie = json::copy(*component.recordBefore, allocator_);
      if (json::find(component.now, "replicas") != nullptr) return trie;
    } else {
      resolveClaims(name, component);
      trie = old_ == nullptr ? created(component) : updated(component);
    }
    // A component deployment needs no `replicas`: without it others scale its Deployment (quirk child-Q36).
    if (isGraph_) {
      defaultReplicas(component, context_.config.compatibilityAutoscaling, trie, allocator_);
    } else {
      json::remove(trie, "replicas");
    }
    return trie;
  }

  void resolveClaims(std::string_view name, ComponentChange& component) {
    if (!claims_) claims_.emplace(object_);
    if (!claimsBefore_ && old_ != nullptr) claimsBefore_.emplace(*old_);
    const auto below = [&](const Claim& root) {
      const Claim spec = root.member("spec");
      return isGraph_ ? spec.member("services").member(name) : spec;
    };
    component.claim = below(claims_->root());
    if (claimsBefore_) component.claimBefore = below(claimsBefore_->root());
  }

  Derivation derivation(const ComponentChange& component) const {
    return {context_.components, context_.config, graphContext_,
            component.node,      component.claim, takesPreStop(component)};
  }

  /// Decision pod-Q42. A new preStop changes the pod template, so it is only written if there are no pods yet
  /// or all of them are replaced, or if the user asked for it.
  bool takesPreStop(const ComponentChange& component) const {
    if (hasPreStop(component.recordBefore)) return true;
    if (!context_.sleepAction && needsSleepAction(component)) return false;
    return component.before == nullptr || redefault_ || component.replacesPods;
  }
  bool needsSleepAction(const ComponentChange& component) const {
    const Value& defaults = context_.components.of(json::findText(component.now, "componentType"));
    return json::find(json::findObject(&defaults, "preStop"), "sleep") != nullptr;
  }
  static bool hasPreStop(const Value* trie) {
    const Value* main = json::findObject(json::findObject(trie, "extraPodSpec"), "mainContainer");
    return json::find(json::findObject(main, "lifecycle"), "preStop") != nullptr;
  }

  Value derived(ComponentChange& component) {
    return derive(*component.now, derivation(component), allocator_);
  }

  /// On CREATE. An object with a record was exported, or the API server calls this webhook again in the same
  /// request. The manifest then contains the defaults, so field managers own them and claims are ignored.
  Value created(ComponentChange& component) {
    if (component.recordNow == nullptr) return derived(component);
    Value whole = json::copy(*component.now, allocator_);
    takeUnitsExceptReplicas(*component.now, component.recordNow, {}, OwnedUnits::Unclaimed, nullptr,
                            allocator_);
    const bool stays =
        json::findText(component.recordNow, kDerivedFrom) == derivedFrom(*component.now, graphContext_) &&
        hasUnits(whole, *component.recordNow);
    if (!stays) return derived(component);
    *component.now = std::move(whole);
    return json::copy(*component.recordNow, allocator_);
  }

  Value updated(ComponentChange& component) {
    Value& now = *component.now;
    ListSet dropped;
    if (component.before != nullptr && component.recordBefore != nullptr) {
      dropped = listsWithDroppedItems(*component.recordBefore, now, *component.before);
    }
    if (component.before != nullptr && component.recordBefore != nullptr &&
        mayHaveConflictingUnits(now, *component.recordBefore, *component.before)) {
      dropConflictingUnits(now, *component.recordBefore, *component.before, component.claim,
                           component.claimBefore);
    }
    takeUnitsExceptReplicas(now, component.recordBefore, component.claim, OwnedUnits::Unclaimed, nullptr,
                            allocator_);
    if (now_.text() != before_.text()) {
      // The manifest has a record, or the API server calls this webhook again in the same request.
      takeUnitsExceptReplicas(now, component.recordNow, {}, OwnedUnits::Differing, component.before,
                              allocator_);
    }
    if (component.before == nullptr || rederive_) return derived(component);
    Value left = json::copy(*component.before, allocator_);
    takeUnitsExceptReplicas(left, component.recordBefore, component.claimBefore,
                            OwnedUnits::UnclaimedOrMissing, &now, allocator_);
    if (!sameIntent(now, left)) {
      component.replacesPods = !samePods(now, left);
      return derived(component);
    }
    Value trie{rapidjson::kObjectType};
    if (component.recordBefore != nullptr) {
      trie = json::copy(*component.recordBefore, allocator_);
      letGoOfItems(trie, dropped, now, *component.before, derivation(component), allocator_);
      putUnits(now, trie, *component.before, &left, allocator_);
    }
    return trie;
  }

  Value& object_;
  const Value* old_;
  const DefaultContext& context_;
  Allocator& allocator_;
  bool isGraph_;
  Record before_;
  Record now_;
  GraphContext graphContext_;
  bool redefault_ = false;  ///< the user requested to derive all defaults again
  bool rederive_ = false;  ///< derive all defaults again: the graph context changed, or the user requested it
  std::optional<Claims> claims_;
  std::optional<Claims> claimsBefore_;
};

bool takesDefaults(const Value& object) {
  const std::string_view kind = json::findText(&object, "kind");
  if (kind == api::kDynamoComponentDeployment) return model::graphOwner(object) == nullptr;
  return kind == api::kDynamoGraphDeployment;
}

}  // namespace

DefaultResult applyComponentDefaults(Value& object, const Value* old, const DefaultContext& context,
                                     Allocator& allocator) {
  DefaultResult result;
  if (!takesDefaults(object) || json::findObject(&object, "spec") == nullptr) return result;
  schema::applySchemaDefaults(specNodeOf(object), *json::find(object, "spec"), allocator);
  RequestDefaulter defaulter{object, old, context, allocator};
  std::string stamp;
  if (old != nullptr) {
    carryAnnotations(object, *old, result.warnings, allocator);
  } else if (json::findText(&object, "kind") == api::kDynamoGraphDeployment) {
    stamp = stampOrigin(object, context.operatorVersion, allocator);
  }
  if (defaulter.recordsAreNewer()) {
    defaulter.fillReplicas();
  } else {
    defaulter.run(std::move(stamp));
  }
  return result;
}

void addDefaultsOfPods(Value& object, const DefaultContext& context, Allocator& allocator) {
  if (!takesDefaults(object) || json::findObject(&object, "spec") == nullptr) return;
  RequestDefaulter{object, nullptr, context, allocator}.addDefaultsOfPods();
}

}  // namespace dynamo::defaults
