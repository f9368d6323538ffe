// The Kubernetes client of controller/kube against a real API server. test_kube_client.py starts the server
// and runs this with
//   KUBECONFIG             of an administrator
//   DYNAMO_PROBE_NOBODY    a kubeconfig file of a user without rights
//   DYNAMO_PROBE_NAMESPACE a namespace that exists and is empty
// The custom resource `widgets.probe.example.com` is served: `spec.size` is an integer of at most 9, and
// there is a status. The test "[restart]" runs alone.

#include <algorithm>
#include <catch2/catch.hpp>
#include <iostream>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "common/json/value.h"
#include "controller/kube/client.h"
#include "controller/kube/decode.h"
#include "controller/kube/discovery.h"
#include "controller/kube/rest_config.h"

namespace dynamo::kube {
namespace {

using namespace std::chrono_literals;
using runtime::EventLoop;
using runtime::Task;

const Resource kConfigMaps{"", "v1", "configmaps", "ConfigMap"};
const Resource kWidgets{"probe.example.com", "v1", "widgets", "Widget"};

std::string variable(const char* name) {
  std::string value = processEnvironment()(name);
  if (value.empty()) throw std::runtime_error{std::string{name} + " is not set"};
  return value;
}

const std::string& space() {
  static const std::string name = variable("DYNAMO_PROBE_NAMESPACE");
  return name;
}

RestConfig configOf(const RestConfigFlags& flags) {
  auto loaded = loadRestConfig(flags);
  if (const auto* error = std::get_if<std::string>(&loaded)) throw std::runtime_error{*error};
  return std::get<RestConfig>(std::move(loaded));
}

template <class Use>
void withConfig(RestConfig config, Use use) {
  EventLoop loop;
  Client client{loop, std::move(config), nullptr};
  const auto run = [&]() -> Task<void> { co_await use(client); };
  loop.spawn(run());
  loop.run();
}

template <class Use>
void asAdmin(Use use) {
  withConfig(configOf({}), std::move(use));
}

/// The value of a result that must be one; it is taken out of it.
template <class T>
T must(Result<T>& result) {
  if (const auto* error = std::get_if<ApiError>(&result)) {
    throw std::runtime_error{std::string{nameOf(error->reason)} + ": " + error->message};
  }
  return std::get<T>(std::move(result));
}
template <class T>
T must(Result<T>&& result) {
  return must(result);
}

template <class T>
ApiError errorIn(const Result<T>& result) {
  if (const auto* error = std::get_if<ApiError>(&result)) return *error;
  throw std::runtime_error{"there is no error"};
}

std::string configMap(const std::string& name, const std::string& value, const std::string& more = {}) {
  return R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":")" + name + R"(","labels":{"probe":")" +
         name + R"("})" + more + R"(},"data":{"key":")" + value + R"("}})";
}

std::string widget(const std::string& name, int size) {
  return R"({"apiVersion":"probe.example.com/v1","kind":"Widget","metadata":{"name":")" + name +
         R"("},"spec":{"size":)" + std::to_string(size) + "}}";
}

std::string metadataOf(const json::Value& object, std::string_view name) {
  return std::string{json::findText(json::find(&object, "metadata"), name)};
}

std::string keyOf(const json::Value& object) {
  return std::string{json::findText(json::find(&object, "data"), "key")};
}

/// The fields' managers, by their operation: "Apply a, Update b".
std::vector<std::string> managersOf(const json::Value& object) {
  std::vector<std::string> out;
  const json::Value* const fields = json::find(json::find(&object, "metadata"), "managedFields");
  if (fields == nullptr) return out;
  for (const json::Value& each : fields->GetArray()) {
    out.push_back(std::string{json::findText(&each, "operation")} + " " +
                  std::string{json::findText(&each, "manager")});
  }
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace

TEST_CASE("discovery and version") {
  asAdmin([](Client& client) -> Task<void> {
    auto version = co_await serverVersion(client);
    CHECK(must(version).starts_with("v1."));
    auto found = co_await discover(client);
    const ApiGroups groups = must(found);
    CHECK(groups.serves("apps", "v1"));
    CHECK(groups.serves("probe.example.com", "v1"));
    CHECK_FALSE(groups.serves("probe.example.com", "v2"));
    auto core = co_await discoverResources(client, "", "v1");
    const ApiResources resources = must(core);
    REQUIRE(resources.ofKind("ConfigMap") != nullptr);
    CHECK(*resources.ofKind("ConfigMap") == kConfigMaps);
    CHECK_FALSE(resources.ofKind("Node")->namespaced);
    CHECK(resources.hasSubresource("pods", "status"));
    auto own = co_await discoverResources(client, kWidgets.group, kWidgets.version);
    const ApiResources widgets = must(own);
    CHECK(*widgets.ofKind("Widget") == kWidgets);
    CHECK(widgets.hasSubresource("widgets", "status"));
    auto none = co_await discoverResources(client, "nowhere.example.com", "v1");
    CHECK(errorIn(none).reason == Reason::NotFound);
  });
}

TEST_CASE("create, get, and what is there or not there") {
  asAdmin([](Client& client) -> Task<void> {
    auto created = co_await client.create(kConfigMaps, space(), configMap("created", "a"));
    const json::Document object = must(created);
    CHECK_FALSE(metadataOf(object, "uid").empty());
    CHECK(managersOf(object) == std::vector<std::string>{"Update dynamo-controller"});
    auto again = co_await client.create(kConfigMaps, space(), configMap("created", "a"));
    CHECK(errorIn(again).reason == Reason::AlreadyExists);
    CHECK(errorIn(again).status == 409);
    auto got = co_await client.get(kConfigMaps, space(), "created");
    CHECK(json::equal(must(got), object));
    auto missing = co_await client.get(kConfigMaps, space(), "missing");
    CHECK(errorIn(missing).reason == Reason::NotFound);
    CHECK(errorIn(missing).message == "configmaps \"missing\" not found");
    auto trial = co_await client.create(kConfigMaps, space(), configMap("trial", "a"), true);
    CHECK(metadataOf(must(trial), "name") == "trial");
    auto notStored = co_await client.get(kConfigMaps, space(), "trial");
    CHECK(errorIn(notStored).reason == Reason::NotFound);
  });
}

TEST_CASE("a name with characters of URLs is one segment of the path") {
  const Resource roles{"rbac.authorization.k8s.io", "v1", "clusterroles", "ClusterRole", false};
  asAdmin([&](Client& client) -> Task<void> {
    auto got = co_await client.get(roles, "", "system:node");
    CHECK(metadataOf(must(got), "name") == "system:node");
    auto odd = co_await client.get(roles, "", "a/b?c");
    CHECK(errorIn(odd).status >= 400);
  });
}

TEST_CASE("a list in pages") {
  asAdmin([](Client& client) -> Task<void> {
    for (int i = 0; i < 7; ++i) {
      auto made = co_await client.create(kWidgets, space(), widget("page-" + std::to_string(i), i));
      must(made);
    }
    ListOptions options;
    options.limit = 3;
    std::vector<std::size_t> sizes;
    std::vector<std::string> names;
    std::string version;
    do {
      auto listed = co_await client.list(kWidgets, space(), options);
      const ListPage page = must(decodeList(must(listed)));
      sizes.push_back(page.items().Size());
      for (const json::Value& item : page.items()) names.push_back(metadataOf(item, "name"));
      if (version.empty()) version = page.resourceVersion();
      CHECK(page.resourceVersion() == version);
      options.continueToken = page.continueToken();
    } while (!options.continueToken.empty());
    CHECK(sizes == std::vector<std::size_t>{3, 3, 1});
    CHECK(names ==
          std::vector<std::string>{"page-0", "page-1", "page-2", "page-3", "page-4", "page-5", "page-6"});
    options.continueToken = "garbage";
    auto refused = co_await client.list(kWidgets, space(), options);
    CHECK(errorIn(refused).reason == Reason::BadRequest);
    ListOptions selected;
    selected.fieldSelector = "metadata.name=page-4";
    auto one = co_await client.list(kWidgets, "", selected);
    CHECK(must(decodeList(must(one))).items().Size() == 1);
    selected.fieldSelector.clear();
    selected.labelSelector = "probe in (x,y),!other";
    auto none = co_await client.list(kWidgets, "", selected);
    CHECK(must(decodeList(must(none))).items().Empty());
  });
}

TEST_CASE("server-side apply, its conflicts, and whose fields they are") {
  asAdmin([](Client& client) -> Task<void> {
    PatchOptions first;
    first.fieldManager = "first";
    first.force = false;
    PatchOptions second = first;
    second.fieldManager = "second";
    auto made = co_await client.patch(kConfigMaps, space(), "applied", PatchType::Apply,
                                      configMap("applied", "a"), first);
    CHECK(keyOf(must(made)) == "a");
    auto refused = co_await client.patch(kConfigMaps, space(), "applied", PatchType::Apply,
                                         configMap("applied", "b"), second);
    const ApiError error = errorIn(refused);
    CHECK(error.reason == Reason::Conflict);
    REQUIRE(error.cause("FieldManagerConflict") != nullptr);
    CHECK(error.cause("FieldManagerConflict")->field == ".data.key");
    second.force = true;
    second.dryRun = true;
    auto trial = co_await client.patch(kConfigMaps, space(), "applied", PatchType::Apply,
                                       configMap("applied", "b"), second);
    CHECK(keyOf(must(trial)) == "b");
    auto kept = co_await client.get(kConfigMaps, space(), "applied");
    CHECK(keyOf(must(kept)) == "a");
    second.dryRun = false;
    auto taken = co_await client.patch(kConfigMaps, space(), "applied", PatchType::Apply,
                                       configMap("applied", "b"), second);
    const json::Document object = must(taken);
    CHECK(keyOf(object) == "b");
    CHECK(managersOf(object) == std::vector<std::string>{"Apply first", "Apply second"});
    auto same = co_await client.patch(kConfigMaps, space(), "applied", PatchType::Apply,
                                      configMap("applied", "b"), second);
    CHECK(metadataOf(must(same), "resourceVersion") == metadataOf(object, "resourceVersion"));
  });
}

TEST_CASE("merge patch, JSON patch, and replace with an old resourceVersion") {
  asAdmin([](Client& client) -> Task<void> {
    auto created = co_await client.create(kConfigMaps, space(), configMap("patched", "a"));
    const json::Document old = must(created);
    auto merged =
        co_await client.patch(kConfigMaps, space(), "patched", PatchType::Merge, R"({"data":{"key":"b"}})");
    CHECK(keyOf(must(merged)) == "b");
    auto patched = co_await client.patch(kConfigMaps, space(), "patched", PatchType::Json,
                                         R"([{"op":"replace","path":"/data/key","value":"c"}])");
    CHECK(keyOf(must(patched)) == "c");
    auto conflict = co_await client.replace(kConfigMaps, space(), "patched", json::dump(old));
    CHECK(errorIn(conflict).reason == Reason::Conflict);
    CHECK(errorIn(conflict).transient());
    auto replaced = co_await client.replace(kConfigMaps, space(), "patched", configMap("patched", "d"));
    CHECK(keyOf(must(replaced)) == "d");
  });
}

TEST_CASE("a status is written apart from the rest") {
  asAdmin([](Client& client) -> Task<void> {
    auto created = co_await client.create(kWidgets, space(), widget("with-status", 1));
    must(created);
    PatchOptions status;
    status.subresource = "status";
    status.fieldManager = "dynamo-status";
    const std::string wanted =
        R"({"apiVersion":"probe.example.com/v1","kind":"Widget","metadata":{"name":"with-status"},)"
        R"("spec":{"size":9},"status":{"phase":"Ready"}})";
    auto applied = co_await client.patch(kWidgets, space(), "with-status", PatchType::Apply, wanted, status);
    const json::Document object = must(applied);
    CHECK(json::findText(json::find(&object, "status"), "phase") == "Ready");
    CHECK(json::find(json::find(&object, "spec"), "size")->GetInt() == 1);
    CHECK(managersOf(object) == std::vector<std::string>{"Apply dynamo-status", "Update dynamo-controller"});
    auto merged = co_await client.patch(kWidgets, space(), "with-status", PatchType::Merge,
                                        R"({"spec":{"size":2},"status":{"phase":"ignored"}})");
    const json::Document changed = must(merged);
    CHECK(json::findText(json::find(&changed, "status"), "phase") == "Ready");
    auto current = json::Document{};
    current.CopyFrom(changed, current.GetAllocator());
    json::set(*json::find(current, "status"), "phase", json::Value{"Failed"}, current.GetAllocator());
    auto replaced = co_await client.replace(kWidgets, space(), "with-status", json::dump(current), "status");
    const json::Document last = must(replaced);
    CHECK(json::findText(json::find(&last, "status"), "phase") == "Failed");
  });
}

TEST_CASE("an invalid object is refused with causes") {
  asAdmin([](Client& client) -> Task<void> {
    const std::string odd =
        R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"Odd_Name"},"data":{"a/b":"c"}})";
    auto refused = co_await client.create(kConfigMaps, space(), odd);
    const ApiError error = errorIn(refused);
    CHECK(error.reason == Reason::Invalid);
    CHECK(error.status == 422);
    CHECK_FALSE(error.transient());
    std::vector<std::string> fields;
    for (const Cause& cause : error.causes) fields.push_back(cause.field);
    CHECK(fields == std::vector<std::string>{"metadata.name", "data[a/b]"});
    auto tooLarge = co_await client.create(kWidgets, space(), widget("large", 10));
    REQUIRE(errorIn(tooLarge).causes.size() == 1);
    CHECK(errorIn(tooLarge).causes[0].field == "spec.size");
    auto malformed = co_await client.create(kConfigMaps, space(), "{");
    CHECK(errorIn(malformed).reason == Reason::BadRequest);
  });
}

TEST_CASE("what is refused of a Secret is not repeated") {
  const Resource secrets{"", "v1", "secrets", "Secret"};
  asAdmin([&](Client& client) -> Task<void> {
    const std::string odd =
        R"({"apiVersion":"v1","kind":"Secret","metadata":{"name":"s"},"type":"kubernetes.io/dockerconfigjson",)"
        R"("stringData":{".dockerconfigjson":"hunter2"}})";
    auto refused = co_await client.create(secrets, space(), odd);
    const ApiError error = errorIn(refused);
    CHECK(error.reason == Reason::Invalid);
    CHECK(error.message ==
          "Secret \"s\" failed: Invalid (the message is omitted because it may quote the Secret)");
    REQUIRE(error.causes.size() == 1);
    CHECK(error.causes[0].field == "data[.dockerconfigjson]");
    CHECK(error.causes[0].message.empty());
  });
}

TEST_CASE("a delete with wrong preconditions deletes nothing") {
  asAdmin([](Client& client) -> Task<void> {
    auto created = co_await client.create(kConfigMaps, space(), configMap("deleted", "a"));
    const json::Document object = must(created);
    const std::string uid = metadataOf(object, "uid");
    const Preconditions other{"00000000-0000-0000-0000-000000000000"};
    auto refused = co_await client.remove(kConfigMaps, space(), "deleted", other);
    CHECK(errorIn(refused).reason == Reason::Conflict);
    const Preconditions old{uid, "1"};
    auto stale = co_await client.remove(kConfigMaps, space(), "deleted", old);
    CHECK(errorIn(stale).reason == Reason::Conflict);
    auto there = co_await client.get(kConfigMaps, space(), "deleted");
    CHECK(json::equal(must(there), object));
    const Preconditions right{uid, metadataOf(object, "resourceVersion")};
    auto done = co_await client.remove(kConfigMaps, space(), "deleted", right, "Background");
    const json::Document status = must(done);
    CHECK(json::findText(&status, "status") == "Success");
    auto again = co_await client.remove(kConfigMaps, space(), "deleted", right);
    CHECK(errorIn(again).reason == Reason::NotFound);
  });
}

TEST_CASE("a delete that waits for a finalizer gives the object") {
  asAdmin([](Client& client) -> Task<void> {
    const std::string held = configMap("held", "a", R"(,"finalizers":["probe.example.com/hold"])");
    auto created = co_await client.create(kConfigMaps, space(), held);
    must(created);
    auto removed = co_await client.remove(kConfigMaps, space(), "held");
    CHECK_FALSE(metadataOf(must(removed), "deletionTimestamp").empty());
    auto freed = co_await client.patch(kConfigMaps, space(), "held", PatchType::Merge,
                                       R"({"metadata":{"finalizers":null}})");
    must(freed);
    auto gone = co_await client.get(kConfigMaps, space(), "held");
    CHECK(errorIn(gone).reason == Reason::NotFound);
  });
}

TEST_CASE("a watch from a list on: changes, a bookmark, and the end that was asked for") {
  asAdmin([](Client& client) -> Task<void> {
    ListOptions listing;
    listing.labelSelector = "probe=watched";
    auto listed = co_await client.list(kConfigMaps, space(), listing);
    const ListPage page = must(decodeList(must(listed)));
    CHECK(page.items().Empty());
    WatchOptions options;
    options.labelSelector = listing.labelSelector;
    options.resourceVersion = page.resourceVersion();
    options.timeout = 5s;
    auto watched = co_await client.watch(kConfigMaps, space(), options);
    const auto stream = must(watched);
    auto created = co_await client.create(kConfigMaps, space(), configMap("watched", "a"));
    must(created);
    auto changed =
        co_await client.patch(kConfigMaps, space(), "watched", PatchType::Merge, R"({"data":{"key":"b"}})");
    must(changed);
    auto unrelated = co_await client.create(kConfigMaps, space(), configMap("not-watched", "a"));
    must(unrelated);
    auto removed = co_await client.remove(kConfigMaps, space(), "watched");
    must(removed);
    std::vector<std::string> seen;
    std::string last;
    for (;;) {
      auto next = co_await stream->next(std::chrono::steady_clock::now() + 30s);
      const auto line = must(next);
      if (!line) break;
      const WatchEvent event = must(decodeEvent(*line));
      constexpr const char* kTypes[] = {"added ", "modified ", "deleted ", "bookmark"};
      last = event.resourceVersion();
      // A server may send several bookmarks.
      if (event.type == EventType::Bookmark && !seen.empty() && seen.back() == "bookmark") continue;
      seen.push_back(kTypes[static_cast<int>(event.type)] + keyOf(event.object()));
    }
    CHECK(seen == std::vector<std::string>{"added a", "modified b", "deleted b", "bookmark"});
    // The bookmark has moved on to what the watch did not show.
    CHECK(std::stoull(last) > std::stoull(options.resourceVersion));
  });
}

TEST_CASE("a watch that begins with what exists") {
  asAdmin([](Client& client) -> Task<void> {
    auto created = co_await client.create(kConfigMaps, space(), configMap("initial", "a"));
    must(created);
    WatchOptions options;
    options.labelSelector = "probe=initial";
    options.sendInitialEvents = true;
    options.timeout = 20s;
    auto watched = co_await client.watch(kConfigMaps, space(), options);
    const auto stream = must(watched);
    auto first = co_await stream->next(std::chrono::steady_clock::now() + 10s);
    const auto added = must(first);
    REQUIRE(added);
    CHECK(must(decodeEvent(*added)).type == EventType::Added);
    auto second = co_await stream->next(std::chrono::steady_clock::now() + 10s);
    const auto bookmark = must(second);
    REQUIRE(bookmark);
    CHECK(must(decodeEvent(*bookmark)).endsInitialEvents());
    stream->cancel();
    auto third = co_await stream->next(std::chrono::steady_clock::now() + 10s);
    CHECK(errorIn(third).message == "the watch was cancelled");
  });
}

TEST_CASE("a watch from a resourceVersion that is too old") {
  asAdmin([](Client& client) -> Task<void> {
    WatchOptions options;
    options.resourceVersion = "1";
    options.timeout = 10s;
    auto watched = co_await client.watch(kWidgets, space(), options);
    if (const auto* error = std::get_if<ApiError>(&watched)) {
      CHECK(error->reason == Reason::Gone);
      co_return;
    }
    const auto stream = must(watched);
    auto next = co_await stream->next(std::chrono::steady_clock::now() + 10s);
    const auto line = must(next);
    REQUIRE(line);
    CHECK(errorIn(decodeEvent(*line)).reason == Reason::Gone);
  });
}

TEST_CASE("a user without rights, and one that nobody knows") {
  RestConfigFlags flags;
  flags.kubeconfig = variable("DYNAMO_PROBE_NOBODY");
  RestConfig config = configOf(flags);
  withConfig(config, [](Client& client) -> Task<void> {
    auto listed = co_await client.list(kConfigMaps, space());
    CHECK(errorIn(listed).reason == Reason::Forbidden);
    CHECK(errorIn(listed).message.find("cannot list resource \"configmaps\"") != std::string::npos);
    auto watched = co_await client.watch(kConfigMaps, space());
    CHECK(errorIn(watched).reason == Reason::Forbidden);
    auto created = co_await client.create(kConfigMaps, space(), configMap("forbidden", "a"));
    CHECK(errorIn(created).reason == Reason::Forbidden);
  });
  Credentials::Parts parts;
  parts.token = TextSource::ofText("nobody-knows-me");
  config.credentials = std::make_shared<Credentials>(std::move(parts));
  withConfig(config, [](Client& client) -> Task<void> {
    auto listed = co_await client.list(kConfigMaps, space());
    CHECK(errorIn(listed).reason == Reason::Unauthorized);
  });
}

// Prints "ready", then waits for a line while the server is restarted at the same address.
TEST_CASE("a restart of the API server ends watches, and the next call finds the new one", "[.restart]") {
  asAdmin([](Client& client) -> Task<void> {
    auto version = co_await serverVersion(client);
    must(version);
    CHECK(client.idleConnections() == 1);
    auto watched = co_await client.watch(kConfigMaps, space());
    const auto stream = must(watched);
    std::cout << "ready" << std::endl;
    std::string line;
    std::getline(std::cin, line);
    auto got = co_await client.list(kConfigMaps, space());
    must(got);
    for (;;) {  // events of what exists come first
      auto next = co_await stream->next(std::chrono::steady_clock::now() + 10s);
      const auto* const error = std::get_if<ApiError>(&next);
      if (error != nullptr) CHECK(error->reason == Reason::Transport);
      if (error != nullptr || !std::get<std::optional<std::string>>(next)) break;
    }
    auto again = co_await client.watch(kConfigMaps, space());
    must(again);
  });
}

}  // namespace dynamo::kube
