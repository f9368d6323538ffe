#include "common/config/pathway.h"

namespace dynamo::config {

void choosePathway(std::string_view pathway, OrchestratorsConfig& orchestrators) {
  if (pathway == "auto") return;
  orchestrators.grove.enabled = pathway == "grove";
  if (pathway != "grove") orchestrators.lwsEnabled = pathway == "lws";
}

}  // namespace dynamo::config
