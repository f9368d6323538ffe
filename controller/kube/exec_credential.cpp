#include "controller/kube/exec_credential.h"

#include <array>
#include <cstdint>

#include "common/json/build.h"
#include "common/json/parse.h"

namespace dynamo::kube {
namespace {

constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Reads an optional member into `out`. Returns false if it is not a string.
bool readText(const json::Value& object, std::string_view name, std::string& out) {
  const json::Value* const value = json::find(object, name);
  if (value == nullptr) return true;
  out = json::text(*value);
  return value->IsString();
}

}  // namespace

std::optional<std::string> decodeBase64(std::string_view text) {
  std::string out;
  std::uint32_t word = 0;
  unsigned digits = 0;
  unsigned padding = 0;
  for (const char c : text) {
    if (c == '\n' || c == '\r') continue;
    const std::size_t value = c == '=' ? 0 : kDigits.find(c);
    if (value == std::string_view::npos || (padding > 0 && c != '=')) return std::nullopt;
    if (c == '=') ++padding;
    word = (word << 6U) | static_cast<std::uint32_t>(value);
    if (++digits < 4) continue;
    if (padding > 2) return std::nullopt;
    constexpr std::uint32_t kByte = 0xff;
    out += static_cast<char>((word >> 16U) & kByte);
    if (padding < 2) out += static_cast<char>((word >> 8U) & kByte);
    if (padding < 1) out += static_cast<char>(word & kByte);
    word = 0;
    digits = 0;
    if (padding > 0) padding = 3;  // padding ends the text
  }
  return digits == 0 ? std::optional{std::move(out)} : std::nullopt;
}

std::string encodeBase64(std::string_view bytes) {
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const auto at = [&](std::size_t k) -> std::uint32_t {
      return i + k < bytes.size() ? static_cast<unsigned char>(bytes[i + k]) : 0;
    };
    const std::uint32_t word = (at(0) << 16U) | (at(1) << 8U) | at(2);
    out += kDigits[word >> 18U];
    out += kDigits[(word >> 12U) & 63U];
    out += i + 1 < bytes.size() ? kDigits[(word >> 6U) & 63U] : '=';
    out += i + 2 < bytes.size() ? kDigits[word & 63U] : '=';
  }
  return out;
}

std::string execInfo(const std::string& apiVersion, const std::optional<ExecCluster>& cluster) {
  json::Document document;
  const json::Maker make{document.GetAllocator()};
  json::Value spec = make.object("interactive", false);
  if (cluster) {
    json::Value told = make.object("server", cluster->server);
    if (!cluster->tlsServerName.empty())
      make.set(told, "tls-server-name", std::string_view{cluster->tlsServerName});
    if (cluster->insecure) make.set(told, "insecure-skip-tls-verify", true);
    if (!cluster->authorities.empty()) {
      make.set(told, "certificate-authority-data", std::string_view{encodeBase64(cluster->authorities)});
    }
    make.set(spec, "cluster", std::move(told));
  }
  return json::dump(make.object("apiVersion", apiVersion, "kind", "ExecCredential", "spec", std::move(spec)));
}

std::variant<ExecCredential, std::string> readExecCredential(std::string_view output,
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
  ExecCredential out;
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

}  // namespace dynamo::kube
