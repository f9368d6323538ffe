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

void recordEppConfigVolume(const json::Value& component, const json::Value* volumes, const field::Path& at,
                           Origins& origins) {
  const json::Value* reference = json::findObject(json::findObject(&component, "eppConfig"), "configMapRef");
  if (reference == nullptr || volumes == nullptr || !volumes->IsArray()) return;
  static const field::Path kReference{"eppConfig.configMapRef"};
  for (rapidjson::SizeType i = 0; i < volumes->Size(); ++i) {
    const field::Path volume = at[i];
    if (json::findText(&(*volumes)[i], "name") != api::kEppConfigVolume ||
        origins.of(volume).source != Origin::Source::Default) {
      continue;
    }
    origins.made(volume, kReference / "name");
    origins.user(volume / "configMap.name", kReference / "name");
    const field::Path key = (volume / "configMap.items")[0] / "key";
    if (json::findText(reference, "key").empty()) {
      origins.byDefault(key, kReference / "key");
    } else {
      origins.user(key, kReference / "key");
    }
  }
}

}  // namespace dynamo::model
