// One SSH key for the cluster, and its copies (decision child-Q29).
#include "controller/reconcile/ssh_key.h"

#include "apply_support.h"

namespace dynamo::controller::test {
namespace {

const std::string kSource = "/api/v1/namespaces/system/secrets/key";
const std::string kCopy = "/api/v1/namespaces/n/secrets/key";
const std::string kOriginal =
    "{'apiVersion':'v1','kind':'Secret','metadata':{'namespace':'system','name':'key'},'type':'Opaque',"
    "'data':{'private.key':'cHJpdmF0ZQ==','private.key.pub':'cHVibGlj'}}";
const std::string kSeen = "{'metadata':{'namespace':'n','name':'key'}}";

/// Ensures the Secret in the namespace `times` times. Returns the errors.
std::string ensure(const FakeApi& api, const std::string& namespaceName = "n", int times = 1) {
  std::string errors;
  kube::test::withClient(api.config(), [&](EventLoop&, Client& client) -> Task<void> {
    SshKeys made{client, "key", "system"};
    for (int i = 0; i < times; ++i) {
      const std::optional<lifecycle::Failure> failed = co_await made.ensure(namespaceName);
      if (failed) errors += failed->message + "\n";
    }
  });
  return errors;
}

json::Value dataOf(const FakeApi& api, const std::string& path, json::Document& memory) {
  const json::Document secret = parsed(api.at(path));
  return json::copy(*json::find(secret, "data"), memory.GetAllocator());
}

}  // namespace

TEST_CASE("the key is generated once and copied to a namespace") {
  FakeApi api;
  CHECK(ensure(api, "n", 2).empty());
  CHECK(api.lines() == lines({"GET " + kSource, "POST /api/v1/namespaces/system/secrets",
                              "POST /api/v1/namespaces/n/secrets"}));
  json::Document memory;
  const json::Value data = dataOf(api, kSource, memory);
  CHECK(data == dataOf(api, kCopy, memory));
  CHECK(!json::findText(&data, "private.key").empty());
  CHECK(!json::findText(&data, "private.key.pub").empty());
}

TEST_CASE("an existing key is copied, and copies stay as they are") {
  FakeApi api;
  api.store(kSource, kOriginal);
  CHECK(ensure(api).empty());
  json::Document memory;
  CHECK(dataOf(api, kCopy, memory) == dataOf(api, kSource, memory));
  const std::string before = api.at(kCopy);
  api.remove(kSource);
  CHECK(ensure(api).empty());  // another process, another original
  CHECK(api.at(kCopy) == before);
}

TEST_CASE("the namespace of the original needs no copy") {
  FakeApi api;
  CHECK(ensure(api, "system", 2).empty());
  CHECK(api.lines() == lines({"GET " + kSource, "POST /api/v1/namespaces/system/secrets"}));
}

TEST_CASE("the key of another process that was faster is used") {
  FakeApi api{[&](const std::string& line, int number) -> std::optional<std::string> {
    if (number == 0 && line == "GET " + kSource) return failure(404, "NotFound");
    return std::nullopt;
  }};
  api.store(kSource, kOriginal);
  CHECK(ensure(api).empty());
  json::Document memory;
  CHECK(dataOf(api, kCopy, memory) == dataOf(api, kSource, memory));
}

TEST_CASE("a refused Secret is a failure that names it") {
  for (const std::string& refused : {"GET " + kSource, std::string{"POST /api/v1/namespaces/n/secrets"}}) {
    CAPTURE(refused);
    FakeApi api{[&](const std::string& line, int) -> std::optional<std::string> {
      if (line == refused) return failure(403, "Forbidden");
      return std::nullopt;
    }};
    api.store(kSource, kOriginal);
    const std::string error = ensure(api);
    CHECK(error.find(refused[0] == 'G' ? "Secret system/key" : "Secret n/key") != std::string::npos);
  }
}

TEST_CASE("deleted copies are reported and created again") {
  FakeApi api;
  api.store(kSource, kOriginal);
  kube::test::withClient(api.config(), [&](EventLoop&, Client& client) -> Task<void> {
    SshKeys keys{client, "key", "system"};
    std::string deleted;
    keys.onDeleted([&](const std::string& name) { deleted += name + ";"; });
    const kube::Sink sink = keys.sink();
    const json::Document secret = parsed(kSeen);
    sink.listBegins();
    sink.present(secret);
    sink.listEnds("1");
    CHECK_FALSE(co_await keys.ensure("n"));
    CHECK(api.lines().empty());  // the watch has seen it
    sink.deleted(secret);
    sink.deleted(secret);
    CHECK(deleted == "n;");
    CHECK_FALSE(co_await keys.ensure("n"));
    CHECK(!api.at(kCopy).empty());
    sink.listBegins();
    sink.listEnds("2");  // deleted while there was no watch
    CHECK(deleted == "n;n;");
  });
}

}  // namespace dynamo::controller::test
