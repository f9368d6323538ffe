// Immutable fields of a graph, and errors that an UPDATE leaves unchanged.

#include "graph_support.h"

namespace dynamo::rules::test {
namespace {

std::string framework(std::string_view name) {
  return name.empty() ? service("") : service("", fmt::format(R"("backendFramework":"{}")", name));
}

std::string nodes(int count) {
  return count == 0 ? service("") : service(fmt::format(R"("multinode":{{"nodeCount":{}}})", count));
}

const std::string kFramework =
    "W dgd.framework-change spec.backendFramework: cannot change in place: delete the object and create it "
    "again\n";
const std::string kTopology =
    "E dgd.topology-immutable spec.services[a].multinode: Forbidden: may not change between one node and "
    "several nodes after creation\n";

TEST_CASE("dgd.framework-immutable") {
  const auto locked = [](std::string_view shown) {
    return fmt::format(
               "E dgd.framework-immutable spec.backendFramework: Invalid value: {}: field is immutable\n",
               shown) +
           kFramework;
  };
  checkUpdates({
      {"same", framework("vllm"), framework("vllm"), ""},
      {"set for the first time", framework(""), framework("vllm"), locked("\"vllm\"")},
      {"changed", framework("vllm"), framework("sglang"), locked("\"sglang\"")},
      {"removed", framework("vllm"), framework(""), locked("\"\"")},
      {"null is absent", service("", R"("backendFramework":null)"), framework(""), ""},
      {"absent spec", R"({"metadata":{"name":"g"}})", framework("vllm"),
       "E dgd.framework-immutable spec.backendFramework: Invalid value: \"vllm\": field is immutable\n"
       "E dgd.services-immutable spec.services: Forbidden: services may not be added or removed after "
       "creation "
       "(added: a)\n" +
           kFramework},
  });
}

TEST_CASE("dgd.topology-immutable") {
  checkUpdates({
      {"2 to 4", nodes(2), nodes(4), ""},
      {"absent to 2", nodes(0), nodes(2), kTopology},
      {"2 to absent", nodes(2), nodes(0), kTopology},
      {"absent to 1", nodes(0), nodes(1), ""},
      {"together with the framework", nodes(0),
       service(R"("multinode":{"nodeCount":2})", R"("backendFramework":"vllm")"),
       "E dgd.framework-immutable spec.backendFramework: Invalid value: \"vllm\": field is immutable\n" +
           kTopology + kFramework},
      {"a new service has no topology yet", graph(R"("services":{"b":{}})"), nodes(2),
       "E dgd.services-immutable spec.services: Forbidden: services may not be added or removed after "
       "creation "
       "(added: a; removed: b)\n"},
  });
}

TEST_CASE("dgd.services-immutable") {
  const auto with = [](std::string_view services) {
    return graph(fmt::format(R"("services":{{{}}})", services));
  };
  const std::string locked =
      "E dgd.services-immutable spec.services: Forbidden: services may not be added or removed after "
      "creation ";
  checkUpdates({
      {"same, other order", with(R"("a":{},"b":{})"), with(R"("b":{},"a":{})"), ""},
      {"added, sorted", with(R"("b":{})"), with(R"("c":{},"b":{},"a":{})"), locked + "(added: a, c)\n"},
      {"removed", with(R"("c":{},"b":{},"a":{})"), with(R"("b":{})"), locked + "(removed: a, c)\n"},
      {"a null service is a key", with(R"("b":null)"), with(R"("b":{})"), ""},
      {"all removed", with(R"("b":{})"), with(""),
       "E dgd.services-required spec.services: Required value: must have at least one service\n"},
  });
}

std::string adapted(std::string_view replicas, bool enabled = true) {
  return service(fmt::format(R"("scalingAdapter":{{"enabled":{}}}{})", enabled,
                             replicas.empty() ? "" : fmt::format(R"(,"replicas":{})", replicas)));
}

std::string owned(int before, int after) {
  return fmt::format(
      "E dgd.replicas-owned spec.services[a].replicas: Forbidden: may not change from {} to {}: the "
      "service's scaling adapter owns it; scale the DynamoGraphDeploymentScalingAdapter\n",
      before, after);
}

TEST_CASE("dgd.replicas-owned") {
  checkUpdates({
      {"changed", adapted("1"), adapted("3"), owned(1, 3)},
      {"same", adapted("3"), adapted("3"), ""},
      {"absent is 1", adapted(""), adapted("1"), ""},
      {"null is 1", adapted("null"), adapted("1"), ""},
      {"absent to 2", adapted(""), adapted("2"), owned(1, 2)},
      {"2 to absent", adapted("2"), adapted(""), owned(2, 1)},
      {"to zero", adapted("1"), adapted("0"), owned(1, 0)},
      {"adapter turned off in the same update (adm-Q8)", adapted("1"), adapted("3", false), ""},
      {"adapter turned on in the same update", adapted("1", false), adapted("3"), owned(1, 3)},
      {"no adapter", adapted("1", false), adapted("3", false), ""},
      {"adapter null", service(R"("replicas":1)"), service(R"("replicas":2,"scalingAdapter":null)"), ""},
  });
}

TEST_CASE("dgd.replicas-owned: autoscaling counts with compatibility.autoscaling (dec-3)") {
  const auto scaled = [](int replicas) {
    return service(
        fmt::format(R"("replicas":{},"autoscaling":{{"enabled":true,"maxReplicas":9}})", replicas));
  };
  const auto changes = [&](bool honours) {
    GraphPolicy policy;
    policy.honoursAutoscaling = honours;
    return findingsOf(validateDgd, scaled(3), scaled(1), policy);
  };
  CHECK(changes(false).find("dgd.replicas-owned") == std::string::npos);
  CHECK(changes(true).starts_with(owned(1, 3)));
}

TEST_CASE("dgd.replicas-owned: users that may change replicas (adm-Q9)") {
  GraphPolicy policy;
  policy.scalingAllowed = {"dynamo-system/operator", "other/hpa"};
  struct Row {
    const char* username;
    bool may;
  };
  const Row rows[] = {
      {"system:serviceaccount:dynamo-system:operator", true},
      {"system:serviceaccount:other:hpa", true},
      {"system:serviceaccount:ns:planner-serviceaccount", true},
      {"system:serviceaccount:elsewhere:planner-serviceaccount", false},
      {"system:serviceaccount:ns:xplanner-serviceaccount", false},
      {"system:serviceaccount:ns:operator", false},
      {"system:serviceaccount:ns:my-controller-manager", false},
      {"system:serviceaccount:dynamo-system:dynamo-platform-dynamo-operator-controller-manager", false},
      {"system:serviceaccount:dynamo-system:operator:x", false},
      {"system:serviceaccount:dynamo-system/operator", false},
      {"system:serviceaccount:", false},
      {"dynamo-system/operator", false},
      {"kubernetes-admin", false},
      {"", false},
  };
  for (const Row& row : rows) {
    INFO(row.username);
    CHECK(findingsOf(validateDgd, adapted("3"), adapted("1"), policy, row.username) ==
          (row.may ? std::string{} : owned(1, 3)));
  }
}

TEST_CASE("dgd.restart-during-rollout") {
  const auto with = [](std::string_view id, std::string_view phase) {
    std::string text = service("", id.empty() ? "" : fmt::format(R"("restart":{{"id":"{}"}})", id));
    text.pop_back();
    return text + fmt::format(R"(,"status":{{"rollingUpdate":{{"phase":"{}"}}}}}})", phase);
  };
  const auto locked = [](std::string_view phase) {
    return fmt::format(
        "E dgd.restart-during-rollout spec.restart.id: Forbidden: may not change while a rolling "
        "update is {}\n",
        phase);
  };
  checkUpdates({
      {"InProgress", with("1", "InProgress"), with("2", ""), locked("InProgress")},
      {"Pending", with("1", "Pending"), with("2", ""), locked("Pending")},
      {"Completed", with("1", "Completed"), with("2", ""), ""},
      {"Failed", with("1", "Failed"), with("2", ""), ""},
      {"no phase", with("1", ""), with("2", ""), ""},
      {"no status", service("", R"("restart":{"id":"1"})"), service("", R"("restart":{"id":"2"})"), ""},
      {"removed", with("1", "InProgress"), with("", ""), locked("InProgress")},
      {"added", with("", "InProgress"), with("1", ""), locked("InProgress")},
      {"something else", with("1", "InProgress"),
       service(R"("envFromSecret":"s")", R"("restart":{"id":"1"})"), ""},
      {"the new object's status does not count", with("1", ""), with("2", "InProgress"), ""},
  });
  GraphPolicy policy;
  policy.scalingAllowed = {"x/operator"};
  checkUpdates({{"nobody may", with("1", "Pending"), with("2", ""), locked("Pending")}},
               "system:serviceaccount:x:operator", policy);
}

TEST_CASE("dgd.origin-version-changed (adm-Q2)") {
  const auto version = [](std::string_view v) {
    return annotated(fmt::format(R"("nvidia.com/dynamo-operator-origin-version":"{}")", v));
  };
  const std::string path = " metadata.annotations[nvidia.com/dynamo-operator-origin-version]: ";
  const std::string changed = "W dgd.origin-version-changed" + path;
  checkUpdates({
      {"same", version("1.0.0"), version("1.0.0"), ""},
      {"added", service(""), version("1.0.0"), ""},
      {"changed", version("1.0.0"), version("1.1.0"),
       changed + "was changed: defaults and multinode vLLM depend on it\n"},
      {"removed", version("1.0.0"), service(""),
       changed + "was removed: the graph is now treated as created by an older operator\n"},
      {"changed to an invalid version", version("1.0.0"), version("x"),
       "E dgd.origin-version" + path + "Invalid value: \"x\": must be a semantic version, such as 1.0.0\n" +
           changed + "was changed: defaults and multinode vLLM depend on it\n"},
  });
  GraphPolicy policy;
  policy.operatorAccount = "x/operator";
  policy.scalingAllowed = {"x/operator", "x/hpa"};
  const auto warning = [&](const char* username) {
    return findingsOf(validateDgd, version("1.1.0"), version("1.0.0"), policy, username);
  };
  CHECK(warning("system:serviceaccount:x:operator").empty());
  for (const char* username :
       {"system:serviceaccount:x:hpa", "system:serviceaccount:y:operator",
        "system:serviceaccount:x:operator:", "system:serviceaccount:ns:planner-serviceaccount", "x/operator",
        "operator", ""}) {
    INFO(username);
    CHECK(warning(username) == changed + "was changed: defaults and multinode vLLM depend on it\n");
  }
  GraphPolicy unknown;  // of an operator without a configured account
  CHECK(findingsOf(validateDgd, version("1.1.0"), version("1.0.0"), unknown, "") ==
        changed + "was changed: defaults and multinode vLLM depend on it\n");
}

TEST_CASE("claims: deletion is reported on CREATE, changes have no effect (ctl-Q28)") {
  const auto claim = [](std::string_view size, std::string_view storageClass, bool create = true) {
    return service("", fmt::format(R"("pvcs":[{{"name":"c","create":{},"size":"{}","storageClass":"{}",)"
                                   R"("volumeAccessMode":"ReadWriteMany"}}])",
                                   create, size, storageClass));
  };
  const auto unchanged = [](std::string_view field) {
    return fmt::format(
        "W dgd.pvc-unchanged spec.pvcs[0].{}: has no effect on the existing claim: edit the "
        "PersistentVolumeClaim\n",
        field);
  };
  checkUpdates({
      {"same", claim("1Gi", "s"), claim("1Gi", "s"), ""},
      {"the same size in another notation", claim("1Gi", "s"), claim("1024Mi", "s"), ""},
      {"size and class", claim("1Gi", "s"), claim("2Gi", "t"), unchanged("size") + unchanged("storageClass")},
      {"not created before", claim("1Gi", "s", false), claim("2Gi", "t"), ""},
      {"new", service(""), claim("2Gi", "t"), ""},
  });
}

TEST_CASE("an UPDATE warns about unchanged errors and is rejected for new ones") {
  const auto memory = [](std::string_view text, std::string_view image = "x") {
    return service(
        fmt::format(R"("resources":{{"limits":{{"memory":"{}"}}}},"envFromSecret":"{}")", text, image));
  };
  const std::string path = "service.quantity spec.services[a].resources.limits.memory: Invalid value: ";
  const std::string old = findingsOf(validateDgd, memory("1gb"));
  const std::string problem = old.substr(old.find("\"1gb\": ") + 7);
  checkUpdates({
      {"another field", memory("1gb"), memory("1gb", "y"), "W " + path + "\"1gb\": " + problem},
      {"another bad value", memory("1gb"), memory("2gb"), "E " + path + "\"2gb\": " + problem},
      {"corrected", memory("1gb"), memory("1G"), ""},
      {"made invalid", memory("1G"), memory("1gb"), "E " + path + "\"1gb\": " + problem},
      {"finalizer removed", memory("1gb"), memory("1gb"), "W " + path + "\"1gb\": " + problem},
  });
  const auto key = [](std::string_view members) {
    return graph(fmt::format(R"("services":{{"a_b":{{{}}}}})", members));
  };
  const std::string text =
      "dgd.service-name spec.services[a_b]: Invalid value: \"a_b\": names its children \"g-a_b\": must "
      "consist of lower case letters, digits, '-' or '.', and start and end with a letter or digit\n";
  CHECK(findingsOf(validateDgd, key("")) == "E " + text);
  std::string warned = "W " + text;
  checkUpdates({{"the error is in the name, not in the service", key(""), key(R"("replicas":2)"), warned}});
  // dec-7: disabling checkpoints in the configuration does not reject updates.
  const auto checkpoint = [](std::string_view mode) {
    return service(fmt::format(R"("checkpoint":{{"enabled":true,"mode":"{}","checkpointRef":"c"}})", mode));
  };
  checkUpdates({{"checkpoint", checkpoint("Auto"), checkpoint("Manual"),
                 "W service.checkpoint-disabled spec.services[a].checkpoint.enabled: Forbidden: checkpoints "
                 "are disabled in the operator's configuration (checkpoint.enabled)\n"}});
}

TEST_CASE("an old error is still a warning when its index changes") {
  const auto found = [](std::string_view severity, int at, std::string_view name) {
    return fmt::format(
        "{} service.mount-volume spec.services[a].volumeMounts[{}].name: Not found: \"{}\": no such claim in "
        "spec.pvcs; volumes of extraPodSpec are mounted in extraPodSpec.mainContainer.volumeMounts\n",
        severity, at, name);
  };
  const auto mounts = [](std::string_view before = "", std::string_view volumes = R"({"name":"cache"})") {
    return service(fmt::format(R"("volumeMounts":[{}{{"name":"cache","mountPoint":"/c"}}],)"
                               R"("extraPodSpec":{{"volumes":[{}]}})",
                               before, volumes),
                   R"("pvcs":[{"name":"weights"}])");
  };
  checkUpdates({
      {"unchanged", mounts(), mounts(), found("W", 0, "cache")},
      {"a valid mount inserted before it", mounts(), mounts(R"({"name":"weights","mountPoint":"/w"},)"),
       found("W", 1, "cache")},
      {"an invalid mount inserted before it", mounts(),
       mounts(R"({"name":"x","mountPoint":"/w"},)", R"({"name":"cache"},{"name":"x"})"),
       found("E", 0, "x") + found("W", 1, "cache")},
  });
}

TEST_CASE("any key is found in the old object") {
  for (const char* key : {"a.b", "a]b", "a[0]", "x].replicas"}) {
    INFO(key);
    const auto with = [&](int replicas, std::string_view rest = "") {
      return graph(fmt::format(R"("services":{{"{}":{{"replicas":{}{}}}}})", key, replicas, rest));
    };
    const std::string line =
        fmt::format("service.replicas-negative spec.services[{}].replicas: Invalid value: -1: must be", key);
    CHECK(findingsOf(validateDgd, with(-1, R"(,"modelRef":{"name":"m"})"), with(-1)).find("W " + line) !=
          std::string::npos);
    CHECK(findingsOf(validateDgd, with(-1), with(-2)).find("E " + line) != std::string::npos);
  }
}

TEST_CASE("an object that is being deleted is not validated") {
  const std::string bad = R"({"metadata":{"name":"1_","deletionTimestamp":"2026-01-01T00:00:00Z"},)"
                          R"("spec":{"services":{},"backendFramework":"x"}})";
  CHECK(findingsOf(validateDgd, bad, framework("vllm")).empty());
  CHECK(findingsOf(validateDcd, bad, framework("vllm")).empty());
  CHECK_FALSE(findingsOf(validateDgd, bad).empty());
}

}  // namespace
}  // namespace dynamo::rules::test
