// Rules of graphs on Grove: errors where Grove certainly runs the graph, warnings where it may.

#include "graph_support.h"

namespace dynamo::rules::test {
namespace {

GraphPolicy onGrove(std::optional<bool> kai = false) {
  GraphPolicy policy;
  policy.groveCertain = true;
  policy.kaiScheduler = kai;
  return policy;
}

GraphPolicy withoutGrove() {
  GraphPolicy policy;
  policy.groveDisabled = true;
  return policy;
}

std::string several(int nodes, std::string_view members = {}) {
  return fmt::format(R"("multinode":{{"nodeCount":{}}}{}{})", nodes, members.empty() ? "" : ",", members);
}

std::string withStatus(std::string graph, std::string_view status) {
  graph.pop_back();
  return graph + fmt::format(R"(,"status":{{"services":{{"a":{{{}}}}}}}}})", status);
}

/// A finding as a warning.
std::string warned(const std::string& error) {
  return "W" + error.substr(1);
}

const std::string kOne = R"("replicas":0)";

TEST_CASE("dgd.grove-replicas (child-Q43)") {
  const std::string at = "E dgd.grove-replicas spec.services[a].replicas: ";
  const std::string idle =
      warned(at) + "Grove creates one pod first, and ends no rolling update while there are none\n";
  const std::string refused = at + "Invalid value: 0: must be at least 1 for several nodes\n";
  check({{"several nodes", service(several(2, kOne)), refused},
         {"one node", service(kOne), idle},
         {"one node by number", service(several(1, kOne)), idle},
         {"one replica", service(several(2, R"("replicas":1)")), ""},
         {"no number", service(several(2)), ""},
         {"off Grove",
          graph(fmt::format(R"("services":{{"a":{{{}}}}})", several(2, kOne)),
                R"("annotations":{"nvidia.com/enable-grove":"false"})"),
          ""}},
        onGrove());
}

TEST_CASE("dgd.grove-replicas where Grove may run the graph") {
  const std::string at = "E dgd.grove-replicas spec.services[a].replicas: ";
  check({{"several nodes", service(several(2, kOne)),
          warned(at) + "with Grove: must be at least 1 for several nodes\n"},
         {"one node", service(kOne), ""}});
  check({{"not here", service(several(2, kOne)), ""}}, withoutGrove());
  checkUpdates(
      {{"an update", service(several(2)), service(several(2, kOne)),
        warned(at) + "Grove keeps the present replicas: with several nodes it needs at least 1\n"},
       {"on LeaderWorkerSets", withStatus(service(several(2)), R"("componentKind":"LeaderWorkerSet")"),
        service(several(2, kOne)), warned(at) + "with Grove: must be at least 1 for several nodes\n"}},
      kSomeone, onGrove());
}

TEST_CASE("dgd.grove-nodes (child-Q35)") {
  const std::string at = "E dgd.grove-nodes spec.services[a].multinode.nodeCount: ";
  const auto refused = [&](int least) {
    return fmt::format(
        "{}Forbidden: may not be less than {}: Grove cannot change minAvailable of the workers; "
        "delete the PodCliqueSet of the graph, or use another name for the service\n",
        at, least);
  };
  const std::string doubtful =
      warned(at) + "Grove refuses fewer nodes if the PodCliqueSet was made with minAvailable for more\n";
  const std::string group = R"("componentKind":"PodCliqueScalingGroup")";
  const auto told = [&](int nodes, int minimum) {
    return withStatus(service(several(nodes)), fmt::format(R"({},"minAvailable":{})", group, minimum));
  };
  checkUpdates(
      {{"more", told(3, 2), service(several(4)), ""},
       {"fewer", told(4, 3), service(several(3)), refused(4)},
       {"fewer, but not fewer than the set requires", told(4, 2), service(several(3)), ""},
       {"a set of an earlier version, told by this one", told(4, 1), service(several(2)), ""},
       {"a set of an earlier version", withStatus(service(several(4)), group), service(several(2)), doubtful},
       {"before the first status", service(several(4)), service(several(2)), refused(4)},
       {"the same", told(4, 3), service(several(4)), ""}},
      kSomeone, onGrove());
  // The status tells that Grove runs the graph, whatever is known of the cluster.
  checkUpdates({{"by the status", told(4, 3), service(several(3)), refused(4)},
                {"unknown", service(several(4)), service(several(3)), doubtful}});
  checkUpdates({{"without Grove", told(4, 3), service(several(3)), ""}}, kSomeone, withoutGrove());
}

TEST_CASE("service.grove-topology-spread and service.grove-node-name (child-Q43)") {
  const auto pod = [](std::string_view members) {
    return service(fmt::format(R"("extraPodSpec":{{{}}})", members));
  };
  const std::string spread = pod(
      R"("topologySpreadConstraints":[{"maxSkew":1,"topologyKey":"k","whenUnsatisfiable":"ScheduleAnyway"}])");
  const std::string node = pod(R"("nodeName":"n")");
  const std::string ofSpread =
      "service.grove-topology-spread spec.services[a].extraPodSpec.topologySpreadConstraints: ";
  const std::string ofNode = "service.grove-node-name spec.services[a].extraPodSpec.nodeName: ";
  check({{"spread", spread, "E " + ofSpread + "Forbidden: must not be set: Grove refuses it\n"},
         {"node", node, "E " + ofNode + "Forbidden: must not be set: Grove refuses it\n"},
         {"an empty name of a node", pod(R"("nodeName":"")"), ""}},
        onGrove());
  check({{"spread", spread, "W " + ofSpread + "with Grove: must not be set\n"},
         {"node", node, "W " + ofNode + "with Grove: must not be set\n"}});
  check({{"spread", spread, ""}, {"node", node, ""}}, withoutGrove());
  const std::string later = "Grove refuses it in a new PodCliqueSet, such as one after a deletion\n";
  checkUpdates({{"spread", service(""), spread, "W " + ofSpread + later},
                {"node", service(""), node, "W " + ofNode + later}},
               kSomeone, onGrove());
}

TEST_CASE("dgd.grove-scheduler (child-Q43)") {
  const auto of = [](std::string_view a, std::string_view b) {
    const auto one = [](std::string_view name) {
      return name.empty() ? std::string{"{}"}
                          : fmt::format(R"({{"extraPodSpec":{{"schedulerName":"{}"}}}})", name);
    };
    return graph(fmt::format(R"("services":{{"a":{},"b":{}}})", one(a), one(b)));
  };
  const auto refused = [](std::string_view service, std::string_view name) {
    return fmt::format(
        "E dgd.grove-scheduler spec.services[{}].extraPodSpec.schedulerName: Invalid value: "
        "\"{}\": must be the same for all services of a graph on Grove\n",
        service, name);
  };
  check({{"none", of("", ""), ""},
         {"one", of("", "x"), refused("b", "x")},
         {"the first", of("x", ""), refused("a", "x")},
         {"the same", of("x", "x"), ""},
         {"different", of("x", "y"), refused("b", "y")},
         {"the default by name", of("", "default-scheduler"), ""},
         {"KAI by name", of("", "kai-scheduler"), refused("b", "kai-scheduler")}},
        onGrove(false));
  check({{"the default by name", of("", "default-scheduler"), refused("b", "default-scheduler")},
         {"KAI by name", of("", "kai-scheduler"), ""}},
        onGrove(true));
  const std::string at = "W dgd.grove-scheduler spec.services[b].extraPodSpec.schedulerName: ";
  const std::string rule = "must be the same for all services of a graph on Grove\n";
  check({{"with KAI", of("", "default-scheduler"), at + "with the KAI scheduler: " + rule},
         {"without KAI", of("", "kai-scheduler"), at + "without the KAI scheduler: " + rule},
         {"with either", of("", "x"), refused("b", "x")}},
        onGrove(std::nullopt));
  check({{"perhaps on Grove", of("", "x"), at + "with Grove: " + rule}});
  check({{"without Grove", of("", "x"), ""}}, withoutGrove());
  checkUpdates(
      {{"a change", of("", ""), of("x", "x"),
        "W dgd.grove-scheduler-change spec.services[a].extraPodSpec.schedulerName: later releases of "
        "Grove refuse to change it in a PodCliqueSet\n"
        "W dgd.grove-scheduler-change spec.services[b].extraPodSpec.schedulerName: later releases of "
        "Grove refuse to change it in a PodCliqueSet\n"}},
      kSomeone, onGrove());
}

TEST_CASE("names that Grove accepts although its pods or Services cannot have them (child-Q43)") {
  const std::string spec = R"("services":{"a":{}},"backendFramework":"vllm")";
  const std::string etcd = R"("annotations":{"nvidia.com/dynamo-discovery-backend":"etcd"})";
  const std::string start = "must start with a letter: Grove names a Service after it\n";
  check({{"digit", graph(spec, etcd, "1g"),
          "E dgd.grove-name-start metadata.name: Invalid value: \"1g\": " + start},
         {"dot", graph(R"("services":{"a.b":{}})"),
          "E dgd.grove-dotted-name spec.services[a.b]: Invalid value: \"a.b\": may not contain dots: Grove "
          "uses "
          "it in host names of pods\n"}},
        onGrove());
  check(
      {{"digit", graph(spec, etcd, "1g"), "W dgd.grove-name-start metadata.name: with Grove: " + start},
       {"dot", graph(R"("services":{"a.b":{}})"),
        "W dgd.grove-dotted-name spec.services[a.b]: with Grove: may not contain dots: Grove uses it in host "
        "names of pods\n"}});
  check({{"digit", graph(spec, etcd, "1g"), ""}, {"dot", graph(R"("services":{"a.b":{}})"), ""}},
        withoutGrove());
}

TEST_CASE("service.grove-env and dgd.grove-env (child-Q43)") {
  const std::string refusal = "is a variable that Grove adds: the pods are refused\n";
  const std::string idle = "has no effect: Grove sets the variable\n";
  const std::string group = R"([{"name":"GROVE_PCSG_INDEX","value":"1"}])";
  const std::string pod = R"([{"name":"GROVE_PCS_NAME","value":"1"}])";
  const std::string at = "E service.grove-env spec.services[a].";
  check(
      {
          {"several nodes", service(several(2, R"("envs":)" + group)),
           at + "envs[0].name: Invalid value: \"GROVE_PCSG_INDEX\": " + refusal},
          {"the main container",
           service(several(2, R"("extraPodSpec":{"mainContainer":{"env":)" + group + "}}")),
           at + "extraPodSpec.mainContainer.env[0].name: Invalid value: \"GROVE_PCSG_INDEX\": " + refusal},
          {"an init container",
           service(several(2, R"("extraPodSpec":{"initContainers":[{"name":"i","env":)" + group + "}]}")),
           at +
               "extraPodSpec.initContainers[0].env[0].name: Invalid value: \"GROVE_PCSG_INDEX\": " + refusal},
          {"one node", service(R"("envs":)" + group), ""},
          {"of all pods", service(R"("envs":)" + pod), warned(at) + "envs[0].name: " + idle},
          {"the graph's, several nodes", service(several(2), R"("envs":)" + group),
           "E dgd.grove-env spec.envs[0].name: Invalid value: \"GROVE_PCSG_INDEX\": " + refusal},
          {"the graph's, one node", service("", R"("envs":)" + group), ""},
          {"the graph's, of all pods", service("", R"("envs":)" + pod),
           "W dgd.grove-env spec.envs[0].name: " + idle},
          {"a reference", service(R"_("envs":[{"name":"A","value":"x$(GROVE_PCLQ_NAME)"}])_"),
           "W service.grove-env-reference spec.services[a].envs[0].value: is not expanded: Grove sets its "
           "variables after it; use command or args\n"},
      },
      onGrove());
  check({{"perhaps on Grove", service(several(2, R"("envs":)" + group)),
          warned(at) + "envs[0].name: with Grove: " + refusal}});
}

TEST_CASE("service.grove-reserved (child-Q43)") {
  const auto leader = [](std::string_view pod) {
    return graph(fmt::format(
        R"("backendFramework":"trtllm","services":{{"a":{{{},"componentType":"worker","resources":{{"limits":{{"gpu":"1"}}}},)"
        R"("extraPodSpec":{{{}}}}}}})",
        several(2), pod));
  };
  const std::string at = "E service.grove-reserved spec.services[a].extraPodSpec.";
  const std::string told = ": is a name that Grove uses: the leader's pod is refused\n";
  check({{"init container", leader(R"("initContainers":[{"name":"grove-initc","image":"i"}])"),
          at + "initContainers[0].name: Invalid value: \"grove-initc\"" + told},
         {"volume", leader(R"("volumes":[{"name":"v"},{"name":"pod-info-vol","emptyDir":{}}])"),
          at + "volumes[1].name: Invalid value: \"pod-info-vol\"" + told},
         {"other frameworks start in any order",
          service(several(2, R"("extraPodSpec":{"volumes":[{"name":"pod-info-vol","emptyDir":{}}]})")), ""}},
        onGrove());
}

TEST_CASE("service.grove-overwritten and service.grove-priority-class (child-Q43)") {
  const std::string at = "W service.grove-overwritten spec.services[a].";
  check({{"host name", service(R"("extraPodSpec":{"hostname":"h"})"),
          at + "extraPodSpec.hostname: has no effect: Grove sets it\n"},
         {"label", service(R"("labels":{"app.kubernetes.io/name":"x","mine":"y"})"),
          at + "labels[app.kubernetes.io/name]: has no effect: Grove sets the label\n"},
         {"label of pods", service(R"("extraPodMetadata":{"labels":{"grove.io/x":"y"}})"),
          at + "extraPodMetadata.labels[grove.io/x]: has no effect: Grove sets the label\n"}},
        onGrove());
  check({{"perhaps on Grove", service(R"("extraPodSpec":{"hostname":"h"})"), ""}});
  checkUpdates(
      {{"a new class", service(""), service(R"("extraPodSpec":{"priorityClassName":"p"})"),
        "W service.grove-priority-class spec.services[a].extraPodSpec.priorityClassName: alone replaces "
        "no pods: Grove ignores the change\n"}},
      kSomeone, onGrove());
}

}  // namespace
}  // namespace dynamo::rules::test
