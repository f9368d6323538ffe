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
#include "common/schema/defaults.h"
#include "common/schema/registry.h"

namespace dynamo::defaults {
namespace {

using json::Allocator;
using json::Value;

/// One component on its way through a request.
struct Component {
  Value* now;
  const Value* before;        ///< in the stored object; nullptr: not there
  const Value* recordBefore;  ///< its trie in the stored object
  const Value* recordNow;     ///< its trie as the request has it
  const schema::Node* node;
  Claim claim;        ///< of the request
  Claim claimBefore;  ///< of the stored object
};

/// The schema of spec: both kinds with components have one.
const schema::Node& specNodeOf(const Value& object) {
  return *schema::find(api::kV1alpha1, json::findText(&object, "kind"))->member("spec");
}

bool hasAdapter(const Value& component) {
  return json::findBool(json::findObject(&component, "scalingAdapter"), "enabled").value_or(false);
}

/// `replicas` is kept, not derived: what runs must not change because a default is derived afresh.
void keepReplicas(const Component& component, Value& trie, Allocator& allocator) {
  Value& now = *component.now;
  std::string digest;
  if (const Value* present = json::find(now, "replicas")) {
    for (const Value* record : {component.recordBefore, component.recordNow}) {
      const std::string_view known = json::findText(record, "replicas");
      if (digest.empty() && !known.empty() && matches(known, *present)) digest = known;
    }
  } else {
    const Value* stored = json::find(component.before, "replicas");
    Value replicas = stored != nullptr && hasAdapter(now) ? json::copy(*stored, allocator) : Value{1};
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

/// takeUnits without replicas.
void take(Value& component, const Value* trie, const Claim& claim, Ours ours, const Value* other,
          Allocator& allocator) {
  if (trie == nullptr) return;
  Value replicas;
  if (const Value* present = json::find(component, "replicas")) replicas = json::copy(*present, allocator);
  takeUnits(component, *trie, claim, ours, other);
  if (!replicas.IsNull()) json::set(component, "replicas", std::move(replicas), allocator);
}

class Request {
 public:
  Request(Value& object, const Value* old, const DefaultContext& context, Allocator& allocator)
      : object_(object),
        old_(old),
        context_(context),
        allocator_(allocator),
        graph_(json::findText(&object, "kind") == api::kDynamoGraphDeployment),
        before_(old),
        now_(&object, &before_),
        around_(surroundingsOf(object, context.namespaceName)) {
    if (old_ == nullptr) return;
    const std::string_view asked = annotationOf(&object, api::annotation::kRedefault);
    const bool redefault = !asked.empty() && asked != annotationOf(old_, api::annotation::kRedefault);
    afresh_ = redefault || surroundingsOf(*old_, context.namespaceName) != around_;
  }

  bool recordsAreNewer() const { return old_ != nullptr ? before_.newer() : now_.newer(); }

  /// Replaces the annotation by what this request makes of the components.
  void run(std::string stamp) {
    const json::Maker make{allocator_};
    Value record = make.object("v", kRecordVersion);
    if (stamp.empty()) stamp = keptStamp();
    if (!stamp.empty()) {
      make.set(record, "metadata",
               make.object("annotations", make.object(api::annotation::kOriginVersion, stamp)));
    }
    Value components = graph_ ? services() : component();
    if (!components.ObjectEmpty()) make.set(record, "spec", std::move(components));
    if (record.MemberCount() == 1) record.SetObject();
    setRecord(object_, record, before_, now_, allocator_);
  }

  /// Only what no version may leave undone.
  void fillReplicas() {
    if (!graph_) return;
    forEach([&](std::string_view, Component& component) {
      Value trie{rapidjson::kObjectType};
      keepReplicas(component, trie, allocator_);
    });
  }

 private:
  const Value* spec(const Value* object) const { return json::findObject(object, "spec"); }

  std::string keptStamp() const {
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
    if (!graph_) {
      Component component{&now, spec(old_), before_.component(), now_.component(), &node, {}, {}};
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
      Component component{&service.value,
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
    forEach([&](std::string_view name, Component& component) {
      Value trie = defaulted(name, component);
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
    forEach([&](std::string_view name, Component& component) { trie = defaulted(name, component); });
    return trie;
  }

  /// The trie of `component` after this request.
  Value defaulted(std::string_view name, Component& component) {
    const bool same = component.before != nullptr && json::equal(*component.now, *component.before);
    Value trie{rapidjson::kObjectType};
    if (same && !afresh_) {
      if (component.recordBefore != nullptr) trie = json::copy(*component.recordBefore, allocator_);
      if (json::find(component.now, "replicas") != nullptr) return trie;
    } else {
      claim(name, component);
      trie = old_ == nullptr ? created(component) : updated(component);
    }
    // A component deployment may do without: then its Deployment is scaled from outside (quirk child-Q36).
    if (graph_) {
      keepReplicas(component, trie, allocator_);
    } else {
      json::remove(trie, "replicas");
    }
    return trie;
  }

  void claim(std::string_view name, Component& component) {
    if (!claims_) claims_.emplace(object_);
    if (!claimsBefore_ && old_ != nullptr) claimsBefore_.emplace(*old_);
    const auto below = [&](const Claim& root) {
      const Claim spec = root.member("spec");
      return graph_ ? spec.member("services").member(name) : spec;
    };
    component.claim = below(claims_->root());
    if (claimsBefore_) component.claimBefore = below(claimsBefore_->root());
  }

  Value derived(Component& component) {
    return derive(*component.now,
                  {context_.components, context_.config, around_, component.node, component.claim},
                  allocator_);
  }

  /// A record on CREATE: an exported object, or one that this webhook saw a moment ago. All of it stands in
  /// the manifest, so that managers name it says nothing.
  Value created(Component& component) {
    if (component.recordNow == nullptr) return derived(component);
    Value whole = json::copy(*component.now, allocator_);
    take(*component.now, component.recordNow, {}, Ours::Unclaimed, nullptr, allocator_);
    const bool stays =
        json::findText(component.recordNow, kDerivedFrom) == derivedFrom(*component.now, around_) &&
        hasUnits(whole, *component.recordNow);
    if (!stays) return derived(component);
    *component.now = std::move(whole);
    return json::copy(*component.recordNow, allocator_);
  }

  Value updated(Component& component) {
    Value& now = *component.now;
    if (component.before != nullptr && component.recordBefore != nullptr &&
        anyOvertaken(now, *component.recordBefore, *component.before)) {
      leaveOvertaken(now, *component.recordBefore, *component.before, component.claim, component.claimBefore);
    }
    take(now, component.recordBefore, component.claim, Ours::Unclaimed, nullptr, allocator_);
    if (now_.text() != before_.text()) {
      // A manifest with a record of its own, or what this webhook made of the request a moment ago.
      take(now, component.recordNow, {}, Ours::Differing, component.before, allocator_);
    }
    if (component.before == nullptr || afresh_) return derived(component);
    Value left = json::copy(*component.before, allocator_);
    take(left, component.recordBefore, component.claimBefore, Ours::UnclaimedOrMissing, &now, allocator_);
    if (!sameIntent(now, left)) return derived(component);
    Value trie{rapidjson::kObjectType};
    if (component.recordBefore != nullptr) {
      putUnits(now, *component.recordBefore, *component.before, &left, allocator_);
      trie = json::copy(*component.recordBefore, allocator_);
    }
    return trie;
  }

  Value& object_;
  const Value* old_;
  const DefaultContext& context_;
  Allocator& allocator_;
  bool graph_;
  Record before_;
  Record now_;
  Surroundings around_;
  bool afresh_ = false;  ///< something around the components changed, or new defaults are asked for
  std::optional<Claims> claims_;
  std::optional<Claims> claimsBefore_;
};

bool isOurs(const Value& object) {
  const std::string_view kind = json::findText(&object, "kind");
  if (kind == api::kDynamoComponentDeployment) return model::graphOwner(object) == nullptr;
  return kind == api::kDynamoGraphDeployment;
}

}  // namespace

DefaultResult applyDefaults(Value& object, const Value* old, const DefaultContext& context,
                            Allocator& allocator) {
  DefaultResult result;
  if (!isOurs(object) || json::findObject(&object, "spec") == nullptr) return result;
  schema::applyDefaults(specNodeOf(object), *json::find(object, "spec"), allocator);
  Request request{object, old, context, allocator};
  std::string stamp;
  if (old != nullptr) {
    carryAnnotations(object, *old, result.warnings, allocator);
  } else if (json::findText(&object, "kind") == api::kDynamoGraphDeployment) {
    stamp = stampOrigin(object, context.operatorVersion, allocator);
  }
  if (request.recordsAreNewer()) {
    request.fillReplicas();
  } else {
    request.run(std::move(stamp));
  }
  return result;
}

}  // namespace dynamo::defaults
