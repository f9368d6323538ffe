#include "controller/certs/settings.h"

#include <utility>

namespace dynamo::provisioning {

Settings settingsOf(const config::OperatorConfig& config, std::string operatorNamespace) {
  const config::WebhookServerConfig& webhook = config.server.webhook;
  Settings settings;
  settings.service = {webhook.serviceName, std::move(operatorNamespace)};
  settings.secretName = webhook.secretName;
  settings.automatic = webhook.certProvisionMode != "manual";
  settings.clusterWide = !config.restricted();
  return settings;
}

std::string toText(const certs::ServiceName& service) {
  return service.namespaceName + "/" + service.service;
}

const kube::Resource& secrets() {
  static const kube::Resource resource{"", "v1", "secrets", "Secret"};
  return resource;
}
const kube::Resource& services() {
  static const kube::Resource resource{"", "v1", "services", "Service"};
  return resource;
}
const kube::Resource& mutatingWebhookConfigurations() {
  static const kube::Resource resource{"admissionregistration.k8s.io", "v1", "mutatingwebhookconfigurations",
                                       "MutatingWebhookConfiguration", false};
  return resource;
}
const kube::Resource& validatingWebhookConfigurations() {
  static const kube::Resource resource{"admissionregistration.k8s.io", "v1",
                                       "validatingwebhookconfigurations", "ValidatingWebhookConfiguration",
                                       false};
  return resource;
}
const kube::Resource& customResourceDefinitions() {
  static const kube::Resource resource{"apiextensions.k8s.io", "v1", "customresourcedefinitions",
                                       "CustomResourceDefinition", false};
  return resource;
}

k8s::ObjectKey keyOf(const kube::Resource& resource, std::string namespaceName, std::string name) {
  return {resource.group, resource.version, resource.kind, std::move(namespaceName), std::move(name)};
}

}  // namespace dynamo::provisioning
