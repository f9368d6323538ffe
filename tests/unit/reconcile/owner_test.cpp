// Owners whose watch is late.
#include "controller/reconcile/owner.h"

#include "apply_support.h"

namespace dynamo::controller::test {
namespace {

std::string owner(const std::string& metadata, const std::string& status = ",'status':{}") {
  return "{'apiVersion':'nvidia.com/v1alpha1','kind':'DynamoComponentDeployment','metadata':{'namespace':'n',"
         "'name':'c','uid':'owner'," +
         metadata + "}" + status + "}";
}

const std::string kCached = owner("'generation':3,'resourceVersion':'7'");

struct Checked {
  bool goesOn = false;
  bool retries = false;
  bool cached = false;
  std::string changes;
};

/// Checks the owner `cached`, which has the children `wanted`.
Checked check(const FakeApi& api, const std::string& cached, const std::vector<std::string>& wanted,
              const std::vector<std::string>& present = {}) {
  Checked checked;
  withApplier(api, [&](Applier& applier) -> Task<void> {
    applier.f.see(cached);
    for (const std::string& object : present) applier.f.see(object);
    applier.changes.clear();
    const json::Document known = parsed(cached);
    const render::Children children = childrenOf(wanted);
    const Observed observed;
    const auto result = co_await checkOwner(applier.f.environment, known, children, observed);
    checked.goesOn = !result.has_value();
    checked.retries = result && !isDone(result->ending);
    checked.cached = applier.f.cache.contains(keyOf(cached));
    checked.changes = applier.changes;
  });
  return checked;
}

}  // namespace

TEST_CASE("an owner is not read if it has all children or has never had a status") {
  struct Row {
    std::string about, cached;
    std::vector<std::string> wanted, present;
  };
  const std::string unlabeled =
      "{'apiVersion':'v1','kind':'Service','metadata':{'namespace':'n','name':'s'}}";
  const std::vector<Row> rows = {
      {"all children", kCached, {service("s", 80)}, {service("s", 80)}},
      {"no status", owner("'generation':1", ""), {service("s", 80)}, {}},
      {"a child that no watch reports", kCached, {unlabeled}, {}},
  };
  for (const Row& row : rows) {
    CAPTURE(row.about);
    const FakeApi api;
    CHECK(check(api, row.cached, row.wanted, row.present).goesOn);
    CHECK(api.requests().empty());
  }
}

TEST_CASE("an owner without one of its children is read") {
  struct Row {
    std::string about, live;  // empty: deleted
    bool goesOn, cached;
    std::string changes;
  };
  std::string again = owner("'generation':3");
  again.replace(again.find("'owner'"), 7, "'other'");
  const std::vector<Row> rows = {
      {"unchanged", owner("'generation':3"), true, true, ""},
      {"another status", owner("'generation':3", ",'status':{'state':'ready'}"), true, true, ""},
      {"deleted", "", false, false, "c by checkOwner;"},
      {"being deleted", owner("'generation':3,'deletionTimestamp':'2026-01-02T03:04:05Z'"), false, true,
       "c by checkOwner;"},
      {"another spec", owner("'generation':4"), false, true, "c by checkOwner;"},
      {"created again", again, false, true, "c by checkOwner;"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.about);
    FakeApi api;
    if (!row.live.empty()) api.store(kOwnerPath, row.live);
    const Checked checked =
        check(api, kCached, {service("s", 80), deployment("{'replicas':1}")}, {service("s", 80)});
    CHECK(checked.goesOn == row.goesOn);
    CHECK_FALSE(checked.retries);
    CHECK(checked.cached == row.cached);
    CHECK(checked.changes == row.changes);
    CHECK(api.lines() == lines({"GET " + kOwnerPath}));
  }
}

TEST_CASE("an owner that cannot be read is retried") {
  const FakeApi api{[](const std::string&, int) { return std::optional{failure(500, "InternalError")}; }};
  const Checked checked = check(api, kCached, {service("s", 80)});
  CHECK_FALSE(checked.goesOn);
  CHECK(checked.retries);
  CHECK(checked.changes.empty());
}

}  // namespace dynamo::controller::test
