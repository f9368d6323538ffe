#pragma once
// Validates a custom resource against its schema as the API server does, with the messages of kube-openapi
// and apimachinery.

#include <span>
#include <vector>

#include "common/field/finding.h"
#include "common/field/rule.h"
#include "common/json/value.h"
#include "common/schema/node.h"

namespace dynamo::schema {

struct Options {
  /// The stored object on an update, for transition rules; nullptr on a create.
  const json::Value* old = nullptr;
  /// Report unknown fields, as the strict mode of kubectl does.
  bool unknownFields = true;
  /// Validate `status`, too. By default only its unknown fields are reported, because a create drops it.
  bool status = false;
};

/// The type errors of `object`, including its status (rule "schema.type"). An int32 that is out of range
/// counts as a type error. Costs a third of validate().
std::vector<field::FieldError> wrongTypes(const Node& schema, const json::Value& object);

/// All errors of the whole object `object`, in the order of its members. Schema defaults need not be applied:
/// an absent field with a default counts as present, and null counts as absent. Field paths are those of the
/// API server: a map key is ".key" in structural errors, and "[key]" in errors of list types, rules and
/// embedded objects. `FieldError::rule` is one of rules(), or schema.cel.<rule> for rules of the schema
/// itself.
std::vector<field::FieldError> validate(const Node& schema, const json::Value& object,
                                        const Options& options = {});

std::span<const field::Rule> rules();

}  // namespace dynamo::schema
