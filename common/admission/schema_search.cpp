#include "common/admission/schema_search.h"

#include <fmt/format.h>

#include <algorithm>

namespace dynamo::admission {

using json::Value;
using schema::Node;
using schema::Type;

bool accepts(const Node& node, const Value& value) {
  switch (node.type) {
    case Type::Object:
      return value.IsObject() &&
             std::all_of(value.MemberBegin(), value.MemberEnd(), [&](const Value::Member& member) {
               return node.preserveUnknown || node.member(json::text(member.name)) != nullptr;
             });
    case Type::Array:
      return value.IsArray() && node.items != nullptr &&
             std::all_of(value.Begin(), value.End(),
                         [&](const Value& item) { return accepts(*node.items, item); });
    default:
      return !value.IsObject() && !value.IsArray();
  }
}

Candidate below(const Node& node, std::string_view names) {
  Candidate at{&node, {}};
  while (!names.empty() && at.node != nullptr) {
    const std::size_t dot = std::min(names.find('.'), names.size());
    const schema::Property* property = at.node->property(names.substr(0, dot));
    at.node = property == nullptr ? nullptr : property->node;
    at.place += fmt::format("{}{}", at.place.empty() ? "" : ".", names.substr(0, dot));
    if (at.node != nullptr && at.node->type == Type::Array) {
      at.node = at.node->items;
      at.place += "[]";
    }
    names.remove_prefix(std::min(dot + 1, names.size()));
  }
  return at;
}

Candidate member(Candidate holder, std::string_view name) {
  holder.node = holder.node->property(name)->node;
  holder.place += fmt::format("{}{}", holder.place.empty() ? "" : ".", name);
  return holder;
}

Candidate inner(const Node& node, std::string_view name, const Value* value) {
  Candidate first;
  for (const std::string_view names : kInner) {
    const Candidate holder = below(node, names);
    if (holder.node == nullptr || holder.node->property(name) == nullptr) continue;
    Candidate found = member(holder, name);
    if (value == nullptr || accepts(*found.node, *value)) return found;
    if (first.node == nullptr) first = std::move(found);
  }
  return first;
}

Candidate oneDeeper(const Node& node, std::string_view name) {
  Candidate only;
  for (const schema::Property& property : node.properties) {
    if (property.name == "autoscaling" || property.node->property(name) == nullptr) continue;
    if (only.node != nullptr) return {};
    only = member({property.node, std::string{property.name}}, name);
  }
  return only;
}

}  // namespace dynamo::admission
