#include "common/model/epp.h"

#include <string>

#include "common/api/dynamo.h"
#include "common/json/build.h"

namespace dynamo::model {

json::Value eppConfigVolume(const json::Value& component, std::string_view graph,
                            json::Allocator& allocator) {
  const json::Value* reference = json::findObject(json::findObject(&component, "eppConfig"), "configMapRef");
  const std::string own = std::string{graph} + "-epp-config";
  const std::string_view name = reference == nullptr ? own : json::findText(reference, "name");
  const std::string_view key = json::findText(reference, "key");
  const json::Maker make{allocator};
  json::Value file = make.object("key", key.empty() ? api::kEppConfigKey : key, "path", api::kEppConfigKey);
  return make.object("name", api::kEppConfigVolume, "configMap",
                     make.object("name", name, "items", make.list(std::move(file))));
}

}  // namespace dynamo::model
