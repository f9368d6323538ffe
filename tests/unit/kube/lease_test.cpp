// Leader election: acquiring, renewing, losing and releasing a lease.
#include "controller/kube/lease.h"

#include <catch2/catch.hpp>

#include "common/json/parse.h"

namespace dynamo::kube::test {
namespace {

using runtime::Task;
using std::chrono::milliseconds;

/// One Lease of an API server, which answers outdated updates with Conflict.
struct Store {
  std::string body;  ///< empty: the Lease does not exist
  int version = 0;
  int reads = 0;
  bool down = false;

  ApiError unavailable() const { return ApiError{Reason::Unavailable, 503, "down"}; }
  json::Document document() const {
    json::Document lease;
    REQUIRE_FALSE(json::parse(body, lease));
    json::set(*json::find(lease, "metadata"), "resourceVersion",
              json::string(std::to_string(version), lease.GetAllocator()), lease.GetAllocator());
    return lease;
  }
  LeaseRecord record() const { return readLease(document()); }

  static Client::ObjectTask get(Store* self) {
    if (self->down) co_return self->unavailable();
    ++self->reads;
    if (self->body.empty()) co_return ApiError{Reason::NotFound, 404, "no"};
    co_return self->document();
  }
  static Client::ObjectTask create(Store* self, std::string text) {
    if (self->down) co_return self->unavailable();
    if (!self->body.empty()) co_return ApiError{Reason::AlreadyExists, 409, "exists"};
    self->body = std::move(text);
    ++self->version;
    co_return self->document();
  }
  static Client::ObjectTask replace(Store* self, std::string text) {
    if (self->down) co_return self->unavailable();
    json::Document lease;
    REQUIRE_FALSE(json::parse(text, lease));
    if (self->body.empty()) co_return ApiError{Reason::NotFound, 404, "no"};
    if (json::findText(json::find(lease, "metadata"), "resourceVersion") != std::to_string(self->version))
      co_return ApiError{Reason::Conflict, 409, "modified"};
    self->body = std::move(text);
    ++self->version;
    co_return self->document();
  }
};

// No test waits for these times: Fixture::ahead moves the clock.
constexpr milliseconds kDuration{60'000};
constexpr milliseconds kRenewTime{40'000};
constexpr milliseconds kMoment{1};

struct Fixture {
  LeaderElector elector(const std::string& identity) {
    LeaseOptions options;
    options.namespaceName = "n";
    options.name = "lease";
    options.identity = identity;
    options.duration = kDuration;
    options.renewTime = kRenewTime;
    options.retry = milliseconds{5};
    LeaseAccess access;
    access.get = [this] { return Store::get(&store); };
    access.create = [this](std::string text) { return Store::create(&store, std::move(text)); };
    access.replace = [this](std::string text) { return Store::replace(&store, std::move(text)); };
    LeaderElector::Clocks clocks;
    clocks.steady = [this] { return std::chrono::steady_clock::now() + ahead; };
    return LeaderElector{loop, options, access, &metrics, clocks};
  }

  /// Renews the lease at least twice, then makes the API server fail, which ends hold().
  void hold(LeaderElector& elector) {
    const auto disturb = [](Fixture& fixture) -> Task<void> {
      for (const int before = fixture.store.version; fixture.store.version < before + 2;) {
        const auto soon = std::chrono::steady_clock::now() + kMoment;
        co_await fixture.loop.sleepUntil(soon);
      }
      fixture.store.down = true;
      fixture.ahead += kRenewTime;
    };
    loop.spawn(elector.hold());
    loop.spawn(disturb(*this));
    loop.run();
  }
  bool shows(const char* line) const { return metrics.render().find(line) != std::string::npos; }

  runtime::EventLoop loop;
  observability::Registry metrics;
  Store store;
  milliseconds ahead{0};
};

TEST_CASE("the first process acquires the lease") {
  Fixture f;
  LeaderElector elector = f.elector("a");
  CHECK_FALSE(elector.leading());
  CHECK(runtime::runTask(f.loop, elector.acquire()));
  CHECK(elector.leading());
  const LeaseRecord record = f.store.record();
  CHECK(record.holder == "a");
  CHECK(record.duration == kDuration);
  CHECK(record.transitions == 0);
  CHECK(record.acquireTime == record.renewTime);
}

TEST_CASE("a leader stops leading after the renew time, even if its requests hang") {
  Fixture f;
  LeaderElector elector = f.elector("a");
  CHECK(runtime::runTask(f.loop, elector.acquire()));
  f.ahead += kRenewTime + kMoment;
  CHECK_FALSE(elector.leading());
}

TEST_CASE("a second process waits until the lease has not changed for its duration") {
  Fixture f;
  LeaderElector first = f.elector("a");
  LeaderElector second = f.elector("b");
  CHECK(runtime::runTask(f.loop, first.acquire()));
  bool got = false;
  const auto other = [](LeaderElector& elector, bool& result) -> Task<void> {
    result = co_await elector.acquire();
  };
  const auto time = [](Fixture& fixture, bool& result) -> Task<void> {
    const auto soon = std::chrono::steady_clock::now() + milliseconds{30};
    co_await fixture.loop.sleepUntil(soon);
    CHECK_FALSE(result);
    fixture.ahead += kDuration + kMoment;
  };
  f.loop.spawn(other(second, got));
  f.loop.spawn(time(f, got));
  f.loop.run();
  CHECK(got);
  CHECK(second.leading());
  CHECK_FALSE(first.leading());
  CHECK(f.store.record().holder == "b");
  CHECK(f.store.record().transitions == 1);
}

TEST_CASE("a released lease can be acquired immediately") {
  Fixture f;
  LeaderElector first = f.elector("a");
  LeaderElector second = f.elector("b");
  CHECK(runtime::runTask(f.loop, first.acquire()));
  const auto release = [](LeaderElector& elector) -> Task<bool> {
    co_await elector.release();
    co_return elector.leading();
  };
  CHECK_FALSE(runtime::runTask(f.loop, release(first)));
  CHECK(f.store.record().holder.empty());
  CHECK(runtime::runTask(f.loop, second.acquire()));
  CHECK(f.store.record().holder == "b");
}

TEST_CASE("a leader renews the lease, and stops leading if it cannot") {
  Fixture f;
  LeaderElector elector = f.elector("a");
  CHECK(runtime::runTask(f.loop, elector.acquire()));
  const int before = f.store.version;
  const int reads = f.store.reads;
  f.hold(elector);
  CHECK(f.store.version > before);
  CHECK(f.store.reads == reads);  // a renewal does not read the Lease
  CHECK(f.shows(R"(leader_election_slowpath_total{name="lease"} 0)"));
  CHECK(f.store.record().transitions == 0);
  CHECK_FALSE(elector.leading());
}

TEST_CASE("a leader reads a Lease that another process has changed or deleted, and renews it") {
  Fixture f;
  LeaderElector elector = f.elector("a");
  CHECK(runtime::runTask(f.loop, elector.acquire()));
  SECTION("changed") {
    ++f.store.version;
  }
  SECTION("deleted") {
    f.store.body.clear();
  }
  const int before = f.store.version;
  f.hold(elector);
  CHECK(f.store.version > before + 1);
  CHECK(f.store.record().holder == "a");
  CHECK(f.store.record().transitions == 0);
  CHECK(f.shows(R"(leader_election_slowpath_total{name="lease"} 1)"));
}

TEST_CASE("a leader stops immediately if another process holds its lease") {
  Fixture f;
  LeaderElector elector = f.elector("a");
  CHECK(runtime::runTask(f.loop, elector.acquire()));
  const std::size_t at = f.store.body.find("\"a\"");
  f.store.body.replace(at, 3, "\"b\"");
  ++f.store.version;
  f.loop.spawn(elector.hold());
  f.loop.run();
  CHECK(elector.holder() == "b");
  CHECK_FALSE(elector.leading());
}

TEST_CASE("labels and annotations of a Lease are kept") {
  Fixture f;
  LeaderElector elector = f.elector("a");
  CHECK(runtime::runTask(f.loop, elector.acquire()));
  const std::string_view name = "\"name\":\"lease\"";
  f.store.body.replace(f.store.body.find(name), name.size(),
                       R"("name":"lease","labels":{"team":"x"},"annotations":{"note":"y"})");
  ++f.store.version;
  f.hold(elector);
  json::Document lease;
  REQUIRE_FALSE(json::parse(f.store.body, lease));
  const json::Value* metadata = json::find(lease, "metadata");
  CHECK(json::findText(json::find(metadata, "labels"), "team") == "x");
  CHECK(json::findText(json::find(metadata, "annotations"), "note") == "y");
}

TEST_CASE("a process that is released while it creates the Lease does not lead") {
  Fixture f;
  LeaderElector elector = f.elector("a");
  CHECK(runtime::runTask(f.loop, [](LeaderElector& one) -> Task<bool> {
    co_await one.release();
    const bool got = co_await one.acquire();
    co_return !got && !one.leading();
  }(elector)));
}

}  // namespace
}  // namespace dynamo::kube::test
