#include "controller/plugin/credentials/exec_credential.h"

#include <array>
#include <utility>

#include "common/json/build.h"
#include "common/json/parse.h"
#include "common/k8s/timestamp.h"
#include "controller/kube/base64.h"

namespace dynamo::plugin {
namespace {

/// Reads an optional member into `out`. Returns false if it is not a string.
bool readText(const json::Value& object, std::string_view name, std::string& out) {
  const json::Value* const value = json::find(object, name);
  if (value == nullptr) return true;
  out = json::text(*value);
  return value->IsString();
}

}  // namespace

std::string execInfo(const std::string& apiVersion, const std::optional<kube::ExecCluster>& cluster) {
  json::Document document;
  const json::Maker make{document.GetAllocator()};
  json::Value spec = make.object("interactive", false);
  if (cluster) {
    json::Value told = make.object("server", cluster->server);
    if (!cluster->tlsServerName.empty())
      make.set(told, "tls-server-name", std::string_view{cluster->tlsServerName});
    if (cluster->insecure) make.set(told, "insecure-skip-tls-verify", true);
    if (!cluster->authorities.empty()) {
      make.set(told, "certificate-authority-data",
               std::string_view{kube::encodeBase64(cluster->authorities)});
    }
    make.set(spec, "cluster", std::move(told));
  }
  return json::dump(make.object("apiVersion", apiVersion, "kind", "ExecCredential", "spec", std::move(spec)));
}

std::variant<kube::ExecCredential, std::string> readExecCredential(std::string_view output,
                                                                   std::string_view apiVersion) {
  json::Document document;
  if (const auto error = json::parse(output, document); error || !document.IsObject()) {
    return std::string{"its output is not a JSON object"};
  }
  if (json::findText(&document, "kind") != "ExecCredential")
    return std::string{"kind: must be ExecCredential"};
  if (json::findText(&document, "apiVersion") != apiVersion) {
    return "apiVersion: must be " + std::string{apiVersion} + ", as in the kubeconfig file";
  }
  const json::Value* const status = json::findObject(&document, "status");
  if (status == nullptr) return std::string{"status: must be an object"};
  kube::ExecCredential out;
  std::string expires;
  for (const auto& [name, target] :
       std::array<std::pair<std::string_view, std::string*>, 4>{{{"token", &out.token},
                                                                 {"clientCertificateData", &out.certificate},
                                                                 {"clientKeyData", &out.key},
                                                                 {"expirationTimestamp", &expires}}}) {
    if (!readText(*status, name, *target)) return "status." + std::string{name} + ": must be a string";
  }
  if (!expires.empty()) {
    out.expires = k8s::parseTimestamp(expires);
    if (!out.expires) return std::string{"status.expirationTimestamp: must be an RFC 3339 time"};
  }
  if (out.certificate.empty() != out.key.empty()) {
    return std::string{"status: clientCertificateData and clientKeyData must be set together"};
  }
  if (out.token.empty() && out.certificate.empty()) {
    return std::string{"status: must have token, or clientCertificateData and clientKeyData"};
  }
  return out;
}

}  // namespace dynamo::plugin
