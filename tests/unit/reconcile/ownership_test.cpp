// Children that exist already: of others, of a deleted owner, or with fields that do not change.

#include "apply_support.h"
#include "common/runtime/task_group.h"

namespace dynamo::controller::test {

TEST_CASE("an object of another controller is not touched") {
  std::string stranger = deployment("{'replicas':7}", "stranger");
  stranger.replace(stranger.find("'name':'c'"), 10, "'name':'x'");
  for (const bool cached : {true, false}) {
    CAPTURE(cached);
    FakeApi api;
    withApplier(api, [&](Applier& applier) -> Task<void> {
      api.store(kPath, stranger);
      if (cached) watchSees(api, applier, kPath);
      const std::string failed = co_await applier.apply(deployment("{'replicas':1}"));
      CHECK(failed == "Deployment.apps n/d is controlled by DynamoComponentDeployment x\n");
    });
    CHECK(api.lines() == (cached ? "" : lines({"GET " + kPath})));
  }
}

TEST_CASE("a child of a deleted owner with the same name is not touched until it is deleted, too") {
  FakeApi api;
  withApplier(api, [&](Applier& applier) -> Task<void> {
    api.store(kPath, deployment("{'replicas':7}", "before"));
    watchSees(api, applier, kPath);
    std::string failed = co_await applier.apply(deployment("{'replicas':1}"));
    CHECK(failed == "wait: Deployment.apps n/d belongs to a deleted DynamoComponentDeployment c\n");
    CHECK(api.requests().empty());
    applier.f.seeDeleted(api.at(kPath));
    api.remove(kPath);
    failed = co_await applier.apply(deployment("{'replicas':1}"));
    CHECK(failed.empty());
  });
}

TEST_CASE("an object that is being deleted is not written") {
  FakeApi api;
  withApplier(api, [&](Applier& applier) -> Task<void> {
    api.store(kPath, [&] {
      std::string text = deployment("{'replicas':7}");
      return text.insert(text.find("'namespace'"), "'deletionTimestamp':'2026-01-02T03:04:05Z',");
    }());
    watchSees(api, applier, kPath);
    const std::string failed = co_await applier.apply(deployment("{'replicas':1}"));
    CHECK(failed == "wait: Deployment.apps n/d is being deleted\n");
  });
  CHECK(api.requests().empty());
}

TEST_CASE("objects that are created once are never written again") {
  FakeApi api;
  withApplier(api, [&](Applier& applier) -> Task<void> {
    std::string failed = co_await applier.apply(claim("data"));
    failed += co_await applier.apply(claim("data"));
    CHECK(api.requests().size() == 1);
    // The cache is late: the object exists.
    api.store("/api/v1/namespaces/n/persistentvolumeclaims/late", claim("late"));
    failed += co_await applier.apply(claim("late"));
    CHECK(failed.empty());
  });
  CHECK(api.lines() == lines({"POST /api/v1/namespaces/n/persistentvolumeclaims",
                              "POST /api/v1/namespaces/n/persistentvolumeclaims"}));
}

TEST_CASE("the replicas of an adapter are written at its creation only") {
  FakeApi api;
  storeOwner(api);
  withApplier(api, [&](Applier& applier) -> Task<void> {
    std::string failed = co_await applier.apply(adapter(2));
    failed += co_await applier.apply(adapter(5));
    CHECK(failed.empty());
  });
  const std::string path = "/apis/nvidia.com/v1alpha1/namespaces/n/dynamographdeploymentscalingadapters";
  REQUIRE(api.lines() == lines({"POST " + path, "GET " + kOwnerPath, "PATCH " + path + "/a"}));
  // The second request takes ownership of the other fields.
  CHECK(api.bodies("PATCH " + path + "/a")[0].find("replicas") == std::string::npos);
  CHECK(api.at(path + "/a").find(R"("replicas":2)") != std::string::npos);
}

/// The Service of a model, as the graph with this uid wants it.
std::string modelService(const std::string& uid) {
  return "{'apiVersion':'v1','kind':'Service','metadata':{'namespace':'n','name':'dynamo-model-0a1b2c3d',"
         "'labels':{'nvidia.com/dynamo-base-model-hash':'0a1b2c3d',"
         "'app.kubernetes.io/managed-by':'dynamo-operator'}," +
         ownersOf(uid) + "},'spec':{'clusterIP':'None'}}";
}
/// `object` as this controller has applied it.
std::string appliedHere(std::string object) {
  return object.insert(
      object.find("'namespace'"),
      "'managedFields':[{'manager':'dynamo-controller','operation':'Apply','fieldsV1':{}}],");
}
const std::string kModelPath = "/api/v1/namespaces/n/services/dynamo-model-0a1b2c3d";

TEST_CASE("an owner is not removed from a shared object that has changed since it was read") {
  FakeApi api;
  withApplier(api, [&](Applier& applier) -> Task<void> {
    storeOwner(api);
    api.store(kModelPath, appliedHere(modelService("first")));
    watchSees(api, applier, kModelPath);
    api.store(kModelPath, appliedHere(modelService("second")));  // the watch is late
    std::string failed = co_await applier.apply(modelService("third"));
    CHECK(failed == "conflict: Service n/dynamo-model-0a1b2c3d: no\n");
    CHECK(api.at(kModelPath).find("third") == std::string::npos);
    watchSees(api, applier, kModelPath);
    failed = co_await applier.apply(modelService("third"));
    CHECK(failed.empty());
  });
  CHECK(api.lines() ==
        lines({"GET " + kOwnerPath, "PATCH " + kModelPath, "GET " + kOwnerPath, "PATCH " + kModelPath}));
  const std::string stored = api.at(kModelPath);
  CHECK(stored.find("second") != std::string::npos);
  CHECK(stored.find("third") != std::string::npos);
}

TEST_CASE("a shared object that another reconcile writes is written afterwards") {
  FakeApi api;
  withApplier(api, [&](Applier& applier) -> Task<void> {
    std::string failed;
    {
      const kube::Cache::Writing other{applier.f.cache, keyOf(modelService("first"))};
      failed = co_await applier.apply(modelService("second"), service("s", 80));
    }
    CHECK(failed == "conflict: Service n/dynamo-model-0a1b2c3d is being written\n");
    // An object with one owner does not wait.
    CHECK(api.sorted() == lines({"GET " + kModelPath, "GET " + kServicePath, "PATCH " + kServicePath}));
    failed = co_await applier.apply(modelService("second"));
    CHECK(failed.empty());
  });
  CHECK(api.bodies("PATCH " + kModelPath).size() == 1);
}

TEST_CASE("a shared object that another reconcile has created since it was not found keeps its owner") {
  using namespace std::chrono_literals;
  const auto account = [](const std::string& uid) {
    return "{'apiVersion':'v1','kind':'ServiceAccount','metadata':{'namespace':'n','name':'a',"
           "'labels':{'app.kubernetes.io/managed-by':'dynamo-operator'}," +
           ownersOf(uid) + "}}";
  };
  const std::string path = "/api/v1/namespaces/n/serviceaccounts/a";
  const std::string second = account("second");
  EventLoop* onLoop = nullptr;
  bool created = false;
  const auto notFoundOnce = [](const std::string&, int number) {
    return number == 0 ? std::optional{failure(404, "NotFound")} : std::nullopt;
  };
  const auto untilCreated = [&](int) -> Task<void> {
    while (!created) co_await onLoop->sleepUntil(kube::test::in(1ms));
  };
  FakeApi api{notFoundOnce, {}, untilCreated};
  storeOwner(api);
  api.store(path, appliedHere(account("first")));
  const std::string stored = api.at(path);
  withApplier(api, [&](Applier& applier) -> Task<void> {
    EventLoop& loop = applier.f.environment.loop;
    onLoop = &loop;
    std::string failed;
    runtime::TaskGroup reconcile{loop};
    const auto apply = [&]() -> Task<void> { failed = co_await applier.apply(second); };
    reconcile.spawn(apply());
    while (api.requests().empty()) static_cast<void>(co_await loop.sleepUntil(kube::test::in(1ms)));
    applier.f.see(stored);
    created = true;
    co_await reconcile.join();
    CHECK(failed == "conflict: ServiceAccount n/a is being written\n");
    failed = co_await applier.apply(second);
    CHECK(failed.empty());
  });
  CHECK(api.at(path).find("first") != std::string::npos);
  CHECK(api.at(path).find("second") != std::string::npos);
}

/// A binding that this controller has applied.
std::string appliedBinding(const std::string& role, const std::string& rest = "") {
  return binding(
      role,
      ",'managedFields':[{'manager':'dynamo-controller','operation':'Apply','fieldsV1':{'f:roleRef':"
      "{}}}]" +
          rest);
}

TEST_CASE("a changed roleRef deletes the object with its uid as precondition, and applies the new one") {
  FakeApi api;
  SECTION("it is replaced") {
    withApplier(api, [&](Applier& applier) -> Task<void> {
      api.store(kBindingPath, appliedBinding("old"));
      watchSees(api, applier, kBindingPath);
      const std::string failed = co_await applier.apply(binding("new"));
      CHECK(failed.empty());
      CHECK(applier.changes == "b;b by DynamoComponentDeployment;b by DynamoComponentDeployment;");
    });
    CHECK(api.lines() == lines({"DELETE " + kBindingPath, "PATCH " + kBindingPath}));
    CHECK(api.bodies("DELETE " + kBindingPath)[0].find(R"("uid":"uid-101")") != std::string::npos);
    CHECK(api.at(kBindingPath).find("new") != std::string::npos);
  }
  SECTION("another object has its name now") {
    withApplier(api, [&](Applier& applier) -> Task<void> {
      api.store(kBindingPath, appliedBinding("old"));
      watchSees(api, applier, kBindingPath);
      api.store(kBindingPath, binding("other", ",'uid':'other'"));
      const std::string failed = co_await applier.apply(binding("new"));
      CHECK(failed == "conflict: RoleBinding.rbac.authorization.k8s.io n/b: no\n");
    });
    CHECK(api.lines() == lines({"DELETE " + kBindingPath}));
  }
  SECTION("it is gone already") {
    withApplier(api, [&](Applier& applier) -> Task<void> {
      applier.f.see(appliedBinding("old", ",'uid':'gone','resourceVersion':'7'"));
      const std::string failed = co_await applier.apply(binding("new"));
      CHECK(failed.empty());
    });
    CHECK(api.lines() == lines({"DELETE " + kBindingPath, "PATCH " + kBindingPath}));
  }
  SECTION("a finalizer keeps it: the end of the deletion triggers the next attempt") {
    withApplier(api, [&](Applier& applier) -> Task<void> {
      api.store(kBindingPath, appliedBinding("old", ",'finalizers':['example.com/x']"));
      watchSees(api, applier, kBindingPath);
      std::string failed = co_await applier.apply(binding("new"));
      CHECK(failed == "wait: RoleBinding.rbac.authorization.k8s.io n/b is being deleted\n");
      CHECK(api.lines() == lines({"DELETE " + kBindingPath}));
      applier.changes.clear();
      applier.f.seeDeleted(api.at(kBindingPath));
      CHECK(applier.changes == "b;");
    });
  }
}

TEST_CASE("a child that no watch reports is read in each reconcile, and written only if it differs") {
  std::string unlabeled = service("s", 80);
  const std::string labels = "'labels':{'nvidia.com/dynamo-component':'web'},";
  unlabeled.erase(unlabeled.find(labels), labels.size());
  FakeApi api;
  withApplier(api, [&](Applier& applier) -> Task<void> {
    std::string failed = co_await applier.apply(unlabeled);
    failed += co_await applier.apply(unlabeled);
    CHECK(failed.empty());
  });
  CHECK(api.lines() == lines({"GET " + kServicePath, "PATCH " + kServicePath, "GET " + kServicePath}));
}

TEST_CASE("a child of the reference operator is taken over before it is applied") {
  const std::string annotations = "'annotations':{'nvidia.com/last-applied-hash':'h'},";
  const std::string managed =
      "'managedFields':[{'manager':'manager','operation':'Update','fieldsV1':{"
      "'f:metadata':{'f:annotations':{'f:nvidia.com/last-applied-hash':{}}},"
      "'f:spec':{'f:replicas':{},'f:paused':{}}}}],";
  const auto written = [&] {
    std::string text = deployment("{'replicas':1,'paused':true}");
    return text.insert(text.find("'namespace'"), annotations + managed);
  };
  FakeApi api;
  storeOwner(api);
  withApplier(api, [&](Applier& applier) -> Task<void> {
    api.store(kPath, written());
    watchSees(api, applier, kPath);
    std::string failed = co_await applier.apply(deployment("{'replicas':1}"));
    failed += co_await applier.apply(deployment("{'replicas':1}"));
    CHECK(failed.empty());
  });
  // The second patch removes the mark and the field that is not applied.
  CHECK(api.lines() == lines({"GET " + kPath.substr(0, kPath.rfind('/')), "PATCH " + kPath,
                              "GET " + kOwnerPath, "PATCH " + kPath}));
  const std::string first = api.bodies("PATCH " + kPath)[0];
  CHECK(first.find(R"("manager":"dynamo-controller","operation":"Apply")") != std::string::npos);
  CHECK(first.find("last-applied-hash\":null") == std::string::npos);
  CHECK(api.at(kPath).find("last-applied-hash") == std::string::npos);
  CHECK(api.at(kPath).find("paused") == std::string::npos);
}

TEST_CASE("a takeover is repeated when another controller writes the object meanwhile") {
  for (const int conflicts : {2, 3}) {
    CAPTURE(conflicts);
    int patches = 0;
    FakeApi api{[&](const std::string& line, int) -> std::optional<std::string> {
      if (line != "PATCH " + kPath || ++patches > conflicts) return std::nullopt;
      return failure(409, "Conflict");
    }};
    storeOwner(api);
    withApplier(api, [&](Applier& applier) -> Task<void> {
      std::string text = deployment("{'replicas':1}");
      api.store(kPath,
                text.insert(text.find("'namespace'"), "'annotations':{'nvidia.com/last-applied-hash':'h'},"));
      watchSees(api, applier, kPath);
      const std::string failed = co_await applier.apply(deployment("{'replicas':1}"));
      CHECK(failed == (conflicts == 2 ? "" : "conflict: Deployment.apps n/d: no\n"));
    });
  }
}

}  // namespace dynamo::controller::test
