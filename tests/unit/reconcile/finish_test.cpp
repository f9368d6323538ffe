// Which failures of children the status reports, and from when on.
#include "controller/reconcile/finish.h"

#include <fmt/format.h>

#include "apply_support.h"

namespace dynamo::controller::test {
namespace {

using namespace std::chrono_literals;

const std::string kOwner =
    "{'apiVersion':'nvidia.com/"
    "v1alpha1','kind':'DynamoComponentDeployment','metadata':{'namespace':'n','name':"
    "'g-web','uid':'owner'}}";

std::string serviceOf(const std::string& kind, const std::string& name, const std::string& uid,
                      const std::string& metadata = "") {
  return fmt::format(
      "{{'apiVersion':'v1','kind':'Service','metadata':{{'namespace':'n','name':'s','labels':{{"
      "'nvidia.com/dynamo-component':'web'}},'ownerReferences':[{{'kind':'{}','name':'{}','uid':'{}',"
      "'controller':true}}]{}}}}}",
      kind, name, uid, metadata);
}

const std::string kService = serviceOf("DynamoComponentDeployment", "g-web", "owner");

/// Applies kService for kOwner, whose reconciles have failed for this time. Returns the kind of its failure.
std::string failureAfter(const FakeApi& api, const std::string& live, std::chrono::seconds failing) {
  std::string kind = "none";
  withApplier(api, [&](Applier& applier) -> Task<void> {
    if (!live.empty()) applier.f.see(live);
    applier.f.environment.failingSince[keyOf(kOwner)] = std::chrono::steady_clock::now() - failing;
    const json::Document owner = parsed(kOwner);
    const render::Children children = childrenOf({kService});
    const Finish finish = [&](const lifecycle::Applied& applied) {
      if (!applied.failures.empty()) {
        const lifecycle::Ending& failure = applied.failures.front();
        kind = mustLookAgain(failure) ? "waits" : isPermanent(failure) ? "permanent" : "transient";
      }
      return lifecycle::Outcome{};
    };
    Observed observed;
    render::FactKeys lookedUp;
    const Writer writer{kWriter, "dynamocomponentdeployment"};
    co_await applyAndFinish(applier.f.environment, owner, children, observed, finish, writer, lookedUp);
  });
  return kind;
}

}  // namespace

TEST_CASE("failures that may pass are permanent after 30 s, except waits for deletions (quirk ctl-Q52)") {
  struct Row {
    const char* about;
    std::string live;  ///< empty: the API server replies with `status`
    int status;
    const char* reason;
    const char* early;
    const char* late;
  };
  const Row rows[] = {
      {"the graph has changed its pathway", serviceOf("DynamoGraphDeployment", "g", "graph"), 0, "", "waits",
       "permanent"},
      {"another graph has a Service of that name", serviceOf("DynamoGraphDeployment", "h", "graph"), 0, "",
       "permanent", "permanent"},
      {"the Service is being deleted",
       serviceOf("DynamoComponentDeployment", "g-web", "owner",
                 ",'deletionTimestamp':'2026-01-02T03:04:05Z'"),
       0, "", "waits", "waits"},
      {"the API server is unavailable", "", 503, "ServiceUnavailable", "transient", "permanent"},
      {"the API server refuses", "", 422, "Invalid", "permanent", "permanent"},
      {"the API server does not know its roles yet", "", 403, "Forbidden", "transient", "permanent"},
      {"the API server does not know its tokens yet", "", 401, "Unauthorized", "transient", "permanent"},
      {"the API server does not know the resource yet", "", 404, "NotFound", "transient", "permanent"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.about);
    const FakeApi api{[&](const std::string&, int) {
      return row.status == 0 ? std::nullopt : std::optional{failure(row.status, row.reason)};
    }};
    CHECK(failureAfter(api, row.live, 29s) == row.early);
    CHECK(failureAfter(api, row.live, 31s) == row.late);
  }
}

TEST_CASE("a write of the outcome that fails for 30 s is reported (decision ctl-Q47)") {
  const FakeApi api{[](const std::string&, int) { return std::optional{failure(500, "InternalError")}; }};
  for (const auto& [failing, reported] : {std::pair{29s, ""}, std::pair{31s, "permanent"}}) {
    CAPTURE(failing.count());
    std::string found;
    withApplier(api, [&, failing = failing](Applier& applier) -> Task<void> {
      applier.f.environment.failingSince[keyOf(kOwner)] = std::chrono::steady_clock::now() - failing;
      const json::Document owner = parsed(kOwner);
      const json::Document surplus = parsed(kService);
      const render::Children none;
      const Finish finish = [&](const lifecycle::Applied& applied) {
        for (const lifecycle::Ending& each : applied.failures)
          found += isPermanent(each) ? "permanent" : "transient";
        lifecycle::Outcome outcome;
        outcome.writes.push_back(lifecycle::deletionOf(surplus));
        return outcome;
      };
      Observed observed;
      render::FactKeys lookedUp;
      const Writer writer{kWriter, "dynamocomponentdeployment"};
      co_await applyAndFinish(applier.f.environment, owner, none, observed, finish, writer, lookedUp);
    });
    CHECK(found == reported);
  }
}

}  // namespace dynamo::controller::test
