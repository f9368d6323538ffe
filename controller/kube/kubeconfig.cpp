#include "controller/kube/kubeconfig.h"

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "common/json/value.h"
#include "common/runtime/tls_client.h"
#include "common/text/yaml.h"
#include "controller/kube/base64.h"
#include "controller/kube/url.h"

namespace dynamo::kube {
namespace {

/// An error in a file. It is thrown only inside this source file and caught by readKubeconfig, because the
/// first error in any of the many fields ends the parsing.
struct FileError {
  std::string message;
};

/// A value with its file and its field path.
class Node {
 public:
  Node(const KubeconfigFile& file, const json::Value* value, std::string path)
      : file_(&file), value_(value), path_(std::move(path)) {}

  [[noreturn]] void fail(const std::string& what) const {
    throw FileError{file_->path + ": " + (path_.empty() ? "" : path_ + ": ") + what};
  }

  bool given() const { return value_ != nullptr; }
  const json::Value* value() const { return value_; }
  const std::string& path() const { return path_; }

  /// Returns the member. A null member counts as absent.
  Node at(std::string_view name) const {
    if (value_ != nullptr && !value_->IsObject()) fail("must be an object");
    const std::string inner = path_.empty() ? std::string{name} : path_ + "." + std::string{name};
    return {*file_, json::find(value_, name), inner};
  }
  std::vector<Node> items() const {
    std::vector<Node> out;
    if (value_ == nullptr) return out;
    if (!value_->IsArray()) fail("must be a list");
    std::size_t index = 0;
    for (const json::Value& each : value_->GetArray()) {
      out.emplace_back(*file_, &each, path_ + "[" + std::to_string(index++) + "]");
    }
    return out;
  }
  /// Returns the string, or an empty text if the value is absent.
  std::string text() const {
    if (value_ != nullptr && !value_->IsString()) fail("must be a string");
    return std::string{json::text(value_)};
  }
  bool flag() const {
    if (value_ != nullptr && !value_->IsBool()) fail("must be true or false");
    return value_ != nullptr && value_->GetBool();
  }
  /// Returns the value as a file path. A relative path is resolved against the folder of the kubeconfig file.
  std::string filePath() const { return resolved(text()); }
  std::string resolved(const std::string& path) const {
    return path.empty() ? path : (std::filesystem::path{file_->path}.parent_path() / path).string();
  }
  void reject(const char* why) const {
    if (value_ != nullptr && !(value_->IsString() && value_->GetStringLength() == 0)) fail(why);
  }

 private:
  const KubeconfigFile* file_;
  const json::Value* value_;
  std::string path_;
};

/// The documents of all files. Nodes refer to them.
class Kubeconfig {
 public:
  explicit Kubeconfig(const std::vector<KubeconfigFile>& files) {
    for (const KubeconfigFile& file : files) {
      auto read = text::parseDocuments(file.text);
      const Node root{file, nullptr, ""};
      if (read.error) {
        root.fail("line " + std::to_string(read.error->line) + ": not valid YAML or JSON");
      }
      if (read.documents.size() > 1) root.fail("must contain one document");
      if (read.documents.empty()) continue;
      auto& document = documents_.emplace_back(std::make_unique<json::Document>());
      *document = std::move(read.documents.front().value);
      roots_.emplace_back(file, document.get(), "");
      if (!document->IsObject()) roots_.back().fail("must be an object");
      const std::string kind = roots_.back().at("kind").text();
      if (!kind.empty() && kind != "Config") roots_.back().at("kind").fail("must be Config");
    }
    if (roots_.empty()) Node{files.front(), nullptr, ""}.fail("the file is empty");
  }

  const Node& first() const { return roots_.front(); }

  std::string currentContext() const {
    for (const Node& root : roots_) {
      if (auto name = root.at("current-context").text(); !name.empty()) return name;
    }
    return {};
  }

  /// Returns the member `kind` of the entry with that name in `list`. The first file takes precedence.
  std::optional<Node> find(const char* list, const char* kind, const std::string& name) const {
    for (const Node& root : roots_) {
      for (const Node& entry : root.at(list).items()) {
        if (entry.at("name").text() == name) return entry.at(kind);
      }
    }
    return std::nullopt;
  }

 private:
  std::vector<std::unique_ptr<json::Document>> documents_;
  std::vector<Node> roots_;
};

/// Returns `NAME-data`, decoded from base64, or the file `NAME`. `NAME-data` takes precedence, as in kubectl.
TextSource sourceOf(const Node& owner, const std::string& name) {
  if (const Node data = owner.at(name + "-data"); !data.text().empty()) {
    auto decoded = decodeBase64(data.text());
    if (!decoded) data.fail("must be base64");
    return TextSource::ofText(*decoded);
  }
  const Node file = owner.at(name);
  if (file.text().empty()) return {};
  TextSource source = TextSource::ofFile(file.filePath());
  if (const auto error = source.refresh(std::nullopt)) file.fail(*error);
  return source;
}

void checkTls(const Node& owner, const TextSource& authorities, const TextSource& certificate,
              const TextSource& key) {
  const auto made = runtime::makeClientContext({.authorities = authorities.text(),
                                                .verify = authorities.given(),
                                                .certificate = certificate.text(),
                                                .key = key.text()});
  if (const auto* error = std::get_if<std::string>(&made)) owner.fail(*error);
}

void readCluster(const Node& cluster, RestConfig& config) {
  const Node server = cluster.at("server");
  auto url = parseServerUrl(server.text());
  if (const auto* error = std::get_if<std::string>(&url)) server.fail(*error);
  config.server = std::get<ServerUrl>(url).endpoint;
  config.basePath = std::get<ServerUrl>(url).path;
  config.serverName = cluster.at("tls-server-name").text();
  if (config.serverName.empty()) config.serverName = config.server.address;
  cluster.at("proxy-url").reject("proxies are not supported");
  config.verify = !cluster.at("insecure-skip-tls-verify").flag();
  config.authorities = sourceOf(cluster, "certificate-authority");
  if (!config.verify && config.authorities.given()) {
    cluster.at("insecure-skip-tls-verify").fail("must not be true when a certificate authority is given");
  }
  checkTls(cluster, config.authorities, {}, {});
}

ExecPlugin readPlugin(const Node& exec, const RestConfig& config, const std::string& server) {
  ExecPlugin plugin;
  const Node version = exec.at("apiVersion");
  plugin.apiVersion = version.text();
  constexpr std::string_view kGroup = "client.authentication.k8s.io/";
  if (plugin.apiVersion != std::string{kGroup} + "v1" &&
      plugin.apiVersion != std::string{kGroup} + "v1beta1") {
    version.fail("must be client.authentication.k8s.io/v1 or client.authentication.k8s.io/v1beta1");
  }
  const Node command = exec.at("command");
  plugin.command = command.text();
  if (plugin.command.empty()) command.fail("is required");
  // A command without a slash is looked up in PATH.
  if (plugin.command.find('/') != std::string::npos) plugin.command = command.filePath();
  for (const Node& each : exec.at("args").items()) plugin.arguments.push_back(each.text());
  for (const Node& each : exec.at("env").items()) {
    plugin.environment.emplace_back(each.at("name").text(), each.at("value").text());
  }
  plugin.installHint = exec.at("installHint").text();
  if (exec.at("interactiveMode").text() == "Always") {
    exec.at("interactiveMode").fail("interactive plugins are not supported");
  }
  if (exec.at("provideClusterInfo").flag()) {
    plugin.cluster = ExecCluster{server, config.serverName == config.server.address ? "" : config.serverName,
                                 !config.verify, config.authorities.text()};
  }
  return plugin;
}

std::vector<runtime::Header> readImpersonation(const Node& user) {
  std::vector<runtime::Header> out;
  const auto add = [&](const std::string& name, const Node& from) {
    if (!from.text().empty()) out.push_back({name, from.text()});
  };
  add("Impersonate-User", user.at("as"));
  add("Impersonate-Uid", user.at("as-uid"));
  for (const Node& group : user.at("as-groups").items()) add("Impersonate-Group", group);
  const Node extra = user.at("as-user-extra");
  if (extra.given() && !extra.value()->IsObject()) extra.fail("must be an object");
  if (extra.given()) {
    for (const auto& member : extra.value()->GetObject()) {
      const std::string name{json::text(member.name)};
      for (const Node& value : extra.at(name).items()) add("Impersonate-Extra-" + escapeSegment(name), value);
    }
  }
  if (!out.empty() && user.at("as").text().empty())
    user.at("as").fail("is required with as-groups, as-uid and as-user-extra");
  return out;
}

Credentials::Parts readUser(const Node& user, const RestConfig& config, const std::string& server,
                            const ExecRunner& runner) {
  for (const char* name : {"username", "password"}) {
    user.at(name).reject("API servers no longer support passwords");
  }
  user.at("auth-provider").reject("is no longer supported; use exec");
  Credentials::Parts parts;
  const Node tokenFile = user.at("tokenFile");
  if (!tokenFile.text().empty()) {
    parts.token = TextSource::ofFile(tokenFile.filePath());
    if (const auto error = parts.token.refresh(std::nullopt)) tokenFile.fail(*error);
  } else {
    parts.token = TextSource::ofText(user.at("token").text());
  }
  parts.certificate = sourceOf(user, "client-certificate");
  parts.key = sourceOf(user, "client-key");
  if (parts.certificate.given() != parts.key.given()) {
    user.fail("client-certificate and client-key must be set together");
  }
  if (parts.certificate.given()) checkTls(user, {}, parts.certificate, parts.key);
  if (const Node exec = user.at("exec"); exec.given()) {
    if (!runner)
      exec.fail("this program runs no credential plugins; give it a token or a client certificate");
    parts.plugin = Credentials::Plugin{readPlugin(exec, config, server), runner};
  }
  parts.impersonation = readImpersonation(user);
  return parts;
}

RestConfig readContext(const Kubeconfig& kubeconfig, const std::string& wanted, const ExecRunner& runner) {
  const std::string name = wanted.empty() ? kubeconfig.currentContext() : wanted;
  if (name.empty()) kubeconfig.first().at("current-context").fail("is required");
  const auto context = kubeconfig.find("contexts", "context", name);
  if (!context) kubeconfig.first().at("contexts").fail("there is no context \"" + name + "\"");
  const Node clusterName = context->at("cluster");
  const auto cluster = kubeconfig.find("clusters", "cluster", clusterName.text());
  if (!cluster) clusterName.fail("there is no cluster \"" + clusterName.text() + "\"");
  RestConfig config;
  readCluster(*cluster, config);
  if (const auto own = context->at("namespace").text(); !own.empty()) config.namespaceName = own;
  Credentials::Parts parts;
  const Node userName = context->at("user");
  if (!userName.text().empty()) {
    const auto user = kubeconfig.find("users", "user", userName.text());
    if (!user) userName.fail("there is no user \"" + userName.text() + "\"");
    parts = readUser(*user, config, cluster->at("server").text(), runner);
  }
  config.credentials = std::make_shared<Credentials>(std::move(parts));
  return config;
}

}  // namespace

std::variant<RestConfig, std::string> readKubeconfig(const std::vector<KubeconfigFile>& files,
                                                     const std::string& context, const ExecRunner& runner) {
  if (files.empty()) return std::string{"there is no kubeconfig file"};
  try {
    return readContext(Kubeconfig{files}, context, runner);
  } catch (const FileError& error) {
    return error.message;
  }
}

}  // namespace dynamo::kube
