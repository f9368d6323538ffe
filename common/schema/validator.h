#pragma once
// The API server's checks of a custom resource against its schema, for use without an API server, in the
// words of kube-openapi and apimachinery.

#include <span>
#include <vector>

#include "common/field/finding.h"
#include "common/field/rule.h"
#include "common/json/value.h"
#include "common/schema/node.h"

namespace dynamo::schema {

struct Options {
  /// The stored object on an update; transition rules need it. nullptr: a create.
  const json::Value* old = nullptr;
  /// Report members that the schema does not know, as kubectl's strict mode does.
  bool unknownFields = true;
  /// Check `status` too. A create drops it, so it is skipped by default (unknown members are still told).
  bool status = false;
};

/// What in `object`, its status included, is of another type than the schema says: rule "schema.type" alone.
/// An int32 that needs more bits is, too.
/// A third of the cost of validate().
std::vector<field::FieldError> wrongTypes(const Node& schema, const json::Value& object);

/// Every finding about the whole object `object`, in the order of the object. Schema defaults need not have
/// been applied: a missing member with a default counts as present, a null as absent. Paths are the API
/// server's own: map keys as ".key" from the schema, as "[key]" from list types, rules and embedded objects.
/// `FieldError::rule` is one of rules(), or schema.cel.<rule> for rules of the schema itself.
std::vector<field::FieldError> validate(const Node& schema, const json::Value& object,
                                        const Options& options = {});

std::span<const field::Rule> rules();

}  // namespace dynamo::schema
