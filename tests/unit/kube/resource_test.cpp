// Paths and queries of requests.

#include "controller/kube/resource.h"

#include <catch2/catch.hpp>
#include <string>

#include "controller/kube/url.h"

namespace dynamo::kube {

TEST_CASE("the path of a resource") {
  const Resource deployments{"apps", "v1", "deployments", "Deployment"};
  const Resource configMaps{"", "v1", "configmaps", "ConfigMap"};
  const Resource nodes{"", "v1", "nodes", "Node", false};
  const Resource crds{"apiextensions.k8s.io", "v1", "customresourcedefinitions", "CustomResourceDefinition",
                      false};
  struct Row {
    const char* about;
    std::string path;
    const char* expected;
  };
  const Row row = GENERATE_COPY(values<Row>({
      {"an object", pathOf(deployments, "a", "b"), "/apis/apps/v1/namespaces/a/deployments/b"},
      {"a subresource", pathOf(deployments, "a", "b", "status"),
       "/apis/apps/v1/namespaces/a/deployments/b/status"},
      {"a collection", pathOf(deployments, "a"), "/apis/apps/v1/namespaces/a/deployments"},
      {"over all namespaces", pathOf(deployments, ""), "/apis/apps/v1/deployments"},
      {"of the core group", pathOf(configMaps, "a", "b"), "/api/v1/namespaces/a/configmaps/b"},
      {"of the cluster", pathOf(nodes, "", "b"), "/api/v1/nodes/b"},
      {"of the cluster, with a namespace", pathOf(nodes, "a", "b"), "/api/v1/nodes/b"},
      {"of a group with dots", pathOf(crds, "", "x.example.com"),
       "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/x.example.com"},
      {"with slashes in the name", pathOf(configMaps, "a", "../../nodes/b"),
       "/api/v1/namespaces/a/configmaps/..%2F..%2Fnodes%2Fb"},
      {"with a colon and a space", pathOf(configMaps, "a", "system:a b"),
       "/api/v1/namespaces/a/configmaps/system%3Aa%20b"},
      {"with a query in the name", pathOf(configMaps, "a", "b?c=d#e"),
       "/api/v1/namespaces/a/configmaps/b%3Fc%3Dd%23e"},
      {"with a percent sign", pathOf(configMaps, "a", "50%"), "/api/v1/namespaces/a/configmaps/50%25"},
      {"with a line break", pathOf(configMaps, "a", "b\r\nX: y"),
       "/api/v1/namespaces/a/configmaps/b%0D%0AX%3A%20y"},
      {"with bytes of UTF-8", pathOf(configMaps, "a", "\xC3\xA9"), "/api/v1/namespaces/a/configmaps/%C3%A9"},
      {"named like a folder", pathOf(configMaps, "..", "."), "/api/v1/namespaces/%2E%2E/configmaps/%2E"},
      {"with dots in the name", pathOf(configMaps, "a", "b.c"), "/api/v1/namespaces/a/configmaps/b.c"},
  }));
  CAPTURE(row.about);
  CHECK(row.path == row.expected);
}

TEST_CASE("the apiVersion of a resource") {
  CHECK(apiVersionOf({"apps", "v1", "deployments", "Deployment"}) == "apps/v1");
  CHECK(apiVersionOf({"", "v1", "pods", "Pod"}) == "v1");
}

TEST_CASE("a query contains the given parameters, escaped") {
  CHECK(Query{}.text().empty());
  CHECK(Query{}.add("a", "").add("b", false).add("c", std::int64_t{0}).text().empty());
  CHECK(Query{}
            .add("labelSelector", "app in (a,b),x!=y")
            .add("watch", true)
            .add("limit", std::int64_t{500})
            .text() == "?labelSelector=app%20in%20%28a%2Cb%29%2Cx%21%3Dy&watch=true&limit=500");
  CHECK(Query{}.add("continue", "a+b/c==&limit=0").text() == "?continue=a%2Bb%2Fc%3D%3D%26limit%3D0");
}

}  // namespace dynamo::kube
