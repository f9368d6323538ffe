#include "common/admission/settings.h"

#include <utility>

namespace dynamo::admission {

Settings::Settings(config::OperatorConfig configuration, std::string version,
                   std::string_view operatorAccount, render::Facts known)
    : config(std::move(configuration)),
      operatorVersion(std::move(version)),
      defaults(config.defaults.get()),
      facts(std::move(known)),
      policy(
          rules::graphPolicy(config, operatorAccount,
                             {facts.api(render::Api::Grove), facts.api(render::Api::LeaderWorkerSet),
                              facts.api(render::Api::InferencePool), facts.api(render::Api::KaiScheduler)})),
      // adm-Q7: the webhook and the controller use the same condition.
      dgdr{.hardwareRequired = !config.discoversGpus(),
           .allowOtherNamespaces = config.graphMayBeElsewhere(),
           .graph = policy},
      warnOnly(config.warnOnly()) {}

std::shared_ptr<const Settings> usualSettings() {
  static const auto kSettings = std::make_shared<const Settings>(config::defaultConfig(), "");
  return kSettings;
}

}  // namespace dynamo::admission
