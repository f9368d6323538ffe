// Rules about a whole graph on CREATE.

#include <set>

#include "graph_support.h"

namespace dynamo::rules::test {
namespace {

const std::string kNoServices =
    "E dgd.services-required spec.services: Required value: must have at least one service\n";

TEST_CASE("dgd.service-null-applied (adm-Q4)") {
  const auto applied = [](std::string_view manifest, std::string_view services = R"("a":{})") {
    return graph(fmt::format(R"("services":{{{}}})", services),
                 fmt::format(R"("annotations":{{"kubectl.kubernetes.io/last-applied-configuration":"{}"}})",
                             manifest));
  };
  const std::string null = R"({\"spec\":{\"services\":{\"a\":{},\"b\":null}}})";
  const std::string finding =
      "W dgd.service-null-applied spec.services[b]: is null in the applied manifest: kubectl does not send "
      "it\n";
  check({
      {"null", applied(null), finding},
      {"null in the manifest, but the service exists", applied(null, R"("a":{},"b":{})"), ""},
      {"another null", applied(R"({\"spec\":{\"services\":{\"a\":{\"replicas\":null}}}})"), ""},
      {"services null", applied(R"({\"spec\":{\"services\":null}})"), ""},
      {"no JSON", applied("{:null"), ""},
  });
  checkUpdates({
      {"applied now", service(""), applied(null), finding},
      {"reported on the earlier update", applied(null), applied(null), ""},
  });
}

TEST_CASE("dgd.services-required") {
  check({
      {"one", graph(R"("services":{"a":{}})"), ""},
      {"empty", graph(R"("services":{})"), kNoServices},
      {"absent", graph(""), kNoServices},
      {"null", graph(R"("services":null)"), kNoServices},
      {"spec null", R"({"metadata":{"name":"g"},"spec":null})", kNoServices},
      {"no spec", R"({"metadata":{"name":"g"}})", kNoServices},
      {"nothing", "{}", kNoServices},
      {"not an object", "[]", kNoServices},
      {"another type is left to the schema", graph(R"("services":[])"), ""},
  });
}

TEST_CASE("dgd.service-null (adm-Q4)") {
  const auto null = [](std::string_view name) {
    return fmt::format("E dgd.service-null spec.services[{}]: Required value: must not be null\n", name);
  };
  check({
      {"null", graph(R"("services":{"a":null})"), null("a")},
      {"two among others", graph(R"("services":{"z":null,"m":{},"b":null})"), null("b") + null("z")},
      {"the other services are validated too", graph(R"("services":{"b":null,"a":{"replicas":-1}})"),
       "E service.replicas-negative spec.services[a].replicas: Invalid value: -1: must be greater than or "
       "equal "
       "to 0\n" +
           null("b")},
      {"another type is left to the schema", graph(R"("services":{"a":7})"), ""},
  });
}

TEST_CASE("all errors of all services are reported, sorted by service") {
  check(
      {{"two groups, three services",
        graph(
            R"("restart":{"id":""},"services":{"z":{"replicas":-1},"B":{"replicas":-2},"a":{"replicas":-3}})"),
        "E dgd.restart-id spec.restart.id: Required value: must be set: any new value restarts the graph\n"
        "E service.replicas-negative spec.services[B].replicas: Invalid value: -2: must be greater than or "
        "equal to 0\n"
        "E service.replicas-negative spec.services[a].replicas: Invalid value: -3: must be greater than or "
        "equal to 0\n"
        "E service.replicas-negative spec.services[z].replicas: Invalid value: -1: must be greater than or "
        "equal to 0\n"}});
}

TEST_CASE("dgd.restart-id and the order of a restart") {
  const auto with = [](std::string_view restart, std::string_view services = R"("main":{},"prefill":{})") {
    return graph(fmt::format(R"("services":{{{}}},"restart":{})", services, restart));
  };
  const std::string id =
      "E dgd.restart-id spec.restart.id: Required value: must be set: any new value restarts the graph\n";
  const std::string order = "spec.restart.strategy.order";
  const std::string missing =
      "E dgd.restart-order " + order + ": Invalid value: must name every service; missing: ";
  const std::string unknown =
      "E dgd.restart-order " + order + "[1]: Not found: \"unknown\": no service has this name\n";
  std::vector<Row> rows = {
      {"no restart", with("null"), ""},
      {"id", with(R"({"id":"1"})"), ""},
      {"empty id", with(R"({"id":""})"), id},
      {"no id", with("{}"), id},
      {"complete", with(R"({"id":"1","strategy":{"order":["prefill","main"]}})"), ""},
      {"empty order", with(R"({"id":"1","strategy":{"order":[]}})"), ""},
      {"no order", with(R"({"id":"1","strategy":{"type":"Sequential"}})"), ""},
      {"twice", with(R"({"id":"1","strategy":{"order":["main","main","prefill"]}})"),
       "E dgd.restart-order " + order + "[1]: Duplicate value: \"main\"\n"},
      {"an unknown service instead of another", with(R"({"id":"1","strategy":{"order":["main","unknown"]}})"),
       unknown},
      {"an additional unknown service",
       with(R"({"id":"1","strategy":{"order":["main","unknown","prefill"]}})"), unknown},
      {"mistyped", with(R"({"id":"1","strategy":{"order":["main","Prefil"]}})"),
       "E dgd.restart-order " + order +
           "[1]: Not found: \"Prefil\": no service has this name (did you mean \"prefill\"?)\n"},
      {"services missing in the order",
       with(R"({"id":"1","strategy":{"order":["b"]}})", R"("a":{},"b":{},"c":{})"), missing + "a, c\n"},
      {"parallel with order", with(R"({"id":"1","strategy":{"type":"Parallel","order":["main"]}})"),
       "E dgd.restart-parallel " + order +
           ": Forbidden: may not be set when type is Parallel, which restarts all services at once\n"},
      {"parallel with empty order", with(R"({"id":"1","strategy":{"type":"Parallel","order":[]}})"), ""},
      {"empty id and invalid order", with(R"({"id":"","strategy":{"order":["main"]}})"),
       id + missing + "prefill\n"},
      {"a null service is a service", with(R"({"id":"1","strategy":{"order":["a"]}})", R"("a":null)"),
       "E dgd.service-null spec.services[a]: Required value: must not be null\n"},
  };
  for (Row& row : rows) {
    const bool restarts = row.object.find(R"("id":"1")") != std::string::npos;
    if (restarts)
      row.expected +=
          "W dgd.restart-new spec.restart: restarts nothing in a new graph: leave it out until the graph "
          "runs\n";
  }
  check(rows);
}

std::string claim(std::string_view members) {
  return graph(fmt::format(R"("services":{{"a":{{}}}},"pvcs":[{{{}}}])", members));
}

const std::string kDeleted =
    "W dgd.pvc-deleted spec.pvcs[0].create: the claim and its data are deleted with the graph\n";

TEST_CASE("spec.pvcs: name, storage class, size, access mode") {
  const std::string good = R"("create":true,"storageClass":"std","volumeAccessMode":"ReadWriteMany")";
  const auto required = [](std::string_view rule, std::string_view field) {
    return fmt::format("E dgd.{} spec.pvcs[0].{}: Required value: must be set when create is true\n", rule,
                       field);
  };
  const std::string name =
      "E dgd.pvc-name spec.pvcs[0].name: Required value: must name a PersistentVolumeClaim\n";
  const std::string mode = required("pvc-access-mode", "volumeAccessMode");
  const auto sized = [&](std::string_view size) {
    return claim(fmt::format(R"("name":"c","size":{},{})", size, good));
  };
  const auto size = [](std::string_view shown, std::string_view problem) {
    return fmt::format("E dgd.pvc-size spec.pvcs[0].size: Invalid value: {}: {}\n", shown, problem) +
           kDeleted;
  };
  check({
      {"name alone", claim(R"("name":"c")"), ""},
      {"create false", claim(R"("name":"c","create":false)"), ""},
      {"create null", claim(R"("name":"c","create":null)"), ""},
      {"without create every size is valid (adm-Q10)", claim(R"("name":"c","size":"-1Gi")"), ""},
      {"empty name", claim(R"("name":"")"), name},
      {"no name", claim(""), name},
      {"not a name", claim(R"("name":"My_Claim")"),
       "E dgd.pvc-name spec.pvcs[0].name: Invalid value: \"My_Claim\": must consist of lower case letters, "
       "digits, '-' or '.', and start and end with a letter or digit\n"},
      {"create with nothing else", claim(R"("create":true)"),
       name + required("pvc-size", "size") + required("pvc-storage-class", "storageClass") + mode + kDeleted},
      {"complete", sized(R"("10Gi")"), kDeleted},
      {"a number", sized("10"), kDeleted},
      {"zero", sized(R"("0Gi")"), size("\"0Gi\"", "must be greater than zero")},
      {"negative", sized(R"("-1Gi")"), size("\"-1Gi\"", "must be greater than zero")},
      {"empty storage class",
       claim(R"("name":"c","size":"1Gi","create":true,"storageClass":"","volumeAccessMode":"ReadOnlyMany")"),
       required("pvc-storage-class", "storageClass") + kDeleted},
      {"storage class no name",
       claim(
           R"("name":"c","size":"1Gi","create":true,"storageClass":"A b","volumeAccessMode":"ReadOnlyMany")"),
       "E dgd.pvc-storage-class spec.pvcs[0].storageClass: Invalid value: \"A b\": must consist of lower "
       "case "
       "letters, digits, '-' or '.', and start and end with a letter or digit\n" +
           kDeleted},
      {"unknown access mode",
       claim(R"("name":"c","size":"1Gi","create":true,"storageClass":"s","volumeAccessMode":"RWX")"),
       "E dgd.pvc-access-mode spec.pvcs[0].volumeAccessMode: Unsupported value: \"RWX\": supported values: "
       "\"ReadWriteOnce\", \"ReadOnlyMany\", \"ReadWriteMany\", \"ReadWriteOncePod\"\n" +
           kDeleted},
      {"both errors are reported",
       graph(R"("services":{"a":{}},"pvcs":[{"name":""},{"name":"ok"},{"name":""}])"),
       name + "E dgd.pvc-name spec.pvcs[2].name: Required value: must name a PersistentVolumeClaim\n"},
      {"duplicate name", graph(R"("services":{"a":{}},"pvcs":[{"name":"c"},{"name":"c"}])"),
       "E dgd.pvc-repeated spec.pvcs[1].name: Duplicate value: \"c\": is already listed above: only one "
       "entry would be used\n"},
  });
  CHECK(findingsOf(validateDgd, sized(R"("lots")"))
            .find("E dgd.pvc-size spec.pvcs[0].size: Invalid value: \"lots\": must be") == 0);
}

TEST_CASE("dgd.pvc-single-writer") {
  const auto with = [](std::string_view mode, std::string_view service) {
    return graph(fmt::format(
        R"("pvcs":[{{"name":"c","create":true,"size":"1Gi","storageClass":"s","volumeAccessMode":"{}"}}],)"
        R"("services":{{"a":{{"volumeMounts":[{{"name":"c","mountPoint":"/c"}}]{}{}}}}})",
        mode, service.empty() ? "" : ",", service));
  };
  const auto finding = [](std::string_view mode) {
    return fmt::format(
               "W dgd.pvc-single-writer spec.services[a].volumeMounts[0].name: is {} but is mounted by "
               "several pods\n",
               mode) +
           kDeleted;
  };
  check({
      {"one pod", with("ReadWriteOnce", ""), kDeleted},
      {"two replicas", with("ReadWriteOnce", R"("replicas":2)"), finding("ReadWriteOnce")},
      {"two nodes", with("ReadWriteOncePod", R"("multinode":{"nodeCount":2})"), finding("ReadWriteOncePod")},
      {"zero replicas", with("ReadWriteOnce", R"("replicas":0)"), kDeleted},
      {"many writers", with("ReadWriteMany", R"("replicas":2)"), kDeleted},
  });
}

TEST_CASE("annotations of the graph") {
  const auto origin = [](std::string_view shown) {
    return fmt::format(
        "E dgd.origin-version metadata.annotations[nvidia.com/dynamo-operator-origin-version]: Invalid "
        "value: {}: must be a semantic version, such as 1.0.0\n",
        shown);
  };
  const auto executor = [](std::string_view shown) {
    return fmt::format(
        "E dgd.vllm-executor metadata.annotations[nvidia.com/vllm-distributed-executor-backend]: "
        "Unsupported value: {}: supported values: \"mp\", \"ray\"\n",
        shown);
  };
  const auto version = [](std::string_view v) {
    return annotated(fmt::format(R"("nvidia.com/dynamo-operator-origin-version":{})", v));
  };
  const auto backend = [](std::string_view v) {
    return annotated(fmt::format(R"("nvidia.com/vllm-distributed-executor-backend":{})", v));
  };
  const auto discovery = [](std::string_view v) {
    return annotated(fmt::format(R"("nvidia.com/dynamo-discovery-backend":"{}")", v));
  };
  const auto grove = [](std::string_view v) {
    return annotated(fmt::format(R"("nvidia.com/enable-grove":"{}")", v));
  };
  const std::string unknown =
      "W dgd.discovery-backend metadata.annotations[nvidia.com/dynamo-discovery-backend]: is neither "
      "kubernetes nor "
      "etcd: kubernetes is used\n";
  const std::string odd =
      "W dgd.enable-grove metadata.annotations[nvidia.com/enable-grove]: only \"false\" turns Grove off\n";
  check({
      {"metrics", annotated(R"("nvidia.com/enable-metrics":"true")"), ""},
      {"invalid metrics", annotated(R"("nvidia.com/enable-metrics":"FALSE")"),
       "W dgd.enable-metrics metadata.annotations[nvidia.com/enable-metrics]: only \"false\" turns metrics "
       "off\n"},
      {"queue", annotated(R"("nvidia.com/kai-scheduler-queue":" team-a ")"), ""},
      {"invalid queue", annotated(R"("nvidia.com/kai-scheduler-queue":"team a")"),
       "W dgd.kai-queue metadata.annotations[nvidia.com/kai-scheduler-queue]: is not a valid name of a KAI "
       "queue\n"},
      {"1.0.0", version(R"("1.0.0")"), ""},
      {"unknown build", version(R"("0.0.0-unknown")"), ""},
      {"v1", version(R"("v1")"), ""},
      {"leading zero", version(R"("01.0")"), ""},
      {"null", version("null"), ""},
      {"bad", version(R"("bad")"), origin("\"bad\"")},
      {"empty", version(R"("")"), origin("\"\"")},
      {"V1.0", version(R"("V1.0")"), origin("\"V1.0\"")},
      {"four parts", version(R"("1.0.0.0")"), origin("\"1.0.0.0\"")},
      {"blank", version(R"(" 1.0")"), origin("\" 1.0\"")},
      {"padded pre-release", version(R"("1.0-rc.01")"), origin("\"1.0-rc.01\"")},
      {"mp", backend(R"("mp")"), ""},
      {"MP", backend(R"("MP")"), ""},
      {"Ray", backend(R"("Ray")"), ""},
      {"blank mp", backend(R"(" mp")"), executor("\" mp\"")},
      {"empty executor", backend(R"("")"), executor("\"\"")},
      {"null executor", backend("null"), ""},
      {"both invalid",
       annotated(
           R"("nvidia.com/vllm-distributed-executor-backend":"x","nvidia.com/dynamo-operator-origin-version":"y")"),
       origin("\"y\"") + executor("\"x\"")},
      {"kubernetes", discovery("kubernetes"), ""},
      {"etcd", discovery("etcd"), ""},
      {"no discovery", discovery(""), ""},
      {"unknown discovery (pod-Q26)", discovery("Kubernetes"), unknown},
      {"grove false", grove("FALSE"), ""},
      {"grove true", grove("True"), ""},
      {"grove no", grove("no"), odd},
      {"grove 0", grove("0"), odd},
  });
}

TEST_CASE("dgd.multinode-orchestrator (dec-8)") {
  GraphPolicy neither;
  neither.groveDisabled = neither.lwsDisabled = true;
  GraphPolicy noLws;
  noLws.lwsDisabled = true;
  const std::string two = service(R"("multinode":{"nodeCount":2})");
  const std::string finding = "W dgd.multinode-orchestrator spec.services[a].multinode: ";
  CHECK(findingsOf(validateDgd, two).empty());
  CHECK(findingsOf(validateDgd, two, {}, neither) ==
        finding + "needs Grove or LeaderWorkerSet, but neither is installed and enabled\n");
  CHECK(findingsOf(validateDgd, two, {}, noLws).empty());
  const std::string off =
      annotated(R"("nvidia.com/enable-grove":"false")", R"("services":{"a":{"multinode":{"nodeCount":2}}})");
  CHECK(findingsOf(validateDgd, off, {}, noLws) ==
        finding + "needs Grove, but the graph's annotation disables it\n");
  CHECK(findingsOf(validateDgd, off).empty());
  CHECK(findingsOf(validateDgd, service(""), {}, neither).empty());
}

TEST_CASE("dcd.multinode-orchestrator (dec-8)") {
  const std::string two =
      R"({"metadata":{"name":"c","namespace":"ns"},"spec":{"multinode":{"nodeCount":2}}})";
  GraphPolicy noLws;
  noLws.lwsDisabled = true;
  CHECK(findingsOf(validateDcd, two).empty());
  CHECK(findingsOf(validateDcd, two, {}, noLws) ==
        "W dcd.multinode-orchestrator spec.multinode: needs LeaderWorkerSet, which is not installed or is "
        "disabled: each replica is one pod\n");
  CHECK(
      findingsOf(validateDcd, R"({"metadata":{"name":"c","namespace":"ns"},"spec":{}})", {}, noLws).empty());
}

TEST_CASE("dgd.epp-several (child-Q15)") {
  const std::string epp = R"({"componentType":"epp","eppConfig":{"configMapRef":{"name":"c","key":"k"}}})";
  check({{"three", graph(fmt::format(R"("services":{{"c":{0},"a":{0},"b":{0},"w":{{}}}})", epp)),
          "W dgd.epp-several spec.services[b]: has no effect because the graph's endpoint picker is a\n"
          "W dgd.epp-several spec.services[c]: has no effect because the graph's endpoint picker is a\n"}});
}

TEST_CASE("warnings come last") {
  check(
      {{"a claim, a deprecated field and a doubtful value",
        graph(
            R"("services":{"a":{"dynamoNamespace":"x","modelRef":{}},"b":{"componentType":"x"}},)"
            R"("pvcs":[{"name":"c","create":true,"size":"1","storageClass":"s","volumeAccessMode":"ReadWriteMany"}])"),
        "E service.model-ref spec.services[a].modelRef.name: Required value: must name the model that the "
        "service serves\n"
        "W service.component-type spec.services[b].componentType: \"x\" is not a known type: the base "
        "defaults are used\n"
        "W service.dynamo-namespace spec.services[a].dynamoNamespace: is deprecated and ignored: \"ns-g\" is "
        "used\n" +
            kDeleted}});
}

TEST_CASE("a rule has at most a thousand findings, and validation is fast") {
  std::string labels;
  std::string order;
  for (int i = 0; i < 20000; ++i) {
    labels += fmt::format(R"({}"a b{}":"")", i == 0 ? "" : ",", i);
    order += fmt::format(R"({}"unknown-{}")", i == 0 ? "" : ",", i);
  }
  const std::string text = graph(fmt::format(R"("services":{{"a":{{"labels":{{{}}}}}}},)"
                                             R"("restart":{{"id":"1","strategy":{{"order":[{}]}}}})",
                                             labels, order));
  const json::Document now = object(text);
  const GraphPolicy policy;
  CHECK(validateDgd({now, nullptr, kSomeone, policy}).errors.size() == 2000);
  const Findings update = validateDgd({now, &now, kSomeone, policy});
  CHECK(update.errors.empty());
  CHECK(update.warnings.size() == 2000);
}

TEST_CASE("every rule is listed once with its text") {
  for (const auto rules : {dgdRules(), dcdRules(), scalingAdapterRules(), modelRules(), checkpointRules()}) {
    std::set<std::string_view> ids;
    CHECK_FALSE(rules.empty());
    for (const Rule& rule : rules) {
      INFO(rule.id);
      CHECK(ids.insert(rule.id).second);
      CHECK(rule.id.find('.') != std::string_view::npos);
      CHECK_FALSE(rule.summary.empty());
    }
  }
}

}  // namespace
}  // namespace dynamo::rules::test
