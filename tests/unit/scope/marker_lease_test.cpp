// The marker Lease as the reference writes it, and as this operator does.
#include "controller/scope/marker_lease.h"

#include <catch2/catch.hpp>

#include "common/json/parse.h"

namespace dynamo::controller::test {
namespace {

using namespace std::chrono_literals;

json::Document parsed(const std::string& text) {
  json::Document document;
  INFO(text);
  REQUIRE_FALSE(json::parse(text, document));
  return document;
}

k8s::Timestamp at(std::string_view text) {
  return k8s::parseTimestamp(text).value();
}

/// A Lease of the reference operator with these times.
std::string lease(const std::string& spec) {
  return R"({"apiVersion":"coordination.k8s.io/v1","kind":"Lease","metadata":{"name":"dynamo-operator-namespace-scope",)"
         R"("namespace":"team-a","uid":"u1","resourceVersion":"7","creationTimestamp":"2026-01-01T00:00:01Z"},)"
         R"("spec":{)" +
         spec + "}}";
}

}  // namespace

TEST_CASE("a Lease that the reference has just created is read") {
  const MarkerLease read = readMarkerLease(
      parsed(lease(R"("holderIdentity":"namespace-restricted-operator-1.0.0","leaseDurationSeconds":30,)"
                   R"("acquireTime":"2026-01-01T00:00:02.123456Z")")));
  CHECK(read.namespaceName == "team-a");
  CHECK(read.uid == "u1");
  CHECK(read.resourceVersion == "7");
  CHECK(read.holder == "namespace-restricted-operator-1.0.0");
  CHECK(read.duration == 30s);
  CHECK(read.renewed == at("2026-01-01T00:00:02.123456Z"));
}

TEST_CASE("the time of the last renewal, and the duration") {
  struct Row {
    std::string spec;
    std::string renewed;
    std::optional<std::chrono::seconds> duration;
  };
  const std::string acquired = R"("acquireTime":"2026-01-01T00:00:02.000000Z")";
  const Row rows[] = {
      {R"("leaseDurationSeconds":30)", "2026-01-01T00:00:01Z", 30s},
      {acquired, "2026-01-01T00:00:02Z", std::nullopt},
      {acquired + R"(,"renewTime":"2026-01-01T00:00:03.000000Z")", "2026-01-01T00:00:03Z", std::nullopt},
      {acquired + R"(,"renewTime":null)", "2026-01-01T00:00:02Z", std::nullopt},
      {acquired + R"(,"renewTime":"yesterday")", "2026-01-01T00:00:02Z", std::nullopt},
      {R"("leaseDurationSeconds":0)", "2026-01-01T00:00:01Z", std::nullopt},
      {R"("leaseDurationSeconds":-5)", "2026-01-01T00:00:01Z", std::nullopt},
      {R"("leaseDurationSeconds":"30")", "2026-01-01T00:00:01Z", std::nullopt},
      {R"("leaseDurationSeconds":2147483647)", "2026-01-01T00:00:01Z", 2147483647s},
  };
  for (const Row& row : rows) {
    CAPTURE(row.spec);
    const MarkerLease read = readMarkerLease(parsed(lease(row.spec)));
    CHECK(read.renewed == at(row.renewed));
    CHECK(read.duration == row.duration);
  }
}

TEST_CASE("the identity has the prefix and the version of the reference") {
  CHECK(markerHolderIdentity("1.0.0", "pod-1") == "namespace-restricted-operator-1.0.0_pod-1");
  CHECK(markerHolderIdentity("1.0.0", "") == "namespace-restricted-operator-1.0.0");
  const std::string own = markerHolderIdentity("1.0.0", "manager-7d9c5-x2kfp");
  CHECK(isReplicaOf(markerHolderIdentity("1.0.0", "manager-66f8b-9qzml"), own));
  CHECK_FALSE(isReplicaOf(markerHolderIdentity("1.0.0", "other-7d9c5-x2kfp"), own));
  CHECK_FALSE(isReplicaOf(markerHolderIdentity("1.1.0", "manager-7d9c5-x2kfp"), own));
  CHECK_FALSE(isReplicaOf(markerHolderIdentity("1.0.0", ""), own));
  CHECK_FALSE(isReplicaOf(own, markerHolderIdentity("1.0.0", "")));
}

TEST_CASE("failures in a row that are allowed, and how long the operator may act") {
  struct Row {
    std::chrono::milliseconds duration, interval;
    unsigned failures;
    std::chrono::milliseconds acting;
  };
  const Row rows[] = {
      {30s, 10s, 2, 20s}, {60s, 10s, 5, 50s},    {15s, 10s, 1, 12500ms},
      {20s, 10s, 1, 15s}, {1s, 1ms, 999, 999ms}, {1s, 999ms, 1, 999ms},
  };
  for (const Row& row : rows) {
    const MarkerTimes times{row.duration, row.interval};
    CAPTURE(row.duration.count(), row.interval.count());
    CHECK(maxRenewalFailures(times) == row.failures);
    CHECK(actingTime(times) == row.acting);
  }
}

TEST_CASE("a new Lease has a time of renewal") {
  const std::string text = newMarkerLease("team-a", "me", 30s, at("2026-01-01T00:00:02.5Z"));
  CHECK(json::equal(
      parsed(text),
      parsed(
          R"({"apiVersion":"coordination.k8s.io/v1","kind":"Lease","metadata":{"name":"dynamo-operator-namespace-scope",)"
          R"("namespace":"team-a"},"spec":{"holderIdentity":"me","leaseDurationSeconds":30,)"
          R"("acquireTime":"2026-01-01T00:00:02.500000Z","renewTime":"2026-01-01T00:00:02.500000Z"}})")));
}

TEST_CASE("a duration with a fraction of a second is rounded up") {
  const json::Document made = parsed(newMarkerLease("team-a", "me", 1001ms, at("2026-01-01T00:00:02Z")));
  CHECK(readMarkerLease(made).duration == 2s);
}

TEST_CASE("a renewal keeps all other fields") {
  const std::string other =
      R"(,"acquireTime":"2026-01-01T00:00:02.000000Z","leaseTransitions":4,"strategy":"x")";
  json::Document document = parsed(lease(R"("holderIdentity":"other","leaseDurationSeconds":60)" + other));
  renewMarkerLease(document, "me", 30s, at("2026-01-01T00:01:00Z"));
  CHECK(json::equal(document, parsed(lease(R"("holderIdentity":"me","leaseDurationSeconds":30,)"
                                           R"("renewTime":"2026-01-01T00:01:00.000000Z")" +
                                           other))));
}

TEST_CASE("a Lease without spec can be renewed") {
  json::Document document = parsed(R"({"metadata":{"name":"dynamo-operator-namespace-scope"}})");
  renewMarkerLease(document, "me", 30s, at("2026-01-01T00:01:00Z"));
  CHECK(readMarkerLease(document).holder == "me");
}

}  // namespace dynamo::controller::test
