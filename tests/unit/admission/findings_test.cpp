// Findings of admission about graphs that come from several rules or from rendering. Each mistake is reported
// once, at the user's own field.

#include "common/admission/validate.h"
#include "common/defaults/apply.h"
#include "graph_support.h"
#include "rows.h"

namespace dynamo::admission {
namespace {

using rules::test::graph;
using rules::test::lines;
using rules::test::object;

/// The findings about `text` after defaulting. Without `old` it is a CREATE, otherwise an UPDATE of `old`.
std::string findingsOf(std::string_view text, std::string_view old = {}) {
  const auto settings = usualSettings();
  const auto stored = [&](std::string_view from) {
    json::Document made = object(from);
    defaults::applyComponentDefaults(made, nullptr, {settings->defaults, settings->config, "1.0.0", "ns"},
                                     made.GetAllocator());
    return made;
  };
  const json::Document now = stored(text);
  const json::Document before = stored(old.empty() ? text : old);
  return lines(
      judge(now, {.kind = "DynamoGraphDeployment", .old = old.empty() ? nullptr : &before}, *settings));
}

/// A worker "a" with more members; its main container's members are `main`.
std::string worker(std::string_view main, std::string_view podSpec = "", std::string_view members = "",
                   std::string_view spec = "") {
  return graph(fmt::format(
      R"("services":{{"a":{{"componentType":"worker","extraPodSpec":{{"mainContainer":{{{}}}{}}}{}}}}}{})",
      main, podSpec, members, spec));
}

const std::string kMain = R"("image":"i:1","command":["python3"],"args":["-m","dynamo.vllm"])";

void check(const std::vector<test::Row>& rows) {
  test::check([](std::string_view object) { return findingsOf(object); }, rows);
}

TEST_CASE("invalid limits of autoscaling are reported once (dec-3)") {
  config::OperatorConfig config = config::defaultConfig();
  config.compatibilityAutoscaling = true;
  const Settings settings{config, "1.0.0"};
  const auto findings = [&](std::string_view autoscaling) {
    json::Document now = object(worker(kMain, "", fmt::format(R"(,"autoscaling":{})", autoscaling)));
    defaults::applyComponentDefaults(now, nullptr, {settings.defaults, settings.config, "1.0.0", "ns"},
                                     now.GetAllocator());
    const std::string found = lines(judge(now, {"DynamoGraphDeployment"}, settings));
    return found.substr(0, found.find("W "));
  };
  const std::string path = "E service.autoscaling-replicas spec.services[a].autoscaling.maxReplicas: ";
  CHECK(findings(R"({"enabled":true,"maxReplicas":2})").empty());
  CHECK(findings(R"({"enabled":true})") ==
        path + "Required value: must be set when autoscaling is enabled\n");
  CHECK(findings(R"({"enabled":true,"maxReplicas":0})") ==
        path + "Invalid value: 0: must be greater than 0\n");
}

TEST_CASE("pods that no kubelet starts") {
  const auto image = [](std::string_view text) {
    return worker(fmt::format(R"("image":"{}","command":["x"])", text));
  };
  const auto doubtfulImage = [](std::string_view text) {
    return fmt::format("W pod.image-doubtful spec.services[a].extraPodSpec.mainContainer.image: {}\n", text);
  };
  const auto volume = [](std::string_view source) {
    return worker(kMain, fmt::format(R"(,"volumes":[{{"name":"v",{}}}])", source));
  };
  const std::string v = "spec.services[a].extraPodSpec.volumes[0].";
  check({
      {"good", image("nvcr.io/nvidia/dynamo:1"), ""},
      {"a space inside", image("dynamo: 1"), doubtfulImage("contains whitespace")},
      {"a URL", image("https://nvcr.io/x:1"), doubtfulImage("is a URL: leave out the scheme")},
      {"no tag", image("dynamo:"), doubtfulImage("has no tag after ':'")},
      {"an invalid claim name", volume(R"("persistentVolumeClaim":{"claimName":"Models"})"),
       "E pod.object-name " + v +
           "persistentVolumeClaim.claimName: Invalid value: \"Models\": \"Models\" is not a valid object "
           "name\n"},
      {"an invalid ConfigMap name", volume(R"("configMap":{"name":"My"})"),
       "E pod.object-name " + v +
           "configMap.name: Invalid value: \"My\": \"My\" is not a valid object name\n"},
      {"an invalid name of an optional ConfigMap", volume(R"("configMap":{"name":"My","optional":true})"),
       "W pod.object-name " + v + "configMap.name: \"My\" is not a valid object name\n"},
      {"an invalid key of an optional Secret",
       volume(R"("secret":{"secretName":"s","optional":true,"items":[{"key":"a/b","path":"c"}]})"),
       "W pod.object-name " + v + "secret.items[0].key: \"a/b\" is not a valid key\n"},
      {"an unknown medium", volume(R"("emptyDir":{"medium":"memory"})"),
       "E pod.volume-medium " + v +
           "emptyDir.medium: Invalid value: \"memory\": is not a known medium: set Memory or HugePages, or "
           "leave it out\n"},
      {"root although runAsNonRoot is true",
       worker(kMain + R"(,"securityContext":{"runAsNonRoot":true,"runAsUser":0})"),
       "W pod.security-root spec.services[a].extraPodSpec.mainContainer.securityContext.runAsUser: "
       "is root, but runAsNonRoot is true: no container will start\n"},
  });
}

TEST_CASE("a mistake is reported once") {
  const std::string framework = R"(,"backendFramework":"{}")";
  check({
      {"a sidecar named as the main container",
       worker(kMain, R"(,"containers":[{"name":"main","image":"i"}])"),
       "E service.container-name spec.services[a].extraPodSpec.containers[0].name: Duplicate value: "
       "\"main\": is "
       "the name of the main container\n"},
      {"a claim named as a volume",
       worker(kMain, R"(,"volumes":[{"name":"c","emptyDir":{}}])",
              R"(,"volumeMounts":[{"name":"c","mountPoint":"/c"}])", R"(,"pvcs":[{"name":"c"}])"),
       "E service.volume-taken spec.services[a].extraPodSpec.volumes[0].name: Duplicate value: \"c\": "
       "volumeMounts create a volume with this name\n"},
      {"little memory", worker(kMain, "", R"(,"resources":{"limits":{"memory":"16"}})"),
       "W service.amount-odd spec.services[a].resources.limits.memory: \"16\" is less than 4Mi: is a suffix "
       "missing?\n"},
  });
  // A mistake that appears at two field paths is reported at one. Names of services and other containers do
  // not change this.
  const auto overcommitted = [](std::string_view key, std::string_view podSpec) {
    return graph(fmt::format(
        R"("services":{{"{}":{{"componentType":"worker","resources":{{"limits":{{"memory":"1Gi"}},)"
        R"("requests":{{"memory":"2Gi"}}}},"extraPodSpec":{{"mainContainer":{{{}}}{}}}}}}})",
        key, kMain, podSpec));
  };
  const auto rule = [](std::string_view key) {
    return fmt::format(
        "E service.request-limit spec.services[{}].resources.requests.memory: Invalid value: "
        "\"2Gi\": must be less than or equal to the limit of 1Gi\n",
        key);
  };
  const auto sidecar = [](std::string_view key) {
    return fmt::format(
        "E pod.resource-limit spec.services[{}].extraPodSpec.containers[0].resources.requests[cpu]: "
        "Invalid value: \"2\": must be less than or equal to the limit of 1\n",
        key);
  };
  const char* const containers =
      R"(,"containers":[{"name":"s","image":"i","resources":{"limits":{"cpu":"1"},"requests":{"cpu":"2"}}}])";
  for (const char* key : {"a", "Resources"}) {
    CHECK(findingsOf(overcommitted(key, "")) == rule(key));
    CHECK(findingsOf(overcommitted(key, containers)) == sidecar(key) + rule(key));
  }
  CHECK(findingsOf(worker(kMain, "", "", R"(,"backendFramework":"sglang")"),
                   worker(kMain, "", "", R"(,"backendFramework":"vllm")")) ==
        "E dgd.framework-immutable spec.backendFramework: Invalid value: \"sglang\": field is immutable\n"
        "W dgd.framework-change spec.backendFramework: cannot change in place: delete the object and create "
        "it again\n");
}

TEST_CASE("findings name the user's field, not a default") {
  const auto picker = [](std::string_view name, std::string_view key) {
    return graph(
        fmt::format(R"("services":{{"a":{{"componentType":"epp","eppConfig":{{"configMapRef":)"
                    R"({{"name":"{}","key":"{}"}}}},"extraPodSpec":{{"mainContainer":{{"image":"i"}}}}}}}})",
                    name, key));
  };
  const std::string reference = "spec.services[a].eppConfig.configMapRef.";
  const auto waited = [](std::string_view main, std::string_view pod) {
    const std::string_view command =
        R"("image":"i:1","command":["python3"],"args":["-m","dynamo.vllm","-tp","16"])";
    return worker(fmt::format("{}{}", command, main), pod,
                  R"(,"multinode":{"nodeCount":2},"resources":{"limits":{"gpu":"8"}})");
  };
  const auto waits = [](std::string_view container) {
    return fmt::format(
        "E pod.container-unique spec.services[a].extraPodSpec.{}.name: Duplicate value: "
        "\"wait-for-leader-mp\"\n",
        container);
  };
  check({
      {"picker", picker("c", "k"), ""},
      {"name of a picker's ConfigMap", picker("My", "k"),
       "E pod.object-name " + reference + "name: Invalid value: \"My\": \"My\" is not a valid object name\n"},
      {"key of a picker's ConfigMap", picker("c", "a/b"),
       "E pod.object-name " + reference + "key: Invalid value: \"a/b\": \"a/b\" is not a valid key\n"},
      {"a picker's claim named as a default volume",
       graph(
           R"("services":{"a":{"componentType":"epp","eppConfig":{"config":{}},"volumeMounts":[)"
           R"({"name":"hf-cache","mountPoint":"/h"},{"name":"epp-config","mountPoint":"/e"}],)"
           R"("extraPodSpec":{"mainContainer":{"image":"i"}}}},"pvcs":[{"name":"hf-cache"},{"name":"epp-config"}])"),
       "E service.volume-taken spec.services[a].volumeMounts[0].name: Duplicate value: \"hf-cache\": is the "
       "name "
       "of a default volume of the component\n"
       "E service.volume-taken spec.services[a].volumeMounts[1].name: Duplicate value: \"epp-config\": is "
       "the "
       "name of a default volume of the component\n"},
      {"a claim at the path of mpirun's keys",
       worker(R"("image":"i","command":["x"],"args":["y"])", "",
              R"(,"multinode":{"nodeCount":2},"resources":{"limits":{"gpu":"1"}},)"
              R"("volumeMounts":[{"name":"c","mountPoint":"/ssh-pk"}])",
              R"(,"pvcs":[{"name":"c"}],"backendFramework":"trtllm")"),
       "E service.mount-own-point spec.services[a].volumeMounts[0].mountPoint: Duplicate value: \"/ssh-pk\": "
       "the operator mounts a volume at this path\n"},
      {"an init container named as the operator's",
       waited("", R"(,"initContainers":[{"name":"wait-for-leader-mp","image":"i:1"}])"),
       waits("initContainers[0]")},
      {"a sidecar named as the operator's",
       waited("", R"(,"containers":[{"name":"wait-for-leader-mp","image":"i:1"}])"), waits("containers[0]")},
      {"a main container named as the operator's", waited(R"(,"name":"wait-for-leader-mp")", ""),
       waits("mainContainer")},
      {"name servers", worker(kMain, R"(,"dnsPolicy":"None")"),
       "E pod.dns spec.services[a].extraPodSpec.dnsConfig.nameservers: Required value: must provide at least "
       "one DNS nameserver when dnsPolicy is None\n"},
      {"default probes of a multinode service",
       worker(kMain, "", R"(,"multinode":{"nodeCount":2},"resources":{"limits":{"gpu":"1"}})"), ""},
      {"the user's probe of a multinode service",
       worker(kMain + R"(,"startupProbe":{"tcpSocket":{"port":1}})", "",
              R"(,"multinode":{"nodeCount":2},"resources":{"limits":{"gpu":"1"}})"),
       "W service.probes-dropped spec.services[a].extraPodSpec.mainContainer.startupProbe: is used only in "
       "the leader's pod; worker pods do not have it\n"},
  });
}

TEST_CASE("errors in DYN_DEPLOYMENT_CONFIG are reported at the variable") {
  const auto with = [](std::string_view resources, std::string_view annotations, std::string_view more = "") {
    const std::string config =
        fmt::format(R"({{\"a\":{{\"ServiceArgs\":{{\"Resources\":{}}}}}}})", resources);
    return graph(
        fmt::format(
            R"("services":{{"a":{{"componentType":"worker"{},"extraPodSpec":{{"mainContainer":{{{}}}}}}}}},)"
            R"("envs":[{{"name":"A"}},{{"name":"DYN_DEPLOYMENT_CONFIG","value":"{}"}}])",
            more, kMain, config),
        fmt::format(R"("annotations":{{{}}})", annotations));
  };
  const std::string off = R"("nvidia.com/enable-grove":"false")";
  const std::string at = " spec.envs[1].value: ";
  check({
      {"good", with(R"({\"CPU\":\"2\"})", off), ""},
      {"a type", with(R"({\"CPU\":2})", off),
       "E render.deployment-config" + at + "Invalid value: a.ServiceArgs.resources.cpu must be a string\n"},
      {"the same when Grove may run the graph", with(R"({\"CPU\":2})", ""),
       "W render.deployment-config" + at +
           "without Grove: Invalid value: a.ServiceArgs.resources.cpu must be a string\n"},
      {"a name", with(R"({\"custom\":{\"a b/c\":\"2\"}})", off),
       "E pod.resource-name" + at +
           "Invalid value: \"a b/c\": prefix part must consist of lower case letters, digits, '-' or '.', "
           "and "
           "start and end with a letter or digit\n"},
      {"an amount over one of the user's",
       with(R"({\"memory\":\"-1Gi\"})", off, R"(,"resources":{"limits":{"memory":"1Gi"}})"),
       "E pod.resource-negative" + at + "Invalid value: \"-1Gi\": must be greater than or equal to 0\n"},
  });
}

TEST_CASE("an item inserted before another one moves the old error and causes no rejection") {
  const auto moved = [](std::string_view before) {
    const std::string envs = before.empty() ? "" : R"({"name":"OK","value":"1"},)";
    const std::string containers = before.empty() ? "" : R"({"name":"ok","image":"i:1"},)";
    const std::string claims = before.empty() ? "" : R"({"name":"q"},)";
    return worker(
        kMain,
        fmt::format(R"(,"containers":[{}{{"name":"bad"}}],"tolerations":[{}{{"operator":"In","key":"k"}}])",
                    containers, before.empty() ? "" : R"({"operator":"Exists"},)"),
        fmt::format(R"(,"envs":[{}{{"name":"A","value":"x","valueFrom":{{"fieldRef":{{"fieldPath":)"
                    R"("metadata.name"}}}}}}],"volumeMounts":[{{"name":"P_","mountPoint":"/p"}}])",
                    envs),
        fmt::format(R"(,"pvcs":[{}{{"name":"P_"}}])", claims));
  };
  CHECK(findingsOf(moved("")).find("E ") != std::string::npos);
  const std::string updated = findingsOf(moved("more"), moved(""));
  INFO(updated);
  CHECK(updated.find("E ") == std::string::npos);
  for (const char* field : {"containers[1].image", "tolerations[1].operator", "envs[1].valueFrom",
                            "spec.pvcs[1].name", "volumeMounts[0].name"}) {
    INFO(field);
    CHECK(updated.find(field) != std::string::npos);
  }
}

TEST_CASE("errors of services with zero replicas are warnings (dec-4, adm-Q11)") {
  const auto scaled = [](int replicas, std::string_view container, std::string_view members = "",
                         std::string_view spec = "") {
    return graph(
        fmt::format(
            R"("services":{{"a":{{"componentType":"worker","replicas":{},"multinode":{{"nodeCount":2}},)"
            R"("resources":{{"limits":{{"gpu":"1"}}}},)"
            R"("extraPodSpec":{{"mainContainer":{{{}}}}}{}}}}}{})",
            replicas, container, members, spec),
        R"("annotations":{"nvidia.com/enable-grove":"false"})");
  };
  const std::string main = "spec.services[a].extraPodSpec.mainContainer.";
  const std::string noArgs = "render.lws-command " + main +
                             "args: Required value: must be set for a multinode component in a "
                             "LeaderWorkerSet\n";
  for (const int replicas : {1, 3}) {
    check({
        {"good", scaled(replicas, kMain), ""},
        {"no arguments", scaled(replicas, R"("image":"i","command":["x"])"), "E " + noArgs},
        {"no image", scaled(replicas, R"("command":["x"],"args":["y"])"),
         "E pod.image " + main + "image: Required value\n"},
        {"a cache without a path",
         scaled(replicas, R"("image":"i","command":["x"],"args":["y"])",
                R"(,"volumeMounts":[{"name":"c","useAsCompilationCache":true}])",
                R"(,"pvcs":[{"name":"c"}])"),
         "E render.mount-point spec.services[a].volumeMounts[0].mountPoint: Required value: only vllm has a "
         "default path for its compilation cache\n"},
    });
  }
  const auto bad = [&](int replicas) { return scaled(replicas, R"("image":"i","command":["x"])"); };
  CHECK(findingsOf(scaled(0, kMain)).empty());
  CHECK(findingsOf(bad(0)) ==
        "W render.lws-command " + main +
            "args: once it has replicas: Required value: must be set for a multinode component in a "
            "LeaderWorkerSet\n");
  CHECK(findingsOf(bad(1), bad(0)).starts_with("W render.lws-command"));
}

std::string times(int count, std::string_view item) {
  std::string list;
  for (int i = 0; i < count; ++i) {
    list += (i == 0 ? "" : ",") + fmt::format(fmt::runtime(item), i);
  }
  return list;
}

TEST_CASE("the total size of shared settings is limited, and other findings remain") {
  const auto sized = [](int services, int envs, int claims) {
    return graph(fmt::format(R"("services":{{{}}},"envs":[{}],"pvcs":[{}])", times(services, R"("s{}":{{}})"),
                             times(envs, R"({{"name":"A{}","value":"x"}})"),
                             times(claims, R"({{"name":"p{}"}})")));
  };
  const std::string services =
      "render.size spec.services: Too many: must have at most 100 services (it has 101)\n";
  check({
      {"services", sized(101, 0, 0), "E " + services},
      // Every field path of a finding would contain the name.
      {"a name", graph(fmt::format(R"("services":{{"{}":{{"replicas":-1}}}})", std::string(254, 'k'))),
       "E render.size spec.services: Too long: names of services must have at most 253 bytes (one has "
       "254)\n"},
      {"variables", sized(20, 501, 0),
       "E render.size spec.envs: Too long: must take at most 1048576 bytes in all services (in 20 "
       "services it takes 1049900)\n"},
      {"claims", sized(100, 0, 201),
       "E render.size spec.pvcs: Too many: must have at most 200 claims with 100 services (it has 201)\n"},
  });
  CHECK(findingsOf(sized(101, 0, 0), sized(101, 0, 0)) == "W " + services);
  CHECK(findingsOf(sized(101, 0, 0), sized(100, 0, 0)) ==
        "E dgd.services-immutable spec.services: Forbidden: services may not be added or removed after "
        "creation (added: s100)\nE " +
            services);
  CHECK(findingsOf(sized(100, 0, 200)).find("render.size") == std::string::npos);
  const auto variables = [](int count, std::string_view spec = "", std::string_view members = "") {
    return graph(fmt::format(R"("services":{{"a":{{{}}},{}}},"envs":[{}]{})", members,
                             times(19, R"("s{}":{{}})"), times(count, R"({{"name":"A{}","value":"x"}})"),
                             spec));
  };
  const std::string shrunk = findingsOf(variables(505), variables(506));
  CHECK(shrunk.starts_with(
      "W render.size spec.envs: Too long: must take at most 1048576 bytes in all services"));
  CHECK(findingsOf(variables(506), variables(505)).starts_with("E render.size spec.envs"));
  // The rules apply to a graph that is too large to be rendered.
  const std::string framework = findingsOf(variables(505, R"(,"backendFramework":"vllm")"), variables(506));
  CHECK(framework.find("E dgd.framework-immutable") != std::string::npos);
  const std::string negative = findingsOf(variables(505, "", R"("replicas":-1)"), variables(506));
  CHECK(negative.find("E service.replicas-negative") != std::string::npos);
  const std::string services101 = findingsOf(
      graph(fmt::format(R"("services":{{{}}},"backendFramework":"vllm")", times(101, R"("s{}":{{}})"))),
      sized(101, 0, 0));
  CHECK(services101.find("E dgd.framework-immutable") != std::string::npos);
}

}  // namespace
}  // namespace dynamo::admission
