// Which children are written, and how.
#include "apply_support.h"

namespace dynamo::controller::test {

TEST_CASE("a child is created, and then left alone") {
  FakeApi api;
  withApplier(api, [&](Applier& applier) -> Task<void> {
    std::string failed = co_await applier.apply(deployment("{'replicas':1}"));
    CHECK(failed.empty());
    // The watch of Deployments has a selector, so the object may exist without being cached.
    CHECK(api.lines() == lines({"GET " + kPath, "PATCH " + kPath}));
    CHECK(applier.changes == "d by DynamoComponentDeployment;");
    CHECK(applier.observed.find(keyOf(deployment("{}"))) != nullptr);
    for (int i = 0; i < 3; ++i) failed += co_await applier.apply(deployment("{'replicas':1}"));
    CHECK(failed.empty());
  });
  CHECK(api.requests().size() == 2);
  const std::string sent = api.requests().back();
  // Without force, the values of an object that was created meanwhile are not overwritten.
  CHECK(kube::test::lineOf(sent) == "PATCH " + kPath + "?fieldManager=dynamo-controller");
  CHECK(kube::test::headerOf(sent, "Content-Type").starts_with("application/apply-patch+yaml"));
}

TEST_CASE("a Job is created after all else, and not if something has failed (decision life-Q50)") {
  const std::string job = "{'apiVersion':'batch/v1','kind':'Job','metadata':{'namespace':'n','name':'j'," +
                          ownersOf("owner") + "}}";
  const std::string jobs = "POST /apis/batch/v1/namespaces/n/jobs";
  bool denied = true;
  const FakeApi api{[&](const std::string& line, int) -> std::optional<std::string> {
    if (denied && line == "PATCH " + kBindingPath) return failure(403, "Forbidden");
    return std::nullopt;
  }};
  withApplier(api, [&](Applier& applier) -> Task<void> {
    std::string failed = co_await applier.apply(job, binding("a"));
    CHECK_FALSE(failed.empty());
    CHECK(api.bodies(jobs).empty());
    denied = false;
    failed = co_await applier.apply(job, binding("a"));
    CHECK(failed.empty());
    CHECK(api.bodies(jobs).size() == 1);
  });
}

TEST_CASE("a kind whose objects are all watched is not read before it is created") {
  FakeApi api;
  withApplier(api, [&](Applier& applier) -> Task<void> {
    const std::string failed = co_await applier.apply(claim("data"));
    CHECK(failed.empty());
  });
  CHECK(api.lines() == lines({"POST /api/v1/namespaces/n/persistentvolumeclaims"}));
}

TEST_CASE("a child is applied again if the live object or the rendered one differs") {
  FakeApi api;
  storeOwner(api);
  withApplier(api, [&](Applier& applier) -> Task<void> {
    std::string failed = co_await applier.apply(deployment("{'replicas':1,'paused':true}"));
    // Somebody edits a field.
    api.store(kPath, [&] {
      std::string text = api.at(kPath);
      text.replace(text.find(R"("paused":true)"), 13, R"("paused":false)");
      return text;
    }());
    watchSees(api, applier, kPath);
    failed += co_await applier.apply(deployment("{'replicas':1,'paused':true}"));
    CHECK(api.bodies("PATCH " + kPath).size() == 2);
    CHECK(api.at(kPath).find(R"("paused":true)") != std::string::npos);
    // The status changes, which is not a reason.
    api.store(kPath, [&] {
      std::string text = api.at(kPath);
      return text.insert(text.size() - 1, R"(,"status":{"replicas":1})");
    }());
    watchSees(api, applier, kPath);
    failed += co_await applier.apply(deployment("{'replicas':1,'paused':true}"));
    CHECK(api.bodies("PATCH " + kPath).size() == 2);
    // A field is no longer rendered: the request without it removes it.
    failed += co_await applier.apply(deployment("{'replicas':1}"));
    CHECK(api.bodies("PATCH " + kPath).size() == 3);
    CHECK(failed.empty());
  });
}

TEST_CASE("a child that the server changes is applied once, until one of the two sides changes") {
  FakeApi api{{}, [](json::Document& object) {
                auto& allocator = object.GetAllocator();
                json::Value* spec = json::find(object, "spec");
                if (spec != nullptr) json::set(*spec, "paused", json::Value{false}, allocator);
              }};
  const std::string line = "PATCH " + kPath;
  storeOwner(api);
  withApplier(api, [&](Applier& applier) -> Task<void> {
    std::string failed = co_await applier.apply(deployment("{'paused':true}"));
    failed += co_await applier.apply(deployment("{'paused':true}"));
    watchSees(api, applier, kPath);
    failed += co_await applier.apply(deployment("{'paused':true}"));
    CHECK(api.bodies(line).size() == 1);
    // The rendered object changes.
    failed += co_await applier.apply(deployment("{'paused':true,'replicas':2}"));
    failed += co_await applier.apply(deployment("{'paused':true,'replicas':2}"));
    CHECK(api.bodies(line).size() == 2);
    // The live object changes.
    api.store(kPath, [&] {
      std::string text = api.at(kPath);
      text.replace(text.find(R"("replicas":2)"), 12, R"("replicas":9)");
      return text;
    }());
    watchSees(api, applier, kPath);
    failed += co_await applier.apply(deployment("{'paused':true,'replicas':2}"));
    failed += co_await applier.apply(deployment("{'paused':true,'replicas':2}"));
    CHECK(api.bodies(line).size() == 3);
    CHECK(failed.empty());
    CHECK(applier.f.environment.settled.size() == 1);
  });
}

TEST_CASE("replicas that were set through the scale subresource are kept") {
  FakeApi api;
  storeOwner(api);
  withApplier(api, [&](Applier& applier) -> Task<void> {
    api.store(kPath, [&] {
      std::string text = deployment("{'replicas':5,'paused':true}");
      const std::string fields =
          "'managedFields':[{'manager':'dynamo-controller','operation':'Apply','fieldsV1':{'f:metadata':{'f:"
          "labels':"
          "{'f:nvidia.com/dynamo-component':{}},'f:ownerReferences':{}},'f:spec':{'f:paused':{}}}},"
          "{'manager':'kubectl','operation':'Update','subresource':'scale','fieldsV1':{'f:spec':{'f:replicas'"
          ":{}}}}],'annotations':{'nvidia.com/dynamo-rendered-replicas':'1'},";
      return text.insert(text.find("'namespace'"), fields);
    }());
    watchSees(api, applier, kPath);
    std::string failed = co_await applier.apply(deployment("{'replicas':1,'paused':true}"));
    CHECK(api.requests().empty());
    REQUIRE(applier.notices.size() == 1);
    CHECK(applier.notices[0].message() == "kubectl scales Deployment.apps n/d: 5 replicas instead of 1");
    // Another field differs: the request has no replicas.
    failed += co_await applier.apply(deployment("{'replicas':1,'paused':false}"));
    // 0 ends an earlier generation of workers.
    failed += co_await applier.apply(deployment("{'replicas':0,'paused':false}"));
    CHECK(failed.empty());
  });
  const auto bodies = api.bodies("PATCH " + kPath);
  REQUIRE(bodies.size() == 2);
  CHECK(bodies[0].find(R"("replicas":)") == std::string::npos);
  CHECK(bodies[0].find(R"("paused":false)") != std::string::npos);
  CHECK(bodies[1].find(R"("replicas":0)") != std::string::npos);
}

TEST_CASE("a port whose number was edited: the list is replaced, then applied") {
  const std::string duplicate = kube::test::reply(
      422,
      R"({"kind":"Status","apiVersion":"v1","status":"Failure","message":"duplicate","reason":"Invalid","code":422,)"
      R"("details":{"causes":[{"reason":"FieldValueDuplicate","message":"d","field":"spec.ports[1].name"}]}})");
  const std::string line = "PATCH " + kServicePath;
  int refused = 1;
  FakeApi api{[&](const std::string& requested, int) -> std::optional<std::string> {
    if (requested != line || refused == 0) return std::nullopt;
    --refused;
    return duplicate;
  }};

  SECTION("of an existing object") {
    storeOwner(api);
    withApplier(api, [&](Applier& applier) -> Task<void> {
      api.store(kServicePath, service("s", 81));
      watchSees(api, applier, kServicePath);
      const std::string failed = co_await applier.apply(service("s", 80));
      CHECK(failed.empty());
    });
    // The fields of the merge patch become fields of the apply request, so that they go with it.
    REQUIRE(api.lines() ==
            lines({"GET " + kOwnerPath, line, line, "GET /api/v1/namespaces/n/services", line, line}));
    const auto typeOf = [&](int number) {
      return kube::test::headerOf(api.requests()[number], "Content-Type");
    };
    CHECK(typeOf(1).starts_with("application/apply-patch"));
    CHECK(typeOf(2).starts_with("application/merge-patch"));
    CHECK(typeOf(4).starts_with("application/merge-patch"));
    CHECK(typeOf(5).starts_with("application/apply-patch"));
    CHECK(api.at(kServicePath).find("81") == std::string::npos);
  }
  SECTION("a new object is not patched") {
    refused = 2;
    withApplier(api, [&](Applier& applier) -> Task<void> {
      const std::string failed = co_await applier.apply(service("s", 80));
      CHECK(failed == "Service n/s: duplicate\n");
    });
    CHECK(api.lines() == lines({"GET " + kServicePath, line, "GET " + kServicePath}));
  }
  SECTION("the replacement fails, too: the first answer is reported") {
    refused = 2;
    storeOwner(api);
    withApplier(api, [&](Applier& applier) -> Task<void> {
      api.store(kServicePath, service("s", 81));
      watchSees(api, applier, kServicePath);
      const std::string failed = co_await applier.apply(service("s", 80));
      CHECK(failed == "Service n/s: duplicate\n");
    });
    CHECK(api.bodies(line).size() == 2);
  }
}

TEST_CASE("an object that is emptied: its members are removed by a merge patch, then it is applied") {
  const std::string invalid = kube::test::reply(
      422,
      R"({"kind":"Status","apiVersion":"v1","status":"Failure","message":"null","reason":"Invalid","code":422,)"
      R"("details":{"causes":[{"reason":"FieldValueTypeInvalid","message":"null","field":"spec.ingress.labels"}]}})");
  const std::string line = "PATCH " + kPath;
  int refused = 1;
  FakeApi api{[&](const std::string& requested, int) -> std::optional<std::string> {
    if (requested != line || refused == 0) return std::nullopt;
    --refused;
    return invalid;
  }};
  storeOwner(api);
  withApplier(api, [&](Applier& applier) -> Task<void> {
    api.store(kPath, deployment("{'paused':true,'ingress':{'labels':{'a':'b'},'host':'h'}}"));
    watchSees(api, applier, kPath);
    const std::string failed =
        co_await applier.apply(deployment("{'paused':false,'ingress':{'labels':{},'host':'h'},'list':[{}]}"));
    CHECK(failed.empty());
  });
  REQUIRE(api.lines() ==
          lines({"GET " + kOwnerPath, line, line, "GET /apis/apps/v1/namespaces/n/deployments", line, line}));
  const auto bodies = api.bodies(line);
  CHECK(bodies[0].find(R"("ingress":{"labels":{},"host":"h"},"list":[{}])") != std::string::npos);
  CHECK(bodies[1].find(R"("ingress":{"labels":null,"host":"h"},"list":[{}])") != std::string::npos);
  CHECK(bodies[3] == bodies[0]);
}

TEST_CASE("other content is applied even if no difference to the live object is visible") {
  FakeApi api;
  const std::string tolerated = deployment("{'tolerations':[{'key':'k','effect':'NoSchedule'}]}");
  storeOwner(api);
  withApplier(api, [&](Applier& applier) -> Task<void> {
    std::string failed = co_await applier.apply(tolerated);
    const std::size_t created = api.requests().size();
    failed += co_await applier.apply(tolerated);
    CHECK(api.requests().size() == created);
    failed += co_await applier.apply(deployment("{'tolerations':[{'key':'k'}]}"));
    CHECK(api.requests().size() == created + 2);  // the owner is read, too
    failed += co_await applier.apply(deployment("{'tolerations':[{'key':'k'}]}"));
    CHECK(api.requests().size() == created + 2);
    CHECK(failed.empty());
  });
}

TEST_CASE("a failed child does not stop the others, and all failures are returned") {
  struct Row {
    int status;
    const char* reason;
    const char* ending;
  };
  for (const Row& row :
       {Row{409, "Conflict", "conflict: "}, Row{429, "TooManyRequests", "transient: "},
        Row{500, "InternalError", "transient: "}, Row{503, "ServiceUnavailable", "transient: "},
        Row{504, "Timeout", "transient: "}, Row{403, "Forbidden", "transient: "}, Row{422, "Invalid", ""}}) {
    CAPTURE(row.status);
    FakeApi api{[&](const std::string& line, int) -> std::optional<std::string> {
      if (line == "PATCH " + kServicePath || line == "PATCH /api/v1/namespaces/n/services/t")
        return failure(row.status, row.reason);
      return std::nullopt;
    }};
    withApplier(api, [&](Applier& applier) -> Task<void> {
      // The failures have the order of the keys.
      const std::string failed = co_await applier.apply(service("t", 80), service("s", 80), deployment("{}"));
      const std::string prefix = row.ending;
      CHECK(failed == prefix + "Service n/s: no\n" + prefix + "Service n/t: no\n");
    });
    CHECK_FALSE(api.at(kPath).empty());
    CHECK(api.at(kServicePath).empty());
  }
}

TEST_CASE("an exception in the write of a child is its failure, and the others are written") {
  FakeApi api{[](const std::string& line, int) -> std::optional<std::string> {
    if (line == "PATCH " + kServicePath) throw std::runtime_error{"secret"};
    return std::nullopt;
  }};
  withApplier(api, [&](Applier& applier) -> Task<void> {
    const std::string failed = co_await applier.apply(service("s", 80), service("t", 80), deployment("{}"));
    CHECK(failed == "Service n/s: unexpected std::runtime_error\n");
  });
  CHECK_FALSE(api.at(kPath).empty());
  CHECK_FALSE(api.at("/api/v1/namespaces/n/services/t").empty());
}

TEST_CASE("children are written stage by stage") {
  FakeApi api;
  withApplier(api, [&](Applier& applier) -> Task<void> {
    const std::string failed =
        co_await applier.apply(deployment("{}"), service("s", 80), claim("data"), binding("r"));
    CHECK(failed.empty());
  });
  // The two of the last stage are concurrent.
  CHECK(api.sorted() == lines({"GET " + kServicePath, "GET " + kPath, "GET " + kBindingPath,
                               "PATCH " + kServicePath, "PATCH " + kPath, "PATCH " + kBindingPath,
                               "POST /api/v1/namespaces/n/persistentvolumeclaims"}));
  const std::string arrived = api.lines();
  CHECK(arrived.find("POST") < arrived.find(kServicePath));
  CHECK(arrived.find("PATCH " + kServicePath) < arrived.find(kPath));
}

TEST_CASE("a child of an unknown kind is a failure") {
  FakeApi api;
  withApplier(api, [&](Applier& applier) -> Task<void> {
    const std::string failed = co_await applier.apply(
        "{'apiVersion':'example.com/v1','kind':'Widget','metadata':{'namespace':'n','name':'w'}}");
    CHECK(failed == "Widget.example.com n/w: unknown kind\n");
  });
  CHECK(api.requests().empty());
}

TEST_CASE("an answer without the labels of the watch is not cached") {
  FakeApi api{{}, [](json::Document& object) { json::remove(*json::find(object, "metadata"), "labels"); }};
  withApplier(api, [&](Applier& applier) -> Task<void> {
    const std::string failed = co_await applier.apply(deployment("{}"));
    CHECK(failed.empty());
    CHECK(applier.f.cache.size() == 0);
    CHECK(applier.observed.values().size() == 1);
  });
}

TEST_CASE("a stranger's object without any field of a child is not taken over, whatever its kind") {
  struct Row {
    std::string apiVersion, kind, path, labels;
    bool cached = false;  ///< the watch of the kind reports all its objects
  };
  const std::string component = "'labels':{'nvidia.com/dynamo-component':'web'}";
  const std::string graph = "'labels':{'nvidia.com/dynamo-graph-deployment-name':'g'}";
  const std::string managed = "'labels':{'app.kubernetes.io/managed-by':'dynamo-operator'}";
  const Row rows[] = {
      {"apps/v1", "Deployment", "/apis/apps/v1/namespaces/n/deployments/x", component},
      {"leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet",
       "/apis/leaderworkerset.x-k8s.io/v1/namespaces/n/leaderworkersets/x", component},
      {"v1", "Service", "/api/v1/namespaces/n/services/x", component},
      {"v1", "ConfigMap", "/api/v1/namespaces/n/configmaps/x", graph},
      {"v1", "ServiceAccount", "/api/v1/namespaces/n/serviceaccounts/x", managed},
      {"rbac.authorization.k8s.io/v1", "Role", "/apis/rbac.authorization.k8s.io/v1/namespaces/n/roles/x",
       managed},
      {"rbac.authorization.k8s.io/v1", "RoleBinding",
       "/apis/rbac.authorization.k8s.io/v1/namespaces/n/rolebindings/x", managed},
      {"autoscaling/v2", "HorizontalPodAutoscaler",
       "/apis/autoscaling/v2/namespaces/n/horizontalpodautoscalers/x", graph},
      {"inference.networking.k8s.io/v1", "InferencePool",
       "/apis/inference.networking.k8s.io/v1/namespaces/n/inferencepools/x", graph},
      {"scheduling.volcano.sh/v1beta1", "PodGroup",
       "/apis/scheduling.volcano.sh/v1beta1/namespaces/n/podgroups/x", component, true},
      {"grove.io/v1alpha1", "PodCliqueSet", "/apis/grove.io/v1alpha1/namespaces/n/podcliquesets/x", graph,
       true},
      {"networking.k8s.io/v1", "Ingress", "/apis/networking.k8s.io/v1/namespaces/n/ingresses/x", component,
       true},
      {"networking.istio.io/v1beta1", "VirtualService",
       "/apis/networking.istio.io/v1beta1/namespaces/n/virtualservices/x", component, true},
      {"nvidia.com/v1alpha1", "DynamoComponentDeployment",
       "/apis/nvidia.com/v1alpha1/namespaces/n/dynamocomponentdeployments/x", graph, true},
      {"nvidia.com/v1alpha1", "DynamoGraphDeploymentScalingAdapter",
       "/apis/nvidia.com/v1alpha1/namespaces/n/dynamographdeploymentscalingadapters/x", graph, true},
  };
  for (const Row& row : rows) {
    CAPTURE(row.kind);
    const std::string begin = "{'apiVersion':'" + row.apiVersion + "','kind':'" + row.kind +
                              "','metadata':{'namespace':'n','name':'x'";
    FakeApi api;
    withApplier(api, [&](Applier& applier) -> Task<void> {
      storeOwner(api);
      api.store(row.path, begin + "}}");
      if (row.cached) watchSees(api, applier, row.path);
      const std::string failed =
          co_await applier.apply(begin + "," + row.labels + "," + ownersOf("owner") + "}}");
      CHECK(failed.find("exists, but this operator did not create it") != std::string::npos);
    });
    CHECK(api.lines() == (row.cached ? "" : lines({"GET " + row.path})));
  }
}

TEST_CASE("a child whose owner is gone does not get it back") {
  std::string orphan = deployment("{'replicas':1}");
  const std::string reference = "," + ownersOf("owner");
  orphan.erase(orphan.find(reference), reference.size());
  for (const bool deleted : {false, true}) {
    CAPTURE(deleted);
    FakeApi api;
    withApplier(api, [&](Applier& applier) -> Task<void> {
      api.store(kPath, orphan);
      watchSees(api, applier, kPath);
      if (deleted) {
        std::string text = kOwnerObject;
        api.store(kOwnerPath,
                  text.insert(text.find("'namespace'"), "'deletionTimestamp':'2026-01-01T00:00:00Z',"));
      }
      const std::string failed = co_await applier.apply(deployment("{'replicas':1}"));
      CHECK(failed == "the owner is gone\n");
    });
    CHECK(api.lines() == lines({"GET " + kOwnerPath}));
  }
}

TEST_CASE(
    "a child that differs is not written for an owner that is gone, even if the cache shows its reference") {
  FakeApi api;
  withApplier(api, [&](Applier& applier) -> Task<void> {
    api.store(kPath, deployment("{'replicas':1,'paused':true}"));
    watchSees(api, applier, kPath);
    const std::string failed = co_await applier.apply(deployment("{'replicas':1,'paused':false}"));
    CHECK(failed == "the owner is gone\n");
  });
  CHECK(api.lines() == lines({"GET " + kOwnerPath}));
}

TEST_CASE("what a deleted owner has told about is forgotten") {
  const auto owner = [](const char* uid) {
    return parsed(std::string{"{'metadata':{'uid':'"} + uid + "'}}");
  };
  const render::WriteNotice notice{render::WriteNotice::Kind::Foreign, "uses ", "a"};
  const render::WriteNotice other{render::WriteNotice::Kind::Foreign, "uses ", "b"};
  std::set<std::string> told;
  for (const char* uid : {"a", "aa", "b"}) told.insert(toldKey(owner(uid), notice));
  told.insert(toldKey(owner("a"), other));
  forgetTold(told, owner("a"));
  CHECK(told == std::set<std::string>{toldKey(owner("aa"), notice), toldKey(owner("b"), notice)});
}

}  // namespace dynamo::controller::test
