#include "common/render/pull_secrets.h"

#include "common/api/dynamo.h"
#include "common/json/build.h"

namespace dynamo::render {
namespace {

constexpr std::string_view kDockerHub = "docker.io";

std::string canonicalHost(std::string_view host) {
  if (host == "index.docker.io" || host == "registry-1.docker.io") return std::string{kDockerHub};
  return std::string{host};
}

}  // namespace

std::string registryOf(std::string_view image) {
  const std::size_t slash = image.find('/');
  const std::string_view first = image.substr(0, slash);
  // The first part is a registry only if it cannot be part of a repository name of docker.io.
  const bool registry =
      slash != std::string_view::npos && (first.find('.') != std::string_view::npos ||
                                          first.find(':') != std::string_view::npos || first == "localhost");
  return canonicalHost(registry ? first : kDockerHub);
}

std::string registryOfAuth(std::string_view address) {
  if (const std::size_t scheme = address.find("://"); scheme != std::string_view::npos) {
    address.remove_prefix(scheme + 3);
  }
  address = address.substr(0, address.find('/'));
  if (const std::size_t at = address.rfind('@'); at != std::string_view::npos) address.remove_prefix(at + 1);
  return canonicalHost(address);
}

void addPullSecrets(const Component& component, std::string_view image, const FactsView& facts,
                    json::Value& podSpec, Origins* origins, json::Allocator& allocator) {
  const json::Value* annotations = component.annotations;
  if (image.empty() || json::findText(annotations, api::annotation::kDisablePullSecretDiscovery) == "true")
    return;
  const json::Maker make{allocator};
  for (const std::string& secret : facts.pullSecrets(component.namespaceName, registryOf(image))) {
    json::Value& list = json::ensureList(podSpec, "imagePullSecrets", allocator);
    if (json::findNamed(&list, secret) != nullptr) continue;
    if (origins != nullptr) origins->byOperator(field::Path{"spec.imagePullSecrets"}[list.Size()]);
    make.push(list, make.object("name", secret));
  }
}

}  // namespace dynamo::render
