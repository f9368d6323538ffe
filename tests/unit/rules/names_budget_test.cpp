// Lengths of names of children (child-Q8, child-Q19, pod-Q27).

#include "graph_support.h"

namespace dynamo::rules::test {
namespace {

std::string many(std::size_t count, char c = 'd') {
  return std::string(count, c);
}

/// A graph with one service in the pathway without Grove.
std::string offGrove(std::string_view name, std::string_view key, std::string_view members,
                     std::string_view annotations = "") {
  return graph(fmt::format(R"("services":{{"{}":{{{}}}}})", key, members),
               fmt::format(R"("annotations":{{"nvidia.com/enable-grove":"false"{}{}}})",
                           annotations.empty() ? "" : ",", annotations),
               name);
}

std::string named(std::string_view name, std::string_view key, std::string_view members = "") {
  return graph(fmt::format(R"("services":{{"{}":{{{}}}}})", key, members), "", name);
}

TEST_CASE("dgd.grove-name-length") {
  const auto tooLong = [](std::string_view name, std::string_view key, std::size_t all, bool multi = false) {
    return fmt::format(
        "E dgd.grove-name-length spec.services[{1}]: Too long: graph \"{0}\" ({2} bytes) and service "
        "\"{1}\" ({3} bytes{4}) together have {5} bytes, at most 45 are allowed in names of Grove pods\n",
        name, key, name.size(), key.size(), multi ? ", counted twice, plus \"-ldr\"" : "", all);
  };
  const std::string two = R"("multinode":{"nodeCount":2})";
  const std::string one = R"("multinode":{"nodeCount":1})";
  check({
      {"45", named("ddd", many(42, 's')), ""},
      {"46", named("ddd", many(43, 's')), tooLong("ddd", many(43, 's'), 46)},
      {"multinode 45", named("vllm-ag", "VllmPrefillWorker", two), ""},
      {"multinode 46", named("vllm-agg", "VllmPrefillWorker", two),
       tooLong("vllm-agg", "VllmPrefillWorker", 46, true)},
      {"one node is not multinode", named("vllm-agg", "VllmPrefillWorker", one), ""},
      {"upper case counts as lower", named("ddd", many(43, 'S')), tooLong("ddd", many(43, 'S'), 46)},
  });
  const auto grove = [&](std::string_view value) {
    return graph(fmt::format(R"("services":{{"VllmPrefillWorker":{{{}}}}})", two),
                 fmt::format(R"("annotations":{{"nvidia.com/enable-grove":"{}"}})", value), "vllm-agg");
  };
  check({
      {"annotation FALSE", grove("FALSE"), ""},
      {"annotation empty", grove(""), tooLong("vllm-agg", "VllmPrefillWorker", 46, true)},
      {"annotation no", grove("no"),
       tooLong("vllm-agg", "VllmPrefillWorker", 46, true) +
           "W dgd.enable-grove metadata.annotations[nvidia.com/enable-grove]: only \"false\" turns Grove "
           "off\n"},
  });
  GraphPolicy disabled;
  disabled.groveDisabled = true;
  check({{"46 where the configuration disables Grove", named("ddd", many(43, 's')), ""},
         {"multinode 46, existing object", named("vllm-agg", "VllmPrefillWorker", two), ""},
         {"annotation true, existing object", grove("true"), ""},
         {"64, the limit of the component pathway",
          named("ddd", many(60, 's'), R"("componentType":"frontend")"),
          fmt::format(
              "E dgd.service-name-length spec.services[{0}]: Too long: Service \"ddd-{0}\" would have 64 "
              "bytes, at most 63 are allowed: shorten the name of the graph or of the service\n",
              many(60, 's'))}},
        disabled);
}

TEST_CASE("dgd.service-name-length") {
  const auto tooLong = [](std::string_view key, std::string_view what, std::string_view shown,
                          std::size_t length) {
    return fmt::format(
        "E dgd.service-name-length spec.services[{}]: Too long: {} {} would have {} bytes, at most 63 "
        "are allowed: shorten the name of the graph or of the service\n",
        key, what, showValue(shown), length);
  };
  const std::string etcd = R"("nvidia.com/dynamo-discovery-backend":"etcd")";
  const std::string frontend = R"("componentType":"frontend")";
  const std::string worker = R"("componentType":"worker")";
  const std::string d60 = many(60);
  check({
      {"62 bytes", offGrove(d60, "w", frontend, etcd), ""},
      {"63 bytes", offGrove(d60, "ww", frontend, etcd), ""},
      {"64 bytes, a Service", offGrove(d60, "www", frontend, etcd),
       tooLong("www", "Service", d60 + "-www", 64)},
      {"64 bytes, no Service", offGrove(d60, "www", R"("componentType":"x1")", etcd),
       tooLong("www", "label nvidia.com/selector", d60 + "-www", 64) +
           "W service.component-type spec.services[www].componentType: \"x1\" is not a known type: the base "
           "defaults are used\n"},
      {"a worker has a hash", offGrove(many(52), "w", worker, etcd), ""},
      {"a worker has no room for a hash", offGrove(many(53), "w", worker, etcd),
       tooLong("w", "label nvidia.com/selector", many(53) + "-w-<8 digits>", 64)},
      {"multinode has an index",
       offGrove(many(58), "w", R"("multinode":{"nodeCount":2},"replicas":10)", etcd), ""},
      {"multinode has no room for an index of two digits",
       offGrove(many(59), "w", R"("multinode":{"nodeCount":2},"replicas":11)", etcd),
       tooLong("w", "LeaderWorkerSet", many(59) + "-w-10", 64)},
      {"zero replicas now, more later",
       offGrove(many(60), "ww", R"("multinode":{"nodeCount":2},"replicas":0)", etcd),
       tooLong("ww", "LeaderWorkerSet", many(60) + "-ww-0", 65)},
      {"dots become dashes", offGrove(many(58) + ".d", "w.w", frontend, etcd),
       tooLong("w.w", "Service", many(58) + "-d-w-w", 64)},
  });
  const auto scaled = [&](int replicas) {
    return offGrove(many(60), "ww", fmt::format(R"("multinode":{{"nodeCount":2}},"replicas":{})", replicas),
                    etcd);
  };
  checkUpdates({{"a name that was too long before", scaled(1), scaled(20),
                 "W" + tooLong("ww", "LeaderWorkerSet", many(60) + "-ww-19", 66).substr(1)}});
  GraphPolicy noLws;
  noLws.lwsDisabled = true;
  CHECK(
      findingsOf(validateDgd, offGrove(many(60), "www", R"("multinode":{"nodeCount":2})", etcd), {}, noLws) ==
      "W dgd.multinode-orchestrator spec.services[www].multinode: needs Grove, but the graph's annotation "
      "disables it\n");
  GraphPolicy noGrove;
  noGrove.groveDisabled = true;
  CHECK(findingsOf(validateDgd, named(many(40), "www", worker), {}, noGrove).empty());
}

TEST_CASE("dgd.name-length") {
  const auto tooLong = [](std::size_t room, std::size_t has, std::string_view what, std::string_view shown,
                          std::size_t length) {
    return fmt::format(
        "E dgd.name-length metadata.name: Too long: may not be more than {} bytes (it has {}): {} {} "
        "would have {} bytes, at most 63 are allowed\n",
        room, has, what, showValue(shown), length);
  };
  const std::string etcd = R"("nvidia.com/dynamo-discovery-backend":"etcd")";
  const std::string namespaceLabel = "label nvidia.com/dynamo-namespace";
  check({
      {"the label of the discovery account is shortened", offGrove(many(60), "w", ""), ""},
      {"the namespace counts", offGrove(many(61), "w", ""),
       tooLong(60, 61, namespaceLabel, "ns-" + many(61), 64)},
      {"also where Grove may be used", named(many(44), "w"), ""},
      {"etcd: the namespace counts", offGrove(many(60), "w", "", etcd), ""},
      {"etcd: one more", offGrove(many(61), "w", "", etcd),
       tooLong(60, 61, namespaceLabel, "ns-" + many(61), 64)},
      {"etcd, global namespace", offGrove(many(61), "w", R"("globalDynamoNamespace":true)", etcd), ""},
  });
  const std::string global = offGrove(many(64), "w", R"("globalDynamoNamespace":true)", etcd);
  CHECK(findingsOf(validateDgd, global)
            .find(tooLong(63, 64, "label nvidia.com/dynamo-graph-deployment-name", many(64), 64)) !=
        std::string::npos);
  GraphPolicy byEtcd;
  byEtcd.discoveryBackend = "etcd";
  CHECK(findingsOf(validateDgd, offGrove(many(42), "w", ""), {}, byEtcd).empty());
}

TEST_CASE("dgd.name-start") {
  const auto start = [](std::string_view name, std::string_view child) {
    return fmt::format(
        "E dgd.name-start metadata.name: Invalid value: \"{}\": must start with a letter: {} is named "
        "after it\n",
        name, child);
  };
  const std::string etcd = R"("nvidia.com/dynamo-discovery-backend":"etcd")";
  check({
      {"digit", named("1abc", "w"), start("1abc", "Service \"1abc-w\"")},
      {"digit, dotted", named("1.a", "W"), start("1.a", "Service \"1-a-w\"")},
      {"digit later", named("a1", "w"), ""},
      {"no Service at all", offGrove("1abc", "w", "", etcd), ""},
      {"a frontend has one always", offGrove("1abc", "w", R"("componentType":"frontend")", etcd),
       start("1abc", "Service \"1abc-w\"")},
      {"a LeaderWorkerSet", offGrove("1abc", "w", R"("multinode":{"nodeCount":2})", etcd),
       start("1abc", "LeaderWorkerSet \"1abc-w\"")},
      {"without a name", graph(R"("services":{"w":{}})", "", ""), ""},
  });
}

TEST_CASE("dgd.service-name and equal names of children") {
  const auto label = [](std::string_view key) {
    return fmt::format(
        "E dgd.service-name spec.services[{0}]: Invalid value: \"{0}\": is used as the value of label "
        "nvidia.com/dynamo-component: must consist of letters, digits, '-', '_' or '.', and start and "
        "end with a letter or digit\n",
        key);
  };
  const auto child = [](std::string_view key, std::string_view name) {
    return fmt::format(
        "E dgd.service-name spec.services[{0}]: Invalid value: \"{0}\": names its children \"{1}\": must "
        "consist of lower case letters, digits, '-' or '.', and start and end with a "
        "letter or digit\n",
        key, name);
  };
  const auto same = [](std::string_view key, std::string_view first) {
    return fmt::format(
        "E dgd.service-names-distinct spec.services[{0}]: Duplicate value: \"{0}\": its children would have "
        "the same names as those of {1}\n",
        key, first);
  };
  GraphPolicy noGrove;
  noGrove.groveDisabled = true;
  check(
      {
          {"a dot becomes a dash in Services", named("g", "a.b"), ""},
          {"two dots", named("g", "a..b"), child("a..b", "g-a..b")},
          {"equal except for a dot", graph(R"("services":{"a.b":{},"a-b":{}})"), same("a.b", "a-b")},
      },
      noGrove);
  check({
      {"mixed case", named("g", "VllmWorker"), ""},
      {"a digit first", named("g", "1w"), ""},
      {"underscore", named("g", "my_svc"), child("my_svc", "g-my_svc")},
      {"upper case underscore", named("g", "My_Svc"), child("My_Svc", "g-my_svc")},
      {"slash", named("g", "a/b"), label("a/b")},
      {"blank", named("g", "a b"), label("a b")},
      {"dash at the end", named("g", "a-"), label("a-")},
      {"not ASCII", named("g", "\xC3\xBC"), label("\xC3\xBC")},
      {"empty", named("g", ""),
       "E dgd.service-name spec.services[]: Invalid value: \"\": the name of a service must not be empty\n"},
      {"equal except for case", graph(R"("services":{"worker":{},"Worker":{}})"), same("worker", "Worker")},
      {"three", graph(R"("services":{"WW":{},"Ww":{},"ww":{}})"), same("Ww", "WW") + same("ww", "WW")},
  });
}

TEST_CASE("cliques of two services have different names (child-Q19)") {
  const auto same = [](std::string_view key, std::string_view clique, std::string_view first) {
    return fmt::format(
        "E dgd.grove-clique-names spec.services[{0}]: Duplicate value: \"{0}\": its Grove clique {1} would "
        "have the same name as one of {2}\n",
        key, clique, first);
  };
  const std::string two = R"({"multinode":{"nodeCount":2}})";
  const auto services = [](const std::string& all) { return graph(R"("services":{)" + all + "}"); };
  const std::string leader = services(R"("a":)" + two + R"(,"a-ldr":{})");
  check({
      {"leader", leader, same("a-ldr", "a-ldr", "a")},
      {"worker", services(R"("A":)" + two + R"(,"a-Wkr":{})"), same("a-Wkr", "a-wkr", "A")},
      {"in the other order", services(R"("B-ldr":{},"b":)" + two), same("b", "b-ldr", "B-ldr")},
      {"single node", services(R"("a":{},"a-ldr":{})"), ""},
      {"both multinode", services(R"("a":)" + two + R"(,"a-ldr":)" + two), ""},
      {"without Grove",
       graph(R"("services":{"a":)" + two + R"(,"a-ldr":{}})",
             R"("annotations":{"nvidia.com/enable-grove":"false"})"),
       ""},
  });
  GraphPolicy off;
  off.groveDisabled = true;
  check({{"Grove disabled", leader, ""}}, off);
}

TEST_CASE("component types are label values") {
  const auto label = [](std::string_view field, std::string_view key, std::string_view shown) {
    return fmt::format(
        "E service.type-label spec.services[a].{}: Invalid value: {}: is used as the value of label {}: must "
        "consist of letters, digits, '-', '_' or '.', and start and end with a letter or digit\n",
        field, shown, key);
  };
  check({
      {"type", service(R"("componentType":"my type")"),
       label("componentType", "nvidia.com/dynamo-component-type", "\"my type\"") +
           "W service.component-type spec.services[a].componentType: \"my type\" is not a known type: the "
           "base defaults are used\n"},
      {"sub type", service(R"("subComponentType":"a/b")"),
       label("subComponentType", "nvidia.com/dynamo-sub-component-type", "\"a/b\"")},
      {"good", service(R"("componentType":"worker","subComponentType":"Pre_fill")"),
       "W service.sub-component-type spec.services[a].subComponentType: \"Pre_fill\" is neither prefill nor "
       "decode (did you mean \"prefill\"?)\n"},
      {"sub type prefill", service(R"("componentType":"worker","subComponentType":"prefill")"), ""},
  });
}

TEST_CASE("names of component deployments") {
  const auto dcd = [](std::string_view name, std::string_view spec, std::string_view metadata = "") {
    return fmt::format(R"({{"metadata":{{"name":"{}","namespace":"ns"{}{}}},"spec":{{{}}}}})", name,
                       metadata.empty() ? "" : ",", metadata, spec);
  };
  const std::string etcd = R"("annotations":{"nvidia.com/dynamo-discovery-backend":"etcd"})";
  const std::string owner =
      R"("ownerReferences":[{"kind":"Other","name":"o"},{"kind":"DynamoGraphDeployment","name":"g"}])";
  const auto tooLong = [](std::string_view rule, std::size_t room, std::size_t has, std::string_view what,
                          std::string_view shown, std::size_t length) {
    return fmt::format(
        "{} metadata.name: Too long: may not be more than {} bytes (it has {}): {} {} would have "
        "{} bytes, at most 63 are allowed\n",
        rule, room, has, what, showValue(shown), length);
  };
  struct Case {
    const char* name;
    std::string object, expected;
  };
  const Case cases[] = {
      {"of a graph, 63", dcd(many(63), "", owner), ""},
      {"of a graph, 64", dcd(many(64), "", owner),
       tooLong("E dcd.name-length", 63, 64, "Service", many(64), 64)},
      {"of a graph, 64, etcd", dcd(many(64), etcd, owner),
       tooLong("E dcd.name-length", 63, 64, "label nvidia.com/selector", many(64), 64)},
      {"of a graph, multinode", dcd(many(62), R"("multinode":{"nodeCount":2},"replicas":1)", owner),
       tooLong("E dcd.name-length", 61, 62, "LeaderWorkerSet", many(62) + "-0", 64)},
      {"standalone, 60", dcd(many(60), ""), ""},
      {"standalone, 61", dcd(many(61), ""),
       tooLong("E dcd.graph-name-length", 60, 61, "label nvidia.com/dynamo-namespace", "ns-" + many(61), 64)},
      {"standalone, with the graph's name in a label",
       dcd(many(61), "", R"("labels":{"nvidia.com/dynamo-graph-deployment-name":"g"})"), ""},
      {"with the graph's name in a label of the spec",
       dcd(many(61), R"("labels":{"nvidia.com/dynamo-graph-deployment-name":"g"})"), ""},
      {"digit first", dcd("1a", ""),
       "E dcd.name-start metadata.name: Invalid value: \"1a\": must start with a letter: Service \"1a\" is "
       "named "
       "after it\n"},
      {"digit first, etcd", dcd("1a", etcd), ""},
      {"serviceName", dcd("a", R"("serviceName":"a b")"),
       "E dcd.service-name spec.serviceName: Invalid value: \"a b\": is used as the value of label "
       "nvidia.com/dynamo-component: must consist of letters, digits, '-', '_' or '.', and start and end "
       "with a "
       "letter or digit\n"},
  };
  for (const Case& one : cases) {
    INFO(one.name);
    CHECK(findingsOf(validateDcd, one.object) == one.expected);
  }
}

}  // namespace
}  // namespace dynamo::rules::test
