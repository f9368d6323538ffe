#include "common/model/pathway.h"

#include "common/api/dynamo.h"
#include "common/k8s/names.h"

namespace dynamo::model {

void choosePathway(std::string_view pathway, config::OrchestratorsConfig& orchestrators) {
  if (pathway == "auto") return;
  orchestrators.grove.enabled = pathway == "grove";
  if (pathway != "grove") orchestrators.lwsEnabled = pathway == "lws";
}

std::optional<bool> groveEnabled(const config::OrchestratorsConfig& orchestrators, std::optional<bool> api) {
  return orchestrators.grove.enabled ? orchestrators.grove.enabled : api;
}

bool lwsEnabled(const config::OrchestratorsConfig& orchestrators, std::optional<bool> api) {
  return orchestrators.lwsEnabled.value_or(true) && api.value_or(true);
}

bool refusesGrove(const json::Value* annotations) {
  return k8s::lowerAscii(json::findText(annotations, api::annotation::kEnableGrove)) == "false";
}

bool usesGrove(const json::Value* annotations, std::optional<bool> groveEnabled) {
  return groveEnabled.value_or(true) && !refusesGrove(annotations);
}

}  // namespace dynamo::model
