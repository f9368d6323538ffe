#include "common/schema/validator.h"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "common/json/parse.h"
#include "common/schema/registry.h"

namespace {

using namespace dynamo;

constexpr const char* kDgd = "DynamoGraphDeployment";
constexpr const char* kCheckpoint = "DynamoCheckpoint";
constexpr const char* kRequest = "DynamoGraphDeploymentRequest";

std::vector<std::string> messages(const std::string& version, const std::string& kind,
                                  const std::string& body, const schema::Options& options = {}) {
  json::Document object;
  const std::string text = R"({"apiVersion":"nvidia.com/)" + version + R"(","kind":")" + kind +
                           R"(","metadata":{"name":"x"},)" + body + "}";
  const auto error = json::parse(text, object);
  INFO(text << (error ? error->message() : ""));
  REQUIRE_FALSE(error);
  const schema::Node* node = schema::find("nvidia.com/" + version, kind);
  REQUIRE(node != nullptr);
  std::vector<std::string> out;
  for (const auto& finding : schema::validate(*node, object, options)) out.push_back(finding.message());
  return out;
}

struct Case {
  std::string body;
  std::vector<std::string> wanted;
};

std::string inService(const std::string& fields) {
  return R"("spec":{"services":{"a":{)" + fields + "}}}";
}

std::string inMain(const std::string& fields) {
  return inService(R"("extraPodSpec":{"mainContainer":{)" + fields + "}}");
}

std::string services(int count) {
  std::string out;
  for (int i = 0; i < count; ++i) out += (i == 0 ? "\"s" : ",\"s") + std::to_string(i) + "\":{}";
  return R"("spec":{"services":{)" + out + "}}";
}

std::string claims(int count) {
  std::string out;
  for (int i = 0; i < count; ++i) out += std::string{i == 0 ? "" : ","} + R"({"name":"c"})";
  return R"("spec":{"pvcs":[)" + out + "]}";
}

const std::string kQuantityPattern =
    R"(^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?()"
    R"(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$)";
const std::string kClaimRule = "a claim with create true needs size, storageClass and volumeAccessMode";
const std::string kCheckpointRule =
    "an enabled checkpoint needs checkpointRef, or identity with model and backendFramework";

}  // namespace

TEST_CASE("findings of a graph have the API server's wording", "[schema]") {
  const auto c = GENERATE(values<Case>({
      {R"("spec":{})", {}},
      {R"("spec":null)", {}},
      {R"("metadata2":1)", {"metadata2: Invalid value: unknown field, did you mean \"metadata\"?"}},
      // types
      {R"("spec":"x")", {R"(spec: Invalid value: "string": spec in body must be of type object: "string")"}},
      {inService(R"("replicas":"1")"),
       {R"(spec.services.a.replicas: Invalid value: "string": spec.services.a.replicas in body must )"
        R"(be of type )"
        R"(integer: "string")"}},
      {inService(R"("replicas":1.5)"),
       {R"(spec.services.a.replicas: Invalid value: "number": spec.services.a.replicas in body must )"
        R"(be of type )"
        R"(integer: "number")"}},
      {inService(R"("replicas":2.0)"), {}},
      {inService(R"("replicas":null)"), {}},
      {inService(R"("envs":[null])"),
       {R"(spec.services.a.envs[0]: Invalid value: "null": spec.services.a.envs[0] in body must be of type )"
        R"(object: "null")"}},
      {R"("spec":{"services":{"a":[]}})",
       {R"(spec.services.a: Invalid value: "array": spec.services.a in body must be of type object: )"
        R"("array")"}},
      {R"("spec":{"services":{"a":null,"b":{}}})",
       {R"(spec.services: Invalid value: "object": a service may not be null)"}},
      {inMain(R"("livenessProbe":{"httpGet":{"port":"http"}})"), {}},
      {inMain(R"("livenessProbe":{"httpGet":{"port":true}})"),
       {R"(spec.services.a.extraPodSpec.mainContainer.livenessProbe.httpGet.port: Invalid value: "boolean": )"
        R"(spec.services.a.extraPodSpec.mainContainer.livenessProbe.httpGet.port in body must be of type )"
        R"(integer,string: "boolean")"}},
      // bounds
      {inService(R"("replicas":-1)"),
       {"spec.services.a.replicas: Invalid value: -1: spec.services.a.replicas in body should be greater "
        "than or "
        "equal to 0"}},
      {R"("spec":{"restart":{"id":""}})",
       {R"(spec.restart.id: Invalid value: "": spec.restart.id in body should be at least 1 chars long)"}},
      {services(25), {}},
      {services(26), {"spec.services: Too many: 26: must have at most 25 items"}},
      {claims(100), {}},
      {claims(101), {"spec.pvcs: Too many: 101: must have at most 100 items"}},
      // enums and patterns
      {R"("spec":{"backendFramework":"vLLM"})",
       {R"(spec.backendFramework: Unsupported value: "vLLM": supported values: "sglang", "vllm", "trtllm")"}},
      {R"("spec":{"backendFramework":""})",
       {R"(spec.backendFramework: Unsupported value: "": supported values: "sglang", "vllm", "trtllm")"}},
      {inService(R"("sharedMemory":{"size":"10GB"})"),
       {R"(spec.services.a.sharedMemory.size: Invalid value: "10GB": )"
        R"(spec.services.a.sharedMemory.size in body )"
        R"(should match ')" +
        kQuantityPattern + "'"}},
      {inService(R"("sharedMemory":{"size":8})"), {}},
      {inService(R"("sharedMemory":{"size":"-1Gi"})"), {}},
      // required and defaults
      {R"("spec":{"restart":{}})", {"spec.restart.id: Required value"}},
      {inService(R"("multinode":{})"), {}},
      {inService(R"("multinode":{"nodeCount":1})"),
       {"spec.services.a.multinode.nodeCount: Invalid value: 1: spec.services.a.multinode.nodeCount in body "
        "should "
        "be greater than or equal to 2"}},
      {inService(R"("extraPodSpec":{"tolerations":[{}]})"), {}},
      {inService(R"("extraPodSpec":{"containers":[{"image":"x"}]})"),
       {"spec.services.a.extraPodSpec.containers[0].name: Required value"}},
      {inMain(R"("image":"x")"), {}},
      {inService(R"("eppConfig":{"config":{}})"),
       {"spec.services.a.eppConfig.config.plugins: Required value",
        "spec.services.a.eppConfig.config.schedulingProfiles: Required value"}},
      {inService(R"("eppConfig":{"configMapRef":{}})"),
       {"spec.services.a.eppConfig.configMapRef.key: Required value"}},
      // lists
      {inMain(R"("env":[{"name":"A"},{"name":"A"},{"name":"A"}])"),
       {R"(spec.services[a].extraPodSpec.mainContainer.env[1]: Duplicate value: {"name":"A"})"}},
      {inService(R"("envs":[{"name":"A"},{"name":"A"}])"), {}},
      {inMain(R"("ports":[{"containerPort":80},{"protocol":"TCP","containerPort":80}])"),
       {R"(spec.services[a].extraPodSpec.mainContainer.ports[1]: Duplicate value: )"
        R"({"containerPort":80,"protocol":"TCP"})"}},
      {inMain(
           R"("restartPolicyRules":[{"action":"Restart","exitCodes":{"operator":"In","values":[1,2,1]}}])"),
       {"spec.services[a].extraPodSpec.mainContainer.restartPolicyRules[0].exitCodes.values[2]: Duplicate "
        "value: 1"}},
      // rules
      {R"("spec":{"pvcs":[{"name":"c"},{"name":"c","create":false}]})", {}},
      {R"("spec":{"pvcs":[{"create":false}]})", {"spec.pvcs[0].name: Required value"}},
      {R"("spec":{"pvcs":[{"name":"c","create":true,"storageClass":"s","volumeAccessMode":"m"}]})",
       {R"(spec.pvcs[0]: Invalid value: "object": )" + kClaimRule}},
      {R"("spec":{"pvcs":[{"name":"c","create":true,"size":1,"storageClass":"","volumeAccessMode":"m"}]})",
       {}},
      {inService(R"("checkpoint":{})"), {}},
      {inService(R"("checkpoint":{"enabled":true})"),
       {R"(spec.services[a].checkpoint: Invalid value: "object": )" + kCheckpointRule}},
      {inService(R"("checkpoint":{"enabled":true,"checkpointRef":""})"),
       {R"(spec.services[a].checkpoint: Invalid value: "object": )" + kCheckpointRule}},
      {inService(R"("checkpoint":{"enabled":true,"checkpointRef":"c"})"), {}},
      {inService(R"("checkpoint":{"enabled":true,"identity":{"model":"","backendFramework":"vllm"}})"), {}},
      {inService(R"("checkpoint":{"enabled":true,"identity":{"model":"m"}})"),
       {"spec.services.a.checkpoint.identity.backendFramework: Required value"}},
      // unknown fields
      {inService(R"("replica":1)"),
       {"spec.services.a.replica: Invalid value: unknown field, did you mean \"replicas\"?"}},
      {inService(R"("extraPodSpec":{"maincontainer":{}})"),
       {"spec.services.a.extraPodSpec.maincontainer: Invalid value: unknown field, did you mean "
        "\"mainContainer\"?"}},
      {R"("spec":{"pvcs":[{"name":"c","quux":null}]})", {"spec.pvcs[0].quux: Invalid value: unknown field"}},
      {inService(R"("eppConfig":{"config":{"plugins":[],"schedulingProfiles":[],"more":1}})"), {}},
      {inService(R"("labels":{"any":"thing"})"), {}},
      // a create ignores status
      {R"("status":{"state":"x","stat":1})",
       {"status.stat: Invalid value: unknown field, did you mean \"state\"?"}},
  }));
  CHECK(messages("v1alpha1", kDgd, c.body) == c.wanted);
}

TEST_CASE("findings of a request", "[schema]") {
  const auto c = GENERATE(values<Case>({
      {R"("spec":{"model":"m"})", {}},
      {R"("spec":{})", {"spec.model: Required value"}},
      {R"("spec":{"model":""})",
       {R"(spec.model: Invalid value: "": spec.model in body should be at least 1 chars long)"}},
      {R"("spec":{"model":"m","features":{"planner":{}}})", {}},
      {R"("spec":{"model":"m","features":{"planner":"x"}})",
       {R"(spec.features.planner: Invalid value: "string": spec.features.planner in body must be of )"
        R"(type object: )"
        R"("string")"}},
      {R"("spec":{"model":"m","overrides":{"profilingJob":{"backoffLimit":1}}})",
       {"spec.overrides.profilingJob.template: Required value"}},
      {R"("spec":{"model":"m","overrides":{"profilingJob":{"template":{"spec":{"containers":[]},)"
       R"("metadata":{"labels":{"a":"b"}}}}}})",
       {}},
      {R"("spec":{"model":"m","overrides":{"dgd":{"spec":{}}}})",
       {"spec.overrides.dgd.apiVersion: Required value", "spec.overrides.dgd.kind: Required value"}},
      {R"("spec":{"model":"m","overrides":{"dgd":{"apiVersion":"v1","kind":"Pod","any":{"thing":1}}}})", {}},
      {R"("spec":{"model":"m","overrides":{"dgd":{"apiVersion":"a/b/c","kind":"-P",)"
       R"("metadata":{"nam":"x"}}}})",
       {R"(spec.overrides.dgd.apiVersion: Invalid value: "a/b/c": unexpected GroupVersion string: a/b/c)",
        R"(spec.overrides.dgd.kind: Invalid value: "-P": must be letters, digits and '-', start )"
        R"(with a letter and )"
        "end with a letter or digit",
        "spec.overrides.dgd.metadata.nam: Invalid value: unknown field, did you mean \"name\"?"}},
  }));
  CHECK(messages("v1beta1", kRequest, c.body) == c.wanted);
}

TEST_CASE("status is validated on request", "[schema]") {
  schema::Options options;
  options.status = true;
  const std::string condition = R"({"type":"Ready","status":"True","reason":"A","message":"",)"
                                R"("lastTransitionTime":"2026-01-02T03:04:05Z"})";
  CHECK(messages("v1beta1", kRequest, R"("status":{"conditions":[)" + condition + "]}", options).empty());
  CHECK(
      messages("v1alpha1", kDgd, R"("status":{"conditions":[)" + condition + "," + condition + "]}", options)
          .empty());
  const std::vector<std::string> twice{R"(status.conditions[1]: Duplicate value: {"type":"Ready"})"};
  CHECK(messages("v1beta1", kRequest, R"("status":{"conditions":[)" + condition + "," + condition + "]}",
                 options) == twice);
  const std::vector<std::string> state{
      R"(status.state: Unsupported value: "x": supported values: "initializing", "pending", )"
      R"("successful", "failed")"};
  CHECK(messages("v1alpha1", kDgd, R"("status":{"state":"x"})", options) == state);
  const std::vector<std::string> time{
      R"(status.rollingUpdate.endTime: Invalid value: "noon": status.rollingUpdate.endTime in body )"
      R"(must be of type )"
      R"(date-time: "noon")"};
  CHECK(messages("v1alpha1", kDgd, R"("status":{"rollingUpdate":{"endTime":"noon"}})", options) == time);
  const std::vector<std::string> tooLong{
      "status.conditions[0].reason: Too long: may not be more than 1024 bytes"};
  const std::string longReason = R"({"type":"Ready","status":"True","message":"","reason":")" +
                                 std::string(1025, 'a') + R"(","lastTransitionTime":"2026-01-02T03:04:05Z"})";
  CHECK(messages("v1beta1", kRequest, R"("status":{"conditions":[)" + longReason + "]}", options) == tooLong);
}

TEST_CASE("wrongTypes() returns the type errors of validate()", "[schema]") {
  const char* body = GENERATE(
      R"("spec":7)", R"("spec":{"services":[]})",
      R"("spec":{"services":{"a":{"replicas":"2","resources":[]}}})",
      R"("spec":{"services":{"a":{"sharedMemory":{"size":"x"},"unknown":1}},"restart":{}})",
      R"("spec":{"backendFramework":"other","pvcs":[{"name":"a"},{"name":"a"},7]})",
      R"("spec":{"envs":[{"name":null},{"name":1}]},"status":{"conditions":[{"lastTransitionTime":"noon"}]})",
      R"("status":{"state":7,"rollingUpdate":{"endTime":"noon","startTime":"2026-01-02T03:04:05Z"}})",
      R"("metadata":{"name":7,"labels":{"a":1},"creationTimestamp":"noon"})");
  INFO(body);
  const schema::Node* node = schema::find("nvidia.com/v1alpha1", kDgd);
  REQUIRE(node != nullptr);
  json::Document document;
  REQUIRE_FALSE(json::parse(
      R"({"apiVersion":"nvidia.com/v1alpha1","kind":"DynamoGraphDeployment",)" + std::string{body} + "}",
      document));
  schema::Options options;
  options.unknownFields = false;
  options.status = true;
  std::vector<std::string> wanted;
  for (const auto& error : schema::validate(*node, document, options)) {
    if (error.rule == "schema.type") wanted.push_back(error.message());
  }
  std::vector<std::string> printed;
  for (const auto& error : schema::wrongTypes(*node, document)) printed.push_back(error.message());
  CHECK(printed == wanted);
}

TEST_CASE("an int32 is limited to 32 bits, unlike in the API server", "[schema]") {
  const auto [number, wanted] = GENERATE(table<std::string, std::string>({
      {"2147483647", ""},
      {"2147483648", "spec.services.a.multinode.nodeCount: Invalid value: 2147483648: must fit in 32 bits"},
      {"3e9", "spec.services.a.multinode.nodeCount: Invalid value: 3000000000.0: must fit in 32 bits"},
  }));
  const std::string body = inService(R"("multinode":{"nodeCount":)" + number + "}");
  CHECK(messages("v1alpha1", kDgd, body).empty());
  json::Document document;
  REQUIRE_FALSE(json::parse("{" + body + "}", document));
  const auto printed = schema::wrongTypes(*schema::find("nvidia.com/v1alpha1", kDgd), document);
  REQUIRE(printed.size() == (wanted.empty() ? 0U : 1U));
  if (!wanted.empty()) CHECK(printed[0].message() == wanted);
}

TEST_CASE("a checkpoint's identity cannot change", "[schema]") {
  const std::string identity = R"("identity":{"model":"m","backendFramework":"vllm"})";
  const std::string job = R"(,"job":{"podTemplateSpec":{}})";
  json::Document old;
  const auto changed = [&](const std::string& oldText, const std::string& now) {
    REQUIRE_FALSE(json::parse(oldText, old));
    schema::Options options;
    options.old = &old;
    return messages("v1alpha1", kCheckpoint, now, options);
  };
  const std::string before = R"({"spec":{)" + identity + job + "}}";
  CHECK(changed(before, R"("spec":{)" + identity + R"(,"job":{"backoffLimit":9,"podTemplateSpec":{}}})")
            .empty());
  CHECK(changed(before, R"("spec":{"identity":{"backendFramework":"vllm","model":"m","tensorParallelSize":1,)"
                        R"("dtype":null})" +
                            job + "}")
            .empty());
  CHECK(changed("{}", R"("spec":{)" + identity + job + "}").empty());
  const std::vector<std::string> refused{
      R"(spec.identity: Invalid value: "object": cannot be changed once it is set)"};
  CHECK(changed(before, R"("spec":{"identity":{"model":"m","backendFramework":"vllm","dtype":"fp8"})" + job +
                            "}") == refused);
  CHECK(changed(before, R"("spec":null)") == refused);
  const std::vector<std::string> gone{"spec.identity: Required value"};
  CHECK(changed(before, R"("spec":{"job":{"podTemplateSpec":{}}})") == gone);
}

TEST_CASE("replicas of the scale subresource", "[schema]") {
  const auto scaled = [](const std::string& replicas) {
    return messages("v1alpha1", "DynamoGraphDeploymentScalingAdapter",
                    R"("spec":{"dgdRef":{"name":"a","serviceName":"b"},"replicas":)" + replicas + "}");
  };
  CHECK(scaled("2147483647").empty());
  const std::vector<std::string> tooMany{
      "spec.replicas: Invalid value: 2147483648: should be less than or equal to 2147483647"};
  CHECK(scaled("2147483648") == tooMany);
  const std::vector<std::string> fraction{"spec.replicas: Invalid value: 2.0: must be written as an integer"};
  CHECK(scaled("2.0") == fraction);
  CHECK(scaled("-1").size() == 1);
}

TEST_CASE("metadata", "[schema]") {
  json::Document object;
  REQUIRE_FALSE(json::parse(
      R"({"metadata":{"label":{},"labels":{"a":1},"creationTimestamp":null},"spec":{}})", object));
  const schema::Node* node = schema::find("nvidia.com/v1alpha1", kDgd);
  std::vector<std::string> found;
  for (const auto& finding : schema::validate(*node, object)) found.push_back(finding.message());
  const std::vector<std::string> wanted{
      "metadata.label: Invalid value: unknown field, did you mean \"labels\"?",
      R"(metadata.labels.a: Invalid value: "integer": metadata.labels.a in body must be of type )"
      R"(string: "integer")",
      "metadata.name: Required value: name or generateName is required"};
  CHECK(found == wanted);
}

TEST_CASE("kinds and versions", "[schema]") {
  CHECK(schema::kindVersions().size() == 8);
  CHECK(schema::find("nvidia.com/v1beta1", kRequest) != nullptr);
  CHECK(schema::find("nvidia.com/v1beta1", kDgd) == nullptr);
  CHECK(schema::find("apps/v1", "Deployment") == nullptr);
  CHECK(schema::find("v1", "Pod") == nullptr);
}
