#include "common/k8s/trim.h"

#include <array>

#include "common/json/text_writer.h"
#include "common/k8s/object.h"

namespace dynamo::k8s {
namespace {

using json::Value;

// Needed for every kind to find, order and compare objects and to follow owner references.
constexpr std::array<std::string_view, 8> kAlways = {"metadata.name",
                                                     "metadata.namespace",
                                                     "metadata.uid",
                                                     "metadata.resourceVersion",
                                                     "metadata.generation",
                                                     "metadata.deletionTimestamp",
                                                     "metadata.ownerReferences.uid",
                                                     "metadata.ownerReferences.controller"};

/// Writes the members of `object` for which `wanted(name)` holds, each by `write(name, value)`.
template <typename Wanted, typename Write>
void writeMembers(const Value& object, json::TextWriter& writer, Wanted&& wanted, Write&& write) {
  writer.StartObject();
  for (const auto& member : object.GetObject()) {
    const std::string_view name = json::text(member.name);
    if (!wanted(name)) continue;
    writer.key(name);
    write(name, member.value);
  }
  writer.EndObject();
}

}  // namespace

Trimmer::Trimmer(const KeptFields& kept)
    : managedFields_(kept.managedFields), lastApplied_(kept.lastApplied) {
  root_.all = kept.fields.empty();
  for (const std::string_view path : kAlways) keep(path);
  for (const std::string& path : kept.fields) keep(path);
}

void Trimmer::keep(std::string_view path) {
  Node* node = &root_;
  while (!path.empty()) {
    const std::size_t dot = path.find('.');
    node = &node->members[std::string{path.substr(0, dot)}];
    path.remove_prefix(dot == std::string_view::npos ? path.size() : dot + 1);
  }
  node->all = true;
}

std::string Trimmer::text(const Value& object) const {
  json::TextWriter writer{1024};
  if (!object.IsObject()) return "{}";
  const auto whole = [&](const Value& value) { value.Accept(writer); };
  const auto some = [&](const Value& value, const Node& node, const auto& self) -> void {
    if (node.all) return whole(value);
    if (value.IsArray()) {
      writer.StartArray();
      for (const Value& item : value.GetArray()) self(item, node, self);
      writer.EndArray();
    } else if (value.IsObject()) {
      writeMembers(
          value, writer, [&](std::string_view name) { return node.members.contains(name); },
          [&](std::string_view name, const Value& member) {
            self(member, node.members.find(name)->second, self);
          });
    } else {
      whole(value);  // keep an unexpected type, so that readers can detect it
    }
  };
  const auto annotations = [&](const Value& value) {
    if (!value.IsObject()) return whole(value);
    writeMembers(
        value, writer, [&](std::string_view name) { return lastApplied_ || name != kLastApplied; },
        [&](std::string_view, const Value& member) { whole(member); });
  };
  const auto metadata = [&](const Value& value) {
    if (!value.IsObject()) return whole(value);
    const auto found = root_.members.find("metadata");
    const Node& node = found->second;
    const bool all = root_.all || node.all;
    writeMembers(
        value, writer,
        [&](std::string_view name) {
          if (name == "managedFields" && managedFields_) return true;
          if (node.members.contains(name)) return true;
          return all && name != "managedFields";
        },
        [&](std::string_view name, const Value& member) {
          const auto kept = node.members.find(name);
          if (name == "annotations" && (all || kept->second.all)) return annotations(member);
          if (all || kept == node.members.end()) return whole(member);
          some(member, kept->second, some);
        });
  };
  writeMembers(
      object, writer,
      [&](std::string_view name) {
        return name != "apiVersion" && name != "kind" && (root_.all || root_.members.contains(name));
      },
      [&](std::string_view name, const Value& member) {
        if (name == "metadata") return metadata(member);
        if (root_.all) return whole(member);
        some(member, root_.members.find(name)->second, some);
      });
  return writer.take();
}

}  // namespace dynamo::k8s
