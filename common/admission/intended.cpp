#include "common/admission/intended.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "common/admission/field_advice.h"
#include "common/admission/metadata.h"
#include "common/admission/stray_fields.h"
#include "common/api/kinds.h"
#include "common/json/parse.h"
#include "common/schema/validator.h"

namespace dynamo::admission {
namespace {

using field::FieldError;
using field::Path;
using field::PathView;
using json::Value;
using schema::Node;

constexpr std::string_view kUnknownField = "schema.unknown-field";

const Node* nodeAt(const Node& schema, PathView path) {
  const Node* node = &schema;
  for (const field::Segment segment : path) {
    if (node == nullptr) return nullptr;
    node = segment.isIndex() ? node->items : node->member(segment.name);
  }
  return node;
}

Value* mutableAt(Value& object, PathView path) {
  return const_cast<Value*>(field::valueAt(object, path));
}

/// Whether the objects on the way to `path` that are absent may be made: they need no other field.
bool mayBeMade(const Node& schema, const Value& object, PathView path) {
  const Node* node = &schema;
  const Value* value = &object;
  for (const field::Segment segment : path) {
    if (value == nullptr && node != nullptr) {
      const bool needsMore = std::any_of(
          node->properties.begin(), node->properties.end(), [&](const schema::Property& property) {
            return property.required && property.node->defaultValue == nullptr &&
                   property.name != segment.name;
          });
      if (needsMore) return false;
    }
    if (value != nullptr) value = field::valueAt(*value, segment);
    if (node != nullptr) node = segment.isIndex() ? node->items : node->member(segment.name);
  }
  return true;
}

/// The object that contains `path`, made if absent; nullptr if another value is in the way.
Value* holderOf(Value& object, PathView path, json::Allocator& allocator) {
  Value* at = &object;
  for (PathView left = path; !left.rest().empty(); left = left.rest()) {
    const field::Segment segment = left.front();
    Value* next = mutableAt(*at, Path{}.append(segment));
    if (next == nullptr && !segment.isIndex() && at->IsObject()) {
      json::ensureObject(*at, segment.name, allocator);
      next = json::find(*at, segment.name);
    }
    if (next == nullptr) return nullptr;
    at = next;
  }
  return at->IsObject() ? at : nullptr;
}

/// Moves a value to an absent field. Returns false and changes nothing that matters if that is impossible.
bool move(const Node& schema, Value& object, PathView from, PathView to, json::Allocator& allocator) {
  const Value* given = field::valueAt(object, from);
  if (given == nullptr || field::valueAt(object, to) != nullptr || !mayBeMade(schema, object, to))
    return false;
  Value value = json::copy(*given, allocator);
  const Node* target = nodeAt(schema, to);
  if (target != nullptr && target->type == schema::Type::String && value.IsNumber())
    value = json::string(json::dump(value), allocator);
  if (target != nullptr && target->type == schema::Type::Integer && value.IsString()) {
    json::Document number;
    if (!json::parse(json::text(value), number) && number.IsInt64()) value.SetInt64(number.GetInt64());
  }
  Value* holder = holderOf(object, to, allocator);
  if (holder == nullptr) return false;
  json::set(*holder, to.back().name, std::move(value), allocator);
  const PathView name = [&] {
    PathView last = from;
    while (!last.rest().empty()) last = last.rest();
    return last;
  }();
  json::remove(*mutableAt(object, from.before(name)), from.back().name);
  return true;
}

Value* servicesOf(Value& graph) {
  Value* spec = json::find(graph, "spec");
  return spec == nullptr ? nullptr : json::find(*spec, "services");
}

}  // namespace

Intended::Intended(const Node& schema, std::string_view kind, std::string_view version, const Value& object,
                   json::Allocator& allocator)
    : object_{json::copy(object, allocator)} {
  const std::vector<FieldError> found = schema::validate(schema, object);
  if (kind == api::kDynamoGraphDeployment) moveStrayFields(schema, found, allocator);
  const auto isStray = [&](PathView field) {
    return std::any_of(errors_.begin(), errors_.end(),
                       [&](const FieldError& error) { return field.isWithin(error.field); });
  };
  std::vector<FieldError> unknown;
  for (FieldError error : found) {
    if (error.rule != kUnknownField || isStray(error.field)) continue;
    if (auto advice = adviceFor(kind, version, object, error.field)) {
      error.detail = std::move(advice->text);
      if (!advice->place.empty() && move(schema, object_, error.field, advice->place, allocator))
        moves_.push_back({error.field, std::move(advice->place)});
    }
    unknown.push_back(std::move(error));
  }
  // Moved values may have unknown fields themselves.
  for (FieldError& error : schema::validate(schema, object_)) {
    const auto moved = std::find_if(moves_.begin(), moves_.end(),
                                    [&](const Move& each) { return error.field.isWithin(each.to); });
    if (error.rule != kUnknownField || moved == moves_.end()) continue;
    if (auto advice = adviceFor(kind, version, object_, error.field)) error.detail = std::move(advice->text);
    error.field.rebase(moved->to, moved->from);
    unknown.push_back(std::move(error));
  }
  std::move(unknown.begin(), unknown.end(), std::back_inserter(errors_));
  std::vector<FieldError> inMetadata = metadataErrors(object);
  if (inMetadata.empty()) return;
  std::move(inMetadata.begin(), inMetadata.end(), std::back_inserter(errors_));
  repairMetadata(object_, allocator);
  Value& metadata = json::ensureObject(object_, "metadata", allocator);
  if (json::findText(&metadata, "name").empty() && json::findText(&metadata, "generateName").empty())
    json::set(metadata, "name", json::string("x", allocator), allocator);
}

void Intended::moveStrayFields(const Node& schema, const std::vector<FieldError>& found,
                               json::Allocator& allocator) {
  Value* services = servicesOf(object_);
  if (services == nullptr) return;
  for (StrayField& stray : strayFields(*services)) {
    const Path from = Path{"spec.services"} / stray.name;
    const auto typed = std::find_if(found.begin(), found.end(), [&](const FieldError& error) {
      return error.type == field::ErrorType::TypeInvalid && error.field == from;
    });
    FieldError error;
    if (typed != found.end()) {
      error = *typed;
      error.detail += "; " + stray.advice;
    } else {
      error.field = from;
      error.detail = "unknown field: " + stray.advice;
      error.rule = kUnknownField;
    }
    errors_.push_back(std::move(error));
    if (!stray.place.empty()) {
      Value* body = json::findRaw(*services, stray.service);
      if (body->IsNull()) {
        body->SetObject();
        errors_.push_back({field::ErrorType::Required,
                           Path{"spec.services"}.key(stray.service),
                           {},
                           "must not be null",
                           "dgd.service-null"});
      }
      if (move(schema, object_, from, stray.place, allocator))
        moves_.push_back({from, std::move(stray.place)});
    }
    json::remove(*services, stray.name);
  }
}

void Intended::tellAtManifest(field::Findings& findings) const {
  const auto tell = [&](Path& path) {
    for (const Move& each : moves_) {
      if (path.isWithin(each.to)) path.rebase(each.to, each.from);
    }
  };
  for (FieldError& error : findings.errors) tell(error.field);
  for (field::Warning& warning : findings.warnings) tell(warning.field);
}

}  // namespace dynamo::admission
