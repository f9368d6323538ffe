// The action on existing objects with the keys of children.
#include "common/render/adopt.h"

#include <catch2/catch.hpp>

#include "common/render/object.h"
#include "support.h"

namespace dynamo::render::test {
namespace {

constexpr const char* kActions[] = {"apply", "create", "leave", "replace", "wait", "refuse"};

/// A child from the text of an object.
Children oneOf(std::string_view text) {
  Children children;
  children.add(json::copy(parsed(text), children.memory()));
  return children;
}

std::string stepText(std::string_view child, std::string_view live, bool applied = false) {
  json::Document memory;
  const Children children = oneOf(child);
  const json::Document there = parsed(live);
  const Step step =
      stepFor(children.items[0], there.IsNull() ? nullptr : &there, applied, memory.GetAllocator());
  std::string text = kActions[static_cast<std::size_t>(step.action)];
  if (!step.reason.empty()) text += ": " + step.reason;
  if (step.object != nullptr) text += ' ' + json::dump(*step.object);
  return text;
}

std::string object(std::string_view kind, std::string_view owners, std::string_view more = "") {
  return R"({"apiVersion":)" + std::string{kind} +
         R"(,"metadata":{"name":"a","namespace":"n","ownerReferences":)" + std::string{owners} + "}" +
         std::string{more} + "}";
}

TEST_CASE("existing children are adopted, left alone, replaced or rejected, depending on their kind") {
  const std::string deployment = R"("apps/v1","kind":"Deployment")";
  const std::string claim = R"("v1","kind":"PersistentVolumeClaim")";
  const std::string binding = R"("rbac.authorization.k8s.io/v1","kind":"RoleBinding")";
  const std::string adapter = R"("nvidia.com/v1alpha1","kind":"DynamoGraphDeploymentScalingAdapter")";
  const std::string account = R"("v1","kind":"ServiceAccount")";
  const std::string mine =
      R"([{"kind":"G","name":"g","uid":"1","controller":true,"blockOwnerDeletion":true}])";
  const std::string others = R"([{"kind":"G","name":"h","uid":"2","controller":true}])";
  const std::string deleted = R"({"metadata":{"name":"a","deletionTimestamp":"t"}})";
  const std::string both =
      R"([{"kind":"G","name":"h","uid":"2","controller":true},{"kind":"G","name":"g","uid":"1"}])";
  const std::string role = R"(,"roleRef":{"kind":"Role","name":"r"})";
  const std::string other = R"(,"roleRef":{"kind":"Role","name":"s"})";
  struct Row {
    const char* what;
    std::string child;
    std::string live;
    std::string step;
  };
  const Row rows[] = {
      {"a missing child is applied", object(deployment, mine), "null", "apply " + object(deployment, mine)},
      {"a missing claim is created", object(claim, mine), "null", "create " + object(claim, mine)},
      {"an owned child is applied", object(deployment, mine), object(deployment, mine),
       "apply " + object(deployment, mine)},
      {"a child of another owner is rejected", object(deployment, mine), object(deployment, others),
       "refuse: Deployment.apps n/a is controlled by G h"},
      {"a child of a deleted owner with the same name is waited for", object(deployment, mine),
       object(deployment, R"([{"kind":"G","name":"g","uid":"0","controller":true}])"),
       "wait: Deployment.apps n/a belongs to a deleted G g"},
      {"an existing claim is left alone", object(claim, mine), object(claim, others), "leave"},
      {"a terminating child is waited for", object(deployment, mine), deleted,
       "wait: Deployment.apps n/a is being deleted"},
      {"a terminating claim is left alone: its pods still use it", object(claim, mine), deleted, "leave"},
      {"an account is shared with its controller", object(account, mine), object(account, others),
       "apply " + object(account, both)},
      {"a shared account stays shared", object(account, mine), object(account, both),
       "apply " + object(account, both)},
      {"an owned account stays owned", object(account, mine), object(account, mine),
       "apply " + object(account, mine)},
      {"an account without controller is adopted", object(account, mine),
       object(account, R"([{"kind":"G","name":"h","uid":"2"}])"),
       "apply " + object(account, R"([{"kind":"G","name":"h","uid":"2"},)" + mine.substr(1))},
      {"an account without owner", object(account, "[]"), object(account, "[]"),
       "apply " + object(account, "[]")},
      {"a binding to the same role is applied", object(binding, mine, role), object(binding, mine, role),
       "apply " + object(binding, mine, role)},
      {"a binding to another role is replaced", object(binding, mine, role), object(binding, mine, other),
       "replace " + object(binding, mine, role)},
      {"an adapter gets replicas when it is created", object(adapter, mine, R"(,"spec":{"replicas":2})"),
       "null", "create " + object(adapter, mine, R"(,"spec":{"replicas":2})")},
      {"an existing adapter is applied without replicas",
       object(adapter, mine, R"(,"spec":{"replicas":2,"dgdRef":{"name":"g"}})"),
       object(adapter, mine, R"(,"spec":{"replicas":7})"),
       "apply " + object(adapter, mine, R"(,"spec":{"dgdRef":{"name":"g"}})")},
  };
  for (const Row& row : rows) {
    INFO(row.what);
    CHECK(stepText(row.child, row.live) == row.step);
  }
}

TEST_CASE("the children of another pathway of the same graph are about to be deleted (quirk ctl-Q52)") {
  const auto ownedBy = [](const std::string& kind, const std::string& name, const std::string& uid) {
    return object(R"("v1","kind":"Service")", R"([{"kind":")" + kind + R"(","name":")" + name +
                                                  R"(","uid":")" + uid + R"(","controller":true}])");
  };
  const std::string graph = "DynamoGraphDeployment";
  const std::string component = "DynamoComponentDeployment";
  struct Row {
    std::string wanted;
    std::string live;
    bool passing;
  };
  const Row rows[] = {
      {ownedBy(component, "g-web", "1"), ownedBy(graph, "g", "2"), true},
      {ownedBy(graph, "g", "1"), ownedBy(component, "g-web", "2"), true},
      {ownedBy(component, "g-web", "1"), ownedBy(graph, "h", "2"), false},
      {ownedBy(graph, "g", "1"), ownedBy(component, "gweb", "2"), false},
      {ownedBy(component, "g-web", "1"), ownedBy("ConfigMap", "g", "2"), false},
      {ownedBy(graph, "g-web", "1"), ownedBy(graph, "g", "2"), false},
  };
  for (const Row& row : rows) {
    CAPTURE(row.wanted, row.live);
    json::Document memory;
    const Children children = oneOf(row.wanted);
    const json::Document live = parsed(row.live);
    const Step step = stepFor(children.items[0], &live, false, memory.GetAllocator());
    CHECK(step.action == Action::Refuse);
    CHECK(step.passing == row.passing);
  }
}

TEST_CASE("an object without controller is adopted only if the operator made it (quirk ctl-Q51)") {
  const char* const refused = "refuse: Service n/a exists, but this operator did not create it";
  const auto service = [](std::string_view members) {
    return R"({"apiVersion":"v1","kind":"Service","metadata":{"name":"a","namespace":"n")" +
           std::string{members} + "}}";
  };
  const std::string child = service(R"(,"labels":{"nvidia.com/dynamo-graph-deployment-name":"g"})");
  struct Row {
    const char* what;
    std::string live;
    bool applied;
    bool adopted;
  };
  const Row rows[] = {
      {"no metadata of ours", service(""), false, false},
      {"labels and annotations of others",
       service(R"(,"labels":{"app":"a","nvidia.com/gpu":"x"},"annotations":{"dynamo":"x"})"), false, false},
      {"owners that are no controllers", service(R"(,"ownerReferences":[{"kind":"G","name":"g","uid":"1"}])"),
       false, false},
      {"fields that this controller applied", service(""), true, true},
      {"the graph's label", child, false, true},
      {"the label of another graph", service(R"(,"labels":{"nvidia.com/dynamo-graph-deployment-name":"h"})"),
       true, false},
      {"another label of ours", service(R"(,"labels":{"nvidia.com/dynamo-component":"x"})"), false, true},
      {"an annotation of the reference operator",
       service(R"(,"annotations":{"nvidia.com/last-applied-hash":"x"})"), false, true},
  };
  for (const Row& row : rows) {
    INFO(row.what);
    CHECK(stepText(child, row.live, row.applied) == (row.adopted ? "apply " + child : refused));
  }
  CHECK(stepText(service(""), child) == "apply " + service(""));
}

TEST_CASE(
    "an account or role without owners that the operator did not make does not get one (quirk ctl-Q51)") {
  const std::string owner = R"(,"ownerReferences":[{"kind":"G","name":"g","uid":"1","controller":true}])";
  const char* const managed = R"(,"labels":{"app.kubernetes.io/managed-by":"dynamo-operator"})";
  for (const char* type :
       {R"("v1","kind":"ServiceAccount")", R"("rbac.authorization.k8s.io/v1","kind":"Role")"}) {
    const auto make = [&](const std::string& members) {
      return R"({"apiVersion":)" + std::string{type} + R"(,"metadata":{"name":"a","namespace":"n")" +
             members + "}}";
    };
    INFO(type);
    CHECK(stepText(make(owner), make("")).starts_with("refuse: "));
    CHECK(stepText(make(owner), make(managed)).starts_with("apply "));
    CHECK(stepText(make(owner), make(""), true).starts_with("apply "));
    CHECK(stepText(make(""), make("")).starts_with("apply "));  // the planner's account never has an owner
  }
}

}  // namespace
}  // namespace dynamo::render::test
