#include "controller/kube/rest_config.h"

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <utility>
#include <vector>

#include "common/runtime/watched_file.h"
#include "controller/kube/kubeconfig.h"

namespace dynamo::kube {
namespace {

// The maximum size of a kubeconfig file, which equals the maximum size of a Secret that contains one.
constexpr std::size_t kMaxKubeconfigBytes = std::size_t{1} << 20;

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> out;
  std::size_t begin = 0;
  while (begin <= text.size()) {
    const std::size_t end = std::min(text.find(separator, begin), text.size());
    if (end > begin) out.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return out;
}

/// Reads a file. The string is an error message.
std::variant<runtime::FileReading, std::string> read(const std::string& path) {
  auto reading = runtime::WatchedFile{path, kMaxKubeconfigBytes}.poll().value_or(runtime::FileReading{});
  if (!reading.error.empty()) return path + ": " + reading.error;
  if (reading.text && reading.text->size() > kMaxKubeconfigBytes) return path + ": the file is too large";
  return reading;
}

/// Reads the files. Files that do not exist are ignored, as in kubectl.
std::variant<RestConfig, std::string> fromFiles(const std::vector<std::string>& paths,
                                                const RestConfigFlags& flags) {
  std::vector<KubeconfigFile> files;
  for (const std::string& path : paths) {
    auto reading = read(path);
    if (auto* error = std::get_if<std::string>(&reading)) return std::move(*error);
    auto& text = std::get<runtime::FileReading>(reading).text;
    if (text) files.push_back({path, std::move(*text)});
  }
  if (files.empty())
    return (paths.empty() ? std::string{"kubeconfig"} : paths.front()) + ": the file does not exist";
  return readKubeconfig(files, flags.context, flags.execRunner);
}

/// Reads ~/.kube/config. Returns nullopt if there is no such file.
std::optional<std::variant<RestConfig, std::string>> fromHome(const RestConfigFlags& flags,
                                                              const Environment& environment) {
  const std::string home = environment("HOME");
  if (home.empty()) return std::nullopt;
  const std::string path = home + "/.kube/config";
  auto reading = read(path);
  const auto* const found = std::get_if<runtime::FileReading>(&reading);
  if (found != nullptr && !found->text) return std::nullopt;
  return fromFiles({path}, flags);
}

}  // namespace

Environment processEnvironment() {
  return [](const std::string& name) {
    const char* const value = std::getenv(name.c_str());
    return std::string{value == nullptr ? "" : value};
  };
}

std::variant<ServerUrl, std::string> parseServerUrl(std::string_view text) {
  constexpr std::string_view kScheme = "https://";
  if (!text.starts_with(kScheme)) return "must start with " + std::string{kScheme};
  text.remove_prefix(kScheme.size());
  const std::size_t slash = std::min(text.find('/'), text.size());
  std::string authority{text.substr(0, slash)};
  std::string_view path = text.substr(slash);
  if (authority.find('@') != std::string::npos) return std::string{"must not contain a user name"};
  if (path.find_first_of("?# ") != std::string_view::npos)
    return std::string{"must not have a query or a fragment"};
  while (path.ends_with('/')) path.remove_suffix(1);
  const std::size_t colon = authority.rfind(':');
  const bool portGiven = colon != std::string::npos && authority.find(']', colon) == std::string::npos;
  if (!portGiven) authority += ":443";
  auto endpoint = runtime::parseEndpoint(authority);
  auto* const parsed = std::get_if<runtime::Endpoint>(&endpoint);
  if (parsed == nullptr || parsed->address.empty() || parsed->port == 0) {
    return std::string{"must have the form https://HOST:PORT/PATH"};
  }
  return ServerUrl{std::move(*parsed), std::string{path}};
}

std::variant<RestConfig, std::string> inClusterConfig(const Environment& environment,
                                                      std::string_view folder) {
  const std::string host = environment("KUBERNETES_SERVICE_HOST");
  const std::string port = environment("KUBERNETES_SERVICE_PORT");
  if (host.empty() || port.empty()) {
    return std::string{"not inside a pod: KUBERNETES_SERVICE_HOST or KUBERNETES_SERVICE_PORT is not set"};
  }
  const bool unbracketed = host.find(':') != std::string::npos && host.front() != '[';
  auto endpoint = runtime::parseEndpoint((unbracketed ? "[" + host + "]" : host) + ":" + port);
  if (auto* error = std::get_if<std::string>(&endpoint))
    return "KUBERNETES_SERVICE_HOST and _PORT: " + *error;
  RestConfig config;
  config.server = std::get<runtime::Endpoint>(std::move(endpoint));
  config.serverName = config.server.address;
  const std::string base = std::string{folder} + "/";
  config.authorities = TextSource::ofFile(base + "ca.crt");
  Credentials::Parts parts;
  parts.token = TextSource::ofFile(base + "token");
  for (TextSource* source : {&parts.token, &config.authorities}) {
    if (auto error = source->refresh(std::nullopt)) return std::move(*error);
  }
  TextSource own = TextSource::ofFile(base + "namespace");
  if (!own.refresh(std::nullopt)) config.namespaceName = own.text();
  config.credentials = std::make_shared<Credentials>(std::move(parts));
  return config;
}

std::variant<RestConfig, std::string> loadRestConfig(const RestConfigFlags& flags,
                                                     const Environment& environment) {
  if (!flags.kubeconfig.empty()) return fromFiles({flags.kubeconfig}, flags);
  if (const auto paths = split(environment("KUBECONFIG"), ':'); !paths.empty()) {
    return fromFiles(paths, flags);
  }
  // A context requires a kubeconfig file.
  const bool inPod = flags.context.empty() && !environment("KUBERNETES_SERVICE_HOST").empty();
  if (inPod && !flags.homeFirst) return inClusterConfig(environment);
  if (auto home = fromHome(flags, environment)) return std::move(*home);
  if (inPod) return inClusterConfig(environment);
  return std::string{
      "there is no kubeconfig file (--kubeconfig, KUBECONFIG, ~/.kube/config), "
      "and this is not a pod (KUBERNETES_SERVICE_HOST is not set)"};
}

}  // namespace dynamo::kube
