#include "common/k8s/kubectl_apply.h"

#include "common/json/build.h"
#include "common/json/parse.h"
#include "common/k8s/object.h"

namespace dynamo::k8s {
namespace {

using json::Value;

/// `lastApplied` may be nullptr.
Value patchOf(const Value* lastApplied, const Value& manifest, const Value& live, const json::Maker& make) {
  Value patch = make.object();
  for (const auto& member : manifest.GetObject()) {
    const std::string_view name = json::text(member.name);
    const Value* other = json::find(live, name);
    if (other != nullptr && other->IsObject() && member.value.IsObject()) {
      Value below = patchOf(json::findObject(lastApplied, name), member.value, *other, make);
      if (!below.ObjectEmpty()) make.set(patch, name, std::move(below));
    } else if (member.value.IsNull() ? other != nullptr
                                     : other == nullptr || !json::equal(*other, member.value)) {
      make.set(patch, name, member.value);
    }
  }
  if (lastApplied == nullptr) return patch;
  for (const auto& member : lastApplied->GetObject()) {
    const std::string_view name = json::text(member.name);
    if (json::findRaw(manifest, name) == nullptr && json::find(live, name) != nullptr)
      make.set(patch, name, Value{});
  }
  return patch;
}

}  // namespace

Value withLastApplied(const Value& manifest, json::Allocator& allocator) {
  const json::Maker make{allocator};
  Value stored = make.value(manifest);
  if (Value* metadata = json::find(stored, "metadata")) {
    if (Value* annotations = json::find(*metadata, "annotations"); annotations != nullptr)
      json::remove(*annotations, kLastApplied);
  }
  const std::string text = json::dump(stored) + '\n';
  Value& metadata = json::ensureObject(stored, "metadata", allocator);
  make.set(json::ensureObject(metadata, "annotations", allocator), kLastApplied, std::string_view{text});
  return stored;
}

Value applyPatch(const Value& manifest, const Value& live, json::Allocator& allocator) {
  json::Document last;
  const std::string_view text = json::findText(annotationsOf(live), kLastApplied);
  const bool known = !text.empty() && !json::parse(text, last) && last.IsObject();
  const Value wanted = withLastApplied(manifest, allocator);
  return patchOf(known ? &last : nullptr, wanted, live, json::Maker{allocator});
}

}  // namespace dynamo::k8s
