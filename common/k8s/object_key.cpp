#include "common/k8s/object_key.h"

#include <string_view>

namespace dynamo::k8s {

ObjectKey keyOf(const json::Value& object) {
  const std::string_view apiVersion = json::findText(&object, "apiVersion");
  const json::Value* metadata = json::findObject(&object, "metadata");
  ObjectKey key;
  const std::size_t slash = apiVersion.find('/');
  if (slash != std::string_view::npos) key.group = apiVersion.substr(0, slash);
  key.version = slash == std::string_view::npos ? apiVersion : apiVersion.substr(slash + 1);
  key.kind = json::findText(&object, "kind");
  key.namespaceName = json::findText(metadata, "namespace");
  key.name = json::findText(metadata, "name");
  return key;
}

std::string toText(const ObjectKey& key) {
  std::string text = key.kind;
  if (!key.group.empty()) text += '.' + key.group;
  text += ' ';
  if (!key.namespaceName.empty()) text += key.namespaceName + '/';
  return text + key.name;
}

}  // namespace dynamo::k8s
