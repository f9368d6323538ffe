// One SSH key for each namespace (decision child-Q29).
#include "controller/reconcile/ssh_key.h"

#include "apply_support.h"

namespace dynamo::controller::test {
namespace {

const std::string kKey = "/api/v1/namespaces/n/secrets/key";
const std::string kOtherKey = "/api/v1/namespaces/other/secrets/key";
const std::string kCreate = "POST /api/v1/namespaces/n/secrets";
const std::string kExisting =
    "{'apiVersion':'v1','kind':'Secret','metadata':{'namespace':'n','name':'key'},'type':'Opaque',"
    "'data':{'private.key':'cHJpdmF0ZQ==','private.key.pub':'cHVibGlj'}}";
const std::string kSeen = "{'metadata':{'namespace':'n','name':'key'}}";

/// Ensures the Secret in the namespaces, in order. Returns the errors.
std::string ensure(const FakeApi& api, const std::vector<std::string>& namespaces = {"n"}) {
  std::string errors;
  kube::test::withClient(api.roundTripper(), [&](EventLoop&, Client& client) -> Task<void> {
    SshKeys made{client, "key"};
    for (const std::string& name : namespaces) {
      const lifecycle::Ending failed = co_await made.ensure(name);
      if (!isDone(failed)) errors += std::string{messageOf(failed)} + "\n";
    }
  });
  return errors;
}

std::string dataOf(const FakeApi& api, const std::string& path, const char* member) {
  const json::Document secret = parsed(api.at(path));
  return std::string{json::findText(json::find(&secret, "data"), member)};
}

}  // namespace

TEST_CASE("each namespace gets a key of its own, once") {
  FakeApi api;
  CHECK(ensure(api, {"n", "n", "other", "n"}).empty());
  CHECK(api.lines() == lines({kCreate, "POST /api/v1/namespaces/other/secrets"}));
  for (const char* member : {"private.key", "private.key.pub"}) {
    CHECK(!dataOf(api, kKey, member).empty());
    CHECK(dataOf(api, kKey, member) != dataOf(api, kOtherKey, member));
  }
}

TEST_CASE("a Secret that exists stays, and is not read") {
  FakeApi api;
  api.store(kKey, kExisting);
  const std::string before = api.at(kKey);
  CHECK(ensure(api, {"n", "n"}).empty());
  CHECK(api.at(kKey) == before);
  CHECK(api.lines() == lines({kCreate}));
}

TEST_CASE("a refused Secret is a failure that names it") {
  FakeApi api{[&](const std::string& line, int) -> std::optional<std::string> {
    if (line == kCreate) return failure(403, "Forbidden");
    return std::nullopt;
  }};
  CHECK(ensure(api).find("Secret n/key") != std::string::npos);
}

TEST_CASE("deleted Secrets are reported and created again") {
  FakeApi api;
  kube::test::withClient(api.roundTripper(), [&](EventLoop&, Client& client) -> Task<void> {
    SshKeys keys{client, "key"};
    std::string deleted;
    keys.onDeleted([&](const std::string& name) { deleted += name + ";"; });
    const kube::Sink sink = keys.sink();
    const json::Document secret = parsed(kSeen);
    sink.listBegins();
    sink.present(secret);
    sink.listEnds("1");
    const lifecycle::Ending made = co_await keys.ensure("n");
    CHECK(isDone(made));
    CHECK(api.lines().empty());  // the watch has seen it
    sink.deleted(secret);
    sink.deleted(secret);
    CHECK(deleted == "n;");
    const lifecycle::Ending again = co_await keys.ensure("n");
    CHECK(isDone(again));
    CHECK(!api.at(kKey).empty());
    sink.listBegins();
    sink.listEnds("2");  // deleted while there was no watch
    CHECK(deleted == "n;n;");
  });
}

}  // namespace dynamo::controller::test
