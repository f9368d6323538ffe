// Which watches start after a discovery, and what the API server serves.
#include "controller/reconcile/watches.h"

#include <memory>

#include "reconcile_support.h"
#include "tests/unit/kube/kube_support.h"

namespace dynamo::controller::test {
namespace {

using kube::Client;
using kube::test::failure;
using kube::test::FakeRoundTripper;
using kube::test::in;
using kube::test::lineOf;
using kube::test::ok;
using runtime::EventLoop;
using runtime::Task;
using namespace std::chrono_literals;

const kube::Resource kCliques{"grove.io", "v1alpha1", "podcliques", "PodClique"};
const kube::Resource kSets{"leaderworkerset.x-k8s.io", "v1", "leaderworkersets", "LeaderWorkerSet"};

const std::string kGroveKinds = ok(
    R"({"kind":"APIResourceList","resources":[{"name":"podcliques","kind":"PodClique","namespaced":true}]})");
const std::string kEmptyList = ok(R"({"kind":"List","metadata":{"resourceVersion":"5"},"items":[]})");

kube::ApiGroups groups() {
  return {{{"grove.io", {"v1alpha1"}}, {"leaderworkerset.x-k8s.io", {"v1"}}, {"apps", {"v1"}}}};
}

std::string namesOf(const kube::ApiGroups& found) {
  std::string names;
  for (const kube::ApiGroup& group : found.groups) names += group.name + ";";
  return names;
}

kube::Sink ignoring() {
  return {[] {}, [](const json::Value&) {}, [](const json::Value&) {}, [](std::string_view) {}};
}

}  // namespace

TEST_CASE("a version that is listed but answered with 404 is not served, until it is") {
  EventLoop loop;
  bool installed = false;
  bool lists = false;
  const auto answer = [&](std::string request, int) -> Task<std::string> {
    const std::string line = lineOf(request);
    if (line == "GET /apis/grove.io/v1alpha1") co_return installed ? kGroveKinds : failure(404, "NotFound");
    if (line == "GET /apis/leaderworkerset.x-k8s.io/v1") co_return failure(503, "ServiceUnavailable");
    if (line.find("watch=true") != std::string::npos) co_return failure(500, "InternalError");
    while (!lists) co_await loop.sleepUntil(in(1ms));
    co_return kEmptyList;
  };
  Client client{std::make_shared<FakeRoundTripper>(answer), "dynamo-controller"};
  Watches watches{loop, client, ""};
  const auto run = [&]() -> Task<void> {
    watches.add(kCliques, "", "", ignoring());
    watches.add(kSets, "", "", ignoring());
    Watches::Started started = co_await watches.start(groups());
    CHECK(namesOf(started.groups) == "leaderworkerset.x-k8s.io;apps;");
    REQUIRE(started.error);
    CHECK(started.error->reason == kube::Reason::Unavailable);
    CHECK(watches.unsynced().empty());
    installed = true;
    started = co_await watches.start(groups());
    CHECK(namesOf(started.groups) == "grove.io;leaderworkerset.x-k8s.io;apps;");
    // The watch has started, and has no list yet.
    CHECK_FALSE(watches.unsynced().empty());
    CHECK(namesOf(watches.syncedOf(started.groups)) == "leaderworkerset.x-k8s.io;apps;");
    lists = true;
    while (!watches.unsynced().empty()) co_await loop.sleepUntil(in(1ms));
    CHECK(namesOf(watches.syncedOf(started.groups)) == "grove.io;leaderworkerset.x-k8s.io;apps;");
    loop.stop();
  };
  loop.spawn(run());
  loop.run();
}

}  // namespace dynamo::controller::test
