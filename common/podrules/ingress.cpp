// Hosts, class and TLS of an Ingress (spec/k8s-pod-validation.md section 10).

#include "common/k8s/names.h"
#include "common/podrules/parts.h"
#include "common/podrules/rules.h"

namespace dynamo::podrules {
namespace {

using json::Value;

void host(const Report& report, std::string_view host, const At& at) {
  // No host at all means every host.
  if (!host.empty()) report.check(at, host, hostProblem(host), rule::kIngressHost);
}

void name(const Report& report, std::string_view name, const At& at) {
  if (!name.empty()) report.check(at, name, k8s::dns1123SubdomainProblem(name), rule::kIngressName);
}

}  // namespace

std::string hostProblem(std::string_view host) {
  if (host.empty()) return "must not be empty";
  if (isIpAddress(host)) return "must be a DNS name, not an IP address";
  if (host.find("://") != std::string_view::npos) return "must be a host name without a scheme";
  if (host.find('/') != std::string_view::npos) return "must be a host name without a path";
  if (host.find(':') != std::string_view::npos) return "must be a host name without a port";
  if (host.find('*') != std::string_view::npos) return k8s::wildcardSubdomainProblem(host);
  return k8s::dns1123SubdomainProblem(host);
}

void checkIngress(const Value& ingress, const std::string& path, validation::Findings& findings) {
  const Report report{findings};
  const At at{path};
  const At metadataAt = at / "metadata";
  const Value* metadata = json::findObject(&ingress, "metadata");
  name(report, json::findText(metadata, "name"), metadataAt / "name");
  labels(report, json::find(metadata, "labels"), metadataAt / "labels");
  annotations(report, json::find(metadata, "annotations"), metadataAt / "annotations");
  const At specAt = at / "spec";
  const Value* spec = json::findObject(&ingress, "spec");
  name(report, json::findText(spec, "ingressClassName"), specAt / "ingressClassName");
  forEach(json::find(spec, "rules"), specAt / "rules", [&](const Value& one, const At& place) {
    host(report, json::findText(&one, "host"), place / "host");
  });
  forEach(json::find(spec, "tls"), specAt / "tls", [&](const Value& tls, const At& place) {
    name(report, json::findText(&tls, "secretName"), place / "secretName");
    const At hosts = place / "hosts";
    forEachText(json::find(tls, "hosts"), hosts,
                [&](std::string_view one, const At& hostAt) { host(report, one, hostAt); });
  });
}

}  // namespace dynamo::podrules
