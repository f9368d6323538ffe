#include <catch2/catch.hpp>

#include "common/render/hash.h"
#include "common/render/network.h"
#include "common/render/pull_secrets.h"
#include "common/render/rbac.h"
#include "support.h"

namespace dynamo::render::test {
namespace {

TEST_CASE("labels of discovery's access objects are shortened, names are not") {
  const std::string suffix = "-k8s-service-discovery";
  struct Row {
    std::size_t length;
    std::string label;
  };
  const std::string d41(41, 'd');
  const Row rows[] = {
      {3, "ddd" + suffix},
      {41, d41 + suffix},
      {42, d41 + "d-k8s-service-" + sha256Hex(d41 + 'd' + suffix).substr(0, 8)},
      {63, std::string(54, 'd') + '-' + sha256Hex(std::string(63, 'd') + suffix).substr(0, 8)}};
  for (const Row& row : rows) {
    INFO(row.length);
    json::Document owner;
    owner.SetObject();
    Children children;
    const std::string graph(row.length, 'd');
    renderDiscoveryAccess(owner, graph, "ns", children);
    REQUIRE(children.items.size() == 3);
    CHECK(row.label.size() <= 63);
    for (const Child& child : children.items) {
      const json::Value* metadata = json::findObject(&child.object, "metadata");
      CHECK(json::findText(metadata, "name").starts_with(graph + suffix));
      CHECK(json::findText(json::findObject(metadata, "labels"), "app.kubernetes.io/name") == row.label);
    }
  }
}

TEST_CASE("hosts of an Ingress") {
  struct Row {
    const char* ingress;
    const char* host;
  };
  const Row rows[] = {{R"({"hostPrefix":"p-","host":"h"})", "p-h.local"},
                      {R"({"host":"h","hostSuffix":"example.com"})", "h.example.com"},
                      {R"({"host":"h","hostSuffix":""})", "h."},
                      {R"({})", ".local"}};
  for (const Row& row : rows) {
    INFO(row.ingress);
    CHECK(ingressHost(parsed(row.ingress)) == row.host);
  }
}

TEST_CASE("registries of images and of pull secrets (pod-Q28)") {
  struct Row {
    const char* image;
    const char* registry;
  };
  const Row rows[] = {{"nvcr.io/a/b:1", "nvcr.io"},
                      {"reg:5005/x", "reg:5005"},
                      {"vllm:latest", "docker.io"},
                      {"nginx", "docker.io"},
                      {"org/img:tag", "docker.io"},
                      {"docker.io/x", "docker.io"},
                      {"index.docker.io/x", "docker.io"},
                      {"localhost/x", "localhost"},
                      {"", "docker.io"}};
  for (const Row& row : rows) {
    INFO(row.image);
    CHECK(registryOf(row.image) == row.registry);
  }
  CHECK(registryOfAuth("https://index.docker.io/v1/") == "docker.io");
  CHECK(registryOfAuth("https://h:5005/r") == "h:5005");
  CHECK(registryOfAuth("gitlab-master.nvidia.com:5005/registry") == "gitlab-master.nvidia.com:5005");
  CHECK(registryOfAuth("user@nvcr.io") == "nvcr.io");
}

}  // namespace
}  // namespace dynamo::render::test
