#pragma once
// Looks for fields in the schemas of objects that are below another object.

#include <array>
#include <string>
#include <string_view>

#include "common/json/value.h"
#include "common/schema/node.h"

namespace dynamo::admission {

/// Where the fields of pods and containers are below other objects, from the most to the least likely.
inline constexpr std::array<std::string_view, 12> kInner = {
    "extraPodSpec.mainContainer",
    "extraPodSpec",
    "mainContainer",
    "containers",
    "spec.containers",
    "spec",
    "template.spec.containers",
    "template.spec",
    "podTemplateSpec.spec.containers",
    "podTemplateSpec.spec",
    "overrides.profilingJob.template.spec.containers",
    "overrides.profilingJob.template.spec",
};

/// Whether the value has the type of `node` and only fields that it knows.
bool accepts(const schema::Node& node, const json::Value& value);

struct Candidate {
  const schema::Node* node = nullptr;  ///< the schema of the field; nullptr: not found
  std::string place;                   ///< relative to its holder; "[]" is any item
};

/// The schema at the dotted path `names` below `node`. Lists stand for their items.
Candidate below(const schema::Node& node, std::string_view names);

/// The field `name` of the object `holder`, which must have it.
Candidate member(Candidate holder, std::string_view name);

/// The field `name` of a pod or container below `node`: the first that accepts `value`, else the first.
Candidate inner(const schema::Node& node, std::string_view name, const json::Value* value);

/// The field `name` of the only member of `node` that has it. Deprecated members do not count.
Candidate oneDeeper(const schema::Node& node, std::string_view name);

}  // namespace dynamo::admission
