#include "controller/plugin/tree.h"

#include <fmt/format.h>

#include <algorithm>

#include "common/field/finding.h"
#include "common/k8s/object.h"
#include "common/render/object.h"

namespace dynamo::plugin {
namespace {

using json::Value;

bool owns(const Value& owner, const Value& object) {
  const auto owners = k8s::ownersOf(object);
  return std::any_of(owners.begin(), owners.end(), [&](const Value& reference) {
    return json::findText(&reference, "kind") == json::findText(&owner, "kind") &&
           json::findText(&reference, "name") == render::nameOf(owner);
  });
}

bool ownedByNobody(const Value& object) {
  return json::find(json::find(&object, "metadata"), "ownerReferences") == nullptr;
}

std::string lineOf(const Value& object) {
  std::string line = fmt::format("{} {}", json::findText(&object, "kind"), render::nameOf(object));
  const Value* replicas = json::find(render::specOf(object), "replicas");
  if (replicas != nullptr && replicas->IsInt64()) line += fmt::format("  replicas {}", replicas->GetInt64());
  return field::oneLine(line);
}

void append(std::string& out, const Value& owner, const render::Children& children,
            const std::string& indent) {
  std::vector<const Value*> below;
  for (const render::Child& child : children.items) {
    if (owns(owner, child.object)) below.push_back(&child.object);
  }
  for (const Value* object : below) {
    const bool last = object == below.back();
    out += fmt::format("{}{} {}\n", indent, last ? "└─" : "├─", lineOf(*object));
    append(out, *object, children, indent + (last ? "   " : "│  "));
  }
}

}  // namespace

std::string toTree(const Value& root, const render::Children& children) {
  std::string out = lineOf(root) + '\n';
  append(out, root, children, "");
  for (const render::Child& child : children.items) {
    if (ownedByNobody(child.object))
      out += fmt::format("{}  (shared, without owner)\n", lineOf(child.object));
  }
  return out;
}

}  // namespace dynamo::plugin
