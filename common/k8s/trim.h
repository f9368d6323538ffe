#pragma once
// What a cache keeps of objects: the fields that somebody reads.

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "common/json/value.h"

namespace dynamo::k8s {

struct KeptFields {
  /// "spec.replicas", "status.conditions.type": names from the top, lists passed through; empty: all. Kept in
  /// any case: of metadata name, namespace, uid, resourceVersion, generation, deletionTimestamp, and of
  /// ownerReferences uid and controller.
  std::vector<std::string> fields;
  bool managedFields = false;  ///< keep metadata.managedFields where `fields` does not say so either
  bool lastApplied = false;    ///< keep the annotation that kubectl apply leaves
};

/// The same, made for fast use.
class Trimmer {
 public:
  explicit Trimmer(const KeptFields& kept);

  /// What is kept of `object` as compact JSON, without apiVersion and kind.
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
