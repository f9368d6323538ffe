// The `ingress` block of services (quirk child-Q11).

#include <fmt/format.h>

#include <array>

#include "common/api/dynamo.h"
#include "common/k8s/names.h"
#include "common/render/network.h"
#include "common/rules/graph/graph.h"

namespace dynamo::rules {
namespace {

using json::Value;

/// The ingress block; nullptr when it is disabled, because a disabled block creates nothing.
const Value* enabledIngress(const Service& service) {
  const Value* ingress = json::findObject(&service.spec, "ingress");
  return json::findBool(ingress, "enabled").value_or(false) ? ingress : nullptr;
}

/// The ingress block that becomes an Ingress object; nullptr when none is created.
const Value* ingressObjectSource(const Service& service) {
  const Value* ingress = service.type == api::kFrontend ? enabledIngress(service) : nullptr;
  return json::find(ingress, "ingressControllerClassName") == nullptr ? nullptr : ingress;
}

void hostRequired(const Service& service, const Report& report) {
  const Value* ingress = enabledIngress(service);
  if (ingress == nullptr || !json::findText(ingress, "host").empty()) return;
  report.required(service.at("ingress.host"), "must be set when the ingress is enabled");
}

bool isValidHost(const std::string& name) {
  return k8s::hostProblem(name).empty();
}

/// The part that makes the host invalid; the host itself when only the combination is invalid.
std::string_view invalidPart(const Value& ingress) {
  const std::string host{json::findText(&ingress, "host")};
  if (!isValidHost(host + ".local")) return "host";
  if (!isValidHost(std::string{json::findText(&ingress, "hostPrefix")} + host + ".local"))
    return "hostPrefix";
  const Value* suffix = json::find(ingress, "hostSuffix");
  return suffix != nullptr && !isValidHost("h." + std::string{json::text(*suffix)}) ? "hostSuffix" : "host";
}

void hostSyntax(const Service& service, const Report& report) {
  const Value* ingress = ingressObjectSource(service);
  if (ingress == nullptr || json::findText(ingress, "host").empty()) return;
  const std::string host = render::ingressHost(*ingress);
  const std::string problem = k8s::hostProblem(host);
  if (problem.empty()) return;
  const std::string_view part = invalidPart(*ingress);
  const std::string_view given = json::findText(ingress, part);
  const At at = service.at("ingress");
  report.invalid(at / part, given,
                 part == "hostSuffix" && given.starts_with('.')
                     ? "must not start with a dot: the operator adds one"
                     : fmt::format("results in the host {}, which {}", showValue(host), problem));
}

void names(const Service& service, const Report& report) {
  const Value* ingress = ingressObjectSource(service);
  if (ingress == nullptr) return;
  const std::string_view className = json::findText(ingress, "ingressControllerClassName");
  report.check(service.at("ingress.ingressControllerClassName"), className,
               k8s::dns1123SubdomainProblem(className));
  const std::string_view secret = json::findText(json::findObject(ingress, "tls"), "secretName");
  if (!secret.empty()) {
    report.check(service.at("ingress.tls.secretName"), secret, k8s::dns1123SubdomainProblem(secret));
  }
}

void onlyFrontends(const Service& service, const Report& report) {
  if (service.type == api::kFrontend || enabledIngress(service) == nullptr) return;
  report.warn(service.at("ingress"), "has no effect because only frontends are exposed");
}

void withoutEffect(const Service& service, const Report& report) {
  const Value* ingress = service.type == api::kFrontend ? enabledIngress(service) : nullptr;
  if (ingress == nullptr) return;
  const bool wanted = json::findBool(ingress, "useVirtualService").value_or(false);
  const bool gateway = json::find(ingress, "virtualServiceGateway") != nullptr;
  if (wanted && !gateway) {
    report.warn(service.at("ingress.useVirtualService"), "has no effect without virtualServiceGateway");
  } else if (wanted && !service.graph.policy.virtualServices) {
    report.warn(service.at("ingress.useVirtualService"),
                "has no effect because the operator's configuration names no gateway");
  } else if (!wanted && json::find(ingress, "ingressControllerClassName") == nullptr) {
    report.warn(service.at("ingress.enabled"),
                "has no effect without ingressControllerClassName or useVirtualService");
  }
}

/// A frontend without an ingress block gets the Ingress of the configuration (render/ingress.cpp).
void configuredIngress(const Service& service, const Report& report) {
  const std::string& fault = service.graph.policy.ingressFault;
  if (fault.empty() || service.type != api::kFrontend || !service.graph.isGraph) return;
  if (json::findObject(&service.spec, "ingress") != nullptr) return;
  report.warn(
      service.at("ingress"),
      fmt::format("will be refused because {} of the operator's configuration is not a valid name", fault));
}

constexpr std::array kChecks = {
    ServiceCheck{{"service.ingress-host", Severity::Error, "an enabled ingress has a host"}, hostRequired},
    ServiceCheck{{"service.ingress-host-name", Severity::Error,
                  "prefix, host and suffix of an ingress make a DNS name"},
                 hostSyntax},
    ServiceCheck{
        {"service.ingress-names", Severity::Error, "class and TLS secret of an ingress have valid names"},
        names},
    ServiceCheck{{"service.ingress-type", Severity::Warning, "only frontends are exposed"}, onlyFrontends},
    ServiceCheck{{"service.ingress-configured", Severity::Warning,
                  "the Ingress that the operator's configuration gives frontends has valid names"},
                 configuredIngress},
    ServiceCheck{{"service.ingress-no-effect", Severity::Warning,
                  "an enabled ingress has what an Ingress or VirtualService needs"},
                 withoutEffect},
};

}  // namespace

std::span<const ServiceCheck> serviceIngressChecks() {
  return kChecks;
}

}  // namespace dynamo::rules
