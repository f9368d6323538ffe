// Rules about one service.

#include "graph_support.h"

namespace dynamo::rules::test {
namespace {

TEST_CASE("service.dynamo-namespace") {
  const auto finding = [](std::string_view used) {
    return fmt::format(
        "W service.dynamo-namespace spec.services[a].dynamoNamespace: is deprecated and ignored: \"{}\" is "
        "used\n",
        used);
  };
  check({
      {"given", service(R"("dynamoNamespace":"x")"), finding("ns-g")},
      {"empty", service(R"("dynamoNamespace":"")"), ""},
      {"null", service(R"("dynamoNamespace":null)"), ""},
      {"global", service(R"("dynamoNamespace":"x","globalDynamoNamespace":true)"), finding("dynamo")},
      {"dots become dashes", graph(R"("services":{"a":{"dynamoNamespace":"x"}})", "", "qwen3-0.6b"),
       finding("ns-qwen3-0-6b")},
      {"equal to the computed value", service(R"("dynamoNamespace":"ns-g")"), finding("ns-g")},
  });
}

TEST_CASE("names of usual length fit with both namespaces") {
  const json::Document now =
      object(R"({"metadata":{"name":"vllm-disagg-router","namespace":"dynamo-cloud"},"spec":{"services":)"
             R"({"Frontend":{"dynamoNamespace":"vllm-disagg-router"}}}})");
  const auto warnings = validateDgd({now, nullptr, kSomeone, {}}).warnings;
  REQUIRE(!warnings.empty());
  CHECK(warnings.front().message() ==
        "spec.services[Frontend].dynamoNamespace: is deprecated and ignored: "
        "\"dynamo-cloud-vllm-disagg-router\" is "
        "used");
}

TEST_CASE("service.replicas-negative") {
  const std::string negative =
      "E service.replicas-negative spec.services[a].replicas: Invalid value: -1: must be greater than or "
      "equal to "
      "0\n";
  check({
      {"negative", service(R"("replicas":-1)"), negative},
      {"zero", service(R"("replicas":0)"), ""},
      {"most", service(R"("replicas":2147483647)"), ""},
      {"beyond 32 bits is a type error", service(R"("replicas":2147483648)"), ""},
      {"null", service(R"("replicas":null)"), ""},
      {"text", service(R"("replicas":"-1")"), ""},
  });
}

TEST_CASE("service.shared-memory-size (adm-Q10)") {
  const std::string path = "E service.shared-memory-size spec.services[a].sharedMemory.size: ";
  const std::string zero = ": must be greater than zero; set disabled: true for no shared memory\n";
  check({
      {"absent", service(""), ""},
      {"null", service(R"("sharedMemory":null)"), ""},
      {"empty", service(R"("sharedMemory":{})"),
       path + "Required value: must be set unless disabled is true\n"},
      {"null size", service(R"("sharedMemory":{"size":null})"),
       path + "Required value: must be set unless disabled is true\n"},
      {"disabled", service(R"("sharedMemory":{"disabled":true})"), ""},
      {"disabled, size zero", service(R"("sharedMemory":{"disabled":true,"size":"0"})"), ""},
      {"disabled false", service(R"("sharedMemory":{"disabled":false})"),
       path + "Required value: must be set unless disabled is true\n"},
      {"size", service(R"("sharedMemory":{"size":"16Gi"})"), ""},
      {"a number", service(R"("sharedMemory":{"size":1024})"), ""},
      {"zero", service(R"("sharedMemory":{"size":"0Gi"})"), path + "Invalid value: \"0Gi\"" + zero},
      {"zero as a number", service(R"("sharedMemory":{"size":0})"), path + "Invalid value: \"0\"" + zero},
      {"negative", service(R"("sharedMemory":{"size":"-1Gi"})"), path + "Invalid value: \"-1Gi\"" + zero},
  });
  CHECK(findingsOf(validateDgd, service(R"("sharedMemory":{"size":"16 GB"})"))
            .find(path + "Invalid value: \"16 GB\": must be") == 0);
}

TEST_CASE("service.component-type (a1-Q12)") {
  const std::string path = "W service.component-type spec.services[a].componentType: ";
  for (const char* type : {"frontend", "worker", "prefill", "decode", "planner", "default", ""}) {
    INFO(type);
    CHECK(findingsOf(validateDgd, service(fmt::format(R"("componentType":"{}")", type))).empty());
  }
  check({
      {"another case", service(R"("componentType":"Worker")"),
       path + "\"Worker\" is not a known type: the base defaults are used (did you mean \"worker\"?)\n"},
      {"mistyped", service(R"("componentType":"prefil")"),
       path + "\"prefil\" is not a known type: the base defaults are used (did you mean \"prefill\"?)\n"},
      {"legacy", service(R"("componentType":"main")"),
       path + "\"main\" is not a known type: the base defaults are used\n"},
  });
}

TEST_CASE("service.grace-period (pod-Q42)") {
  const auto with = [](std::string_view type, std::string_view seconds) {
    return service(fmt::format(R"("componentType":"{}","extraPodSpec":{{"terminationGracePeriodSeconds":{},)"
                               R"("mainContainer":{{"image":"i","command":["run"]}}}})",
                               type, seconds));
  };
  const std::string cut =
      "W service.grace-period spec.services[a].extraPodSpec.terminationGracePeriodSeconds: cuts off answers "
      "that take longer than 10 s when a pod ends\n";
  check({
      {"a short one of a worker", with("worker", "10"), cut},
      {"a short one of a frontend", with("frontend", "10"), cut},
      {"a short one of a planner", with("planner", "10"), ""},
      {"a long one", with("decode", "30"), ""},
      {"the default", with("prefill", "null"), ""},
  });
}

TEST_CASE("service.model-ref") {
  const std::string finding =
      "E service.model-ref spec.services[a].modelRef.name: Required value: must name the model that the "
      "service serves\n";
  check({
      {"named", service(R"("modelRef":{"name":"Qwen/Qwen3-0.6B"})"), ""},
      {"empty", service(R"("modelRef":{"name":""})"), finding},
      {"absent name", service(R"("modelRef":{})"), finding},
  });
}

TEST_CASE("service.container-name, the frontend sidecar (pod-Q11b, pod-Q33b)") {
  const auto with = [](std::string_view list, std::string_view name, std::string_view more = "") {
    return service(
        fmt::format(R"("extraPodSpec":{{"{}":[{{"name":"x"}},{{"name":"{}"}}]{}}})", list, name, more));
  };
  const auto sidecar = [](std::string_view podSpec, std::string_view type = "") {
    return service(fmt::format(
        R"("frontendSidecar":{{"image":"i"}},"componentType":"{}","extraPodSpec":{{{}}})", type, podSpec));
  };
  const auto taken = [](std::string_view field, std::string_view name, std::string_view whose) {
    return fmt::format(
        "E service.container-name spec.services[a].extraPodSpec.{}: Duplicate value: \"{}\": is the "
        "name of the {}\n",
        field, name, whose);
  };
  check({
      {"main", with("containers", "main"), taken("containers[1].name", "main", "main container")},
      {"main as init container", with("initContainers", "main"),
       taken("initContainers[1].name", "main", "main container")},
      {"the main container's own name", with("containers", "main", R"(,"mainContainer":{"name":"engine"})"),
       ""},
      {"a sidecar with that name", with("containers", "engine", R"(,"mainContainer":{"name":"engine"})"),
       taken("containers[1].name", "engine", "main container")},
      {"sidecar-frontend without sidecar", with("containers", "sidecar-frontend"), ""},
      {"sidecar-frontend with sidecar", sidecar(R"("containers":[{"name":"sidecar-frontend"}])"),
       taken("containers[0].name", "sidecar-frontend", "frontend sidecar")},
      {"as init container", sidecar(R"("initContainers":[{"name":"sidecar-frontend"}])"),
       taken("initContainers[0].name", "sidecar-frontend", "frontend sidecar")},
      {"as main container", sidecar(R"("mainContainer":{"name":"sidecar-frontend"})"),
       taken("mainContainer.name", "sidecar-frontend", "frontend sidecar")},
      {"no image", service(R"("frontendSidecar":{"image":""})"),
       "E service.sidecar-image spec.services[a].frontendSidecar.image: Required value: must be set: a "
       "container needs an image\n"},
      {"null", service(R"("frontendSidecar":null)"), ""},
      {"beside a frontend", sidecar("", "frontend"),
       "W service.sidecar-port spec.services[a].frontendSidecar: conflicts with the frontend in the same "
       "pod: both listen on port 8000\n"},
      {"beside a worker", sidecar("", "worker"), ""},
  });
}

TEST_CASE("service.mocker-nats (dec-23)") {
  const auto runs = [](std::string_view image, std::string_view command, std::string_view container = "",
                       std::string_view members = "", std::string_view spec = "") {
    return service(
        fmt::format(R"("componentType":"worker","extraPodSpec":{{"mainContainer":{{"image":"{}",{}{}}}}}{})",
                    image, command, container, members),
        spec);
  };
  const std::string module = R"("command":["python3","-m","dynamo.mocker"],"args":["--model-path","m"])";
  const auto finding = [](std::string_view item) {
    return fmt::format(
        "W service.mocker-nats spec.services[a].extraPodSpec.mainContainer.{}: the mocker of 1.0 ends "
        "without "
        "NATS: set NATS_SERVER here, or natsAddress of the operator\n",
        item);
  };
  const std::string server = R"([{"name":"NATS_SERVER","value":"nats://n:4222"}])";
  const std::string ours = "registry:5000/vllm-runtime:1.0.0";
  const std::vector<Row> rows = {
      {"1.0.0", runs(ours, module), finding("command[2]")},
      {"with a digest", runs("r/vllm:1.0.1@sha256:00", module), finding("command[2]")},
      {"in a script", runs(ours, R"("command":["sh","-c"],"args":["exec python3 -m dynamo.mocker --x 1"])"),
       finding("args[0]")},
      {"another module", runs(ours, R"("command":["python3","-m","dynamo.vllm"])"), ""},
      {"a later runtime", runs("r/vllm:1.6.1", module), ""},
      {"an unknown runtime", runs("registry:5000/vllm", module), ""},
      {"a variable of the graph", runs(ours, module, "", "", R"("envs":)" + server), ""},
      {"of the service", runs(ours, module, "", R"(,"envs":)" + server), ""},
      {"of the container", runs(ours, module, R"(,"env":)" + server), ""},
      {"perhaps in a Secret", runs(ours, module, "", R"(,"envFromSecret":"s")"), ""},
      {"perhaps in a source", runs(ours, module, R"(,"envFrom":[{"configMapRef":{"name":"c"}}])"), ""}};
  check(rows);
  GraphPolicy policy;
  policy.natsProvided = true;
  CHECK(findingsOf(validateDgd, rows[0].object, {}, policy).empty());
}

TEST_CASE("graphPolicy knows whether components get NATS_SERVER") {
  const auto provided = [](std::string_view address, std::string_view defaults) {
    config::OperatorConfig config;
    config.infrastructure.natsAddress = address;
    if (!defaults.empty()) config.defaults = std::make_shared<const json::Document>(object(defaults));
    return graphPolicy(config, "", {}).natsProvided;
  };
  const std::string container = R"({"mainContainer":{"env":{"NATS_SERVER":"nats://n"}}})";
  CHECK_FALSE(provided("", ""));
  CHECK_FALSE(provided("", R"({"common":{},"types":{"worker":{"mainContainer":{"env":{}}}}})"));
  CHECK(provided("nats://n", ""));
  CHECK(provided("", R"({"common":)" + container + "}"));
  CHECK(provided("", R"({"types":{"worker":)" + container + "}}"));
}

TEST_CASE("service.worker-args (pod-Q30)") {
  const auto with = [](std::string_view type, std::string_view main) {
    return service(
        fmt::format(R"("componentType":"{}","extraPodSpec":{{"mainContainer":{{{}}}}})", type, main));
  };
  const std::string finding =
      "W service.worker-args spec.services[a].extraPodSpec.mainContainer.args: a shell runs only the first "
      "argument: set command\n";
  const auto noProgram = [](std::string_view flag, std::string_view place = "args") {
    return fmt::format(
        "W service.worker-args spec.services[a].extraPodSpec.mainContainer.{}: a shell runs the arguments, "
        "and \"{}\" is not a program: set command\n",
        place, flag);
  };
  check({
      {"one text", with("worker", R"("args":["python3 -m dynamo.vllm"])"), ""},
      {"words", with("worker", R"("args":["python3","-m","dynamo.vllm"])"), finding},
      {"one flag", with("worker", R"("args":["--model=m"])"), noProgram("--model")},
      {"a flag and its value", with("prefill", R"("args":["--model","m"])"), noProgram("--model")},
      {"a module", with("decode", R"("args":["-m","dynamo.vllm"])"), noProgram("-m")},
      {"a flag with the default command",
       with("worker", R"("command":["/bin/sh","-c"],"args":["--model=m"])"), noProgram("--model")},
      {"a flag of a planner", with("planner", R"("args":["--namespace","n"])"), noProgram("--namespace")},
      {"a flag in the command", with("worker", R"("command":["sh","-c","--model=m"])"),
       noProgram("--model", "command")},
      {"a flag for the image's entrypoint", with("epp", R"("args":["--zap-encoder"])"),
       "E service.epp-config spec.services[a].eppConfig: Required value: must specify one of: configMapRef, "
       "config\n"},
      {"options of the shell",
       with("worker", R"("command":["bash","-e","-o","pipefail","-c"],"args":["a b"])"), ""},
      {"options after -c", with("worker", R"("command":["sh","-c"],"args":["-e","a b"])"), ""},
      {"combined options",
       with("worker", R"("command":["/bin/bash","-euxo","pipefail","-c","a"],"args":["b"])"),
       "W service.worker-args spec.services[a].extraPodSpec.mainContainer.command: a shell runs only the "
       "first argument: set command\n"},
      {"a login shell", with("worker", R"("command":["bash","--login","-lc"],"args":["a","b"])"), finding},
      {"several words with an empty command", with("decode", R"("command":[],"args":["a","b"])"), finding},
      {"with command", with("prefill", R"("command":["python3"],"args":["-m","dynamo.vllm"])"), ""},
      {"a frontend has a command", with("frontend", R"("args":["-m","dynamo.frontend"])"), ""},
      {"no args", with("worker", R"("command":null)"), ""},
      {"several words for a shell",
       with("frontend", R"("command":["/bin/bash","-c"],"args":["python3","-m"])"), finding},
      {"a script that reads its arguments",
       with("worker", R"("command":["sh","-c"],"args":["exec $0 $@","a"])"), ""},
  });
  const auto warning = [](std::string_view rule, std::string_view place, std::string_view text) {
    return fmt::format("W service.{} spec.services[a].extraPodSpec.mainContainer.{}: {}\n", rule, place,
                       text);
  };
  check({
      {"a shell without -c", with("worker", R"("command":["/bin/sh"],"args":["python3 -m x"])"),
       warning("shell-script", "command",
               "needs -c: without it a shell reads the text as the name of a file")},
      {"a script's file", with("worker", R"("command":["/bin/sh"],"args":["run.sh"])"), ""},
      {"a command of several words", with("worker", R"("command":["python3 -m dynamo.vllm"])"),
       warning("command-words", "command[0]", "contains whitespace: give each word as a separate item")},
      {"flag and value in one", with("worker", R"("command":["python3"],"args":["-m","x","--model m"])"),
       warning("args-words", "args[2]", "contains a space: give the flag and its value as two items")},
      {"a value with spaces", with("worker", R"("command":["run"],"args":["--a=b c","--d","{\"e\": 1}"])"),
       ""},
      {"a shell's text", with("worker", R"("command":["sh","-c"],"args":["vllm --model m"])"), ""},
      {"flags without a module", with("frontend", R"("args":["--router-mode","kv"])"),
       warning("interpreter-args", "args[0]",
               "python has no option \"--router-mode\": put -m and a module before it")},
      {"the same with a command",
       with("worker", R"("command":["python3","-u"],"args":["--model=m","-m","x"])"),
       warning("interpreter-args", "args[0]",
               "python has no option \"--model\": put -m and a module before it")},
      {"options of python",
       with("worker", R"("command":["python3"],"args":["-W","--x","-u","-m","a","--b"])"), ""},
      {"a script of python", with("worker", R"("command":["python3","run.py"],"args":["--b"])"), ""},
      {"python --version", with("worker", R"("command":["python3","--version"])"), ""},
  });
}

TEST_CASE("ingress") {
  const auto with = [](std::string_view members, std::string_view type = "frontend") {
    return service(fmt::format(R"("componentType":"{}","ingress":{{"enabled":true{}{}}})", type,
                               members.empty() ? "" : ",", members));
  };
  GraphPolicy gateway;
  gateway.virtualServices = true;
  check({{"virtual service", with(R"("host":"h","useVirtualService":true,"virtualServiceGateway":"g")"), ""}},
        gateway);
  const auto routed = [&](std::string_view members) {
    return with(fmt::format(R"("ingressControllerClassName":"nginx",{})", members));
  };
  const std::string noEffect =
      "W service.ingress-no-effect spec.services[a].ingress.enabled: has no effect without "
      "ingressControllerClassName or useVirtualService\n";
  const std::string host =
      "E service.ingress-host spec.services[a].ingress.host: Required value: must be set when the ingress "
      "is enabled\n";
  const std::string unused =
      "W service.ingress-type spec.services[a].ingress: has no effect because only frontends are exposed\n";
  const std::string syntax =
      "must consist of lower case letters, digits, '-' or '.', and start and end with a letter "
      "or digit\n";
  const auto badPart = [](std::string_view part, std::string_view given, std::string_view made,
                          std::string_view problem) {
    return fmt::format(
        "E service.ingress-host-name spec.services[a].ingress.{}: Invalid value: \"{}\": results in the host "
        "\"{}\", which {}",
        part, given, made, problem);
  };
  const auto bad = [&](std::string_view given, std::string_view made, std::string_view problem) {
    return badPart("host", given, made, problem);
  };
  check({
      {"host", routed(R"("host":"h")"), ""},
      {"no host", routed(R"("hostSuffix":"x")"), host},
      {"empty host", routed(R"("host":"")"), host},
      {"disabled", service(R"("ingress":{"enabled":false,"host":"","labels":{"a b":""}})"), ""},
      {"not enabled", service(R"("ingress":{"host":""})"), ""},
      {"another type (child-Q11)", with(R"("host":"h")", "worker"), unused},
      {"another type without host", with("", "worker"), host + unused},
      {"another type, bad host", with(R"("host":"A_b","ingressControllerClassName":"nginx")", "worker"),
       unused},
      {"no class", with(R"("host":"h")"), noEffect},
      {"no class, invalid host", with(R"("host":"A_b")"), noEffect},
      {"virtual service without gateway in the configuration",
       with(R"("host":"h","useVirtualService":true,"virtualServiceGateway":"g")"),
       "W service.ingress-no-effect spec.services[a].ingress.useVirtualService: has no effect because the "
       "operator's configuration names no gateway\n"},
      {"virtual service without gateway", with(R"("host":"h","useVirtualService":true)"),
       "W service.ingress-no-effect spec.services[a].ingress.useVirtualService: has no effect without "
       "virtualServiceGateway\n"},
      {"upper case", routed(R"("host":"My.Host")"), bad("My.Host", "My.Host.local", syntax)},
      {"underscore", routed(R"("host":"a_b")"), bad("a_b", "a_b.local", syntax)},
      {"two dots", routed(R"("host":"a..b")"), bad("a..b", "a..b.local", syntax)},
      {"an address with a suffix is a name", routed(R"("host":"10.0.0.1")"), ""},
      {"an address", routed(R"("host":"10.0","hostSuffix":"0.1")"),
       bad("10.0", "10.0.0.1", "must be a DNS name, not an IP address\n")},
      {"no address: beyond 255", routed(R"("host":"10.0","hostSuffix":"0.256")"), ""},
      {"an address with a leading zero", routed(R"("host":"10.0","hostSuffix":"0.01")"),
       bad("10.0", "10.0.0.01", "must be a DNS name, not an IP address\n")},
      {"no address: five parts", routed(R"("host":"10.0.0","hostSuffix":"0.1")"), ""},
      {"no address: three parts", routed(R"("host":"10","hostSuffix":"0.1")"), ""},
      {"empty suffix", routed(R"("host":"h","hostSuffix":"")"), badPart("hostSuffix", "", "h.", syntax)},
      {"a suffix in upper case", routed(R"("host":"h","hostSuffix":"X.y")"),
       badPart("hostSuffix", "X.y", "h.X.y", syntax)},
      {"a prefix with _", routed(R"("hostPrefix":"a_","host":"h")"),
       badPart("hostPrefix", "a_", "a_h.local", syntax)},
      {"a suffix with a dot", routed(R"("host":"h","hostSuffix":".x.y")"),
       "E service.ingress-host-name spec.services[a].ingress.hostSuffix: Invalid value: \".x.y\": must not "
       "start with a dot: the operator adds one\n"},
      {"prefix without a dot", routed(R"("host":"h","hostPrefix":"P-")"),
       badPart("hostPrefix", "P-", "P-h.local", syntax)},
      {"scheme", routed(R"("host":"https://h")"),
       bad("https://h", "https://h.local", "must be a host name without a scheme\n")},
      {"port", routed(R"("host":"h:80")"), bad("h:80", "h:80.local", "must be a host name without a port\n")},
      {"path", routed(R"("host":"h/x")"), bad("h/x", "h/x.local", "must be a host name without a path\n")},
      {"wildcard", routed(R"("host":"*.h")"), ""},
      {"wildcard inside", routed(R"("host":"a.*.h")"),
       bad("a.*.h", "a.*.h.local", "must be \"*.\" followed by a DNS subdomain\n")},
      {"class", with(R"("host":"h","ingressControllerClassName":"Nginx")"),
       "E service.ingress-names spec.services[a].ingress.ingressControllerClassName: Invalid value: "
       "\"Nginx\": " +
           syntax},
      {"empty class", with(R"("host":"h","ingressControllerClassName":"")"),
       "E service.ingress-names spec.services[a].ingress.ingressControllerClassName: Invalid value: \"\": "
       "must not be "
       "empty\n"},
      {"TLS secret", routed(R"("host":"h","tls":{"secretName":"a b"})"),
       "E service.ingress-names spec.services[a].ingress.tls.secretName: Invalid value: \"a b\": " + syntax},
      {"no TLS secret", routed(R"("host":"h","tls":{})"), ""},
  });
  GraphPolicy policy;
  policy.ingressFault = "ingress.hostSuffix";
  CHECK(findingsOf(validateDgd, service(R"("componentType":"frontend")"), {}, policy) ==
        "W service.ingress-configured spec.services[a].ingress: will be refused because ingress.hostSuffix "
        "of the operator's configuration is not a valid name\n");
  CHECK(findingsOf(validateDgd, service(R"("componentType":"frontend","ingress":{"enabled":false})"), {},
                   policy) == "");
  CHECK(findingsOf(validateDgd, service(R"("componentType":"worker")"), {}, policy) == "");
}

TEST_CASE("endpoint pickers") {
  const auto epp = [](std::string_view members) {
    return service(fmt::format(R"("componentType":"epp"{}{})", members.empty() ? "" : ",", members));
  };
  const std::string config = R"("eppConfig":{"config":{"plugins":[],"schedulingProfiles":[]}})";
  const std::string p = " spec.services[a].";
  const std::string unset =
      "E service.epp-config" + p + "eppConfig: Required value: must specify one of: configMapRef, config\n";
  const auto replicas = [&](int count) {
    return fmt::format(
        "E service.epp-replicas{}replicas: Invalid value: {}: must be 1: an endpoint picker has exactly "
        "one replica\n",
        p, count);
  };
  check({
      {"configured", epp(config), ""},
      {"by reference", epp(R"("eppConfig":{"configMapRef":{"name":"c","key":"k"}})"), ""},
      {"one replica", epp(config + R"(,"replicas":1)"), ""},
      {"no replica", epp(config + R"(,"replicas":0)"), replicas(0)},
      {"two", epp(config + R"(,"replicas":2)"), replicas(2)},
      {"minus one", epp(config + R"(,"replicas":-1)"),
       "E service.replicas-negative" + p +
           "replicas: Invalid value: -1: must be greater than or equal to 0\n"},
      {"two nodes", epp(config + R"(,"multinode":{"nodeCount":2})"),
       "E service.epp-multinode" + p + "multinode: Forbidden: an endpoint picker runs on one node\n"},
      {"no configuration", epp(""), unset},
      {"null", epp(R"("eppConfig":null)"), unset},
      {"empty", epp(R"("eppConfig":{})"), unset},
      {"both", epp(R"("eppConfig":{"config":{},"configMapRef":{"name":"c"}})"),
       "E service.epp-config" + p + "eppConfig: Forbidden: may not specify both configMapRef and config\n"},
      {"unnamed", epp(R"("eppConfig":{"configMapRef":{"key":"k"}})"),
       "E service.epp-config-map" + p +
           "eppConfig.configMapRef.name: Required value: must name a ConfigMap\n"},
      {"both, unnamed", epp(R"("eppConfig":{"config":{},"configMapRef":{"name":""}})"),
       "E service.epp-config" + p +
           "eppConfig: Forbidden: may not specify both configMapRef and config\n"
           "E service.epp-config-map" +
           p + "eppConfig.configMapRef.name: Required value: must name a ConfigMap\n"},
      {"all at once", epp(R"("replicas":3,"multinode":{"nodeCount":2})"),
       unset + "E service.epp-multinode" + p + "multinode: Forbidden: an endpoint picker runs on one node\n" +
           replicas(3)},
      {"another type needs no configuration", service(R"("eppConfig":{},"replicas":2)"),
       "W service.epp-config-unused spec.services[a].eppConfig: has no effect because componentType is not "
       "epp\n"},
      {"a profile of plugins by name and by type",
       service(
           R"("componentType":"epp","eppConfig":{"config":{"plugins":[{"type":"t"},{"type":"u","name":"n"}],)"
           R"("schedulingProfiles":[{"name":"p","plugins":[{"pluginRef":"t"},{"pluginRef":"n"}]}]}})"),
       ""},
      {"a profile of an unknown plugin",
       service(R"("componentType":"epp","eppConfig":{"config":{"plugins":[{"type":"u","name":"n"}],)"
               R"("schedulingProfiles":[{"name":"p","plugins":[{"pluginRef":"n"},{"pluginRef":"u"}]}]}})"),
       "W service.epp-plugins "
       "spec.services[a].eppConfig.config.schedulingProfiles[0].plugins[1].pluginRef: "
       "no plugin is named \"u\"\n"},
      {"exact case", service(R"("componentType":"EPP")"),
       "W service.component-type spec.services[a].componentType: \"EPP\" is not a known type: the base "
       "defaults are used (did "
       "you mean \"epp\"?)\n"},
  });
  GraphPolicy absent;
  absent.inferenceApiPresent = false;
  GraphPolicy present;
  present.inferenceApiPresent = true;
  CHECK(findingsOf(validateDgd, epp(config), {}, present).empty());
  CHECK(findingsOf(validateDgd, epp(config), {}, absent) ==
        "E service.epp-api spec.services[a]: Forbidden: an endpoint picker needs the API "
        "inference.networking.k8s.io, which is not installed in the cluster\n");
  CHECK(findingsOf(validateDgd, service(""), {}, absent).empty());
  const std::string dcd = R"({"metadata":{"name":"a"},"spec":{"componentType":"epp",)" + config + "}}";
  CHECK(findingsOf(validateDcd, dcd, {}, absent).empty());
}

TEST_CASE("checkpoints (dec-7, pod-Q23)") {
  const auto with = [](std::string_view members, std::string_view service_ = "") {
    return service(fmt::format(R"("checkpoint":{{"enabled":true{}{}}}{}{})", members.empty() ? "" : ",",
                               members, service_.empty() ? "" : ",", service_));
  };
  const std::string ref = R"("checkpointRef":"c")";
  const std::string p = " spec.services[a].checkpoint";
  const std::string unset = "E service.checkpoint-source" + p +
                            ".identity: Required value: must specify one of: identity, checkpointRef\n";
  const auto part = [&](std::string_view field) {
    return fmt::format(
        "E service.checkpoint-source{}.identity.{}: Required value: must be set: it is part of the "
        "checkpoint's identity\n",
        p, field);
  };
  GraphPolicy on;
  on.checkpointEnabled = true;
  check(
      {
          {"by reference", with(ref), ""},
          {"by identity", with(R"("identity":{"model":"m","backendFramework":"vllm"})"), ""},
          {"by neither", with(""), unset},
          {"empty reference", with(R"("checkpointRef":"")"), unset},
          {"an incomplete identity", with(R"("identity":{})"), part("backendFramework") + part("model")},
          {"the reference overrides the identity", with(ref + R"(,"identity":{})"), ""},
          {"unknown framework", with(R"("identity":{"model":"m","backendFramework":"noop"})"),
           "E service.checkpoint-source" + p +
               ".identity.backendFramework: Unsupported value: \"noop\": supported values: \"sglang\", "
               "\"trtllm\", "
               "\"vllm\"\n"},
          {"disabled", service(R"("checkpoint":{"enabled":false},"multinode":{"nodeCount":2})"), ""},
          {"multinode", with(ref, R"("multinode":{"nodeCount":2})"),
           "E service.checkpoint-multinode" + p +
               ": Forbidden: a service with several nodes cannot be checkpointed\n"},
          {"one node", with(ref, R"("multinode":{"nodeCount":1})"), ""},
      },
      on);
  check({{"off", with(ref),
          "E service.checkpoint-disabled" + p +
              ".enabled: Forbidden: checkpoints are disabled in the operator's configuration "
              "(checkpoint.enabled)\n"},
         {"disabled, not used", service(R"("checkpoint":{"enabled":false})"), ""}});
  struct Storage {
    CheckpointStorage storage;
    const char* missing;
  };
  const Storage storages[] = {
      {{"pvc", "c", "/p", ""}, ""},           {{"pvc", "", "/p", ""}, "pvc.pvcName"},
      {{"pvc", "c", "", ""}, "pvc.basePath"}, {{"", "c", "/p", ""}, ""},
      {{"", "", "/p", ""}, "pvc.pvcName"},    {{"s3", "", "", "s3://b"}, ""},
      {{"s3", "c", "/p", ""}, "s3.uri"},      {{"oci", "", "", "o"}, ""},
      {{"oci", "c", "/p", ""}, "oci.uri"},
  };
  for (const Storage& one : storages) {
    GraphPolicy policy = on;
    policy.checkpointStorage = one.storage;
    const std::string missing = one.missing;
    INFO(one.storage.type << " " << missing);
    CHECK(findingsOf(validateDgd, with(ref), {}, policy) ==
          (missing.empty() ? std::string{}
                           : "E service.checkpoint-storage" + p + ".enabled: Forbidden: checkpoint.storage." +
                                 missing + " is not set in the operator's configuration\n"));
  }
}

TEST_CASE("an invalid claim name in the configuration") {
  GraphPolicy policy;
  policy.checkpointEnabled = true;
  policy.checkpointStorage.pvcName = "A_b";
  CHECK(findingsOf(validateDgd,
                   service(R"("componentType":"worker","checkpoint":{"enabled":true,"checkpointRef":"c"})"),
                   {}, policy) ==
        "E service.checkpoint-storage spec.services[a].checkpoint.enabled: Forbidden: "
        "checkpoint.storage.pvc.pvcName of the operator's configuration is not a valid name of a claim: "
        "\"A_b\"\n");
}

TEST_CASE("multinode: the operator's flags can be inserted (pod-Q31)") {
  const auto with = [](std::string_view framework, std::string_view container, std::string_view gpus = "8",
                       std::string_view executor = "mp") {
    return graph(
        fmt::format(R"("backendFramework":"{}","services":{{"a":{{"componentType":"worker","multinode":)"
                    R"({{"nodeCount":2}},"resources":{{"limits":{{"gpu":"{}"}}}},"extraPodSpec":{{)"
                    R"("mainContainer":{{{}}}}}}}}})",
                    framework, gpus, container),
        fmt::format(R"("annotations":{{"nvidia.com/vllm-distributed-executor-backend":"{}"}})", executor));
  };
  const auto finding = [](std::string_view field, std::string_view framework) {
    return fmt::format(
        "W service.node-flags spec.services[a].extraPodSpec.mainContainer.{}: does not run python -m "
        "dynamo.{}: the operator cannot add the flags that join the nodes\n",
        field, framework);
  };
  check({
      {"a script", with("vllm", R"("command":["./start.sh"],"args":["-tp","16"])"), finding("args", "vllm")},
      {"a script, data parallel", with("vllm", R"("command":["./start.sh"],"args":["-dp","16"])"),
       finding("args", "vllm")},
      {"a script in the default shell", with("vllm", R"("args":["./start.sh -tp 16"])"),
       finding("args", "vllm")},
      {"Ray", with("vllm", R"("command":["./start.sh"],"args":["-tp","16"])", "8", "ray"), ""},
      {"fits one node", with("vllm", R"("command":["./start.sh"],"args":["-tp","16"])", "16"), ""},
      {"a script, sglang", with("sglang", R"("command":["./start.sh"])"), finding("command", "sglang")},
      {"python", with("vllm", R"("command":["python3","serve.py","-tp","16"])"), ""},
      {"a shell", with("vllm", R"("command":["sh","-c","python3 -m dynamo.vllm -tp 16"])"), ""},
      {"a launcher", with("vllm", R"("command":["env","python3","-m","dynamo.vllm"],"args":["-tp=16"])"), ""},
      {"no command", with("sglang", R"("image":"i")"), ""},
      {"a shell without arguments", with("sglang", R"("command":["/bin/sh","-c"])"), ""},
  });
}

TEST_CASE("frontends listen where probes and Service expect them (dec-22)") {
  const auto with = [](std::string_view container, std::string_view more = "", std::string_view spec = "") {
    return service(fmt::format(R"("componentType":"frontend"{},"extraPodSpec":{{"mainContainer":{{{}}}}})",
                               more, container),
                   spec);
  };
  const auto elsewhere = [](std::string_view field, int port = 9000, int served = 8000) {
    return fmt::format(
        "W service.frontend-port {}: the frontend listens on {}, but probes and clients use {}\n", field,
        port, served);
  };
  const std::string main = "spec.services[a].extraPodSpec.mainContainer.";
  check({
      {"an argument", with(R"("args":["-m","dynamo.frontend","--http-port","9000"])"),
       elsewhere(main + "args[3]")},
      {"joined", with(R"("args":["-m","dynamo.frontend","--http-port=9000"])"), elsewhere(main + "args[2]")},
      {"in the command", with(R"("command":["python3","-m","dynamo.frontend","--http-port","9000"])"),
       elsewhere(main + "command[4]")},
      {"a script",
       with(R"("command":["sh","-c"],"args":["exec python3 -m dynamo.frontend --http-port 9000"])"),
       elsewhere(main + "args[0]")},
      {"the usual port", with(R"("args":["-m","dynamo.frontend","--http-port","8000"])"), ""},
      {"a variable as port", with(R"("args":["-m","dynamo.frontend","--http-port","$P"])"), ""},
      {"the port is named",
       with(R"("args":["-m","dynamo.frontend","--http-port","9000"],)"
            R"("ports":[{"name":"http","containerPort":9000}])"),
       ""},
      {"another port is named",
       with(R"("ports":[{"name":"http","containerPort":9001}],)"
            R"("args":["-m","dynamo.frontend","--http-port","9000"])"),
       elsewhere(main + "args[3]", 9000, 9001)},
      {"a variable", with(R"("env":[{"name":"X"},{"name":"DYN_HTTP_PORT","value":"9000"}])"),
       elsewhere(main + "env[1].value")},
      {"a variable of the service", with("", R"(,"envs":[{"name":"DYN_HTTP_PORT","value":"9000"}])"),
       elsewhere("spec.services[a].envs[0].value")},
      {"a variable of the graph", with("", "", R"("envs":[{"name":"DYN_HTTP_PORT","value":"9000"}])"),
       elsewhere("spec.envs[0].value")},
      {"the flag outranks the variable",
       with(R"("args":["-m","dynamo.frontend","--http-port","8000"],)"
            R"("env":[{"name":"DYN_HTTP_PORT","value":"9000"}])"),
       ""},
      {"not a frontend",
       service(R"("componentType":"worker","envs":[{"name":"DYN_HTTP_PORT","value":"9000"}])"), ""},
      {"a sidecar",
       service(
           R"("componentType":"worker","frontendSidecar":{"image":"i","args":["-m","dynamo.frontend","--http-port","9000"]})"),
       "W service.sidecar-listens spec.services[a].frontendSidecar.args[3]: the frontend listens on 9000, "
       "but "
       "probes and clients use 8000\n"},
      {"a variable of a sidecar",
       service(
           R"("componentType":"worker","frontendSidecar":{"image":"i","envs":[{"name":"DYN_HTTP_PORT","value":"9000"}]})"),
       "W service.sidecar-listens spec.services[a].frontendSidecar.envs[0].value: the frontend listens on "
       "9000, "
       "but probes and clients use 8000\n"},
  });
}

TEST_CASE("a frontend sidecar has no claims (dec-20)") {
  const auto with = [](std::string_view members,
                       std::string_view sidecar = R"("frontendSidecar":{"image":"i"})") {
    return service(
        fmt::format(R"("componentType":"worker",{}{}{})", sidecar, members.empty() ? "" : ",", members),
        R"("pvcs":[{"name":"c"}])");
  };
  const std::string without =
      "W service.sidecar-claims spec.services[a].frontendSidecar: does not mount the claims of the main "
      "container: models there are not found by the sidecar\n";
  const auto volume = [](std::string_view source) {
    return fmt::format(R"("extraPodSpec":{{"volumes":[{{"name":"v",{}}}],"mainContainer":{{"volumeMounts":[)"
                       R"({{"name":"v","mountPath":"/v"}}]}}}})",
                       source);
  };
  check({
      {"a claim of the service", with(R"("volumeMounts":[{"name":"c","mountPoint":"/c"}])"), without},
      {"a claim of the pod", with(volume(R"("persistentVolumeClaim":{"claimName":"c"})")), without},
      {"another volume", with(volume(R"("emptyDir":{})")), ""},
      {"no mount", with(""), ""},
      {"no sidecar", with(R"("volumeMounts":[{"name":"c","mountPoint":"/c"}])", R"("replicas":1)"), ""},
  });
}

TEST_CASE("the KAI queue is an annotation of the graph (dec-22)") {
  const auto with = [](std::string_view metadata, std::string_view service = "") {
    return graph(fmt::format(R"("services":{{"a":{{"componentType":"worker"{}}}}})", service), metadata);
  };
  const auto elsewhere = [](std::string_view field, std::string_view whose = " of the graph") {
    return fmt::format(
        "W dgd.kai-queue-place {}: does not select the queue: use the annotation "
        "nvidia.com/kai-scheduler-queue{}\n",
        field, whose);
  };
  const std::string worker = "spec.services[a].";
  check({
      {"a label of the graph", with(R"("labels":{"kai.scheduler/queue":"q"})"),
       elsewhere("metadata.labels[kai.scheduler/queue]")},
      {"the annotation as a label", with(R"("labels":{"nvidia.com/kai-scheduler-queue":"q"})"),
       elsewhere("metadata.labels[nvidia.com/kai-scheduler-queue]")},
      {"the label as an annotation", with(R"("annotations":{"kai.scheduler/queue":"q"})"),
       elsewhere("metadata.annotations[kai.scheduler/queue]", "")},
      {"a label of a service", with("", R"(,"labels":{"kai.scheduler/queue":"q"})"),
       elsewhere(worker + "labels[kai.scheduler/queue]")},
      {"a label of its pods", with("", R"(,"extraPodMetadata":{"labels":{"kai.scheduler/queue":"q"}})"),
       elsewhere(worker + "extraPodMetadata.labels[kai.scheduler/queue]")},
      {"an annotation of a service", with("", R"(,"annotations":{"nvidia.com/kai-scheduler-queue":"q"})"),
       elsewhere(worker + "annotations[nvidia.com/kai-scheduler-queue]")},
      {"the annotation", with(R"("annotations":{"nvidia.com/kai-scheduler-queue":"q"})"), ""},
      {"both",
       with(R"("annotations":{"nvidia.com/kai-scheduler-queue":"q"},"labels":{"kai.scheduler/queue":"q"})"),
       ""},
      {"without Grove, with a scheduler",
       with(R"("annotations":{"nvidia.com/enable-grove":"false"})",
            R"(,"labels":{"kai.scheduler/queue":"q"},"extraPodSpec":{"schedulerName":"kai-scheduler"})"),
       ""},
  });
}

TEST_CASE("multinode: vLLM without a number of GPUs (pod-Q41)") {
  const auto with = [](std::string_view resources, std::string_view container = "", int nodes = 2,
                       std::string_view args = R"("-tp","16")", std::string_view engine = "vllm") {
    return service(fmt::format(
        R"("componentType":"worker","multinode":{{"nodeCount":{}}},"resources":{},"extraPodSpec":{{)"
        R"("mainContainer":{{"command":["python3","-m","dynamo.{}"],"args":[{}]{}}}}})",
        nodes, resources, engine, args, container));
  };
  const std::string unknown =
      "W service.node-gpus spec.services[a].resources.limits.gpu: is not set: the operator adds no flags "
      "that "
      "join the nodes of vLLM\n";
  const std::string none =
      "W service.node-gpus spec.services[a].resources.limits.gpu: is \"0\": the operator adds no flags that "
      "join the nodes of vLLM\n";
  check({
      {"nowhere", with("{}"), unknown},
      {"only CPUs", with(R"({"limits":{"cpu":"1"}})"), unknown},
      {"another resource of the container", with("{}", R"(,"resources":{"limits":{"amd.com/gpu":8}})"),
       unknown},
      {"no GPUs", with(R"({"limits":{"gpu":"0"}})"), none},
      {"a request of none", with(R"({"requests":{"gpu":"0"}})"), unknown},
      {"none in the container", with("{}", R"(,"resources":{"limits":{"nvidia.com/gpu":0}})"), unknown},
      {"none for a command that joins the nodes",
       with(R"({"limits":{"gpu":"0"}})", "", 2, R"("-tp","16","--nnodes","2","--node-rank","0")"), ""},
      {"none for one node", with(R"({"limits":{"gpu":"0"}})", "", 1), ""},
      {"one node", with("{}", "", 1), ""},
      {"in the service", with(R"({"limits":{"gpu":"8"}})"), ""},
      {"a request", with(R"({"requests":{"gpu":"8"}})"), ""},
      {"custom", with(R"({"limits":{"custom":{"nvidia.com/gpu":"8"}}})"), ""},
      {"in the container", with("{}", R"(,"resources":{"limits":{"nvidia.com/gpu":8}})"), ""},
      {"requested by the container", with("{}", R"(,"resources":{"requests":{"nvidia.com/gpu":8}})"), ""},
      {"another type",
       with(R"({"limits":{"gpuType":"amd.com/gpu"}})", R"(,"resources":{"limits":{"amd.com/gpu":8}})"), ""},
      {"the command joins the nodes", with("{}", "", 2, R"("-tp","16","--nnodes","2","--node-rank","0")"),
       ""},
      {"SGLang always gets its flags", with("{}", "", 2, "", "sglang"), ""},
  });
}

TEST_CASE("multinode: GPUs of TensorRT-LLM (pod-Q40), probes (pod-Q38)") {
  const auto with = [](std::string_view framework, std::string_view members, int nodes = 2,
                       std::string_view type = "worker") {
    return service(fmt::format(R"("componentType":"{}","multinode":{{"nodeCount":{}}}{}{})", type, nodes,
                               members.empty() ? "" : ",", members),
                   framework.empty() ? "" : fmt::format(R"("backendFramework":"{}")", framework));
  };
  const auto without = [](std::string_view field) {
    return fmt::format(
        "E service.trtllm-gpus spec.services[a].resources.{}: Required value: must be set because "
        "multinode "
        "TensorRT-LLM starts one process per GPU\n",
        field);
  };
  const std::string gpus = without("limits.gpu");
  const std::string request =
      "W service.gpu-request spec.services[a].resources.requests.gpu: differs from limits.gpu, which pods "
      "get instead\n";
  const auto dropped = [](std::string_view probe) {
    return fmt::format(
        "W service.probes-dropped spec.services[a].{}: is used only in the leader's pod; worker pods do "
        "not "
        "have it\n",
        probe);
  };
  const std::string main = "extraPodSpec.mainContainer.";
  const std::string probes =
      R"("livenessProbe":{},"readinessProbe":{},"extraPodSpec":{"mainContainer":{"livenessProbe":{},"readinessProbe":{},"startupProbe":{}}})";
  const std::string all = dropped("livenessProbe") + dropped(main + "livenessProbe") +
                          dropped("readinessProbe") + dropped(main + "readinessProbe") +
                          dropped(main + "startupProbe");
  check({
      {"no GPU count", with("trtllm", ""), gpus},
      {"limits", with("trtllm", R"("resources":{"limits":{"gpu":"8"}})"), ""},
      {"requests", with("trtllm", R"("resources":{"requests":{"gpu":"8"}})"), ""},
      {"custom", with("trtllm", R"("resources":{"limits":{"custom":{"nvidia.com/gpu":"8"}}})"), ""},
      {"custom of another type", with("trtllm", R"("resources":{"limits":{"custom":{"amd.com/gpu":"8"}}})"),
       gpus},
      {"custom of that type",
       with("trtllm", R"("resources":{"limits":{"gpuType":"amd.com/gpu","custom":{"amd.com/gpu":"8"}}})"),
       ""},
      {"zero", with("trtllm", R"("resources":{"limits":{"gpu":"0"}})"), gpus},
      {"a count with a fraction of zero", with("trtllm", R"("resources":{"limits":{"gpu":"2.0"}})"), ""},
      {"no request", with("trtllm", R"("resources":{"requests":{"gpu":"0"},"limits":{"gpu":"2"}})"),
       without("requests.gpu") + request},
      {"a negative request", with("trtllm", R"("resources":{"requests":{"gpu":"-1"},"limits":{"gpu":"2"}})"),
       without("requests.gpu") + request},
      {"zero beside custom",
       with("trtllm", R"("resources":{"limits":{"gpu":"0","custom":{"nvidia.com/gpu":"3"}}})"),
       gpus + "W service.gpu-odd spec.services[a].resources.limits.custom[nvidia.com/gpu]: differs from "
              "limits.gpu: set only one of them\n"},
      {"no request beside custom",
       with("trtllm", R"("resources":{"requests":{"gpu":"0"},"limits":{"custom":{"nvidia.com/gpu":"3"}}})"),
       without("requests.gpu")},
      {"custom is zero", with("trtllm", R"("resources":{"limits":{"custom":{"nvidia.com/gpu":"0"}}})"),
       without("limits.custom[nvidia.com/gpu]")},
      {"one node", with("trtllm", "", 1), ""},
      {"vllm", with("vllm", ""), ""},
      {"no worker", with("trtllm", "", 2, "frontend"), ""},
      {"found in the command",
       with("", R"("extraPodSpec":{"mainContainer":{"command":["python3","-m","dynamo.trtllm"]}})"), gpus},
      {"probes, vllm", with("vllm", fmt::format(R"({},"resources":{{"limits":{{"gpu":"1"}}}})", probes)),
       all},
      {"probes, sglang", with("sglang", probes), all},
      {"probes, one node", with("vllm", probes, 1), ""},
      {"probes, no framework", with("", probes), ""},
      {"probes of a frontend", with("vllm", probes, 2, "frontend"), ""},
  });
}

}  // namespace
}  // namespace dynamo::rules::test
