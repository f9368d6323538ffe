#include "controller/kube/resource.h"

#include "controller/kube/url.h"

namespace dynamo::kube {

std::string apiVersionOf(const Resource& resource) {
  return resource.group.empty() ? resource.version : resource.group + "/" + resource.version;
}

std::string pathOf(const Resource& resource, std::string_view namespaceName, std::string_view name,
                   std::string_view subresource) {
  std::string path = resource.group.empty() ? "/api" : "/apis";
  const auto add = [&](std::string_view segment) { path.append("/").append(escapeSegment(segment)); };
  if (!resource.group.empty()) add(resource.group);
  add(resource.version);
  if (resource.namespaced && !namespaceName.empty()) {
    add("namespaces");
    add(namespaceName);
  }
  add(resource.plural);
  if (!name.empty()) add(name);
  if (!subresource.empty()) add(subresource);
  return path;
}

}  // namespace dynamo::kube
