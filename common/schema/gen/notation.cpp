#include "common/schema/gen/notation.h"

#include <fmt/format.h>

#include <charconv>
#include <stdexcept>
#include <string>
#include <vector>

namespace dynamo::schema::gen {
namespace {

using json::Allocator;
using json::Value;

constexpr std::string_view kDescriptionMark = " | ";

[[noreturn]] void fail(std::string_view what, std::string_view where) {
  throw std::runtime_error(fmt::format("{}: {}", what, where));
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(separator), text.size());
    if (end > 0) parts.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

/// The X of "word(X)"; empty if `text` does not have this form.
std::string_view argument(std::string_view text, std::string_view word) {
  if (!text.starts_with(word) || text.size() < word.size() + 2 || text[word.size()] != '(') return {};
  return text.back() == ')' ? text.substr(word.size() + 1, text.size() - word.size() - 2)
                            : std::string_view{};
}

Value ofType(std::string_view type, std::string_view format, Allocator& a) {
  Value node{rapidjson::kObjectType};
  if (!type.empty()) json::set(node, "type", json::string(type, a), a);
  if (!format.empty()) json::set(node, "format", json::string(format, a), a);
  return node;
}

Value reference(std::string_view name, Allocator& a) {
  Value node{rapidjson::kObjectType};
  json::set(node, "$ref", json::string(name, a), a);
  return node;
}

Value enumeration(std::string_view values, Allocator& a) {
  Value node = ofType("string", {}, a);
  Value list{rapidjson::kArrayType};
  for (const std::string_view value : split(values, ',')) {
    list.PushBack(json::string(value == "\"\"" ? std::string_view{} : value, a), a);
  }
  json::set(node, "enum", std::move(list), a);
  return node;
}

Value readType(std::string_view type, Allocator& a) {
  if (type == "object" || type == "string" || type == "integer" || type == "number")
    return ofType(type, {}, a);
  if (type == "any") return ofType({}, {}, a);
  if (type == "bool") return ofType("boolean", {}, a);
  if (type == "int32" || type == "int64") return ofType("integer", type, a);
  if (type == "time") return ofType("string", "date-time", a);
  if (type == "quantity") return reference("Quantity", a);
  if (type == "int-or-string") return reference("IntOrString", a);
  if (const auto values = argument(type, "enum"); !values.empty()) return enumeration(values, a);
  if (const auto item = argument(type, "list"); !item.empty()) {
    Value node = ofType("array", {}, a);
    json::set(node, "items", readType(item, a), a);
    return node;
  }
  if (const auto item = argument(type, "map"); !item.empty()) {
    Value node = ofType("object", {}, a);
    json::set(node, "additionalProperties", readType(item, a), a);
    return node;
  }
  if (type.starts_with("k8s.")) return reference(type.substr(4), a);
  if (!type.empty() && type.front() >= 'A' && type.front() <= 'Z') return reference(type, a);
  fail("unknown type", type);
}

Value number(std::string_view text) {
  std::int64_t value = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
  if (parsed.ec != std::errc{} || parsed.ptr != text.data() + text.size()) fail("not a number", text);
  return Value{value};
}

Value defaultOf(const Value& node, std::string_view text, Allocator& a) {
  const std::string_view type = json::findText(&node, "type");
  if (type == "boolean") {
    if (text != "true" && text != "false") fail("not a boolean", text);
    return Value{text == "true"};
  }
  return type == "integer" ? number(text) : json::string(text, a);
}

void setListType(Value& node, std::string_view type, Allocator& a) {
  const std::string_view keys = argument(type, "map");
  json::set(node, "x-kubernetes-list-type", json::string(keys.empty() ? type : "map", a), a);
  if (keys.empty()) return;
  Value list{rapidjson::kArrayType};
  for (const std::string_view key : split(keys, ',')) list.PushBack(json::string(key, a), a);
  json::set(node, "x-kubernetes-list-map-keys", std::move(list), a);
}

/// The node that nested fields belong to: the items of a list, the values of a map, or the node itself.
Value& hostOf(Value& node) {
  Value* inner = json::find(node, "items");
  if (inner == nullptr) inner = json::find(node, "additionalProperties");
  return inner == nullptr ? node : hostOf(*inner);
}

void apply(Value& node, std::string_view constraint, Allocator& a) {
  const std::size_t equals = constraint.find('=');
  const std::string_view key = constraint.substr(0, equals);
  const std::string_view text =
      equals == constraint.npos ? std::string_view{} : constraint.substr(equals + 1);
  if (key == "preserve") {
    json::set(node, "x-kubernetes-preserve-unknown-fields", Value{true}, a);
  } else if (key == "scale") {
    json::set(node, key, Value{true}, a);
  } else if (key == "embedded") {
    json::set(node, "x-kubernetes-embedded-resource", Value{true}, a);
  } else if (key == "default") {
    json::set(node, "default", defaultOf(node, text, a), a);
  } else if (key == "min" || key == "max") {
    json::set(node, key == "min" ? "minimum" : "maximum", number(text), a);
  } else if (key == "minLength" || key == "maxLength" || key == "maxItems" || key == "maxProperties") {
    json::set(node, key, number(text), a);
  } else if (key == "pattern") {
    json::set(node, key, json::string(text, a), a);
  } else if (key == "list") {
    setListType(node, text, a);
  } else if (key == "refuse-null") {
    json::set(node, "keepsNulls", Value{true}, a);
    json::set(node, "rule", json::string(text, a), a);
  } else if (key == "rule") {
    json::set(hostOf(node), key, json::string(text, a), a);
  } else if (key == "required" && text == "none") {
    json::set(node, key, Value{rapidjson::kArrayType}, a);
  } else {
    fail("unknown constraint", constraint);
  }
}

Value& member(Value& node, std::string_view key, rapidjson::Type type, Allocator& a) {
  if (json::find(node, key) == nullptr) json::set(node, key, Value{type}, a);
  return *json::find(node, key);
}

void addField(Value& host, std::string_view name, Value&& field, Allocator& a) {
  if (name.ends_with('!')) {
    name.remove_suffix(1);
    // A `required` list beside "$ref" would replace that of the named type.
    if (json::find(host, "$ref") != nullptr) fail("a field added to a named type cannot be required", name);
    member(host, "required", rapidjson::kArrayType, a).PushBack(json::string(name, a), a);
  }
  Value& fields = member(host, "properties", rapidjson::kObjectType, a);
  if (json::find(fields, name) != nullptr) fail("duplicate field", name);
  json::set(fields, name, std::move(field), a);
}

}  // namespace

Value readLine(std::string_view line, Allocator& a) {
  const std::size_t mark = line.find(kDescriptionMark);
  if (mark == line.npos) fail("missing description", line);
  const auto words = split(line.substr(0, mark), ' ');
  if (words.empty()) fail("missing type", line);
  Value node = readType(words.front(), a);
  for (std::size_t i = 1; i < words.size(); ++i) apply(node, words[i], a);
  json::set(node, "description", json::string(line.substr(mark + kDescriptionMark.size()), a), a);
  return node;
}

Value readField(const YAML::Node& field, Allocator& a) {
  if (field.IsScalar()) return readLine(field.Scalar(), a);
  if (!field.IsMap() || !field["."]) fail("neither a line nor a mapping with a line under \".\"", "field");
  Value node = readLine(field["."].Scalar(), a);
  Value& host = hostOf(node);
  for (const auto& entry : field) {
    const std::string& name = entry.first.Scalar();
    if (name == ".") continue;
    try {
      addField(host, name, readField(entry.second, a), a);
    } catch (const std::runtime_error& error) {
      throw std::runtime_error(fmt::format("{}: {}", name, error.what()));
    }
  }
  return node;
}

}  // namespace dynamo::schema::gen
