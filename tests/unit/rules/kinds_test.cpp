// DynamoComponentDeployment, DynamoModel, DynamoGraphDeploymentScalingAdapter, DynamoCheckpoint, and the
// policy of a configuration.

#include "graph_support.h"

namespace dynamo::rules::test {
namespace {

struct KindRow {
  const char* name;
  std::string object;
  std::string expected;
  std::string old = {};
};

void checkKind(Validate validate, const std::vector<KindRow>& rows) {
  for (const KindRow& row : rows) {
    INFO(row.name);
    CHECK(findingsOf(validate, row.object, row.old) == row.expected);
  }
}

std::string with(std::string_view spec) {
  return fmt::format(R"({{"metadata":{{"name":"o","namespace":"ns"}},"spec":{{{}}}}})", spec);
}

const std::string kNoSpec = R"({"metadata":{"name":"o","namespace":"ns"}})";

TEST_CASE("component deployments") {
  const std::string locked =
      "E dcd.framework-immutable spec.backendFramework: Invalid value: \"vllm\": field is "
      "immutable\n"
      "W dcd.framework-change spec.backendFramework: cannot change in place: delete the object and create it "
      "again\n";
  const std::string owner =
      R"({"metadata":{"name":"o","namespace":"ns","ownerReferences":)"
      R"([{"kind":"DynamoGraphDeployment","name":"g.h"}]},"spec":{"dynamoNamespace":"x"}})";
  const auto used = [](std::string_view name) {
    return fmt::format(
        "W service.dynamo-namespace spec.dynamoNamespace: is deprecated and ignored: \"{}\" is used\n", name);
  };
  checkKind(
      validateDcd,
      {
          {"empty", with(""), ""},
          {"no spec", kNoSpec, ""},
          {"paths are below spec", with(R"("replicas":-1,"sharedMemory":{})"),
           "E service.replicas-negative spec.replicas: Invalid value: -1: must be greater than or equal to "
           "0\n"
           "E service.shared-memory-size spec.sharedMemory.size: Required value: must be set unless disabled "
           "is true\n"},
          {"framework set", with(R"("backendFramework":"vllm")"), locked, with("")},
          {"framework kept", with(R"("backendFramework":"vllm")"), "", with(R"("backendFramework":"vllm")")},
          {"other fields may change", with(R"("replicas":5,"multinode":{"nodeCount":2})"), "",
           with(R"("scalingAdapter":{"enabled":true})")},
          {"namespace of the graph", owner, used("ns-g-h")},
          {"own namespace", with(R"("dynamoNamespace":"x")"), used("ns-o")},
          {"set by the operator", with(R"("dynamoNamespace":"ns-o")"), ""},
          {"executor", with(R"("annotations":{"nvidia.com/vllm-distributed-executor-backend":"x"})"),
           "E service.vllm-executor spec.annotations[nvidia.com/vllm-distributed-executor-backend]: "
           "Unsupported "
           "value: \"x\": supported values: \"mp\", \"ray\"\n"},
          {"the origin version is checked in graphs only",
           R"({"metadata":{"name":"o","annotations":{"nvidia.com/dynamo-operator-origin-version":"x"}}})",
           ""},
      });
}

TEST_CASE("models") {
  const auto model = [](std::string_view rest, std::string_view name = "m", std::string_view base = "b") {
    return with(fmt::format(R"("modelName":"{}","baseModelName":"{}"{}{})", name, base,
                            rest.empty() ? "" : ",", rest));
  };
  const auto lora = [&](std::string_view uri) {
    return model(fmt::format(R"("modelType":"lora","source":{{"uri":"{}"}})", uri));
  };
  const std::string name =
      "model.name-required spec.modelName: Required value: must be the name under which the model is "
      "served\n";
  const std::string base =
      "model.base-required spec.baseModelName: Required value: must be the name in modelRef of the services "
      "that serve the model\n";
  const auto scheme = [](std::string_view uri) {
    return fmt::format(
        "E model.lora-source spec.source.uri: Invalid value: \"{}\": must start with \"s3://\", "
        "\"hf://\" or \"file:///\"\n",
        uri);
  };
  const std::string type =
      "E model.type-immutable spec.modelType: Invalid value: \"base\": field is immutable\n"
      "W model.type-change spec.modelType: a model of another type needs its own DynamoModel\n";
  const std::string baseChange =
      "W model.base-change spec.baseModelName: the endpoints of another base model will be used\n";
  checkKind(validateModel,
            {
                {"base", model(""), ""},
                {"no spec", kNoSpec, "E " + base + "E " + name},
                {"empty names", model("", "", ""), "E " + base + "E " + name},
                {"placeholders", model("", "<model>", "${BASE}"),
                 "W model.template spec.modelName: is a placeholder that was not replaced\n"
                 "W model.template spec.baseModelName: is a template that was not rendered\n"},
                {"s3", lora("s3://b/k"), ""},
                {"hf", lora("hf://org/model@main"), ""},
                {"scheme alone", lora("s3://"),
                 "W model.source-named spec.source.uri: has no path after the scheme\n"},
                {"upper case scheme", lora("S3://b"), scheme("S3://b")},
                {"http", lora("http://x"), scheme("http://x")},
                {"file", lora("file:///adapters/x"), ""},  // ctl-Q85
                {"file alone", lora("file:///"),
                 "W model.source-named spec.source.uri: has no path after the scheme\n"},
                {"file of a host", lora("file://x/y"), scheme("file://x/y")},
                {"file of a relative path", lora("file:x"), scheme("file:x")},
                {"blank", lora(" s3://b"), scheme(" s3://b")},
                {"empty uri", lora(""),
                 "E model.lora-source spec.source.uri: Required value: must be set when modelType is lora\n"},
                {"no source", model(R"("modelType":"lora")"),
                 "E model.lora-source spec.source: Required value: must be set when modelType is lora\n"},
                {"adapter without source", model(R"("modelType":"adapter")"), ""},
                {"base with any uri", model(R"("modelType":"base","source":{"uri":"http://x"})"), ""},
                {"all at once", with(R"("modelType":"lora")"),
                 "E " + base + "E " + name +
                     "E model.lora-source spec.source: Required value: must be set when modelType is lora\n"},
                {"type changed", model(R"("modelType":"base")"), type, model(R"("modelType":"adapter")")},
                {"base model changed", model("", "m", "c"),
                 "E model.base-immutable spec.baseModelName: Invalid value: \"c\": field is immutable\n" +
                     baseChange,
                 model("")},
                {"base model removed", model("", "m", ""), "E " + base + baseChange, model("")},
                {"name and source may change", model(R"("modelType":"lora","source":{"uri":"s3://y"})", "n"),
                 "", lora("s3://x")},
                {"an unchanged error warns", model("", "", "b"), "W " + name, model("", "", "b")},
                {"an unchanged invalid uri warns", lora("http://x"), "W " + scheme("http://x").substr(2),
                 lora("http://x")},
                {"another invalid uri", lora("http://y"), scheme("http://y"), lora("http://x")},
                {"being deleted", R"({"metadata":{"name":"o","deletionTimestamp":"2026-01-01T00:00:00Z"}})",
                 "", model("")},
            });
}

TEST_CASE("scaling adapters") {
  const std::string name =
      "E adapter.target-required spec.dgdRef.name: Required value: must name the DynamoGraphDeployment to "
      "scale\n";
  const std::string service =
      "E adapter.target-required spec.dgdRef.serviceName: Required value: must name the service to scale\n";
  const std::string replicas = "E adapter.replicas spec.replicas: ";
  checkKind(
      validateScalingAdapter,
      {
          {"complete", with(R"("replicas":0,"dgdRef":{"name":"g","serviceName":"a"})"), ""},
          {"no spec", kNoSpec,
           name + service + replicas + "Required value: must be the number of replicas of the service\n"},
          {"empty names", with(R"("replicas":1,"dgdRef":{"name":"","serviceName":""})"), name + service},
          {"invalid names", with(R"("replicas":1,"dgdRef":{"name":"My_Graph","serviceName":"g/a"})"),
           "E adapter.target-possible spec.dgdRef.name: Invalid value: \"My_Graph\": must consist of lower "
           "case "
           "letters, digits, '-' or '.', and start and end with a letter or digit\n"
           "E adapter.target-possible spec.dgdRef.serviceName: Invalid value: \"g/a\": must consist of "
           "letters, "
           "digits, '-', '_' or '.', and start and end with a letter or digit\n"},
          {"negative", with(R"("replicas":-1,"dgdRef":{"name":"g","serviceName":"a"})"),
           replicas + "Invalid value: -1: must be greater than or equal to 0\n"},
          {"anything may change", with(R"("replicas":9,"dgdRef":{"name":"h","serviceName":"b"})"), "",
           with(R"("replicas":1,"dgdRef":{"name":"g","serviceName":"a"})")},
      });
}

TEST_CASE("checkpoints") {
  const auto named = [](std::size_t length,
                        std::string_view spec = R"("identity":{},"job":{"podTemplateSpec":{}})") {
    return fmt::format(R"({{"metadata":{{"name":"{}"}},"spec":{{{}}}}})", std::string(length, 'c'), spec);
  };
  const auto tooLong = [](std::size_t length) {
    return fmt::format(
        "checkpoint.name-length metadata.name: Too long: may not be more than 52 bytes (it has {}): label "
        "job-name of its Job's pods, {}, would have {} bytes, at most 63 are allowed\n",
        length, showValue("checkpoint-" + std::string(length, 'c')), length + 11);
  };
  checkKind(
      validateCheckpoint,
      {
          {"52", named(52), ""},
          {"53", named(53), "E " + tooLong(53)},
          {"200", named(200), "E " + tooLong(200)},
          {"53, existing object", named(53), "W " + tooLong(53), named(53)},
          {"no spec", kNoSpec,
           "E checkpoint.spec-required spec.identity: Required value: must identify the checkpoint\n"
           "E checkpoint.spec-required spec.job.podTemplateSpec: Required value: must be the template of the "
           "pod to checkpoint\n"},
          {"numbers below 0",
           named(1, R"("identity":{},"job":{"podTemplateSpec":{},"activeDeadlineSeconds":-1,)"
                    R"("backoffLimit":-2,"ttlSecondsAfterFinished":-3})"),
           "E checkpoint.job-number spec.job.activeDeadlineSeconds: Invalid value: -1: must be greater "
           "than or equal to 0\n"
           "E checkpoint.job-number spec.job.backoffLimit: Invalid value: -2: must be greater than or "
           "equal to 0\n"
           "E checkpoint.job-number spec.job.ttlSecondsAfterFinished: Invalid value: -3: must be greater "
           "than or equal to 0\n"},
          {"no time and no model",
           named(1, R"("identity":{"model":""},"job":{"podTemplateSpec":{},"backoffLimit":0,)"
                    R"("activeDeadlineSeconds":0})"),
           "W checkpoint.job-deadline spec.job.activeDeadlineSeconds: is 0: the Job fails as soon as it "
           "starts\n"
           "W checkpoint.model-named spec.identity.model: is empty: checkpoints are matched by their "
           "model\n"},
          {"no template", named(1, R"("identity":{},"job":{})"),
           "E checkpoint.spec-required spec.job.podTemplateSpec: Required value: must be the template of the "
           "pod to checkpoint\n"},
      });
}

TEST_CASE("the policy of a configuration") {
  config::OperatorConfig config = config::defaultConfig();
  GraphPolicy policy = graphPolicy(config, "", {});
  CHECK_FALSE(policy.groveDisabled);
  CHECK_FALSE(policy.groveCertain);
  CHECK_FALSE(policy.kaiScheduler.has_value());
  CHECK_FALSE(policy.lwsDisabled);
  CHECK_FALSE(policy.checkpointEnabled);
  CHECK(policy.discoveryBackend == "kubernetes");
  CHECK_FALSE(policy.virtualServices);
  CHECK(policy.scalingAllowed.empty());
  CHECK(policy.operatorAccount.empty());
  CHECK_FALSE(policy.inferenceApiPresent.has_value());
  CHECK(policy.checkpointStorage.type == "pvc");
  CHECK(policy.checkpointStorage.pvcName == "snapshot-pvc");
  CHECK(policy.checkpointStorage.basePath == "/checkpoints");

  config.orchestrators.grove.enabled = false;
  config.orchestrators.lwsEnabled = false;
  config.checkpoint.enabled = true;
  config.checkpoint.storageType = "s3";
  config.checkpoint.s3.uri = "s3://b";
  config.checkpoint.oci.uri = "oci://r";
  config.discoveryBackend = "etcd";
  config.ingress.virtualServiceGateway = "gw";
  config.scalingAllowedServiceAccounts = {"a/b"};
  config.ingress.controllerClassName = "nginx";
  config.ingress.hostSuffix = "My_S";
  policy = graphPolicy(config, "ns/operator", {{}, {}, false});
  CHECK(policy.ingressFault == "ingress.hostSuffix");
  CHECK(policy.groveDisabled);
  CHECK(policy.lwsDisabled);
  CHECK(policy.checkpointEnabled);
  CHECK(policy.checkpointStorage.uri == "s3://b");
  CHECK(policy.discoveryBackend == "etcd");
  CHECK(policy.virtualServices);
  CHECK(policy.scalingAllowed == std::vector<std::string>{"a/b", "ns/operator"});
  CHECK(policy.operatorAccount == "ns/operator");
  CHECK(policy.inferenceApiPresent == false);
  config.checkpoint.storageType = "oci";
  CHECK(graphPolicy(config, "", {{}, {}, true}).checkpointStorage.uri == "oci://r");
  config.orchestrators.grove.enabled = true;
  CHECK_FALSE(graphPolicy(config, "", {{}, {}, true}).groveDisabled);
  CHECK(graphPolicy(config, "", {}).groveCertain);
  CHECK(graphPolicy(config, "", {{}, {}, {}, true}).kaiScheduler == true);
  config.orchestrators.kaiSchedulerEnabled = false;
  CHECK(graphPolicy(config, "", {{}, {}, {}, true}).kaiScheduler == false);
}

}  // namespace
}  // namespace dynamo::rules::test
