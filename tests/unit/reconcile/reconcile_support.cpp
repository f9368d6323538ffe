#include "reconcile_support.h"

#include "common/config/load.h"
#include "tests/unit/kube/kube_support.h"

namespace dynamo::controller::test {
namespace {

const WatchedKind& kindOf(const k8s::ObjectKey& key) {
  const WatchedKind* kind = findWatchedKind(key);
  INFO(k8s::toText(key));
  REQUIRE(kind != nullptr);
  return *kind;
}

}  // namespace

k8s::ObjectKey keyOf(const std::string& object) {
  return k8s::keyOf(parsed(object));
}

std::string namesOf(const std::vector<k8s::ObjectKey>& keys) {
  std::string text;
  for (const k8s::ObjectKey& key : keys) {
    const std::string space = key.namespaceName == "n" ? "" : key.namespaceName + "/";
    text += (text.empty() ? "" : " ") + space + key.kind + "/" + key.name;
  }
  return text;
}

void CacheFixture::see(const std::string& object) {
  const json::Document document = parsed(object);
  const WatchedKind& kind = kindOf(k8s::keyOf(document));
  for (const kube::LabelSelector& selector : kind.selectors) {
    if (selector.matches(document)) cache.sinkFor(kind.resource, "", selector).present(document);
  }
}

void CacheFixture::seeDeleted(const std::string& object) {
  json::Document document = parsed(object);
  const WatchedKind& kind = kindOf(k8s::keyOf(document));
  // A deletion has a version of its own.
  json::Value& metadata = *json::find(document, "metadata");
  const std::string version{json::findText(&metadata, "resourceVersion")};
  if (!version.empty())
    json::set(metadata, "resourceVersion",
              json::string(std::to_string(std::stoll(version) + 1), document.GetAllocator()),
              document.GetAllocator());
  cache.sinkFor(kind.resource, "", kind.selectors.front()).deleted(document);
}

EnvironmentFixture::EnvironmentFixture(runtime::EventLoop& loop, kube::Client& client)
    : config(config::defaultConfig()),
      defaults(config.defaults.get()),
      events(loop, client, nullptr),
      sshKeys(client, "mpi-run-ssh-secret"),
      environment{loop,   client,  cache,
                  events, config,  defaults,
                  facts,  sshKeys, [] { return lifecycle::test::kNow; }} {}

kube::RestConfig unreachable() {
  kube::RestConfig config;
  config.server = {"127.0.0.1", 1};
  config.serverName = "localhost";
  config.authorities = kube::TextSource::ofText(kube::test::authority().pem());
  config.credentials = std::make_shared<kube::Credentials>(kube::Credentials::Parts{});
  return config;
}

std::string textOf(const lifecycle::Ending& ending) {
  constexpr std::string_view kKinds[] = {"", "wait: ", "conflict: ", "transient: ", ""};
  return std::string{kKinds[ending.index()]}.append(messageOf(ending));
}

}  // namespace dynamo::controller::test
