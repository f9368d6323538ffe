#include "common/schema/defaults.h"

#include <catch2/catch.hpp>
#include <string>

#include "common/json/parse.h"
#include "common/schema/registry.h"

namespace {

using namespace dynamo;

struct Case {
  std::string kind;
  std::string version;
  std::string spec;
  std::string wanted;
};

}  // namespace

TEST_CASE("schema defaults are set where their parent exists", "[schema]") {
  const auto c = GENERATE(values<Case>({
      {"DynamoGraphDeployment", "v1alpha1", R"({"restart":{"id":"a"}})", R"({"restart":{"id":"a"}})"},
      {"DynamoGraphDeployment", "v1alpha1", R"({"restart":{"id":"a","strategy":{}}})",
       R"({"restart":{"id":"a","strategy":{"type":"Sequential"}}})"},
      {"DynamoGraphDeployment", "v1alpha1", R"({"services":{"a":{"multinode":{},"checkpoint":{}}}})",
       R"({"services":{"a":{"multinode":{"nodeCount":2},"checkpoint":{"enabled":false,"mode":"Auto"}}}})"},
      {"DynamoGraphDeployment", "v1alpha1",
       R"({"services":{"a":{"extraPodSpec":{"mainContainer":{"ports":[{"containerPort":80}]}}}}})",
       R"({"services":{"a":{"extraPodSpec":{"mainContainer":{"ports":[{"containerPort":80,)"
       R"("protocol":"TCP"}]}}}}})"},
      {"DynamoGraphDeployment", "v1alpha1",
       R"({"services":{"a":{"livenessProbe":{"grpc":{"port":1}},"scalingAdapter":{"enabled":null}}}})",
       R"({"services":{"a":{"livenessProbe":{"grpc":{"port":1,"service":""}},)"
       R"("scalingAdapter":{"enabled":false}}}})"},
      {"DynamoGraphDeployment", "v1alpha1", R"({"services":{"a":{"replicas":null},"b":null},"envs":null})",
       R"({"services":{"a":{},"b":null}})"},  // a null service stays for validation to reject
      {"DynamoComponentDeployment", "v1alpha1", R"({"eppConfig":{"configMapRef":{"key":"k"}}})",
       R"({"eppConfig":{"configMapRef":{"key":"k","name":""}}})"},
      {"DynamoComponentDeployment", "v1alpha1",
       R"({"eppConfig":{"config":{"plugins":[{"parameters":{"a":null}}],"x":null}}})",
       R"({"eppConfig":{"config":{"plugins":[{"parameters":{"a":null}}],"x":null}}})"},
      {"DynamoModel", "v1alpha1", R"({"modelType":null})", R"({"modelType":"base"})"},
      {"DynamoCheckpoint", "v1alpha1", R"({"identity":{},"job":{"backoffLimit":0}})",
       R"({"identity":{"pipelineParallelSize":1,"tensorParallelSize":1},
           "job":{"activeDeadlineSeconds":3600,"backoffLimit":0,"ttlSecondsAfterFinished":300}})"},
      {"DynamoGraphDeploymentRequest", "v1alpha1", R"({"profilingConfig":{"configMapRef":{}}})",
       R"({"autoApply":false,"enableGpuDiscovery":true,"useMocker":false,
           "profilingConfig":{"configMapRef":{"key":"disagg.yaml"}}})"},
      {"DynamoGraphDeploymentRequest", "v1beta1", R"({"model":"m","autoApply":null})",
       R"({"model":"m","autoApply":true,"backend":"auto","searchStrategy":"rapid"})"},
      {"DynamoGraphDeploymentRequest", "v1beta1",
       R"({"workload":{"isl":0},"modelCache":{"pvcMountPath":""}})",
       R"({"workload":{"isl":0,"osl":1000},"modelCache":{"pvcMountPath":""},
           "autoApply":true,"backend":"auto","searchStrategy":"rapid"})"},
      {"DynamoWorkerMetadata", "v1alpha1", R"({"data":{"a":null}})", R"({"data":{"a":null}})"},
  }));
  json::Document object, wanted;
  REQUIRE_FALSE(json::parse(R"({"spec":)" + c.spec + "}", object));
  REQUIRE_FALSE(json::parse(R"({"spec":)" + c.wanted + "}", wanted));
  const schema::Node* node = schema::find("nvidia.com/" + c.version, c.kind);
  REQUIRE(node != nullptr);
  schema::applySchemaDefaults(*node, object, object.GetAllocator());
  INFO(json::dump(object));
  CHECK(json::equal(object, wanted));
  const std::string once = json::dump(object);
  schema::applySchemaDefaults(*node, object, object.GetAllocator());
  CHECK(json::dump(object) == once);
}

TEST_CASE("status defaults", "[schema]") {
  json::Document object;
  REQUIRE_FALSE(json::parse(R"({"status":{"deployment":{}}})", object));
  schema::applySchemaDefaults(*schema::find("nvidia.com/v1alpha1", "DynamoGraphDeploymentRequest"), object,
                              object.GetAllocator());
  CHECK(json::dump(object) == R"({"status":{"deployment":{"state":"initializing"},"state":"Initializing"}})");
}
