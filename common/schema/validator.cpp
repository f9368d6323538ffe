#include "common/schema/validator.h"

#include <fmt/format.h>

#include <array>
#include <cmath>

#include "common/field/suggest.h"
#include "common/schema/registry.h"
#include "common/schema/walker.h"

namespace dynamo::schema {
namespace {

using json::Value;

// The API server accepts doubles without a fraction as integers up to this value.
constexpr double kMaxExactInteger = 9007199254740991.0;

constexpr std::array<field::Rule, 11> kRules = {{
    {"schema.kind", field::Severity::Error, "the kind and version exist"},
    {"schema.unknown-field", field::Severity::Error,
     "every field is known (kubectl rejects unknown fields in strict mode)"},
    {"schema.type", field::Severity::Error, "every value has the type of the schema"},
    {"schema.required", field::Severity::Error, "required fields are present"},
    {"schema.enum", field::Severity::Error, "enumerated values are supported"},
    {"schema.bounds", field::Severity::Error, "numbers and lengths are within bounds"},
    {"schema.pattern", field::Severity::Error, "strings match their patterns"},
    {"schema.duplicate", field::Severity::Error, "keys of list maps and items of sets are unique"},
    {"schema.embedded", field::Severity::Error, "embedded objects have apiVersion and kind"},
    {"schema.metadata", field::Severity::Error, "metadata is well-formed"},
    {"schema.cel", field::Severity::Error, "the CEL rules of the schema hold (schema.cel.<rule>)"},
}};

std::string_view nameOf(Type type) {
  switch (type) {
    case Type::Object:
      return "object";
    case Type::Array:
      return "array";
    case Type::String:
      return "string";
    case Type::Integer:
      return "integer";
    case Type::Number:
      return "number";
    case Type::Boolean:
      return "boolean";
    case Type::IntOrString:
      return "integer,string";
    case Type::Any:
      return "any";
  }
  return "any";
}

std::string_view nameOf(const Value& value) {
  if (value.IsNull()) return "null";
  if (value.IsBool()) return "boolean";
  if (value.IsString()) return "string";
  if (value.IsObject()) return "object";
  if (value.IsArray()) return "array";
  return value.IsInt64() ? "integer" : "number";
}

bool isIntegral(const Value& value) {
  if (!value.IsNumber()) return false;
  if (value.IsInt64()) return true;
  const double number = value.GetDouble();
  return std::abs(number) <= kMaxExactInteger && std::trunc(number) == number;
}

bool fits(Type type, const Value& value) {
  switch (type) {
    case Type::Any:
      return true;
    case Type::Object:
      return value.IsObject();
    case Type::Array:
      return value.IsArray();
    case Type::String:
      return value.IsString();
    case Type::Integer:
      return isIntegral(value);
    case Type::Number:
      return value.IsNumber();
    case Type::Boolean:
      return value.IsBool();
    case Type::IntOrString:
      return value.IsString() || isIntegral(value);
  }
  return false;
}

}  // namespace

std::vector<field::FieldError> validate(const Node& schema, const Value& object, const Options& options) {
  Walker walker{options};
  walker.checkRoot(schema, object);
  return std::move(walker).take();
}

std::vector<field::FieldError> wrongTypes(const Node& schema, const Value& object) {
  const Options all{nullptr, false, true};
  Walker walker{all, true};
  walker.check(schema, object, {});
  return std::move(walker).take();
}

void Walker::add(ErrorType type, field::Path path, std::string badValue, std::string detail,
                 std::string rule) {
  findings_.push_back({type, std::move(path), std::move(badValue), std::move(detail), std::move(rule)});
}

void Walker::checkRoot(const Node& root, const Value& object) {
  check(root, object, {});
  if (!object.IsObject()) return;
  const Value* metadata = json::find(object, "metadata");
  const bool named =
      !json::findText(metadata, "name").empty() || !json::findText(metadata, "generateName").empty();
  if (!named) {
    add(ErrorType::Required, field::Path{"metadata.name"}, {}, "name or generateName is required",
        "schema.metadata");
  }
}

void Walker::check(const Node& node, const Value& value, const field::At& at) {
  if (!checkType(node, value, at)) return;
  if (value.IsObject()) {
    const std::size_t before = findings_.size();
    checkObject(node, value, at);
    // A rule would only repeat errors that are already reported for members.
    if (findings_.size() == before) checkRule(node, value, at);
  } else if (value.IsArray()) {
    checkArray(node, value, at);
  } else if (value.IsString()) {
    if (!typesOnly_) checkString(node, value, at);
    if (node.dateTime) checkDateTime(value, at);
  } else if (value.IsNumber()) {
    if (typesOnly_ && node.int32) checkInt32(value, at);
    if (!typesOnly_) checkNumber(node, value, at);
  }
}

bool Walker::checkType(const Node& node, const Value& value, const field::At& at) {
  if (fits(node.type, value)) return true;
  if (!onlyUnknown_) {
    const std::string name = fmt::format("\"{}\"", nameOf(value));
    addInBody(ErrorType::TypeInvalid, at, name,
              fmt::format("must be of type {}: {}", nameOf(node.type), name), "schema.type");
  }
  return false;
}

void Walker::checkObject(const Node& node, const Value& object, const field::At& at) {
  if (node.embeddedResource) checkEmbedded(object, at);
  std::int64_t count = 0;
  for (const auto& member : object.GetObject()) {
    const std::string_view name = json::text(member.name);
    const Property* property = node.property(name);
    const bool known = property != nullptr || node.additional != nullptr;
    if (known && member.value.IsNull()) continue;  // the API server removes it or sets the default
    ++count;
    checkMember(node, property, name, member.value, at);
  }
  if (onlyUnknown_ || typesOnly_) return;
  for (const Property& property : node.properties) {
    const bool present = !property.required || property.node->defaultValue != nullptr ||
                         json::find(object, property.name) != nullptr;
    if (present) continue;
    add(ErrorType::Required, at / property.name, {}, {}, "schema.required");
  }
  if (node.maxProperties && count > *node.maxProperties) {
    add(ErrorType::TooMany, at, std::to_string(count),
        fmt::format("must have at most {} items", *node.maxProperties), "schema.bounds");
  }
}

void Walker::checkMember(const Node& node, const Property* property, std::string_view name,
                         const Value& value, const field::At& parent) {
  const bool typeOrMetadata = name == "apiVersion" || name == "kind" || name == "metadata";
  if (node.embeddedResource && typeOrMetadata) return;
  const Node* child = property != nullptr ? property->node : node.additional;
  if (child == nullptr) {
    if (!node.preserveUnknown) reportUnknown(node, parent, name);
    return;
  }
  const field::At at = property != nullptr ? parent / name : parent.key(name);
  const bool droppedStatus = parent.isRoot() && name == "status" && !options_.status;
  const bool outer = onlyUnknown_;
  onlyUnknown_ = outer || droppedStatus;
  check(*child, value, at);
  onlyUnknown_ = outer;
}

void Walker::checkArray(const Node& node, const Value& array, const field::At& at) {
  if (node.items != nullptr) {
    for (rapidjson::SizeType i = 0; i < array.Size(); ++i) {
      check(*node.items, array[i], at[i]);
    }
  }
  if (onlyUnknown_ || typesOnly_) return;
  if (node.maxItems && static_cast<std::int64_t>(array.Size()) > *node.maxItems) {
    add(ErrorType::TooMany, at, std::to_string(array.Size()),
        fmt::format("must have at most {} items", *node.maxItems), "schema.bounds");
  }
  checkDuplicates(node, array, at);
}

void Walker::checkRule(const Node& node, const Value& object, const field::At& at) {
  // Only the root has transition rules, so the old value is the whole old object.
  if (node.rule == nullptr || onlyUnknown_ || typesOnly_ ||
      (node.rule->transition && options_.old == nullptr))
    return;
  if (node.rule->holds({node, object, options_.old})) return;
  add(ErrorType::Invalid, at.path() / node.ruleField, "\"object\"", std::string{node.ruleMessage},
      "schema.cel." + std::string{node.rule->name});
}

void Walker::reportUnknown(const Node& node, const field::At& at, std::string_view name) {
  if (!options_.unknownFields || typesOnly_) return;
  std::vector<std::string_view> names;
  names.reserve(node.properties.size());
  for (const Property& property : node.properties) names.push_back(property.name);
  const std::string_view near = field::nearest(name, names);
  add(ErrorType::Invalid, at / name, {},
      near.empty() ? "unknown field" : fmt::format("unknown field, did you mean \"{}\"?", near),
      "schema.unknown-field");
}

std::span<const field::Rule> rules() {
  return kRules;
}

}  // namespace dynamo::schema
