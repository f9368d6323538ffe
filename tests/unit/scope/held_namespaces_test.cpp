// When a marker Lease holds its namespace.
#include "controller/scope/held_namespaces.h"

#include <catch2/catch.hpp>

namespace dynamo::controller::test {
namespace {

using namespace std::chrono_literals;
using std::chrono::microseconds;

/// Both clocks, in time since an arbitrary start.
Now at(microseconds elapsed) {
  return {SteadyTime{1000h} + elapsed, k8s::Timestamp{500000h} + elapsed};
}

/// A Lease of 30 s that was renewed at that time, by the wall clock.
MarkerLease lease(microseconds renewed, std::string uid = "u", std::string version = {}) {
  MarkerLease out;
  out.namespaceName = "team-a";
  out.uid = std::move(uid);
  out.resourceVersion = std::move(version);
  out.holder = "holder";
  out.duration = 30s;
  out.renewed = at(renewed).wall;
  return out;
}

MarkerLease with(MarkerLease lease, std::optional<std::chrono::seconds> duration) {
  lease.duration = duration;
  return lease;
}

MarkerLease by(std::string holder, MarkerLease lease) {
  lease.holder = std::move(holder);
  return lease;
}

MarkerLease withoutTime(MarkerLease lease) {
  lease.renewed.reset();
  return lease;
}

struct Fixture {
  explicit Fixture(bool labelledOnly = false) : held(labelledOnly) {
    held.onChange([this](const HeldNamespaces::Change& change) {
      changes += (change.excluded ? "+" : "-") + change.namespaceName + " ";
    });
  }
  void expireAll(const Now& now) { held.expire(held.due(now), now); }
  std::string takeChanges() { return std::exchange(changes, {}); }

  HeldNamespaces held;
  std::string changes;
};

}  // namespace

TEST_CASE("a Lease at first sight") {
  struct Row {
    const char* title;
    MarkerLease lease;
    bool held;
    microseconds until;  ///< elapsed time at its last moment
  };
  const Row rows[] = {
      {"renewed now", lease(0s), true, 30s},
      {"renewed 10 s ago", lease(-10s), true, 20s},
      {"renewed 30 s ago: its last moment", lease(-30s), true, 0s},
      {"renewed longer ago", lease(-30s - 1us), false, -1us},
      {"renewed years ago", lease(-24h * 3650), false, -1us},
      {"renewed in the future: no longer than its duration", lease(1h), true, 30s},
      {"no duration", with(lease(0s), std::nullopt), false, 0s},
      {"no time at all", withoutTime(lease(0s)), false, 0s},
  };
  for (const Row& row : rows) {
    CAPTURE(row.title);
    const SeenLease seen = seeLease(nullptr, row.lease, at(0s));
    CHECK(isHeld(seen, at(0s)) == row.held);
    if (row.lease.duration && row.lease.renewed) {
      CHECK(heldUntil(seen) == at(row.until).steady);
    } else {
      CHECK_FALSE(heldUntil(seen));
    }
  }
}

TEST_CASE("a Lease that changes") {
  struct Row {
    const char* title;
    MarkerLease before, after;
    std::optional<microseconds> until;  ///< `after` is observed at 20 s; `before` was at 0 s
  };
  const Row rows[] = {
      {"renewed", lease(0s), lease(20s), 50s},
      {"renewed by a clock that is an hour behind", lease(-1h), lease(20s - 1h), 50s},
      {"renewed by a clock that is an hour ahead", lease(1h), lease(1h + 20s), 50s},
      {"not renewed", lease(0s), lease(0s), 30s},
      {"not renewed, and it was old already", lease(-10s), lease(-10s), 20s},
      {"not renewed, but shorter", lease(0s), with(lease(0s), 10s), 10s},
      {"not renewed, but longer", lease(0s), with(lease(0s), 60s), 60s},
      {"set back to the past: judged by the wall clock", lease(0s), lease(-5s), 25s},
      {"set back to expired", lease(0s), lease(-60s), 20s - 1us},
      {"renewed by a replica whose clock is behind", lease(0s), by("second", lease(20s - 60s)), 50s},
      {"set back from the future by a clock that was corrected", lease(1h), lease(19s), 49s},
      {"deleted and created again", lease(0s), lease(15s, "other"), 45s},
      {"the duration is removed", lease(0s), with(lease(20s), std::nullopt), std::nullopt},
      {"all times are removed", lease(0s), withoutTime(lease(0s)), std::nullopt},
      {"gets a time", withoutTime(lease(0s)), lease(10s), 50s},
  };
  for (const Row& row : rows) {
    CAPTURE(row.title);
    const SeenLease before = seeLease(nullptr, row.before, at(0s));
    const auto until = heldUntil(seeLease(&before, row.after, at(20s)));
    CHECK(until.has_value() == row.until.has_value());
    if (row.until) CHECK(until == at(*row.until).steady);
  }
}

TEST_CASE("a namespace is held, renewed, and handed back when its lease runs out") {
  Fixture f;
  f.held.present(lease(0s), at(0s));
  CHECK(f.held.excludes("team-a"));
  CHECK_FALSE(f.held.excludes("team-b"));
  CHECK(f.held.holder("team-a") == "holder");
  CHECK(f.held.nextExpiry() == at(30s).steady);
  f.held.present(lease(10s), at(10s));
  CHECK(f.held.nextExpiry() == at(40s).steady);
  CHECK(f.held.due(at(40s)).empty());
  CHECK(f.held.due(at(40s + 1us)) == std::vector<std::string>{"team-a"});
  CHECK(f.held.excludes("team-a"));
  CHECK(f.takeChanges() == "+team-a ");
  f.expireAll(at(40s + 1us));
  CHECK_FALSE(f.held.excludes("team-a"));
  CHECK_FALSE(f.held.nextExpiry());
  CHECK(f.takeChanges() == "-team-a ");
  f.held.present(lease(50s), at(50s));
  CHECK(f.takeChanges() == "+team-a ");
}

TEST_CASE("a renewal that arrives during the confirmation keeps the namespace") {
  Fixture f;
  f.held.present(lease(0s), at(0s));
  const auto due = f.held.due(at(31s));
  f.held.present(lease(30s), at(31s));
  f.held.expire(due, at(31s));
  CHECK(f.held.excludes("team-a"));
  CHECK(f.changes == "+team-a ");
}

TEST_CASE("an older version of a Lease is ignored") {
  Fixture f;
  f.held.present(lease(20s, "u", "12"), at(20s));
  f.held.present(lease(-20s, "u", "9"), at(21s));
  CHECK(f.held.nextExpiry() == at(50s).steady);
  f.held.present(lease(21s, "new", "3"), at(21s));
  CHECK(f.held.nextExpiry() == at(51s).steady);
}

TEST_CASE("a deleted Lease hands the namespace back at once") {
  Fixture f;
  f.held.present(lease(0s), at(0s));
  f.held.deleted("team-a");
  CHECK_FALSE(f.held.excludes("team-a"));
  f.held.deleted("team-a");
  f.held.deleted("unknown");
  CHECK(f.changes == "+team-a -team-a ");
}

TEST_CASE("a Lease that is set to expired hands the namespace back at once") {
  Fixture f;
  f.held.present(lease(0s), at(0s));
  f.held.present(lease(-60s), at(1s));
  CHECK(f.changes == "+team-a -team-a ");
}

TEST_CASE("an expired Lease changes nothing, and is no change when it is deleted") {
  Fixture f;
  f.held.present(lease(-60s), at(0s));
  f.held.deleted("team-a");
  CHECK(f.changes.empty());
}

TEST_CASE("Leases that a list lacks do not exist") {
  Fixture f;
  MarkerLease other = lease(0s);
  other.namespaceName = "team-b";
  f.held.listBegins();
  f.held.present(lease(0s), at(0s));
  f.held.present(other, at(0s));
  f.held.listEnds();
  CHECK(f.held.excluded() == std::vector<std::string>{"team-a", "team-b"});
  f.held.listBegins();
  f.held.present(other, at(20s));
  f.held.listEnds();
  CHECK(f.held.excluded() == std::vector<std::string>{"team-b"});
  CHECK(f.held.nextExpiry() == at(30s).steady);  // a list is no renewal
  CHECK(f.changes == "+team-a +team-b -team-a ");
}

TEST_CASE("Leases count only in namespaces with the labels") {
  Fixture f{true};
  f.held.present(lease(0s), at(0s));
  CHECK_FALSE(f.held.excludes("team-a"));
  CHECK(f.takeChanges().empty());
  f.held.setLabelled("team-a", true);
  CHECK(f.held.excludes("team-a"));
  f.held.setLabelled("team-a", true);
  f.held.setLabelled("team-b", true);
  CHECK(f.takeChanges() == "+team-a ");
  f.held.setLabelledOnes({"team-b"});
  CHECK(f.held.excluded().empty());
  CHECK(f.takeChanges() == "-team-a ");
  f.held.setLabelledOnes({"team-a"});
  CHECK(f.takeChanges() == "+team-a ");
  f.expireAll(at(31s));
  CHECK(f.takeChanges() == "-team-a ");
}

TEST_CASE("labels do not matter when none are configured") {
  Fixture f;
  f.held.present(lease(0s), at(0s));
  f.held.setLabelled("team-a", true);
  f.held.setLabelled("team-a", false);
  CHECK(f.held.excludes("team-a"));
  CHECK(f.changes == "+team-a ");
}

}  // namespace dynamo::controller::test
