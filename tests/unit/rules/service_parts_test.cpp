// Resources, mounts, variables, labels and annotations of services.

#include "graph_support.h"

namespace dynamo::rules::test {
namespace {

std::string resources(std::string_view members, std::string_view podSpec = "") {
  return service(fmt::format(R"("resources":{{{}}}{})", members,
                             podSpec.empty() ? "" : fmt::format(R"(,"extraPodSpec":{{{}}})", podSpec)));
}

std::string limit(std::string_view field, std::string_view text) {
  return resources(fmt::format(R"("limits":{{"{}":"{}"}})", field, text));
}

const std::string kResources = "spec.services[a].resources.";

TEST_CASE("service.quantity (a1-Q11)") {
  for (const char* good : {"0", "1", "100m", ".5", "1.", "1E", "1e3", "+1", "1E-3", "1500m"}) {
    INFO(good);
    CHECK(findingsOf(validateDgd, limit("cpu", good)).find("service.quantity") == std::string::npos);
  }
  for (const char* bad : {" ", "1 Gi", "1gb", "1K", "1mi", "1e", "1e1.5", "0x1", "1,5", "--1", ".", "Ki",
                          "1m5", "\xD9\xA1", "1Gi ", "+"}) {
    INFO(bad);
    for (const char* kind : {"limits", "requests"}) {
      for (const char* field : {"cpu", "memory", "gpu"}) {
        const std::string text =
            findingsOf(validateDgd, resources(fmt::format(R"("{}":{{"{}":"{}"}})", kind, field, bad)));
        CHECK(text.find(fmt::format("E service.quantity {}{}.{}: Invalid value: {}: must ", kResources, kind,
                                    field, showValue(bad))) == 0);
      }
      const std::string custom =
          findingsOf(validateDgd, resources(fmt::format(R"("limits":{{"custom":{{"memory":"{}"}}}})", bad)));
      CHECK(custom.find(fmt::format("E service.quantity {}limits.custom[memory]: Invalid value: {}: must ",
                                    kResources, showValue(bad))) == 0);
    }
  }
  const auto told = [](std::string_view field, std::string_view shown, std::string_view problem) {
    return fmt::format("E service.quantity {}{}: Invalid value: {}: {}\n", kResources, field, shown, problem);
  };
  const std::string negative = "must be greater than or equal to 0";
  check({
      {"empty is unset", resources(R"("limits":{"cpu":""},"requests":{"gpu":"","memory":null})"),
       "W service.amount-empty spec.services[a].resources.requests.gpu: has no effect because it is empty\n"
       "W service.amount-empty spec.services[a].resources.limits.cpu: has no effect because it is empty\n"},
      {"negative", limit("cpu", "-1"), told("limits.cpu", "\"-1\"", negative)},
      {"whole GPUs", limit("gpu", "2.0"), ""},
      {"GPUs in thousandths", limit("gpu", "2000m"), ""},
      {"half a GPU", limit("gpu", "1.5"), told("limits.gpu", "\"1.5\"", "must be an integer")},
      {"half a request", resources(R"("requests":{"gpu":"500m"})"),
       told("requests.gpu", "\"500m\"", "must be an integer")},
      {"half a device", resources(R"("limits":{"custom":{"rdma/ib":"0.5"}})"),
       told("limits.custom[rdma/ib]", "\"0.5\"", "must be an integer")},
      {"negative device", resources(R"("limits":{"custom":{"rdma/ib":"-1"}})"),
       told("limits.custom[rdma/ib]", "\"-1\"", negative)},
      {"half of ephemeral storage", resources(R"("limits":{"custom":{"ephemeral-storage":"1.5Gi"}})"), ""},
      {"a bad request beside a limit only warns",
       resources(R"("limits":{"gpu":"1"},"requests":{"gpu":"one"})"),
       "W service.gpu-request " + kResources +
           "requests.gpu: differs from limits.gpu, which pods get instead\n"},
      {"all at once", resources(R"("limits":{"cpu":"-1"},"requests":{"memory":"-2"})"),
       told("limits.cpu", "\"-1\"", negative) + told("requests.memory", "\"-2\"", negative)},
      {"other types are the schema's matter", resources(R"("limits":{"cpu":1,"custom":{"rdma/ib":7}})"), ""},
  });
  CHECK(findingsOf(validateDgd, resources(R"("limits":{"custom":{"nvidia.com/gpu":""}})"))
            .find("E service.quantity " + kResources +
                  "limits.custom[nvidia.com/gpu]: Invalid value: \"\": must") == 0);
}

TEST_CASE("service.resource-name") {
  const auto custom = [](std::string_view name) {
    return resources(fmt::format(R"("limits":{{"cpu":"1","custom":{{"{}":"1"}}}})", name));
  };
  for (const char* good : {"cpu", "memory", "ephemeral-storage", "hugepages-1Gi", "nvidia.com/gpu", "rdma/ib",
                           "example.com/My_Dev.1"}) {
    INFO(good);
    CHECK(findingsOf(validateDgd, custom(good)).find("resource-name") == std::string::npos);
  }
  const auto told = [](std::string_view field, std::string_view shown, std::string_view problem) {
    return fmt::format("E service.resource-name {}limits.{}: Invalid value: \"{}\": {}\n", kResources, field,
                       shown, problem);
  };
  const std::string standard =
      "must be cpu, memory, ephemeral-storage, hugepages-<size>, or a name with a domain such as "
      "nvidia.com/gpu";
  check({
      {"no domain", custom("gpu"), told("custom[gpu]", "gpu", standard)},
      {"quota", custom("requests.nvidia.com/gpu"),
       told("custom[requests.nvidia.com/gpu]", "requests.nvidia.com/gpu",
            "must not start with \"requests.\"")},
      {"two slashes", custom("a/b/c"), told("custom[a/b/c]", "a/b/c", "must contain at most one '/'")},
      {"GPU type", resources(R"("limits":{"gpu":"1","gpuType":"amd.com/gpu"})"), ""},
      {"bad GPU type", resources(R"("limits":{"gpu":"1","gpuType":"a100"})"),
       told("gpuType", "a100", standard)},
      {"bad GPU type for a request", resources(R"("limits":{"gpuType":"a100"},"requests":{"gpu":"1"})"),
       told("gpuType", "a100", standard)},
      {"bad GPU type of a request", resources(R"("requests":{"gpu":"1","gpuType":"a100"})"),
       "E service.resource-name " + kResources + "requests.gpuType: Invalid value: \"a100\": " + standard +
           "\n"},
      {"bad GPU type without GPUs", resources(R"("limits":{"gpuType":"a100"})"), ""},
  });
}

TEST_CASE("service.request-limit") {
  const auto both = [](std::string_view field, std::string_view request, std::string_view limit) {
    return resources(
        fmt::format(R"("requests":{{"{0}":"{1}"}},"limits":{{"{0}":"{2}"}})", field, request, limit));
  };
  const auto over = [](std::string_view field, std::string_view request, std::string_view limit) {
    return fmt::format(
        "E service.request-limit {}requests.{}: Invalid value: \"{}\": must be less than or equal to the "
        "limit of {}\n",
        kResources, field, request, limit);
  };
  const std::string device = R"("custom":{"rdma/ib":"1"})";
  const std::string lacking = "E service.request-limit " + kResources +
                              "limits.custom[rdma/ib]: Required value: must equal the request because this "
                              "resource cannot be overcommitted\n";
  check({
      {"equal in other words", both("memory", "1024Mi", "1Gi"), ""},
      {"less", both("cpu", "500m", "1"), ""},
      {"more memory", both("memory", "1025Mi", "1Gi"), over("memory", "1025Mi", "1Gi")},
      {"more cpu", both("cpu", "2", "1500m"), over("cpu", "2", "1500m")},
      {"no limit", resources(R"("requests":{"cpu":"2"})"), ""},
      {"the main container's limit",
       resources(R"("requests":{"cpu":"2"})", R"("mainContainer":{"resources":{"limits":{"cpu":1}}})"),
       over("cpu", "2", "1")},
      {"the block's limit counts over it",
       resources(R"("requests":{"cpu":"2"},"limits":{"cpu":"3"})",
                 R"("mainContainer":{"resources":{"limits":{"cpu":"1"}}})"),
       ""},
      {"a device without limit", resources(fmt::format(R"("requests":{{{}}})", device)), lacking},
      {"a device with its limit", resources(fmt::format(R"("requests":{{{0}}},"limits":{{{0}}})", device)),
       ""},
      {"a device with another limit",
       resources(fmt::format(R"("requests":{{{}}},"limits":{{"custom":{{"rdma/ib":"2"}}}})", device)),
       "E service.request-limit " + kResources +
           "requests.custom[rdma/ib]: Invalid value: \"1\": must equal the limit of 2\n"},
      {"a device, limits.gpu of its type",
       resources(R"("requests":{"custom":{"nvidia.com/gpu":"1"}},"limits":{"gpu":"1"})"), ""},
      {"GPU request alone is a limit, too (pod-Q1)", resources(R"("requests":{"gpu":"1"})"), ""},
      {"huge pages",
       resources(
           R"("requests":{"cpu":"1","custom":{"hugepages-2Mi":"2Mi"}},"limits":{"custom":{"hugepages-2Mi":"4Mi"}})"),
       "E service.request-limit " + kResources +
           "requests.custom[hugepages-2Mi]: Invalid value: \"2Mi\": must equal the limit of 4Mi\n"},
  });
  CHECK(findingsOf(validateDgd,
                   resources(R"("requests":{"custom":{"rdma/ib":"1"}},"limits":{"custom":{"rdma/ib":"x"}})"))
            .find("request-limit") == std::string::npos);
}

TEST_CASE("service.hugepages") {
  const std::string pages = R"("custom":{"hugepages-1Gi":"1Gi"})";
  const std::string alone = "E service.hugepages " + kResources +
                            "limits.custom[hugepages-1Gi]: Forbidden: huge pages require cpu or memory\n";
  check({
      {"alone", resources(fmt::format(R"("limits":{{{}}})", pages)), alone},
      {"told once", resources(fmt::format(R"("limits":{{{0}}},"requests":{{{0}}})", pages)), alone},
      {"with memory", resources(fmt::format(R"("limits":{{"memory":"1Gi",{}}})", pages)), ""},
      {"with a request", resources(fmt::format(R"("requests":{{"cpu":"1"}},"limits":{{{}}})", pages)), ""},
      {"with the main container's",
       resources(fmt::format(R"("limits":{{{}}})", pages),
                 R"("mainContainer":{"resources":{"requests":{"cpu":"1"}}})"),
       ""},
  });
}

TEST_CASE("service.resource-claim") {
  const std::string pod = R"("resourceClaims":[{"name":"gpu"},{"name":"nic"}])";
  const std::string p = "E service.resource-claim " + kResources + "claims";
  check({
      {"known", resources(R"("claims":[{"name":"gpu"},{"name":"nic"}])", pod), ""},
      {"two requests of one",
       resources(R"("claims":[{"name":"gpu","request":"a"},{"name":"gpu","request":"b"}])", pod), ""},
      {"unknown", resources(R"("claims":[{"name":"x"}])", pod),
       p + "[0].name: Not found: \"x\": must be one of the names in extraPodSpec.resourceClaims\n"},
      {"twice", resources(R"("claims":[{"name":"gpu"},{"name":"gpu"}])", pod),
       p + "[1].name: Duplicate value: \"gpu\"\n"},
      {"one request twice",
       resources(R"("claims":[{"name":"gpu","request":"a"},{"name":"gpu","request":"a"}])", pod),
       p + "[1].name: Duplicate value: \"gpu/a\"\n"},
      {"in the main container already",
       resources(R"("claims":[{"name":"gpu"}])",
                 pod + R"(,"mainContainer":{"resources":{"claims":[{"name":"gpu"}]}})"),
       p + "[0].name: Duplicate value: \"gpu\"\n"},
      {"unnamed", resources(R"("claims":[{"name":""}])", pod),
       p + "[0].name: Required value: must name a claim\n"},
  });
}

TEST_CASE("doubtful amounts (pod-Q1, adm-Q23)") {
  const auto odd = [](std::string_view field, std::string_view text) {
    return fmt::format("W service.amount-odd {}{}: {}\n", kResources, field, text);
  };
  const auto gpu = [](std::string_view field, std::string_view text) {
    return fmt::format("W service.gpu-request {}requests.{}: {}\n", kResources, field, text);
  };
  check({
      {"fine cpu", limit("cpu", "100u"), odd("limits.cpu", "is finer than 1m and will be rounded up")},
      {"cpu of 1m", limit("cpu", "1m"), ""},
      {"cpu in millions", limit("cpu", "500M"),
       odd("limits.cpu", "500M is more CPUs than a node has: did you mean 500m?")},
      {"cpu in thousandths without the suffix", limit("cpu", "2000"),
       odd("limits.cpu", "2000 is more CPUs than a node has: did you mean 2000m?")},
      {"cpu as memory", limit("cpu", "4Gi"),
       odd("limits.cpu", "4Gi is more CPUs than a node has: did you mean 4?")},
      {"many CPUs", limit("cpu", "1920"), ""},
      {"memory in thousandths", limit("memory", "512m"),
       odd("limits.memory", "\"512m\" is in thousandths of a byte: did you mean M or Mi?")},
      {"little memory", limit("memory", "16"),
       odd("limits.memory", "\"16\" is less than 4Mi: is a suffix missing?")},
      {"4Mi", limit("memory", "4Mi"), ""},
      {"no memory", limit("memory", "0"), ""},
      {"GPUs by their memory", limit("gpu", "80Gi"),
       "W service.gpu-odd " + kResources + "limits.gpu: \"80Gi\" is a count of GPUs, not their memory\n"},
      {"GPUs of many nodes", limit("gpu", "1024"), ""},
      {"GPUs twice", resources(R"("limits":{"gpu":"1","custom":{"nvidia.com/gpu":"2"}})"),
       "W service.gpu-odd " + kResources +
           "limits.custom[nvidia.com/gpu]: differs from limits.gpu: set only one of them\n"},
      {"GPUs twice, alike", resources(R"("limits":{"gpu":"1","custom":{"nvidia.com/gpu":"1"}})"), ""},
      {"same GPUs", resources(R"("requests":{"gpu":"2"},"limits":{"gpu":"2.0"})"), ""},
      {"other GPUs", resources(R"("requests":{"gpu":"1"},"limits":{"gpu":"2"})"),
       gpu("gpu", "differs from limits.gpu, which pods get instead")},
      {"type of the request", resources(R"("requests":{"gpuType":"amd.com/gpu"},"limits":{"gpu":"2"})"),
       gpu("gpuType", "has no effect because pods get limits.gpuType")},
      {"type of a request alone", resources(R"("requests":{"gpu":"2","gpuType":"amd.com/gpu"})"), ""},
      {"other type of a request alone",
       resources(R"("requests":{"gpu":"2","gpuType":"amd.com/gpu"},"limits":{"gpuType":"nvidia.com/gpu"})"),
       gpu("gpuType", "has no effect because pods get limits.gpuType")},
      {"a request beside the container's limit",
       resources(R"("requests":{"gpu":"4"})",
                 R"("mainContainer":{"resources":{"limits":{"nvidia.com/gpu":8}}})"),
       gpu("gpu", "differs from the limit in mainContainer.resources, which pods get instead")},
      {"same type", resources(R"("requests":{"gpuType":"nvidia.com/gpu"},"limits":{"gpu":"2"})"), ""},
  });
}

std::string mounts(std::string_view list, std::string_view more = "",
                   std::string_view pvcs = R"({"name":"c"},{"name":"d"})") {
  return service(fmt::format(R"("volumeMounts":[{}]{}{})", list, more.empty() ? "" : ",", more),
                 fmt::format(R"("pvcs":[{}])", pvcs));
}

const std::string kMounts = " spec.services[a].volumeMounts";
const std::string kVllm =
    R"("componentType":"worker","extraPodSpec":{"mainContainer":{"args":["python3 -m dynamo.vllm"]}})";

TEST_CASE("volumeMounts: claims (dec-1)") {
  const auto unlisted = [](int i, std::string_view more = "") {
    return fmt::format(
        "W service.mount-claim{}[{}].name: spec.pvcs has no such claim{}: no pod starts before it exists\n",
        kMounts, i, more);
  };
  check({
      {"listed", mounts(R"({"name":"c","mountPoint":"/c"})"), ""},
      {"not listed", mounts(R"({"name":"other","mountPoint":"/c"})"), unlisted(0)},
      {"two, not listed",
       mounts(
           R"({"name":"other","mountPoint":"/x"},{"name":"c","mountPoint":"/c"},{"name":"another","mountPoint":"/y"})"),
       unlisted(0) + unlisted(2)},
      {"mistyped", mounts(R"({"name":"model-cahe","mountPoint":"/c"})", "", R"({"name":"model-cache"})"),
       unlisted(0, " (did you mean \"model-cache\"?)")},
      {"no claims at all", service(R"("volumeMounts":[{"name":"c","mountPoint":"/c"}])"), unlisted(0)},
      {"one claim twice (pod-Q11a)",
       mounts(R"({"name":"c","mountPoint":"/c"},{"name":"c","mountPoint":"/d"})"), ""},
      {"unnamed", mounts(R"({"name":"","mountPoint":"/c"})"),
       "E service.mount-name" + kMounts + "[0].name: Required value: must name a claim\n"},
      {"with a dot", mounts(R"({"name":"my.pvc","mountPoint":"/c"})", "", R"({"name":"my.pvc"})"),
       "E service.mount-name" + kMounts +
           "[0].name: Invalid value: \"my.pvc\": is also the name of a volume: must consist of lower case "
           "letters, "
           "digits or '-', and start and end with a letter or digit\n"},
      {"reserved", mounts(R"({"name":"shared-memory","mountPoint":"/c"})", "", R"({"name":"shared-memory"})"),
       "W service.mount-reserved" + kMounts + "[0].name: replaces the operator's volume of this name\n"},
      {"a user's volume in place of a claim",
       mounts(R"({"name":"x","mountPoint":"/c"})", R"("extraPodSpec":{"volumes":[{"name":"x"}]})"),
       "E service.mount-volume" + kMounts +
           "[0].name: Not found: \"x\": no such claim in spec.pvcs; volumes of extraPodSpec are mounted in "
           "extraPodSpec.mainContainer.volumeMounts\n"},
      {"a user's volume has the name (pod-Q11b)",
       mounts(R"({"name":"c","mountPoint":"/c"})",
              R"("extraPodSpec":{"volumes":[{"name":"x"},{"name":"c"}]})"),
       "E service.volume-taken spec.services[a].extraPodSpec.volumes[1].name: Duplicate value: \"c\": "
       "volumeMounts create a volume with this name\n"},
  });
  CHECK(findingsOf(validateDcd,
                   R"({"metadata":{"name":"a"},"spec":{"volumeMounts":[{"name":"c","mountPoint":"/c"}]}})")
            .empty());
}

TEST_CASE("volumeMounts: mount points (adm-Q11)") {
  const std::string plain =
      "E service.mount-point" + kMounts +
      "[0].mountPoint: Required value: must be set unless useAsCompilationCache is true\n";
  const auto taken = [](int i, std::string_view path) {
    return fmt::format(
        "E service.mount-point-taken{}[{}].mountPoint: Duplicate value: \"{}\": another volume is mounted at "
        "this path\n",
        kMounts, i, path);
  };
  const std::string useAsCache = R"({"name":"c","useAsCompilationCache":true})";
  check({
      {"none", mounts(R"({"name":"c"})"), plain},
      {"empty", mounts(R"({"name":"c","mountPoint":""})"), plain},
      {"cache of vllm", mounts(useAsCache, kVllm), ""},
      // Whether a backend has a path of its own is known where it is rendered: render.mount-point.
      {"cache of a frontend", mounts(useAsCache, R"("componentType":"frontend")"), ""},
      {"cache of sglang",
       mounts(
           useAsCache,
           R"("componentType":"worker","extraPodSpec":{"mainContainer":{"args":["python3 -m dynamo.sglang"]}})"),
       ""},
      {"cache with a path", mounts(R"({"name":"c","useAsCompilationCache":true,"mountPoint":"/c"})"), ""},
      {"two caches",
       mounts(R"({"name":"c","useAsCompilationCache":true,"mountPoint":"/c"},)"
              R"({"name":"d","useAsCompilationCache":true,"mountPoint":"/d"})"),
       "W service.cache-mounts" + kMounts +
           "[1].useAsCompilationCache: has no effect because an earlier mount is the compilation cache\n"},
      {"one path twice", mounts(R"({"name":"c","mountPoint":"/c"},{"name":"d","mountPoint":"/c"})"),
       taken(1, "/c")},
      {"the default path twice",
       mounts(useAsCache + R"(,{"name":"d","mountPoint":"/root/.cache/vllm"})", kVllm),
       taken(1, "/root/.cache/vllm")},
      {"a path of the main container",
       mounts(R"({"name":"c","mountPoint":"/c"})",
              R"("extraPodSpec":{"mainContainer":{"volumeMounts":[{"name":"x","mountPath":"/c"}]}})"),
       taken(0, "/c")},
      {"/dev/shm is the user's then (pod-Q11a)", mounts(R"({"name":"c","mountPoint":"/dev/shm"})"), ""},
      {"relative", mounts(R"({"name":"c","mountPoint":"c"})"),
       "W service.mount-point-odd" + kMounts + "[0].mountPoint: is not an absolute path\n"},
      {"colon", mounts(R"({"name":"c","mountPoint":"/c:d"})"),
       "W service.mount-point-odd" + kMounts +
           "[0].mountPoint: contains ':', which container runtimes refuse\n"},
  });
}

TEST_CASE("names of variables (a1-Q10)") {
  const auto of = [](std::string_view place, std::string_view list) {
    if (place == "spec.envs") return service("", fmt::format(R"("envs":[{}])", list));
    if (place == "spec.services[a].envs") return service(fmt::format(R"("envs":[{}])", list));
    return service(fmt::format(R"("frontendSidecar":{{"image":"i","envs":[{}]}})", list));
  };
  for (const std::string place :
       {"spec.envs", "spec.services[a].envs", "spec.services[a].frontendSidecar.envs"}) {
    const std::string rule = place == "spec.envs" ? "dgd" : "service";
    const auto error = [&](std::string_view text) {
      return fmt::format("E {}.env-name {}[0].name: {}\n", rule, place, text);
    };
    const std::string strict = fmt::format(
        "W {}.env-name-strict {}[0].name: should consist of letters, digits, '_', "
        "'-' or '.', not starting with a digit\n",
        rule, place);
    const std::string masked =
        error(R"(Invalid value: "A=...": must consist of printable ASCII characters other than '=')");
    check({
        {"good", of(place, R"({"name":"A_b.c-d","value":"x"})"), ""},
        {"empty", of(place, R"({"name":""})"), error("Required value: must be the name of the variable")},
        {"equals sign", of(place, R"({"name":"A=hf_secret"})"), masked},
        {"equals sign, twice", of(place, R"({"name":"A=hf_secret"},{"name":"A=hf_secret"})"),
         masked +
             fmt::format("E {}.env-name {}[1].name: {}", rule, place, masked.substr(masked.find("Invalid"))) +
             fmt::format(
                 "W {}.env-repeated {}[1].name: \"A=...\" is already set above; the last value is used\n",
                 rule, place)},
        {"blank", of(place, R"({"name":"A B"})"), strict},
        {"digit first", of(place, R"({"name":"1A"})"), strict},
        {"twice", of(place, R"({"name":"A","value":"secret1"},{"name":"B"},{"name":"A","value":"secret2"})"),
         fmt::format("W {}.env-repeated {}[2].name: \"A\" is already set above; the last value is used\n",
                     rule, place)},
    });
  }
}

TEST_CASE("service.env-order (pod-Q29)") {
  const auto told = [](std::string_view path, std::string_view name) {
    return fmt::format(
        "W service.env-order {}.value: refers to {}, which is not expanded: variables are sorted by name\n",
        path, name);
  };
  const auto envs = [](std::string_view list, std::string_view more = "") {
    return service(fmt::format(R"e("envs":[{}]{}{})e", list, more.empty() ? "" : ",", more),
                   R"e("envs":[{"name":"Z","value":"1"}])e");
  };
  const std::string at = "spec.services[a].envs";
  check({
      {"later", envs(R"e({"name":"A","value":"x$(B)y"},{"name":"B","value":"1"})e"), told(at + "[0]", "B")},
      {"earlier", envs(R"e({"name":"B","value":"$(A)"},{"name":"A","value":"1"})e"), ""},
      {"itself", envs(R"e({"name":"A","value":"$(A)"})e"), ""},
      {"of the graph", envs(R"e({"name":"A","value":"$(Z)"})e"), told(at + "[0]", "Z")},
      {"of the main container",
       envs(R"e({"name":"A","value":"$(M)"})e",
            R"e("extraPodSpec":{"mainContainer":{"env":[{"name":"M","value":"$(Z)"}]}})e"),
       told(at + "[0]", "M") + told("spec.services[a].extraPodSpec.mainContainer.env[0]", "Z")},
      {"unknown", envs(R"e({"name":"A","value":"$(NOBODY)"})e"), ""},
      {"escaped", envs(R"e({"name":"A","value":"$$(Z)"})e"), ""},
      {"escaped twice", envs(R"e({"name":"A","value":"$$$(Z)"})e"), told(at + "[0]", "Z")},
      {"open", envs(R"e({"name":"A","value":"$(Z"})e"), ""},
      {"shell", envs(R"e({"name":"A","value":"$Z"})e"), ""},
  });
}

TEST_CASE("service.env-identity and dgd.env-identity") {
  const auto told = [](std::string_view path, std::string_view name) {
    return fmt::format("W service.env-identity {}.name: replaces the value that the operator sets for {}\n",
                       path, name);
  };
  const auto envs = [](std::string_view items, std::string_view members = R"("componentType":"worker")") {
    return service(fmt::format(R"({},"envs":[{}])", members, items));
  };
  const std::string at = "spec.services[a].envs[0]";
  const auto field = [](std::string_view name, std::string_view path) {
    return fmt::format(R"({{"name":"{}","valueFrom":{{"fieldRef":{{"fieldPath":"{}"}}}}}})", name, path);
  };
  check({
      {"namespace", envs(R"({"name":"DYN_NAMESPACE","value":"x"})"), told(at, "DYN_NAMESPACE")},
      {"the operator's own", envs(R"({"name":"DYN_NAMESPACE","value":"ns-g"})"), ""},
      {"global", envs(R"({"name":"DYN_NAMESPACE","value":"dynamo"})", R"("globalDynamoNamespace":true)"), ""},
      {"graph", envs(R"({"name":"DYN_PARENT_DGD_K8S_NAME","value":"g"})"), ""},
      {"another graph", envs(R"({"name":"DYN_PARENT_DGD_K8S_NAME","value":"h"})"),
       told(at, "DYN_PARENT_DGD_K8S_NAME")},
      {"name", envs(field("POD_NAME", "metadata.name")), ""},
      {"another field", envs(field("POD_NAME", "metadata.uid")), told(at, "POD_NAME")},
      {"a text", envs(R"({"name":"POD_UID","value":"1"})"), told(at, "POD_UID")},
      {"component", envs(R"({"name":"DYN_COMPONENT","value":"worker"})"), ""},
      {"another component", envs(R"({"name":"DYN_COMPONENT","value":"decode"})"), told(at, "DYN_COMPONENT")},
      {"not set there", envs(R"({"name":"DYN_NAMESPACE_PREFIX","value":"x"})"), ""},
      {"of frontends",
       envs(R"({"name":"DYN_NAMESPACE_PREFIX","value":"x"})", R"("componentType":"frontend")"),
       told(at, "DYN_NAMESPACE_PREFIX")},
      {"discovery", envs(R"({"name":"DYN_DISCOVERY_BACKEND","value":"etcd"})"),
       told(at, "DYN_DISCOVERY_BACKEND")},
      {"no discovery by the operator",
       envs(R"({"name":"DYN_DISCOVERY_BACKEND","value":"file"})",
            R"("annotations":{"nvidia.com/dynamo-discovery-backend":"etcd"})"),
       ""},
      {"what users tune",
       envs(R"({"name":"DYN_SYSTEM_PORT","value":"1"},{"name":"DYN_HEALTH_CHECK_ENABLED","value":"true"})"),
       ""},
      {"of a sidecar",
       service(R"("frontendSidecar":{"image":"i","envs":[{"name":"DYN_COMPONENT","value":"frontend"},)"
               R"({"name":"POD_UID","value":"1"}]})"),
       told("spec.services[a].frontendSidecar.envs[1]", "POD_UID")},
      {"of the graph, once",
       graph(R"("services":{"a":{},"b":{}},"envs":[{"name":"DYN_NAMESPACE","value":"x"}])"),
       "W dgd.env-identity spec.envs[0].name: replaces the value that the operator sets for DYN_NAMESPACE\n"},
      {"of the graph, the operator's own", service("", R"("envs":[{"name":"DYN_NAMESPACE","value":"ns-g"}])"),
       ""},
  });
}

TEST_CASE("service.deployment-config (child-Q31)") {
  const auto with = [](std::string_view value) {
    return service(fmt::format(R"("envs":[{{"name":"DYN_DEPLOYMENT_CONFIG",{}}}])", value));
  };
  const std::string told =
      "W service.deployment-config spec.services[a].envs[0].value: has no effect because it is not a JSON "
      "object\n";
  GraphPolicy noGrove;
  noGrove.groveDisabled = true;
  check(
      {
          {"an object", with(R"("value":"{\"a\":{}}")"), ""},
          {"no JSON", with(R"("value":"{")"), told},
          {"a list", with(R"("value":"[]")"), told},
          {"empty", with(R"("value":"")"), ""},
          {"from elsewhere", with(R"("valueFrom":{"fieldRef":{"fieldPath":"metadata.name"}})"), ""},
          {"a name twice: the last counts", with(R"("value":"{\"a\":1,\"a\":{}}")"), ""},
          {"the graph's",
           graph(
               R"("services":{"a":{},"b":{}},"envs":[{"name":"A"},{"name":"DYN_DEPLOYMENT_CONFIG","value":"{"}])"),
           "W service.deployment-config spec.envs[1].value: has no effect because it is not a JSON object\n"},
          {"the service's own goes first",
           service(R"("envs":[{"name":"DYN_DEPLOYMENT_CONFIG","value":"{}"}])",
                   R"("envs":[{"name":"DYN_DEPLOYMENT_CONFIG","value":"{"}])"),
           ""},
      },
      noGrove);
  check({{"Grove does not read it", with(R"("value":"{")"), ""}});
}

TEST_CASE("service.env-from-secret") {
  const std::string rule = "E service.env-from-secret spec.services[a].";
  const std::string syntax =
      "must consist of lower case letters, digits, '-' or '.', and start and end with a letter "
      "or digit\n";
  check({
      {"name", service(R"("envFromSecret":"hf-token-secret")"), ""},
      {"null", service(R"("envFromSecret":null)"), ""},
      {"empty", service(R"("envFromSecret":"")"),
       rule + "envFromSecret: Required value: must name a Secret\n"},
      {"no name", service(R"("envFromSecret":"HF_TOKEN")"),
       rule + "envFromSecret: Invalid value: \"HF_TOKEN\": " + syntax},
      {"sidecar", service(R"("frontendSidecar":{"image":"i","envFromSecret":""})"),
       rule + "frontendSidecar.envFromSecret: Required value: must name a Secret\n"},
  });
}

TEST_CASE("labels and annotations: syntax") {
  const std::string name =
      "must consist of letters, digits, '-', '_' or '.', and start and end with a letter or digit";
  for (const std::string place : {"", "extraPodMetadata.", "ingress."}) {
    const auto in = [&](std::string_view field, std::string_view map) {
      const std::string members = fmt::format(R"("{}":{{{}}})", field, map);
      if (place.empty()) return service(members);
      const bool ingress = place == "ingress.";
      return service(fmt::format(
          R"("componentType":"frontend","{}":{{{}{}}})", place.substr(0, place.size() - 1),
          ingress ? R"("enabled":true,"host":"h","ingressControllerClassName":"n",)" : "", members));
    };
    const auto label = [&](std::string_view key, std::string_view shown, std::string_view problem) {
      return fmt::format("E service.labels spec.services[a].{}labels[{}]: Invalid value: {}: {}\n", place,
                         key, shown, problem);
    };
    check({
        {"good labels", in("labels", R"("a":"","example.com/b_C.d":"v-1")"), ""},
        {"label key", in("labels", R"("a b":"")"), label("a b", "\"a b\"", "name part " + name)},
        {"upper case prefix", in("labels", R"("A/b":"")"),
         label("A/b", "\"A/b\"",
               "prefix part must consist of lower case letters, digits, '-' or '.', and start and end with a "
               "letter or "
               "digit")},
        {"label value", in("labels", R"("a":"b c")"), label("a", "\"b c\"", name)},
        {"long label value", in("labels", fmt::format(R"("a":"{}")", std::string(64, 'x'))),
         label("a", showValue(std::string(64, 'x')), "must be no more than 63 characters")},
        {"good annotations", in("annotations", R"("A.b/c":"anything at all")"), ""},
        {"annotation key", in("annotations", R"("a/b/c":"")"),
         fmt::format("E service.annotations spec.services[a].{}annotations[a/b/c]: Invalid value: \"a/b/c\": "
                     "must contain "
                     "at most one '/'\n",
                     place)},
        {"annotations of 256 KiB",
         in("annotations", fmt::format(R"("a":"{}")", std::string(std::size_t{256} * 1024 - 1, 'x'))), ""},
        {"annotations beyond",
         in("annotations", fmt::format(R"("a":"{}")", std::string(std::size_t{256} * 1024, 'x'))),
         fmt::format("E service.annotations spec.services[a].{}annotations: Too long: may not be more than "
                     "262144 bytes in total (they have 262145)\n",
                     place)},
    });
  }
}

TEST_CASE("labels and annotations that the operator sets (child-Q17)") {
  const auto label = [](std::string_view place, std::string_view key) {
    return fmt::format(
        "W service.label-owned spec.services[a].{}labels[{}]: has no effect because the operator sets it\n",
        place, key);
  };
  check({
      {"selector", service(R"("labels":{"nvidia.com/selector":"x"})"), label("", "nvidia.com/selector")},
      {"of the pod", service(R"("extraPodMetadata":{"labels":{"nvidia.com/dynamo-component":"x"}})"),
       label("extraPodMetadata.", "nvidia.com/dynamo-component")},
      {"metrics are the user's", service(R"("labels":{"nvidia.com/metrics-enabled":"false"})"), ""},
      {"another one", service(R"("labels":{"nvidia.com/mine":"x"})"), ""},
      {"restart", service(R"("annotations":{"nvidia.com/restartAt":"x"})"),
       "W service.annotation-owned spec.services[a].annotations[nvidia.com/restartAt]: may be overwritten by "
       "the operator\n"},
  });
  CHECK(findingsOf(validateDcd,
                   R"({"metadata":{"name":"a","ownerReferences":[{"kind":"DynamoGraphDeployment",)"
                   R"("name":"g"}]},"spec":{"labels":{"nvidia.com/dynamo-component":"x"},)"
                   R"("annotations":{"nvidia.com/restartAt":"x"}}})")
            .empty());
}

TEST_CASE("labels that the operator leaves to the user are not warned of (child-Q17)") {
  const auto label = [](std::string_view path, std::string_view key, bool always) {
    return fmt::format(
        "W service.label-owned {}[nvidia.com/{}]: {}\n", path, key,
        always ? "has no effect because the operator sets it" : "may be overwritten by the operator");
  };
  const auto given = [](std::string_view key, std::string_view members = "") {
    return fmt::format(R"("labels":{{"nvidia.com/{}":"x"}}{}{})", key, members.empty() ? "" : ",", members);
  };
  const auto with = [&](std::string_view key, std::string_view members = "") {
    return service(given(key, members));
  };
  const auto offGrove = [&](std::string_view key, std::string_view members) {
    return annotated(R"("nvidia.com/enable-grove":"false")",
                     fmt::format(R"("services":{{"a":{{{}}}}})", given(key, members)));
  };
  const auto inA = [&](std::string_view key, bool always) {
    return label("spec.services[a].labels", key, always);
  };
  const std::string worker = R"("componentType":"worker")";
  const std::string restored = R"("checkpoint":{"enabled":true,"checkpointRef":"c"})";
  check({
      {"no type", with("dynamo-component-type"), ""},
      {"type", with("dynamo-component-type", worker), inA("dynamo-component-type", true)},
      {"the same type", service(R"("labels":{"nvidia.com/dynamo-component-type":"worker"},)" + worker), ""},
      {"no type below", with("dynamo-sub-component-type"), ""},
      {"no model", with("dynamo-base-model-hash"), ""},
      {"model", with("dynamo-base-model-hash", R"("modelRef":{"name":"m"})"),
       inA("dynamo-base-model-hash", true)},
      {"workers", with("dynamo-worker-hash", worker), inA("dynamo-worker-hash", false)},
      {"workers without Grove", offGrove("dynamo-worker-hash", worker), inA("dynamo-worker-hash", true)},
      {"no workers", offGrove("dynamo-worker-hash", ""), ""},
      {"restored", with("snapshot-is-restore-target"), inA("snapshot-is-restore-target", false)},
      {"restored without Grove", offGrove("snapshot-is-restore-target", ""),
       inA("snapshot-is-restore-target", true)},
      {"no checkpoint", with("snapshot-checkpoint-hash"), ""},
      {"discovery", with("dynamo-discovery-enabled"), inA("dynamo-discovery-enabled", false)},
      {"discovery of pods",
       service(R"("extraPodMetadata":{"labels":{"nvidia.com/dynamo-discovery-enabled":"x"}})"), ""},
  });
  GraphPolicy checkpoints;
  checkpoints.checkpointEnabled = true;
  check({{"checkpoint", with("snapshot-checkpoint-hash", restored), inA("snapshot-checkpoint-hash", false)}},
        checkpoints);
  const auto alone = [&](std::string_view metadata, std::string_view spec) {
    return findingsOf(
        validateDcd,
        fmt::format(R"({{"metadata":{{"name":"a","namespace":"ns"{}}},"spec":{{{}}}}})", metadata, spec));
  };
  CHECK(alone("", given("dynamo-component")) == label("spec.labels", "dynamo-component", true));
  CHECK(alone("", given("dynamo-graph-deployment-name")).empty());
  CHECK(alone("", given("dynamo-worker-hash", worker)).empty());
  CHECK(alone(R"(,"labels":{"nvidia.com/dynamo-component-type":"x"})", worker) ==
        label("metadata.labels", "dynamo-component-type", true));
  CHECK(alone("", R"("serviceName":"x",)" + given("dynamo-component")).empty());
}

TEST_CASE("annotations of services that mean something") {
  const auto with = [](std::string_view key, std::string_view value) {
    return service(fmt::format(R"("annotations":{{"nvidia.com/{}":"{}"}})", key, value));
  };
  const std::string p = " spec.services[a].annotations[nvidia.com/";
  check({
      {"executor", with("vllm-distributed-executor-backend", "RAY"), ""},
      {"unknown executor", with("vllm-distributed-executor-backend", "mpi"),
       "E service.vllm-executor" + p +
           "vllm-distributed-executor-backend]: Unsupported value: \"mpi\": supported values: \"mp\", "
           "\"ray\"\n"},
      {"discovery", with("dynamo-discovery-backend", "etcd"), ""},
      {"unknown discovery", with("dynamo-discovery-backend", "consul"),
       "W service.discovery-backend" + p +
           "dynamo-discovery-backend]: is neither kubernetes nor etcd: kubernetes is used\n"},
      {"metrics", with("enable-metrics", "false"), ""},
      {"unknown metrics", with("enable-metrics", "no"),
       "W service.enable-metrics" + p + "enable-metrics]: only \"false\" turns metrics off\n"},
      {"pull secrets", with("disable-image-pull-secret-discovery", "true"), ""},
      {"unknown pull secrets", with("disable-image-pull-secret-discovery", "1"),
       "W service.pull-secret-discovery" + p +
           "disable-image-pull-secret-discovery]: only \"true\" turns off the discovery of pull secrets\n"},
      {"strategy", with("deployment-strategy", "Recreate"), ""},
      {"unknown strategy", with("deployment-strategy", "recreate"),
       "W service.deployment-strategy" + p +
           "deployment-strategy]: is neither RollingUpdate nor Recreate: RollingUpdate is used\n"},
      {"numbers are not read by Grove", with("deployment-rolling-update-max-surge", "many"),
       "W service.rolling-update" + p +
           "deployment-rolling-update-max-surge]: without Grove: must be a number of pods or a percentage, "
           "such "
           "as 1 or 25%\n"},
  });
}

TEST_CASE("service.rolling-update") {
  const std::string surge = "nvidia.com/deployment-rolling-update-max-surge";
  const std::string unavailable = "nvidia.com/deployment-rolling-update-max-unavailable";
  GraphPolicy noGrove;
  noGrove.groveDisabled = true;
  const auto with = [&](std::string_view s, std::string_view u, std::string_view more = "") {
    return service(fmt::format(R"("annotations":{{"{}":"{}","{}":"{}"{}}})", surge, s, unavailable, u, more));
  };
  const auto bad = [](std::string_view key, std::string_view value, std::string_view problem) {
    return fmt::format(
        "E service.rolling-update spec.services[a].annotations[{}]: Invalid value: \"{}\": {}\n", key, value,
        problem);
  };
  const std::string form = "must be a number of pods or a percentage, such as 1 or 25%";
  const std::string zero = fmt::format(
      "E service.rolling-update spec.services[a].annotations[{}]: Invalid value: may not be 0 when max-surge "
      "is 0\n",
      unavailable);
  check(
      {
          {"numbers", with("1", "0"), ""},
          {"percentages", with("0%", "100%"), ""},
          {"none", with("", ""), ""},
          {"surge may be more than all", with("150%", "1"), ""},
          {"unavailable may not", with("1", "101%"), bad(unavailable, "101%", "must be at most 100%")},
          {"words", with("many", "few"), bad(surge, "many", form) + bad(unavailable, "few", form)},
          {"negative", with("-1", "1"), bad(surge, "-1", form)},
          {"a sign, as Go reads numbers", with("+3", "+0"), ""},
          {"a sign before a percentage", with("+25%", "1"), bad(surge, "+25%", form)},
          {"two signs", with("+-3", "1"), bad(surge, "+-3", form)},
          {"nothing but a sign", with("+", "1"), bad(surge, "+", form)},
          {"both zero", with("0", "0%"), zero},
          {"zero and the default", with("0", ""), ""},
          {"recreated anyway", with("many", "few", R"(,"nvidia.com/deployment-strategy":"Recreate")"), ""},
          {"multinode has none",
           service(fmt::format(R"("multinode":{{"nodeCount":2}},"annotations":{{"{}":"many"}})", surge)), ""},
          {"ready for a while", with("1", "0", R"(,"nvidia.com/deployment-min-ready-seconds":"599")"), ""},
          {"ready for the whole progress deadline",
           with("1", "0", R"(,"nvidia.com/deployment-min-ready-seconds":"600")"),
           "E service.min-ready-seconds "
           "spec.services[a].annotations[nvidia.com/deployment-min-ready-seconds]: "
           "Invalid value: \"600\": must be a number of seconds from 0 to 599\n"},
          {"ready for no number", with("1", "0", R"(,"nvidia.com/deployment-min-ready-seconds":"5s")"),
           "E service.min-ready-seconds "
           "spec.services[a].annotations[nvidia.com/deployment-min-ready-seconds]: "
           "Invalid value: \"5s\": must be a number of seconds from 0 to 599\n"},
          {"ready and recreated",
           with(
               "1", "0",
               R"(,"nvidia.com/deployment-min-ready-seconds":"x","nvidia.com/deployment-strategy":"Recreate")"),
           ""},
          {"of the pod",
           service(fmt::format(
               R"("annotations":{{"{0}":"1"}},"extraPodMetadata":{{"annotations":{{"{0}":"many"}}}})",
               surge)),
           fmt::format(
               "E service.rolling-update spec.services[a].extraPodMetadata.annotations[{}]: Invalid value: "
               "\"many\": {}\n",
               surge, form)},
      },
      noGrove);
}

}  // namespace
}  // namespace dynamo::rules::test
