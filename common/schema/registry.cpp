#include "common/schema/registry.h"

#include <algorithm>
#include <deque>
#include <map>
#include <stdexcept>
#include <string>

#include "common/api/kinds.h"
#include "common/json/parse.h"
#include "common/schema/embedded.h"

namespace dynamo::schema {
namespace {

using json::Value;

std::vector<std::string_view> texts(const Value* list) {
  std::vector<std::string_view> out;
  if (list == nullptr) return out;
  for (const Value& item : list->GetArray()) out.push_back(json::text(item));
  return out;
}

std::optional<std::int64_t> integer(const Value& node, std::string_view key) {
  const Value* value = json::find(node, key);
  return value == nullptr ? std::nullopt : std::optional{value->GetInt64()};
}

Type typeOf(const Value& node) {
  if (json::findBool(&node, "x-kubernetes-int-or-string").value_or(false)) return Type::IntOrString;
  const std::string_view name = json::findText(&node, "type");
  if (name == "object") return Type::Object;
  if (name == "array") return Type::Array;
  if (name == "string") return Type::String;
  if (name == "integer") return Type::Integer;
  if (name == "number") return Type::Number;
  if (name == "boolean") return Type::Boolean;
  if (name.empty()) return Type::Any;
  throw std::logic_error("runtime schema: type " + std::string{name});
}

class Registry {
 public:
  Registry() {
    if (auto error = json::parse(embeddedSchema(), document_)) {
      throw std::logic_error("runtime schema: " + error->message());
    }
    for (const auto& entry : json::find(document_, "kinds")->GetObject()) {
      kinds_.emplace(json::text(entry.name), make(entry.value));
    }
    metadata_ = type("Metadata");
  }

  const Node* find(std::string_view key) const {
    const auto found = kinds_.find(key);
    return found == kinds_.end() ? nullptr : found->second;
  }
  const Node& metadata() const { return *metadata_; }
  const auto& kinds() const { return kinds_; }

 private:
  const Node* type(std::string_view name) {
    if (const auto known = types_.find(name); known != types_.end()) return known->second;
    const Value* source = json::find(json::find(&document_, "types"), name);
    if (source == nullptr) throw std::logic_error("runtime schema: no type " + std::string{name});
    return types_.emplace(name, make(*source)).first->second;
  }

  const Node* make(const Value& source) {
    const std::string_view name = json::findText(&source, "$ref");
    if (!name.empty() && source.MemberCount() == 1) return type(name);
    Node& node = name.empty() ? nodes_.emplace_back() : nodes_.emplace_back(*type(name));
    if (name.empty()) node.type = typeOf(source);
    fillBounds(node, source);
    fillExtensions(node, source);
    fillMembers(node, source);
    return &node;
  }

  void fillBounds(Node& node, const Value& source) {
    // Absent keys do not change the node, which may be a copy of the type that "$ref" names.
    const auto take = [&](auto& field, const char* key) {
      if (auto value = integer(source, key)) field = value;
    };
    take(node.minimum, "minimum");
    take(node.maximum, "maximum");
    take(node.minLength, "minLength");
    take(node.maxLength, "maxLength");
    take(node.maxItems, "maxItems");
    take(node.maxProperties, "maxProperties");
    if (const Value* values = json::find(source, "enum")) node.enumValues = texts(values);
    if (const Value* value = json::find(source, "default")) node.defaultValue = value;
    if (json::findText(&source, "format") == "date-time") node.dateTime = true;
    if (json::findText(&source, "format") == "int32") node.int32 = true;
    if (const Value* pattern = json::find(source, "pattern")) {
      const std::string_view text = json::text(*pattern);
      node.pattern = &patterns_.try_emplace(text, text).first->second;
    }
  }

  void fillExtensions(Node& node, const Value& source) {
    if (json::findBool(&source, "x-kubernetes-preserve-unknown-fields")) node.preserveUnknown = true;
    if (json::findBool(&source, "x-kubernetes-embedded-resource")) node.embeddedResource = true;
    if (json::findBool(&source, "scale")) node.scale = true;
    if (json::findBool(&source, "keepsNulls")) node.keepsNulls = true;
    const std::string_view list = json::findText(&source, "x-kubernetes-list-type");
    if (list == "set") node.listType = ListType::Set;
    if (list == "map") node.listType = ListType::Map;
    if (const Value* keys = json::find(source, "x-kubernetes-list-map-keys")) node.listMapKeys = texts(keys);
    if (const std::string_view rule = json::findText(&source, "rule"); !rule.empty()) {
      node.rule = findCelRule(rule);
      const Value* definition = json::find(json::find(&document_, "rules"), rule);
      node.ruleMessage = json::findText(definition, "message");
      if (const std::string_view at = json::findText(definition, "at"); at.starts_with('.')) {
        node.ruleField = field::Members::dotted(at.substr(1));
      }
      if (node.rule == nullptr) throw std::logic_error("no function for rule " + std::string{rule});
    }
  }

  void fillMembers(Node& node, const Value& source) {
    if (const Value* items = json::find(source, "items")) node.items = make(*items);
    if (const Value* values = json::find(source, "additionalProperties")) node.additional = make(*values);
    if (const Value* fields = json::find(source, "properties")) {
      for (const auto& field : fields->GetObject()) addProperty(node, json::text(field.name), field.value);
    }
    if (const Value* required = json::find(source, "required")) {
      const auto names = texts(required);
      for (Property& property : node.properties) {
        property.required = std::find(names.begin(), names.end(), property.name) != names.end();
      }
    }
  }

  void addProperty(Node& node, std::string_view name, const Value& source) {
    const Node* child = make(source);
    for (Property& property : node.properties) {
      if (property.name == name) {
        property.node = child;
        return;
      }
    }
    node.properties.push_back({name, child, false});
  }

  json::Document document_;
  std::deque<Node> nodes_;  // a deque, because addresses must stay valid
  std::map<std::string_view, Pattern> patterns_;
  std::map<std::string_view, const Node*> types_;
  std::map<std::string_view, const Node*> kinds_;
  const Node* metadata_ = nullptr;
};

const Registry& registry() {
  static const Registry instance;
  return instance;
}

}  // namespace

const Node* find(std::string_view apiVersion, std::string_view kind) {
  const std::size_t slash = apiVersion.find('/');
  if (slash == apiVersion.npos || apiVersion.substr(0, slash) != api::kGroup) return nullptr;
  std::string key{kind};
  key += apiVersion.substr(slash);
  return registry().find(key);
}

const Node& metadataNode() {
  return registry().metadata();
}

std::vector<KindVersion> kindVersions() {
  std::vector<KindVersion> out;
  for (const auto& [key, node] : registry().kinds()) {
    const std::size_t slash = key.find('/');
    out.push_back({key.substr(0, slash), key.substr(slash + 1)});
  }
  return out;
}

}  // namespace dynamo::schema
