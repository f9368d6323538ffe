// What is done with a child: tables of live objects, memories and plans.
#include "common/render/write_plan.h"

#include <catch2/catch.hpp>

#include <chrono>

#include "common/k8s/drift.h"
#include "common/render/object.h"
#include "support.h"

namespace dynamo::render::test {
namespace {

using namespace std::chrono_literals;

constexpr const char* kActions[] = {"read",    "read owner", "take over", "create",   "apply",
                                    "replace", "leave",      "wait",      "conflict", "refuse"};
constexpr const char* kManager = "dynamo-controller";
constexpr Clock::time_point kNow{1h};

/// A child from the text of an object.
Children oneOf(std::string_view text) {
  Children children;
  children.add(json::copy(parsed(text), children.memory()));
  return children;
}

/// A memory of a reconcile that has read everything.
WriteMemory readAll() {
  WriteMemory memory;
  memory.read = true;
  memory.ownerRead = true;
  return memory;
}

/// The plan as text: the action, the reason or the object, and the notice in brackets.
std::string textOf(const WritePlan& plan) {
  std::string text = kActions[static_cast<std::size_t>(plan.action)];
  if (!plan.reason.empty()) text += ": " + plan.reason;
  if (plan.object != nullptr && plan.action != WriteAction::Leave) text += ' ' + json::dump(*plan.object);
  if (plan.notice) text += " [" + plan.notice->message() + "]";
  return text;
}

/// `live` may have managedFields, as an object that was read from the API server.
std::string planText(std::string_view child, std::string_view live, const WriteMemory& memory,
                     Clock::time_point now = kNow, bool applied = false) {
  json::Document arena;
  const Children children = oneOf(child);
  const json::Document there = parsed(live);
  if (there.IsNull()) return textOf(planWrite(children.items[0], nullptr, memory, now, arena.GetAllocator()));
  const json::Document none = parsed("{}");
  const json::Value* owned = k8s::ownedFields(there, kManager);
  const LiveChild seen{there, kManager, owned == nullptr && applied ? &none : owned,
                       k8s::replicasOwner(there, kManager)};
  return textOf(planWrite(children.items[0], &seen, memory, now, arena.GetAllocator()));
}

std::string stepText(std::string_view child, std::string_view live, bool applied = false) {
  return planText(child, live, readAll(), kNow, applied);
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
    bool applied = false;
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
       "apply " + object(account, both), true},
      {"a shared account stays shared", object(account, mine), object(account, both), "leave", true},
      {"an owned account stays owned", object(account, mine), object(account, mine),
       "apply " + object(account, mine)},
      {"an account without controller is adopted", object(account, mine),
       object(account, R"([{"kind":"G","name":"h","uid":"2"}])"),
       "apply " + object(account, R"([{"kind":"G","name":"h","uid":"2"},)" + mine.substr(1)), true},
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
    CHECK(stepText(row.child, row.live, row.applied) == row.step);
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
    const LiveChild seen{live, kManager};
    const WritePlan plan = planWrite(children.items[0], &seen, readAll(), kNow, memory.GetAllocator());
    CHECK(plan.action == WriteAction::Refuse);
    CHECK(plan.passing == row.passing);
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
    const std::string plan = stepText(child, row.live, row.applied);
    const bool reference = row.live.find("last-applied-hash") != std::string::npos;
    CHECK(plan == (!row.adopted ? refused : (reference ? "take over " : "apply ") + child));
  }
  CHECK(stepText(service(""), child) == "apply " + service(""));
}

TEST_CASE("a component of a user is not a child, although admission has written to it (quirk ctl-Q51)") {
  const auto component = [](const std::string& members) {
    return R"({"apiVersion":"nvidia.com/v1alpha1","kind":"DynamoComponentDeployment","metadata":{"name":"a","namespace":"n")" +
           members + "}}";
  };
  const std::string child = component(R"(,"labels":{"nvidia.com/dynamo-graph-deployment-name":"g"})");
  const std::string version =
      component(R"(,"annotations":{"nvidia.com/dynamo-operator-origin-version":"1.0.0"})");
  const std::string backend = component(R"(,"annotations":{"nvidia.com/dynamo-discovery-backend":"etcd"})");
  for (const std::string& live : {version, backend}) {
    CHECK(stepText(child, live).starts_with("refuse: "));
    CHECK(stepText(child, live, true).starts_with("apply "));
  }
  const std::string reference = component(R"(,"annotations":{"nvidia.com/last-applied-hash":"x"})");
  CHECK(stepText(child, reference).starts_with("take over "));
  CHECK(stepText(child, child).starts_with("apply "));
}

TEST_CASE("a child is applied after its takeover, although no difference can be seen (quirk child-Q4)") {
  const std::string owner = R"("ownerReferences":[{"kind":"G","name":"g","uid":"1","controller":true}])";
  const auto claims = [&](const std::string& more, const std::string& item) {
    return R"({"apiVersion":"grove.io/v1alpha1","kind":"PodCliqueSet","metadata":{"name":"a","namespace":"n",)" +
           owner + more + R"(},"spec":{"cliques":[)" + item + "]}}";
  };
  const std::string child = claims("", R"({"name":"c"})");
  // Another member of an item may be a default of the API server.
  const std::string item = R"({"name":"c","more":1})";
  const auto entry = [](const std::string& mark) {
    return R"({"manager":"dynamo-controller","operation":"Apply","fieldsV1":{"f:metadata":{"f:ownerReferences":)"
           R"({"k:{\"uid\":\"1\"}":{}})" +
           mark + R"(},"f:spec":{"f:cliques":{}}}})";
  };
  const std::string marked = R"(,"annotations":{"nvidia.com/last-applied-hash":"x"},"managedFields":[)" +
                             entry(R"(,"f:annotations":{"f:nvidia.com/last-applied-hash":{}})") + "]";
  WriteMemory memory = readAll();
  CHECK(planText(child, claims(marked, item), memory) == "take over " + child);
  memory.takenOver = true;
  CHECK(planText(child, claims(marked, item), memory) == "apply " + child);
  // If somebody else owned the mark, too, it is gone already.
  const std::string unmarked = claims(R"(,"managedFields":[)" + entry("") + "]", item);
  CHECK(planText(child, unmarked, memory) == "apply " + child);
  memory.takenOver = false;
  CHECK(planText(child, unmarked, memory) == "leave");
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
  }
}

TEST_CASE("an object with the operator's marks and somebody's uid is not adopted (quirk ctl-Q51)") {
  const std::string service = R"("v1","kind":"Service")";
  const std::string account = R"("v1","kind":"ServiceAccount")";
  const std::string role = R"("rbac.authorization.k8s.io/v1","kind":"Role")";
  const std::string graph = R"("nvidia.com/dynamo-graph-deployment-name":"g")";
  const std::string managed = R"("app.kubernetes.io/managed-by":"dynamo-operator")";
  const std::string hash = R"(,"annotations":{"nvidia.com/last-applied-hash":"x"})";
  const auto owner = [](const std::string& name, const std::string& uid, bool controls) {
    return R"({"kind":"DynamoGraphDeployment","name":")" + name + R"(","uid":")" + uid +
           (controls ? R"(","controller":true})" : R"("})");
  };
  const auto entry = [](const std::string& manager, const std::string& operation) {
    return R"(,"managedFields":[{"manager":")" + manager + R"(","operation":")" + operation +
           R"(","fieldsV1":{"f:metadata":{"f:labels":{}}}}])";
  };
  const auto make = [](const std::string& kind, const std::string& labels, const std::string& owners,
                       const std::string& more = "") {
    return R"({"apiVersion":)" + kind + R"(,"metadata":{"name":"a","namespace":"n","labels":{)" + labels +
           R"(},"ownerReferences":[)" + owners + "]" + more + "}}";
  };
  const std::string mine = owner("g", "1", true);
  const std::string plain = owner("g", "1", false);
  const std::string others = owner("h", "2", false);
  const std::string theirs = owner("h", "2", true);
  const std::string ours = entry(kManager, "Apply");
  const std::string reference = entry("manager", "Update");
  struct Row {
    const char* what;
    std::string kind;
    std::string labels;
    std::string owners;  ///< of the live object
    std::string more;
    const char* action;
  };
  const Row rows[] = {
      {"a label", service, graph, "", "", "apply"},
      {"a label, and the uid of the owner", service, graph, plain, "", "apply"},
      {"a label, and another uid", service, graph, others, "", "refuse"},
      {"a label, and another controller", service, graph, theirs, "", "refuse"},
      {"a label, the uid of the owner and another one", service, graph, plain + "," + others, "", "refuse"},
      {"the owner as controller, and another uid", service, graph, mine + "," + others, "", "apply"},
      {"another uid, applied by this controller", service, graph, others, ours, "apply"},
      {"another uid, written by a program called manager", service, graph, others, reference, "refuse"},
      {"a label of the operator", role, managed, "", "", "apply"},
      {"another graph", role, managed, others, "", "refuse"},
      {"another graph as controller", role, managed, theirs, "", "refuse"},
      {"a graph of that name, with another uid", role, managed, owner("g", "2", true), "", "refuse"},
      {"the owner and another graph", role, managed, mine + "," + others, "", "refuse"},
      {"the owner, and no label", role, "", mine, "", "apply"},
      {"another graph, no label", role, "", others, reference, "refuse"},
      {"another graph, applied by this controller", account, managed, theirs, ours, "apply"},
      {"another graph, no label, applied by this controller", account, "", theirs, ours, "apply"},
      {"another graph, written by the reference operator", account, managed, theirs, reference + hash,
       "take over"},
      {"another graph, written by Helm", account, managed, theirs, entry("helm", "Update") + hash, "refuse"},
  };
  for (const Row& row : rows) {
    INFO(row.kind << ": " << row.what);
    const std::string child = make(row.kind, row.kind == service ? graph : managed, mine);
    const std::string live = make(row.kind, row.labels, row.owners, row.more);
    const std::string plan = planText(child, live, readAll());
    CHECK(plan.starts_with(row.action));
    // A shared object with other owners is read before it is refused: the cache has no field managers.
    WriteMemory cached = readAll();
    cached.read = false;
    const bool reads = row.kind != service && std::string_view{row.action} == "refuse";
    CHECK((planText(child, live, cached) == "read") == reads);
  }
}

TEST_CASE("what the cache may lack is read first, whatever its kind (quirk ctl-Q66)") {
  const std::string service = object(R"("v1","kind":"Service")", "[]");
  const std::string job = object(R"("batch/v1","kind":"Job")", "[]");
  WriteMemory memory;
  memory.watched = false;
  for (const std::string& child : {service, job}) CHECK(planText(child, "null", memory) == "read");
  memory.read = true;
  CHECK(planText(service, "null", memory) == "apply " + service);
  CHECK(planText(job, "null", memory) == "create " + job);
  CHECK(planText(service, "null", WriteMemory{}) == "apply " + service);
  json::Document arena;
  const Children children = oneOf(service);
  CHECK_FALSE(planWrite(children.items[0], nullptr, memory, kNow, arena.GetAllocator()).force);
}

TEST_CASE("the owner is read before a live object is applied with it (quirk ctl-Q66)") {
  const std::string mine = R"([{"kind":"G","name":"g","uid":"1","controller":true}])";
  const std::string plain = R"([{"kind":"G","name":"g","uid":"1"}])";
  const std::string other = R"([{"kind":"G","name":"h","uid":"2","controller":true}])";
  struct Row {
    const char* what;
    std::string kind;
    std::string live;
    bool asks;
  };
  const std::string deployment = R"("apps/v1","kind":"Deployment")";
  const std::string account = R"("v1","kind":"ServiceAccount")";
  const Row rows[] = {
      {"nothing differs", deployment, mine, false},
      {"the reference was removed", deployment, "[]", true},
      {"the owner is no controller", deployment, plain, true},
      {"an account gets one more owner", account, other, true},
      {"an account has the owner, and another field differs", account, plain, true},
      {"an account has the owner, and nothing differs", account, mine, false},
  };
  for (const Row& row : rows) {
    INFO(row.what);
    WriteMemory memory = readAll();
    memory.ownerRead = false;
    const std::string child = object(row.kind, mine);
    const std::string plan = planText(child, object(row.kind, row.live), memory, kNow, true);
    CHECK((plan == "read owner") == row.asks);
    memory.ownerRead = true;
    CHECK(planText(child, object(row.kind, row.live), memory, kNow, true) != "read owner");
  }
}

TEST_CASE("an administrator's object with a reserved name is used as it is (quirk ctl-Q68)") {
  const std::string binding = R"("rbac.authorization.k8s.io/v1","kind":"RoleBinding")";
  const auto make = [&](const std::string& entries, const std::string& role) {
    return R"({"apiVersion":)" + binding +
           R"(,"metadata":{"name":"planner-serviceaccount-binding","namespace":"n",)"
           R"("labels":{"app.kubernetes.io/managed-by":"dynamo-operator"},"managedFields":[)" +
           entries + R"(]},"roleRef":{"name":")" + role + R"("}})";
  };
  const std::string child =
      R"({"apiVersion":)" + binding +
      R"(,"metadata":{"name":"planner-serviceaccount-binding","namespace":"n"},"roleRef":{"name":"wide"}})";
  const auto entry = [](const std::string& manager, const std::string& operation) {
    return R"({"manager":")" + manager + R"(","operation":")" + operation +
           R"(","fieldsV1":{"f:roleRef":{}}})";
  };
  const std::string used =
      "leave [RoleBinding.rbac.authorization.k8s.io n/planner-serviceaccount-binding was not made by this "
      "operator and is used as it is]";
  struct Row {
    const char* what;
    std::string live;
    std::string plan;
  };
  const Row rows[] = {
      {"kubectl", make(entry("kubectl-create", "Update"), "small"), used},
      {"Helm", make(entry("helm", "Update"), "small"), used},
      {"a GitOps controller", make(entry("argocd-controller", "Apply"), "wide"), used},
      {"nobody known", make("", "small"), used},
      {"the reference operator, another role", make(entry("manager", "Update"), "small"), "replace " + child},
      {"the reference operator", make(entry("manager", "Update"), "wide"), "apply " + child},
      {"this controller, another role", make(entry(kManager, "Apply"), "small"), "replace " + child},
  };
  for (const Row& row : rows) {
    INFO(row.what);
    CHECK(planText(child, row.live, readAll()) == row.plan);
  }
  const auto account = [](const std::string& more) {
    return R"({"apiVersion":"v1","kind":"ServiceAccount","metadata":{"name":"epp-serviceaccount","namespace":"n")" +
           more + "}}";
  };
  const auto managed = [&](const std::string& manager, const std::string& operation) {
    return account(R"(,"managedFields":[)" + entry(manager, operation) + "]");
  };
  CHECK(planText(account(""), managed("kubectl-create", "Update"), readAll()) ==
        "leave [ServiceAccount n/epp-serviceaccount was not made by this operator and is used as it is]");
  CHECK(planText(account(""), managed("manager", "Update"), readAll()) == "apply " + account(""));
  // The cache has no field managers.
  CHECK(planText(child, make(entry("helm", "Update"), "small"), WriteMemory{}) == "read");
}

TEST_CASE("whoever changed the replicas last wins (quirk ctl-Q45)") {
  const auto make = [](const std::string& replicas, const std::string& rendered, const std::string& entries) {
    const std::string annotations =
        rendered.empty() ? ""
                         : R"(,"annotations":{"nvidia.com/dynamo-rendered-replicas":")" + rendered + R"("})";
    const std::string managers = entries.empty() ? "" : R"(,"managedFields":[)" + entries + "]";
    return R"({"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"a","namespace":"n")" +
           annotations + managers + R"(},"spec":{"replicas":)" + replicas + "}}";
  };
  const std::string ours =
      R"({"manager":"dynamo-controller","operation":"Apply","fieldsV1":{"f:metadata":{"f:annotations":)"
      R"({"f:nvidia.com/dynamo-rendered-replicas":{}}})";
  const std::string alone = ours + R"(,"f:spec":{"f:replicas":{}}}})";
  const std::string scaled =
      ours +
      R"(}},{"manager":"kubectl","operation":"Update","subresource":"scale","fieldsV1":{"f:spec":{"f:replicas":{}}}})";
  struct Row {
    const char* what;
    std::string wanted;
    std::string live;
    std::string plan;
  };
  const std::string hand = "kubectl scales Deployment.apps n/a: ";
  const Row rows[] = {
      {"nobody else", "2", make("2", "2", alone), "leave"},
      {"the number is rendered anew", "3", make("2", "2", alone), "apply " + make("3", "3", "")},
      {"a hand", "2", make("5", "2", scaled), "leave [" + hand + "5 replicas instead of 2]"},
      // The API server names nobody who has set a 0 through the scale subresource.
      {"a hand's 0", "2", make("0", "2", ours + "}}"),
       "leave [somebody scales Deployment.apps n/a: 0 replicas instead of 2]"},
      {"a hand's 0, then another number is rendered", "3", make("0", "2", ours + "}}"),
       "apply " + make("3", "3", "")},
      {"a 0 of `kubectl edit`", "2",
       make(
           "0", "2",
           ours +
               R"(}},{"manager":"kubectl-edit","operation":"Update","fieldsV1":{"f:spec":{"f:replicas":{}}}})"),
       "apply " + make("2", "2", "")},
      {"a hand with the rendered number", "2", make("2", "2", scaled), "leave"},
      {"a hand, then another number is rendered", "3", make("5", "2", scaled), "apply " + make("3", "3", "")},
      {"a hand, then the same number is rendered", "3", make("3", "2", scaled),
       "apply " + make("3", "3", "")},
      {"a rendered 0", "0", make("5", "2", scaled), "apply " + make("0", "0", "")},
      {"a hand after a rendered 0", "0", make("2", "0", scaled),
       "leave [" + hand + "2 replicas instead of 0]"},
  };
  for (const Row& row : rows) {
    INFO(row.what);
    CHECK(planText(make(row.wanted, "", ""), row.live, readAll()) == row.plan);
  }
  // An object of an earlier version has no record. The hand wins, and the record is written.
  const std::string plan = planText(make("2", "", ""), make("5", "", scaled), readAll());
  CHECK(plan.starts_with("apply "));
  CHECK(plan.find(R"("spec":{})") != std::string::npos);
  CHECK(plan.find(R"("nvidia.com/dynamo-rendered-replicas":"2")") != std::string::npos);
}

TEST_CASE(
    "a field that somebody keeps changing back is applied after longer and longer times (quirk ctl-Q67)") {
  const std::string child =
      R"({"apiVersion":"v1","kind":"Service","metadata":{"name":"a","namespace":"n"},"spec":{"type":"A"}})";
  const std::string live =
      R"({"apiVersion":"v1","kind":"Service","metadata":{"name":"a","namespace":"n","managedFields":[)"
      R"({"manager":"dynamo-controller","operation":"Apply","fieldsV1":{"f:spec":{}}},)"
      R"({"manager":"mesh","operation":"Update","time":"2026-01-01T00:00:00Z","fieldsV1":{"f:spec":{"f:type":{}}}}]},)"
      R"("spec":{"type":"B"}})";
  const json::Document there = parsed(live);
  const json::Document owned = parsed(R"({"f:spec":{"f:type":{}}})");
  const LiveChild seen{there, kManager, &owned};
  const Children children = oneOf(child);
  Contests contests;
  WriteMemory memory = readAll();
  memory.contests = &contests;
  // The field is changed back 100 ms after each write.
  Clock::time_point now = kNow;
  std::vector<Clock::time_point> writes;
  std::string named;
  for (const Clock::time_point end = now + 60s; now < end; now += 100ms) {
    json::Document arena;
    const WritePlan plan = planWrite(children.items[0], &seen, memory, now, arena.GetAllocator());
    if (plan.notice) named = plan.notice->message();
    if (plan.action == WriteAction::Leave) {
      REQUIRE(plan.again.has_value());
      continue;
    }
    REQUIRE(plan.action == WriteAction::Apply);
    contests.remember(children.items[0].key, plan, now);
    writes.push_back(now);
  }
  CHECK(named == "mesh keeps changing spec.type of Service n/a");
  REQUIRE(writes.size() == 7);  // at 0, 0.1, 1.1, 3.1, 7.1, 15.1 and 31.1 s
  CHECK(writes[1] - writes[0] == 100ms);
  CHECK(writes[6] - writes[5] == 16s);

  // The notice stays while nothing differs, so that it does not come and go.
  const json::Document asWanted = parsed(
      R"({"apiVersion":"v1","kind":"Service","metadata":{"name":"a","namespace":"n"},"spec":{"type":"A"}})");
  const LiveChild quiet{asWanted, kManager, &owned};
  json::Document notes;
  const WritePlan told = planWrite(children.items[0], &quiet, memory, now, notes.GetAllocator());
  CHECK(told.action == WriteAction::Leave);
  REQUIRE(told.notice);
  CHECK(told.notice->message() == named);
  CHECK(told.again.has_value());
  const WritePlan later = planWrite(children.items[0], &quiet, memory, now + 1h, notes.GetAllocator());
  CHECK_FALSE(later.notice);
  // Another difference does not wait.
  const json::Document edited = parsed(
      R"({"apiVersion":"v1","kind":"Service","metadata":{"name":"a","namespace":"n"},"spec":{"type":"B","ip":"2"}})");
  const json::Document both = parsed(R"({"f:spec":{"f:type":{},"f:ip":{}}})");
  const Children wider = oneOf(
      R"({"apiVersion":"v1","kind":"Service","metadata":{"name":"a","namespace":"n"},"spec":{"type":"A","ip":"1"}})");
  const json::Document typeOnly = parsed(
      R"({"apiVersion":"v1","kind":"Service","metadata":{"name":"a","namespace":"n"},"spec":{"type":"B","ip":"1"}})");
  Contests narrow;
  WriteMemory waiting = readAll();
  waiting.contests = &narrow;
  const LiveChild fought{typeOnly, kManager, &both};
  for (int undone = 0; undone < 4; ++undone) {
    const WritePlan plan =
        planWrite(wider.items[0], &fought, waiting, kNow + undone * 10s, notes.GetAllocator());
    REQUIRE(plan.action == WriteAction::Apply);
    narrow.remember(wider.items[0].key, plan, kNow + undone * 10s);
  }
  CHECK(planWrite(wider.items[0], &fought, waiting, kNow + 31s, notes.GetAllocator()).action ==
        WriteAction::Leave);
  const LiveChild alsoEdited{edited, kManager, &both};
  const WritePlan repaired =
      planWrite(wider.items[0], &alsoEdited, waiting, kNow + 31s, notes.GetAllocator());
  CHECK(repaired.action == WriteAction::Apply);
  REQUIRE(repaired.drift);
  CHECK(repaired.drift->path == "spec.ip");

  // Another wanted value is applied at once.
  const Children other = oneOf(
      R"({"apiVersion":"v1","kind":"Service","metadata":{"name":"a","namespace":"n"},"spec":{"type":"C"}})");
  json::Document arena;
  CHECK(planWrite(other.items[0], &seen, memory, now, arena.GetAllocator()).action == WriteAction::Apply);
  // Without the managers of the live object, it is read when there is somebody to name.
  memory.read = false;
  Contests unnamed;
  memory.contests = &unnamed;
  for (int i = 0; i < 3; ++i) {
    const WritePlan plan = planWrite(children.items[0], &seen, memory, kNow + i * 10s, arena.GetAllocator());
    REQUIRE(plan.action == WriteAction::Apply);
    unnamed.remember(children.items[0].key, plan, kNow + i * 10s);
  }
  CHECK(planWrite(children.items[0], &seen, memory, kNow + 40s, arena.GetAllocator()).action ==
        WriteAction::Read);
}

}  // namespace
}  // namespace dynamo::render::test
