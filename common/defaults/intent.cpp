// Reduces a stored object to the intent of the user.
#include "common/api/dynamo.h"
#include "common/api/kinds.h"
#include "common/defaults/annotations.h"
#include "common/defaults/apply.h"
#include "common/defaults/digest.h"
#include "common/defaults/record.h"
#include "common/defaults/units.h"

namespace dynamo::defaults {
namespace {

using json::Value;

void dropStamp(Value& object, const Record& record, const Claim& root) {
  const std::string_view key = api::annotation::kOriginVersion;
  const Claim claim = root.member("metadata").member("annotations").member(key);
  const std::string_view digest = record.stamp();
  if (digest.empty() || claim.named()) return;
  if (digest.substr(0, kDigestLength) == digestText(hashOf(annotationOf(&object, key)))) {
    dropAnnotation(object, key);
  }
}

}  // namespace

void reduceToIntent(Value& object) {
  const Record record{&object};
  if (!record.present()) return;
  const Claims claims{object};
  const Claim spec = claims.root().member("spec");
  Value* components = json::find(object, "spec");
  if (const Value* trie = record.component(); trie != nullptr && components != nullptr) {
    if (json::findText(&object, "kind") == api::kDynamoComponentDeployment) {
      takeUnits(*components, *trie, spec, OwnedUnits::Unclaimed);
    } else if (Value* services = json::find(*components, "services")) {
      const Claim claim = spec.member("services");
      for (auto& service : services->GetObject()) {
        const std::string_view name = json::text(service.name);
        const Value* own = record.service(name);
        if (own != nullptr) takeUnits(service.value, *own, claim.member(name), OwnedUnits::Unclaimed);
      }
    }
  }
  dropStamp(object, record, claims.root());
  dropAnnotation(object, api::annotation::kDefaulted);
}

Value intent(const Value& object, json::Allocator& allocator) {
  Value reduced = json::copy(object, allocator);
  reduceToIntent(reduced);
  return reduced;
}

}  // namespace dynamo::defaults
