#include <algorithm>

#include "common/config/operator_config_validation.h"
#include "common/model/pathway.h"
#include "common/rules/validators.h"

namespace dynamo::rules {
namespace {

using json::Value;

bool hasNats(const Value* defaults) {
  const Value* env = json::findObject(json::findObject(defaults, "mainContainer"), "env");
  return json::find(env, "NATS_SERVER") != nullptr;
}

/// By its address of NATS, or by defaults of any component type.
bool providesNats(const config::OperatorConfig& config) {
  if (!config.infrastructure.natsAddress.empty()) return true;
  if (config.defaults == nullptr) return false;
  if (hasNats(json::findObject(config.defaults.get(), "common"))) return true;
  const Value* types = json::findObject(config.defaults.get(), "types");
  return types != nullptr && std::any_of(types->MemberBegin(), types->MemberEnd(),
                                         [](const auto& type) { return hasNats(&type.value); });
}

}  // namespace

GraphPolicy graphPolicy(const config::OperatorConfig& config, std::string_view operatorAccount,
                        const ClusterApis& apis) {
  GraphPolicy policy;
  const std::optional<bool> grove = model::groveEnabled(config.orchestrators, apis.grove);
  policy.groveDisabled = !grove.value_or(true);
  policy.groveCertain = grove.value_or(false);
  const std::optional<bool> kai = config.orchestrators.kaiSchedulerEnabled;
  policy.kaiScheduler = kai ? kai : apis.kaiScheduler;
  policy.lwsDisabled = !model::lwsEnabled(config.orchestrators, apis.leaderWorkerSet);
  policy.checkpointEnabled = config.checkpoint.enabled;
  const config::CheckpointConfig& storage = config.checkpoint;
  policy.checkpointStorage = {storage.storageType, storage.pvcName, storage.pvcBasePath,
                              storage.storageType == "s3"    ? storage.s3.uri
                              : storage.storageType == "oci" ? storage.oci.uri
                                                             : std::string{}};
  const std::vector<Warning> ingress = config::ingressWarnings(config.ingress);
  if (!ingress.empty()) policy.ingressFault = ingress.front().field.text();
  policy.discoveryBackend = config.discoveryBackend;
  policy.natsProvided = providesNats(config);
  policy.virtualServices = !config.ingress.virtualServiceGateway.empty();
  policy.honoursAutoscaling = config.compatibilityAutoscaling;
  policy.scalingAllowed = config.scalingAllowedServiceAccounts;
  if (!operatorAccount.empty()) policy.scalingAllowed.emplace_back(operatorAccount);
  policy.operatorAccount = operatorAccount;
  policy.inferenceApiPresent = apis.inferencePool;
  return policy;
}

}  // namespace dynamo::rules
