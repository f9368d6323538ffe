#pragma once
// The settings of certificate provisioning, and the API resources that it uses.

#include <chrono>
#include <string>
#include <string_view>

#include "certs/names.h"
#include "common/config/operator_config.h"
#include "common/k8s/object_key.h"
#include "controller/kube/resource.h"

namespace dynamo::provisioning {

struct Settings {
  /// The webhook's Service. It is in the operator's namespace, like the Secret (adm-Q16).
  certs::ServiceName service;
  std::string secretName;
  bool automatic = true;    ///< false: another program creates the certificates (`certProvisionMode: manual`)
  bool clusterWide = true;  ///< false: the operator is restricted to one namespace
};
Settings settingsOf(const config::OperatorConfig& config, std::string operatorNamespace);

/// Returns "NAMESPACE/NAME" for logs and messages.
std::string toText(const certs::ServiceName& service);

/// The maximum interval between checks of the certificates, as in the reference. It also limits the effect of
/// a change of the wall clock.
inline constexpr std::chrono::hours kCheckInterval{12};
/// The interval in which a restricted operator checks whether the Service of another operator still exists.
inline constexpr std::chrono::minutes kServiceCheckInterval{5};

/// The label of the webhook configurations that get the CA. Its value is the operator's namespace.
inline constexpr std::string_view kNamespaceLabel = "nvidia.com/dynamo-operator-namespace";
/// The only CRD with several versions, and therefore the only one with a conversion webhook.
inline constexpr std::string_view kConvertedCrd = "dynamographdeploymentrequests.nvidia.com";

const kube::Resource& secrets();
const kube::Resource& services();
const kube::Resource& mutatingWebhookConfigurations();
const kube::Resource& validatingWebhookConfigurations();
const kube::Resource& customResourceDefinitions();

/// Returns the key of an object. The namespace of a cluster-scoped object is empty.
k8s::ObjectKey keyOf(const kube::Resource& resource, std::string namespaceName, std::string name);

}  // namespace dynamo::provisioning
