#pragma once
// The description of every kind, read from kinds/*.yaml and k8s/types.json.

#include <string>
#include <vector>

#include "common/json/value.h"

namespace dynamo::schema::gen {

struct Column {
  std::string name;
  std::string type;
  std::string path;
  int priority = 0;
};

struct Version {
  std::string name;
  std::string deprecated;  ///< deprecation warning; empty if not deprecated
  bool storage = true;
  bool scale = false;
  std::string specReplicas, statusReplicas, selector;  ///< of the scale subresource
  std::vector<Column> columns;
  json::Value schema;  ///< of the whole object; named types are "$ref" (notation.h)
};

struct Kind {
  std::string kind;
  std::string plural;
  std::string shortName;
  bool conversion = false;
  std::vector<Version> versions;
};

struct Model {
  json::Document document;            ///< owns every node
  json::Value types;                  ///< name -> node, for Kubernetes types and shared types
  json::Value rules;                  ///< name -> {rule, message}
  std::vector<std::string> ownTypes;  ///< names of the shared types (kinds/shared.yaml)
  std::string kubernetes;             ///< version of the Kubernetes types
  std::vector<Kind> kinds;            ///< sorted by plural

  json::Allocator& allocator() { return document.GetAllocator(); }
};

/// Reads <directory>/kinds/*.yaml and <directory>/k8s/types.json. Throws std::runtime_error with file and
/// field if the description is invalid, for example if it refers to an unknown type or rule.
Model load(const std::string& directory);

/// Replaces every "$ref" below `node` by the named type. Members beside "$ref" take precedence; properties
/// are merged one by one.
json::Value expand(const Model& model, const json::Value& node, json::Allocator& allocator);

}  // namespace dynamo::schema::gen
