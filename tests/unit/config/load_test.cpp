// Decodes OperatorConfiguration.

#include "common/config/load.h"

#include <catch2/catch.hpp>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>

#include "common/field/suggest.h"
#include "tests/unit/source_dir.h"

namespace dynamo::config {
namespace {

using namespace std::chrono_literals;

std::string errorsOf(std::string_view yaml) {
  std::string out;
  for (const auto& error : loadConfigText(yaml, "c.yaml", Purpose::Offline).errors) {
    out += out.empty() ? "" : "\n";
    out += error.message();
  }
  return out;
}

}  // namespace

TEST_CASE("an empty configuration has the reference's defaults") {
  for (const std::string_view text : {"", "{}", "# nothing\n", "server: {}\ncheckpoint: null\n",
                                      "apiVersion: operator.config.dynamo.nvidia.com/v1alpha1\n"
                                      "kind: OperatorConfiguration\n"}) {
    CAPTURE(text);
    const LoadResult result = loadConfigText(text, "", Purpose::Offline);
    CHECK(result.report().empty());
    const OperatorConfig& c = result.config;
    CHECK(c.server.metrics.bindAddress == "0.0.0.0");
    CHECK(c.server.metrics.port == 8080);
    CHECK(c.server.metrics.secure);
    CHECK(c.server.healthProbe.port == 8081);
    CHECK(c.server.webhook.host == "0.0.0.0");
    CHECK(c.server.webhook.port == 9443);
    CHECK(c.server.webhook.certDir == "/tmp/k8s-webhook-server/serving-certs");
    CHECK(c.server.webhook.certProvisionMode == "auto");
    CHECK(c.server.webhook.secretName == "webhook-server-cert");
    CHECK(c.server.webhook.tlsMinVersion == "1.3");
    CHECK(c.server.webhook.shutdownDelay == 10s);
    CHECK(c.server.webhook.maxConnections == 8192);
    CHECK(c.server.webhook.maxInFlightBytes == 268'435'456);
    CHECK_FALSE(c.leaderElection.enabled);
    CHECK_FALSE(c.restricted());
    CHECK(c.namespaces.scope.leaseDuration == 30s);
    CHECK(c.namespaces.scope.leaseRenewInterval == 10s);
    CHECK(c.namespaces.excludedNameSubstrings.empty());
    CHECK_FALSE(c.orchestrators.grove.enabled.has_value());
    CHECK_FALSE(c.orchestrators.lwsEnabled.has_value());
    CHECK(c.orchestrators.grove.terminationDelay == 15min);
    CHECK_FALSE(c.checkpoint.enabled);
    CHECK(c.checkpoint.readyForCheckpointFilePath == "/tmp/ready-for-checkpoint");
    CHECK(c.checkpoint.storageType == "pvc");
    CHECK(c.checkpoint.pvcName == "snapshot-pvc");
    CHECK(c.checkpoint.pvcBasePath == "/checkpoints");
    CHECK(c.discoveryBackend == "kubernetes");
    CHECK(c.gpuDiscoveryEnabled);
    CHECK(exporterNamespaces(c, "own") == std::vector<std::string>{"gpu-operator", "own"});
    CHECK(exporterNamespaces(c, "") == std::vector<std::string>{"gpu-operator"});
    CHECK(c.logging.level == "info");
    CHECK(c.logging.format == "json");
    CHECK_FALSE(c.enableHttp2);
    CHECK(c.defaults == nullptr);
    CHECK_FALSE(c.warnOnly());
    CHECK_FALSE(c.compatibilityAutoscaling);
    CHECK_FALSE(c.allowOtherNamespaces);
    CHECK(c.outputCopierImage == "bitnami/kubectl:latest");
  }
}

TEST_CASE("zero values become defaults, other values stay") {
  const LoadResult result = loadConfigText(R"(
server:
  metrics: {port: 0, secure: false, bindAddress: ""}
  webhook: {port: 10250, shutdownDelay: 0s}
namespace: {scope: {leaseDuration: "0", leaseRenewInterval: 0s}}
orchestrators:
  grove: {enabled: false, terminationDelay: 0s}
  lws: {enabled: true}
  kaiScheduler: {enabled: null}
gpu: {discoveryEnabled: false, exporterNamespaces: [a, b]}
defaults: {userLists: leave, types: {frontend: {sharedMemory: {size: 1Gi}}}}
validation: {mode: warn}
compatibility: {autoscaling: true}
requests:
  allowOtherNamespaces: true
  outputCopierImage: registry.example.com/kubectl:1.34
  outputCopierCommand: [/copy]
scaling: {allowedServiceAccounts: [dynamo-system/controller]}
)",
                                           "c.yaml", Purpose::Offline);
  CHECK(result.warnings.empty());
  CHECK(result.ok());
  const OperatorConfig& c = result.config;
  CHECK(c.server.metrics.port == 8080);
  CHECK(c.server.metrics.bindAddress == "0.0.0.0");
  CHECK_FALSE(c.server.metrics.secure);
  CHECK(c.server.webhook.port == 10250);
  CHECK(c.server.webhook.shutdownDelay == 0s);
  CHECK(c.namespaces.scope.leaseDuration == 30s);
  CHECK(c.namespaces.scope.leaseRenewInterval == 10s);
  CHECK(c.orchestrators.grove.enabled == false);
  CHECK(c.orchestrators.grove.terminationDelay == 15min);
  CHECK(c.orchestrators.lwsEnabled == true);
  CHECK_FALSE(c.orchestrators.kaiSchedulerEnabled.has_value());
  CHECK_FALSE(c.gpuDiscoveryEnabled);
  CHECK(exporterNamespaces(c, "own") == std::vector<std::string>{"a", "b"});
  REQUIRE(c.defaults != nullptr);
  CHECK(json::dump(*c.defaults) ==
        R"({"userLists":"leave","types":{"frontend":{"sharedMemory":{"size":"1Gi"}}}})");
  CHECK(c.warnOnly());
  CHECK(c.compatibilityAutoscaling);
  CHECK(c.allowOtherNamespaces);
  CHECK(c.outputCopierImage == "registry.example.com/kubectl:1.34");
  CHECK(c.outputCopierCommand == std::vector<std::string>{"/copy"});
  CHECK(c.scalingAllowedServiceAccounts == std::vector<std::string>{"dynamo-system/controller"});
}

TEST_CASE("wrong types are errors with path, value and allowed values") {
  const std::string duration = R"(must be a duration string such as "30s" or "1h30m")";
  const std::pair<std::string_view, std::string> table[] = {
      {"kind: Other", R"(kind: Unsupported value: "Other": supported values: "OperatorConfiguration")"},
      {"apiVersion: v1",
       "apiVersion: Unsupported value: \"v1\": supported values: "
       "\"operator.config.dynamo.nvidia.com/v1alpha1\""},
      {"apiVersion: 1", "apiVersion: Invalid value: 1: must be a string"},
      {"server: {metrics: {port: \"8080\"}}",
       R"(server.metrics.port: Invalid value: "8080": must be an integer)"},
      {"server: {metrics: {port: 80.5}}", "server.metrics.port: Invalid value: 80.5: must be an integer"},
      {"server: {metrics: {port: 3000000000}}",
       "server.metrics.port: Invalid value: 3000000000: is out of range for this field"},
      {"server: {metrics: {secure: \"true\"}}",
       R"(server.metrics.secure: Invalid value: "true": must be true or false)"},
      {"server: 5", "server: Invalid value: 5: must be an object"},
      {"mpi: [a]", "mpi: Invalid value: (a list): must be an object"},
      {"mpi: {sshSecretName: {password: hunter2}}",
       "mpi.sshSecretName: Invalid value: (an object): must be a string"},
      {"mpi: {sshSecretName: yes}", "mpi.sshSecretName: Invalid value: true: must be a string"},
      {"orchestrators: {grove: {terminationDelay: 30}}",
       "orchestrators.grove.terminationDelay: Invalid value: 30: " + duration},
      {"orchestrators: {grove: {terminationDelay: 0}}",
       "orchestrators.grove.terminationDelay: Invalid value: 0: " + duration},
      {"orchestrators: {grove: {terminationDelay: }}",
       "orchestrators.grove.terminationDelay: Invalid value: null: " + duration},
      {"orchestrators: {grove: {terminationDelay: 1d}}",
       R"(orchestrators.grove.terminationDelay: Invalid value: "1d": )" + duration},
      {"gpu: {exporterNamespaces: a}",
       R"(gpu.exporterNamespaces: Invalid value: "a": must be a list of strings)"},
      {"namespace: {excludedNameSubstrings: a}",
       R"(namespace.excludedNameSubstrings: Invalid value: "a": must be a list of strings)"},
      {"namespace: {excludedNameSubstrings: [a, 1]}",
       "namespace.excludedNameSubstrings[1]: Invalid value: 1: must be a string"},
      {"namespace: {scope: {leaseNamespaceLabels: {a/b: 1}}}",
       "namespace.scope.leaseNamespaceLabels[a/b]: Invalid value: 1: must be a string"},
      {"defaults: complete", R"(defaults: Invalid value: "complete": must be an object)"},
      {"a: 1\n---\nb: 2", "Invalid value: must contain exactly one document"},
      {"- a", "Invalid value: must contain an object"},
      {"server:\n  metrics: {\n",
       "Invalid value: line 3, column 1: \"{\" is not closed, or a comma is missing"},
      {"mpi: {}\nmpi: {}", "Invalid value: line 2, column 1: duplicate name \"mpi\""},
  };
  for (const auto& [yaml, expected] : table) {
    CAPTURE(yaml);
    CHECK(errorsOf(yaml) == expected);
  }
}

TEST_CASE("all errors are reported together, sorted by field") {
  const LoadResult result = loadConfigText(R"(mpi: 5
server:
  webhook: {port: -1, certProvisionMode: foo}
  metrics:
    port: "1"
discovery: {backend: consul}
rbac: {plannerClusterRoleName: p, dgdrProfilingClusterRoleName: q}
)",
                                           "c.yaml", Purpose::Controller);
  CHECK(
      result.report() ==
      std::vector<std::string>{
          "c.yaml:6: error: discovery.backend: Unsupported value: \"consul\": supported values: "
          "\"kubernetes\", \"etcd\"",
          "c.yaml:1: error: mpi: Invalid value: 5: must be an object",
          "c.yaml:7: error: rbac.eppClusterRoleName: Required value: the controller binds this "
          "ClusterRole unless namespace.restricted is set",
          "c.yaml:5: error: server.metrics.port: Invalid value: \"1\": must be an integer",
          "c.yaml:3: error: server.webhook.certProvisionMode: Unsupported value: \"foo\": supported values: "
          "\"auto\", \"manual\"",
          "c.yaml:3: error: server.webhook.port: Invalid value: -1: must be between 0 and 65535, inclusive",
          "c.yaml:3: error: server.webhook.serviceName: Required value: the webhook certificate and the "
          "conversion of the CRDs refer to this Service",
      });
}

TEST_CASE("unknown fields are warnings with a suggestion") {
  const std::pair<std::string_view, std::string_view> table[] = {
      {"Server: {}", "c.yaml:1: warning: Server: unknown field, ignored; did you mean \"server\"?"},
      {"server:\n  webook: {}",
       "c.yaml:2: warning: server.webook: unknown field, ignored; did you mean \"webhook\"?"},
      {"logging: {leve1: info}",
       "c.yaml:1: warning: logging.leve1: unknown field, ignored; did you mean \"level\"?"},
      {"checkpoint: {storage: {s3: {url: x}}}",
       "c.yaml:1: warning: checkpoint.storage.s3.url: unknown field, ignored; did you mean \"uri\"?"},
      {"rbac: {paths: 1}", "c.yaml:1: warning: rbac.paths: unknown field, ignored"},
      // Settings under the wrong parent.
      {"webhook: {port: 1}",
       "c.yaml:1: warning: webhook: unknown field, ignored; did you mean \"server.webhook\"?"},
      {"grove: {enabled: true}",
       "c.yaml:1: warning: grove: unknown field, ignored; did you mean \"orchestrators.grove\"?"},
      {"leaderElection: {leaseDuration: 15s}",
       "c.yaml:1: warning: leaderElection.leaseDuration: unknown field, ignored; did you mean "
       "\"namespace.scope.leaseDuration\"?"},
      {"infrastructure: {hostSufix: a}",
       "c.yaml:1: warning: infrastructure.hostSufix: unknown field, ignored; did you mean "
       "\"ingress.hostSuffix\"?"},
      {"server: {port: 1}",
       "c.yaml:1: warning: server.port: unknown field, ignored; did you mean \"server.metrics.port\" or "
       "\"server.healthProbe.port\" or \"server.webhook.port\"?"},
      {"\"a\\nb\": 1", "c.yaml:1: warning: a b: unknown field, ignored"},
  };
  for (const auto& [yaml, expected] : table) {
    CAPTURE(yaml);
    CHECK(loadConfigText(yaml, "c.yaml", Purpose::Offline).report() ==
          std::vector<std::string>{std::string{expected}});
  }
}

TEST_CASE("defaults of components are validated") {  // cfg-Q16
  const std::string at = "c.yaml:1: ";
  const std::pair<std::string_view, std::string> table[] = {
      {"{}", ""},
      {"{userLists: leave, common: {sharedMemory: {size: 16Gi}}, types: {mine: {podSpec: {nodeName: a}}}}",
       ""},
      {"{common: {podSpec: null, mainContainer: {startupProbe: {periodSeconds: 1}, env: {A: null, B: '1'}}}}",
       ""},
      {"{types: {worker: {mainContainer: {command: null, env: {A: {fieldRef: {fieldPath: "
       "metadata.name}}}}}}}",
       ""},
      {"{type: {}}", at + "warning: defaults.type: unknown field, ignored; did you mean \"types\"?"},
      {"{components: {}}", at + "warning: defaults.components: unknown field, ignored"},
      {"{common: {podspec: {}}}",
       at + "warning: defaults.common.podspec: unknown field, ignored; did you mean \"podSpec\"?"},
      {"{common: {podSpec: {nodeNam: n}}}",
       at + "warning: defaults.common.podSpec.nodeNam: unknown field, did you mean \"nodeName\"?"},
      {"{types: {Frontend: {}}}", at + "warning: defaults.types.Frontend: is not a component type of the "
                                       "operator; did you mean \"frontend\"?"},
      {"{userLists: lave}", at + "error: defaults.userLists: Unsupported value: \"lave\": supported values: "
                                 "\"complete\", \"leave\""},
      {"{common: {podSpec: {terminationGracePeriodSeconds: '5'}}}",
       at + "error: defaults.common.podSpec.terminationGracePeriodSeconds: Invalid value: \"string\": "
            "terminationGracePeriodSeconds in body must be of type integer: \"string\""},
      {"{types: {worker: {sharedMemory: {disabled: 'yes'}}}}",
       at + "error: defaults.types.worker.sharedMemory.disabled: Invalid value: \"string\": disabled in body "
            "must be of type boolean: \"string\""},
      {"{types: {worker: {mainContainer: {env: {PORT: 8000}}}}}",
       at + "error: defaults.types.worker.mainContainer.env.PORT: Invalid value: 8000: must be a string or a "
            "source such as {fieldRef: …}"},
      {"{common: {mainContainer: {env: [{name: A, value: b}]}}}",
       at + "error: defaults.common.mainContainer.env: Invalid value: must be an object that "
            "maps names to values or valueFrom sources"},
      {"{types: {worker: {minReadySeconds: 599}}}", ""},
      {"{types: {frontend: {preStop: null, preStopEnv: {A: '1', B: null}}}}", ""},
      {"{types: {frontend: {preStop: {sleep: {seconds: '5'}}}}}",
       at + "error: defaults.types.frontend.preStop.sleep.seconds: Invalid value: \"string\": sleep.seconds "
            "in "
            "body must be of type integer: \"string\""},
      {"{types: {worker: {minReadySeconds: 600}}}",
       at + "error: defaults.types.worker.minReadySeconds: Invalid value: 600: must be a number of seconds "
            "from 0 to 599"},
      {"{common: []}", at + "error: defaults.common: Invalid value: (a list): must be an object"},
  };
  for (const auto& [yaml, expected] : table) {
    CAPTURE(yaml);
    const auto lines = loadConfigText("defaults: " + std::string{yaml}, "c.yaml", Purpose::Offline).report();
    CHECK((lines.empty() ? "" : lines.front()) == expected);
    CHECK(lines.size() <= 1);
  }
  CHECK(loadConfigText("defaults: {common: {sharedMemory: {size: lots}}}", "c.yaml", Purpose::Webhook)
            .errors.at(0)
            .field.text() == "defaults.common.sharedMemory.size");
}

TEST_CASE("the closest name is suggested") {
  const std::string_view names[] = {"port", "bindAddress", "secure"};
  const std::pair<std::string_view, std::string_view> table[] = {
      {"prot", "port"},
      {"PORT", "port"},
      {"bindAdress", "bindAddress"},
      {"secured", "secure"},
      {"path", ""},
      {"x", ""},
      {"", ""},
      {"hostname", ""},
  };
  for (const auto& [name, expected] : table) {
    CAPTURE(name);
    CHECK(field::nearest(name, names) == expected);
  }
}

TEST_CASE("files") {
  const std::string sample = dynamo::test::sourceFile("deploy/samples/operator-config.yaml");
  for (const Purpose purpose : {Purpose::Offline, Purpose::Webhook, Purpose::Controller}) {
    const LoadResult result = loadConfigFile(sample, purpose);
    CHECK(result.report().empty());
    CHECK(result.source == sample);
  }
  CHECK(loadConfigFile("/no/such/file.yaml", Purpose::Offline).report() ==
        std::vector<std::string>{"/no/such/file.yaml: error: Not found: No such file or directory"});
  CHECK(loadConfigFile("/", Purpose::Offline).report() ==
        std::vector<std::string>{"/: error: Not found: Is a directory"});
}

TEST_CASE("the sample contains every setting") {
  const auto textOf = [](const char* file) {
    std::ifstream in{dynamo::test::sourceFile(file)};
    return std::string{std::istreambuf_iterator<char>{in}, {}};
  };
  const std::string decoder = textOf("common/config/operator_config_decode.cpp");
  const std::string sample = textOf("deploy/samples/operator-config.yaml");
  const std::regex read{R"re((?:read|section|object|objectStore)\("(\w+)")re"};
  std::size_t names = 0;
  for (std::sregex_iterator at{decoder.begin(), decoder.end(), read}, end; at != end; ++at, ++names) {
    const std::string name = (*at)[1];
    INFO(name);
    CHECK(std::regex_search(sample, std::regex{"(^|\n) *" + name + ":"}));
  }
  CHECK(names > 60);
}

}  // namespace dynamo::config
