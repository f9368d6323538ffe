#pragma once
// Reduces objects in a cache to the fields that are used.

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "common/json/value.h"

namespace dynamo::k8s {

struct KeptFields {
  /// Field paths without list indexes, such as "spec.replicas" and "status.conditions.type"; empty: all
  /// fields. The following fields are always kept: metadata.name, namespace, uid, resourceVersion,
  /// generation, deletionTimestamp, and uid and controller of ownerReferences.
  std::vector<std::string> fields;
  bool managedFields = false;  ///< keep metadata.managedFields, even if `fields` does not contain it
  bool lastApplied = false;    ///< keep the last-applied annotation of kubectl
};

/// Applies KeptFields efficiently.
class Trimmer {
 public:
  explicit Trimmer(const KeptFields& kept);

  /// The kept fields of `object` as compact JSON, without apiVersion and kind.
  std::string text(const json::Value& object) const;

 private:
  struct Node {
    bool all = false;
    std::map<std::string, Node, std::less<>> members;
  };
  void keep(std::string_view path);

  Node root_;
  bool managedFields_;
  bool lastApplied_;
};

}  // namespace dynamo::k8s
