// How a restricted operator holds its namespace, and when it gives up.
#include "controller/scope/marker_holder.h"

#include "tests/unit/scope/lease_store.h"

namespace dynamo::controller::test {
namespace {

using runtime::Task;
using std::chrono::milliseconds;

const std::string kOurs = "namespace-restricted-operator-1.0.0_pod";

struct Fixture {
  MarkerOptions options() const {
    MarkerOptions out;
    out.namespaceName = "team-a";
    out.operatorVersion = "1.0.0";
    out.podName = "pod";
    out.times = MarkerTimes{milliseconds{duration}, milliseconds{interval}};
    return out;
  }

  runtime::EventLoop loop;
  LeaseStore store;
  milliseconds ahead{0};
  int duration = 80;  ///< with a renewal every 20 ms, three may fail
  int interval = 20;
  MarkerLeaseHolder::Failure failure;

  MarkerLeaseHolder make() {
    return MarkerLeaseHolder{loop, options(), store.access(), [this] {
                               Now now = currentTime();
                               now.steady += ahead;
                               return now;
                             }};
  }
  Task<void> pause(int time) {
    const auto until = std::chrono::steady_clock::now() + milliseconds{time};
    co_await loop.sleepUntil(until);
  }
  Task<void> hold(MarkerLeaseHolder& holder) { failure = co_await holder.hold(); }
};

/// Runs `use`, a coroutine function of the fixture and a holder.
template <class Use>
void with(Fixture& fixture, Use use) {
  MarkerLeaseHolder holder = fixture.make();
  fixture.loop.spawn(use(fixture, holder));
  fixture.loop.run();
}

}  // namespace

TEST_CASE("an absent Lease is created, and the operator waits until its peer has noticed") {
  struct Row {
    int duration, interval, wait;
  };
  for (const Row& row : {Row{30'000, 10'000, 1000}, Row{1000, 300, 150}}) {
    CAPTURE(row.duration);
    Fixture fixture;
    fixture.duration = row.duration;
    fixture.interval = row.interval;
    milliseconds waited{0};
    with(fixture, [&waited](Fixture& f, MarkerLeaseHolder& holder) -> Task<void> {
      CHECK_FALSE(holder.holding());
      const auto before = std::chrono::steady_clock::now();
      const auto failure = co_await holder.acquire();
      waited = std::chrono::floor<milliseconds>(std::chrono::steady_clock::now() - before);
      CHECK_FALSE(failure);
      CHECK(holder.holding());
      CHECK(f.store.holder() == kOurs);
      CHECK(f.store.record().duration == std::chrono::milliseconds{f.duration});
      CHECK(holder.identity() == kOurs);
    });
    CHECK(waited >= milliseconds{row.wait});
    CHECK(waited < milliseconds{row.wait + 500});
  }
}

TEST_CASE("a valid Lease of another operator is taken over without waiting") {
  Fixture fixture;
  fixture.store.writeAs("namespace-restricted-operator-0.9.0");
  with(fixture, [](Fixture& f, MarkerLeaseHolder& holder) -> Task<void> {
    const auto failure = co_await holder.acquire();
    CHECK_FALSE(failure);
    CHECK(holder.holding());
    CHECK(f.store.holder() == kOurs);
    CHECK(f.store.writes == 2);
  });
}

TEST_CASE("an operator may act for duration minus interval after its renewal") {
  Fixture fixture;
  fixture.store.writeAs(kOurs);
  with(fixture, [](Fixture& f, MarkerLeaseHolder& holder) -> Task<void> {
    const auto failure = co_await holder.acquire();
    CHECK_FALSE(failure);
    f.ahead = milliseconds{40};
    CHECK(holder.holding());
    f.ahead = milliseconds{61};
    CHECK_FALSE(holder.holding());
  });
}

TEST_CASE("a conflict is tried again at once") {
  Fixture fixture;
  fixture.store.writeAs("other");
  fixture.store.nextHolder = "third";
  with(fixture, [](Fixture& f, MarkerLeaseHolder& holder) -> Task<void> {
    const auto failure = co_await holder.acquire();
    CHECK_FALSE(failure);
    CHECK(f.store.holder() == kOurs);
  });
}

TEST_CASE("a Lease that others create at the same time is taken over") {
  Fixture fixture;
  fixture.store.nextHolder = "other";
  with(fixture, [](Fixture& f, MarkerLeaseHolder& holder) -> Task<void> {
    const auto failure = co_await holder.acquire();
    CHECK_FALSE(failure);
    CHECK(f.store.holder() == kOurs);
  });
}

TEST_CASE("an operator that cannot write the Lease at the start gives up") {
  Fixture fixture;
  fixture.store.down = true;
  with(fixture, [](Fixture&, MarkerLeaseHolder& holder) -> Task<void> {
    const auto failure = co_await holder.acquire();
    CHECK(failure == "cannot write the marker lease of namespace team-a: down");
    CHECK_FALSE(holder.holding());
  });
}

TEST_CASE("renewals, also of a Lease that was deleted, and the release") {
  Fixture fixture;
  fixture.duration = 2000;
  fixture.store.writeAs(kOurs);
  with(fixture, [](Fixture& f, MarkerLeaseHolder& holder) -> Task<void> {
    co_await holder.acquire();
    f.loop.spawn(f.hold(holder));
    co_await f.pause(100);
    CHECK(f.store.writes >= 3);
    f.store.body.clear();
    co_await f.pause(100);
    CHECK(f.store.holder() == kOurs);
    co_await holder.release();
    CHECK(f.store.holder() == "none");
    CHECK_FALSE(holder.holding());
    co_await f.pause(60);
    CHECK(f.store.holder() == "none");
    CHECK_FALSE(f.failure);
  });
}

TEST_CASE("too many failures in a row end the operator") {
  Fixture fixture;
  fixture.duration = 800;  // also on a busy machine, three attempts fail before the Lease must not be trusted
  fixture.interval = 200;
  fixture.store.writeAs(kOurs);
  with(fixture, [](Fixture& f, MarkerLeaseHolder& holder) -> Task<void> {
    co_await holder.acquire();
    f.store.down = true;
    co_await f.hold(holder);
    CHECK(f.failure == "could not renew the marker lease of namespace team-a 3 times in a row: down");
    CHECK_FALSE(holder.holding());
  });
}

TEST_CASE("a success between failures starts the count again") {
  Fixture fixture;
  fixture.duration = 2000;  // 99 failures
  fixture.store.writeAs(kOurs);
  with(fixture, [](Fixture& f, MarkerLeaseHolder& holder) -> Task<void> {
    co_await holder.acquire();
    f.loop.spawn(f.hold(holder));
    for (int i = 0; i < 3; ++i) {
      f.store.down = true;
      co_await f.pause(50);
      f.store.down = false;
      co_await f.pause(50);
    }
    CHECK_FALSE(f.failure);
    CHECK(holder.holding());
    co_await holder.release();
  });
}

TEST_CASE("a Lease that another operator also renews is kept at the release") {
  Fixture fixture;
  fixture.duration = 2000;
  fixture.store.writeAs(kOurs);
  with(fixture, [](Fixture& f, MarkerLeaseHolder& holder) -> Task<void> {
    co_await holder.acquire();
    f.loop.spawn(f.hold(holder));
    for (int i = 0; i < 10; ++i) {
      f.store.writeAs("namespace-restricted-operator-1.0.0_other");
      co_await f.pause(10);
    }
    f.store.writeAs("namespace-restricted-operator-1.0.0_other");
    co_await holder.release();
    CHECK(f.store.holder() == "namespace-restricted-operator-1.0.0_other");
  });
}

TEST_CASE("an operator that ends before its first renewal keeps the Lease of another operator") {
  Fixture fixture;
  fixture.store.writeAs("namespace-restricted-operator-1.0.0_other");
  with(fixture, [](Fixture& f, MarkerLeaseHolder& holder) -> Task<void> {
    co_await holder.acquire();
    CHECK(f.store.holder() == kOurs);
    co_await holder.release();
    CHECK(f.store.holder() == kOurs);
  });
}

TEST_CASE("the last of two operators deletes the Lease") {
  Fixture fixture;
  fixture.duration = 2000;
  fixture.store.writeAs("namespace-restricted-operator-1.0.0_other");
  with(fixture, [](Fixture& f, MarkerLeaseHolder& holder) -> Task<void> {
    co_await holder.acquire();
    f.loop.spawn(f.hold(holder));
    f.store.writeAs("namespace-restricted-operator-1.0.0_other");
    co_await f.pause(100);
    co_await holder.release();
    CHECK(f.store.holder() == "none");
  });
}

TEST_CASE("a Lease whose creation is under way at the release is deleted") {
  Fixture f;
  MarkerAccess access = f.store.access();
  const auto create = [](Fixture* self, std::string text) -> kube::Client::ObjectTask {
    co_await self->pause(50);
    co_return co_await LeaseStore::create(&self->store, std::move(text));
  };
  access.create = [&](std::string text, kube::CallOptions) { return create(&f, std::move(text)); };
  MarkerLeaseHolder one{f.loop, f.options(), access};
  const auto acquire = [](MarkerLeaseHolder& holder) -> Task<void> { co_await holder.acquire(); };
  const auto release = [](Fixture& fixture, MarkerLeaseHolder& holder) -> Task<void> {
    co_await fixture.pause(10);
    CHECK(fixture.store.holder() == "none");
    co_await holder.release();
    CHECK(fixture.store.writes == 1);
    CHECK(fixture.store.holder() == "none");
  };
  f.loop.spawn(acquire(one));
  f.loop.spawn(release(f, one));
  f.loop.run();
}

TEST_CASE("a Lease that is already gone is released") {
  Fixture fixture;
  fixture.store.writeAs(kOurs);
  with(fixture, [](Fixture& f, MarkerLeaseHolder& holder) -> Task<void> {
    co_await holder.acquire();
    f.store.body.clear();
    co_await holder.release();
    CHECK(f.store.holder() == "none");
  });
}

TEST_CASE("an operator that never wrote the Lease does not delete it") {
  Fixture fixture;
  fixture.store.writeAs("other");
  with(fixture, [](Fixture& f, MarkerLeaseHolder& holder) -> Task<void> {
    co_await holder.release();
    CHECK(f.store.holder() == "other");
  });
}

TEST_CASE("a Lease that another operator takes during the release is kept") {
  Fixture fixture;
  fixture.store.writeAs(kOurs);
  with(fixture, [](Fixture& f, MarkerLeaseHolder& holder) -> Task<void> {
    co_await holder.acquire();
    f.store.nextHolder = "other";
    co_await holder.release();
    CHECK(f.store.holder() == "other");
  });
}

}  // namespace dynamo::controller::test
