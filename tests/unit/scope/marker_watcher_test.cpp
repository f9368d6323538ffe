// How a cluster-wide operator follows marker Leases, against a scripted API server.
#include "controller/scope/marker_watcher.h"

#include <catch2/catch.hpp>
#include <deque>

#include "common/json/parse.h"
#include "controller/scope/marker_lease.h"

namespace dynamo::controller::test {
namespace {

using kube::ApiError;
using kube::Reason;
using runtime::Deadline;
using runtime::Task;
using std::chrono::milliseconds;

json::Document parsed(const std::string& text) {
  json::Document document;
  INFO(text);
  REQUIRE_FALSE(json::parse(text, document));
  return document;
}

std::string leaseIn(const std::string& name, int version, milliseconds age = milliseconds{0}) {
  const std::string text = newMarkerLease(name, "me", std::chrono::seconds{1}, currentTime().wall - age);
  json::Document lease = parsed(text);
  json::set(*json::find(lease, "metadata"), "resourceVersion",
            json::string(std::to_string(version), lease.GetAllocator()), lease.GetAllocator());
  return json::dump(lease);
}

/// Lists what it holds. A watch reports the events that tests add.
struct Server {
  explicit Server(runtime::EventLoop& loop_) : loop(loop_), added(loop_) {}

  runtime::EventLoop& loop;
  runtime::Notification added;
  std::map<std::string, std::string> leases;
  std::string labelled;  ///< a namespace
  std::deque<std::string> events;
  bool refused = false;
  int confirmations = 0;
  std::string selectors;

  void event(const std::string& type, const std::string& object) {
    events.push_back(R"({"type":")" + type + R"(","object":)" + object + "}");
    added.notify();
  }

  static Task<kube::Result<json::Document>> list(Server* self, kube::ListOptions options) {
    self->selectors = options.fieldSelector;
    if (self->refused) co_return ApiError{Reason::Forbidden, 403, "not allowed"};
    std::string items;
    for (const auto& [name, lease] : self->leases) items += (items.empty() ? "" : ",") + lease;
    co_return parsed(R"({"kind":"LeaseList","metadata":{"resourceVersion":"1"},"items":[)" + items + "]}");
  }
  static Task<kube::Result<json::Document>> confirm(Server* self, kube::ListOptions options) {
    ++self->confirmations;
    return list(self, std::move(options));
  }
  static Task<kube::Result<json::Document>> listNamespaces(Server* self, kube::ListOptions options) {
    self->selectors = options.labelSelector;
    const std::string item = R"({"metadata":{"name":")" + self->labelled + R"("}})";
    co_return parsed(R"({"kind":"NamespaceList","metadata":{"resourceVersion":"1"},"items":[)" +
                     (self->labelled.empty() ? std::string{} : item) + "]}");
  }
  static Task<kube::Result<std::optional<std::string>>> next(Server* self, Deadline deadline) {
    while (self->events.empty()) {
      const auto waited = co_await self->added.wait(deadline);
      if (waited != runtime::WaitResult::Ready) co_return ApiError{Reason::Transport, 0, "ended"};
    }
    std::optional<std::string> line = std::move(self->events.front());
    self->events.pop_front();
    co_return line;
  }
  static Task<kube::Result<std::optional<std::string>>> never(Server* self, Deadline deadline) {
    co_await self->loop.sleepUntil(deadline);
    co_return ApiError{Reason::Transport, 0, "ended"};
  }
  static Task<kube::Result<kube::Lines>> watch(Server* self, bool ofLeases) {
    kube::Lines lines;
    lines.next = [self, ofLeases](Deadline deadline) {
      return ofLeases ? next(self, deadline) : never(self, deadline);
    };
    lines.cancel = [] {};
    co_return lines;
  }

  MarkerSource source() {
    MarkerSource out;
    out.leases.list = [this](kube::ListOptions options) { return list(this, std::move(options)); };
    out.leases.watch = [this](const kube::WatchOptions&) { return watch(this, true); };
    out.namespaces.list = [this](kube::ListOptions options) {
      return listNamespaces(this, std::move(options));
    };
    out.namespaces.watch = [this](const kube::WatchOptions&) { return watch(this, false); };
    out.confirm = [this](kube::ListOptions options) { return confirm(this, std::move(options)); };
    return out;
  }
};

struct Fixture {
  runtime::EventLoop loop;
  Server server{loop};
  observability::Registry metrics;
  std::map<std::string, std::string> labels;
  std::string changes;

  Task<void> pause(int time) {
    const auto until = std::chrono::steady_clock::now() + milliseconds{time};
    co_await loop.sleepUntil(until);
  }
  bool exports(const std::string& text) const { return metrics.render().find(text) != std::string::npos; }
};

/// Runs a watcher, and `use` after its first list. Stops when `use` has ended.
template <class Use>
void with(Fixture& fixture, Use use) {
  MarkerLeaseWatcher watcher{fixture.loop, fixture.server.source(), fixture.labels, &fixture.metrics};
  watcher.onChange([&](const std::string& name, bool excluded) {
    fixture.changes += (excluded ? "+" : "-") + name + " ";
  });
  const auto run = [](Fixture& f, MarkerLeaseWatcher& w, Use& body) -> Task<void> {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds{5};
    const auto error = co_await w.waitSynced(deadline);
    CHECK_FALSE(error);
    co_await body(f, w);
    f.loop.stop();
  };
  fixture.loop.spawn(watcher.run());
  fixture.loop.spawn(run(fixture, watcher, use));
  fixture.loop.run();
}

}  // namespace

TEST_CASE("namespaces that are held when the operator starts") {
  Fixture fixture;
  fixture.server.leases["team-a"] = leaseIn("team-a", 1);
  fixture.server.leases["team-b"] = leaseIn("team-b", 1, milliseconds{5000});
  with(fixture, [](Fixture& f, MarkerLeaseWatcher& watcher) -> Task<void> {
    CHECK(watcher.synced());
    CHECK(watcher.excludes("team-a"));
    CHECK_FALSE(watcher.excludes("team-b"));
    CHECK(f.changes == "+team-a ");
    CHECK(f.server.selectors == "metadata.name=dynamo-operator-namespace-scope");
    CHECK(f.exports(R"(dynamo_operator_excluded_namespaces{holder="me",namespace="team-a"} 1)"));
    co_return;
  });
}

TEST_CASE("a lease that is not renewed hands its namespace back after its duration") {
  Fixture fixture;
  with(fixture, [](Fixture& f, MarkerLeaseWatcher& watcher) -> Task<void> {
    const std::string lease = leaseIn("team-a", 2);
    f.server.leases["team-a"] = lease;
    f.server.event("ADDED", lease);
    co_await f.pause(20);
    CHECK(watcher.excludes("team-a"));
    co_await f.pause(800);
    CHECK(watcher.excludes("team-a"));
    co_await f.pause(260);
    CHECK_FALSE(watcher.excludes("team-a"));
    CHECK(f.server.confirmations == 1);
    CHECK(f.changes == "+team-a -team-a ");
    CHECK_FALSE(f.exports("excluded_namespaces{"));
  });
}

TEST_CASE("a renewal that the watch has not reported keeps the namespace") {
  Fixture fixture;
  with(fixture, [](Fixture& f, MarkerLeaseWatcher& watcher) -> Task<void> {
    f.server.event("ADDED", leaseIn("team-a", 2));
    co_await f.pause(900);
    f.server.leases["team-a"] = leaseIn("team-a", 3);
    co_await f.pause(250);
    CHECK(watcher.excludes("team-a"));
    CHECK(f.server.confirmations == 1);
    CHECK(f.changes == "+team-a ");
  });
}

TEST_CASE("a lease stays valid while the server does not answer") {
  Fixture fixture;
  with(fixture, [](Fixture& f, MarkerLeaseWatcher& watcher) -> Task<void> {
    f.server.event("ADDED", leaseIn("team-a", 2));
    f.server.refused = true;
    co_await f.pause(1200);
    CHECK(watcher.excludes("team-a"));
    CHECK(f.server.confirmations == 1);
    f.server.refused = false;
    co_await f.pause(1100);
    CHECK_FALSE(watcher.excludes("team-a"));
    CHECK(f.server.confirmations == 2);
  });
}

TEST_CASE("a deleted Lease hands its namespace back at once") {
  Fixture fixture;
  fixture.server.leases["team-a"] = leaseIn("team-a", 1);
  with(fixture, [](Fixture& f, MarkerLeaseWatcher& watcher) -> Task<void> {
    f.server.event("DELETED", leaseIn("team-a", 2));
    co_await f.pause(20);
    CHECK_FALSE(watcher.excludes("team-a"));
    CHECK(f.server.confirmations == 0);
    CHECK(f.changes == "+team-a -team-a ");
  });
}

TEST_CASE("only Leases in namespaces with the configured labels count") {
  Fixture fixture;
  fixture.labels = {{"dynamo", "hybrid"}, {"env", "prod"}};
  fixture.server.labelled = "team-a";
  fixture.server.leases["team-a"] = leaseIn("team-a", 1);
  fixture.server.leases["team-b"] = leaseIn("team-b", 1);
  with(fixture, [](Fixture& f, MarkerLeaseWatcher& watcher) -> Task<void> {
    CHECK(watcher.excluded() == std::vector<std::string>{"team-a"});
    CHECK(f.server.selectors == "dynamo=hybrid,env=prod");
    co_return;
  });
}

TEST_CASE("an operator that may not list Leases learns why") {
  Fixture fixture;
  fixture.server.refused = true;
  MarkerLeaseWatcher watcher{fixture.loop, fixture.server.source(), {}, nullptr};
  std::optional<std::string> error;
  const auto run = [](Fixture& f, MarkerLeaseWatcher& w, std::optional<std::string>& out) -> Task<void> {
    const auto deadline = std::chrono::steady_clock::now() + milliseconds{50};
    out = co_await w.waitSynced(deadline);
    f.loop.stop();
  };
  fixture.loop.spawn(watcher.run());
  fixture.loop.spawn(run(fixture, watcher, error));
  fixture.loop.run();
  CHECK(error == "cannot list the marker leases of restricted operators: not allowed");
}

}  // namespace dynamo::controller::test
