// Values of environment variables in messages of API servers.
#include "common/k8s/api_message.h"

#include <catch2/catch.hpp>

namespace dynamo::k8s::test {
namespace {

struct Row {
  const char* name;
  const char* message;
  const char* shown;
  const char* field = "";
};

}  // namespace

TEST_CASE("values of environment variables and dumps are not repeated") {
  const Row rows[] = {
      {"no value", "deployments.apps \"x\" not found", "deployments.apps \"x\" not found"},
      {"a value of another field",
       "Deployment.apps \"x\" is invalid: spec.replicas: Invalid value: -1: must be greater than or equal to "
       "0",
       "Deployment.apps \"x\" is invalid: spec.replicas: Invalid value: -1: must be greater than or equal to "
       "0"},
      {"a struct",
       "Pod \"x\" is invalid: spec.containers[0].env[1]: Invalid value: core.EnvVar{Name:\"A\", "
       "Value:\"s3cret\", "
       "ValueFrom:(*core.EnvVarSource)(nil)}: must not be set",
       "Pod \"x\" is invalid: spec.containers[0].env[1]: Invalid value: must not be set"},
      {"a struct that holds brackets and quotes in its texts",
       "spec.template: Invalid value: core.PodTemplateSpec{Value:\"s3}: \\\"cret\", Args:[]string{\"a\"}}: "
       "field is "
       "immutable",
       "spec.template: Invalid value: field is immutable"},
      {"a list of maps",
       "spec.x: Invalid value: []interface {}{map[string]interface {}{\"name\":\"A\", "
       "\"value\":\"s3cret\"}}: must be "
       "one of them",
       "spec.x: Invalid value: must be one of them"},
      {"JSON",
       "spec.template: Invalid value: {\"env\":[{\"name\":\"A\",\"value\":\"s3cret\"}]}: field is immutable",
       "spec.template: Invalid value: field is immutable"},
      {"a map without quotes", "spec.x: Duplicate value: map[name:A value:s3cret]",
       "spec.x: Duplicate value"},
      {"a text of a variable",
       "spec.containers[0].env[0].value: Invalid value: \"s3cret: \\\"x\\\"\": must not contain a colon",
       "spec.containers[0].env[0].value: Invalid value: must not contain a colon"},
      {"a number of a variable", "spec.services[a].envs[0].value: Invalid value: 12345: must be a string",
       "spec.services[a].envs[0].value: Invalid value: must be a string"},
      {"the name of a variable",
       "spec.containers[0].env[0].name: Invalid value: \"1A\": a valid name has no digit",
       "spec.containers[0].env[0].name: Invalid value: \"1A\": a valid name has no digit"},
      {"several errors",
       "Pod \"x\" is invalid: [spec.containers[0].env[0].value: Invalid value: \"s3cret\": too odd, "
       "spec.containers[0].name: Invalid value: \"A\": must be lower case, spec.volumes: Duplicate value: "
       "core.Volume{Name:\"s3cret\"}]",
       "Pod \"x\" is invalid: [spec.containers[0].env[0].value: Invalid value: too odd, "
       "spec.containers[0].name: "
       "Invalid value: \"A\": must be lower case, spec.volumes: Duplicate value]"},
      {"server-side apply",
       "failed to create typed patch object (n/x; apps/v1, Kind=Deployment): "
       ".spec.template.spec.containers[name=\"main\"].env[name=\"A\"].value: expected string, got "
       "&value.valueUnstructured{Value:12345}",
       "failed to create typed patch object (n/x; apps/v1, Kind=Deployment): "
       ".spec.template.spec.containers[name=\"main\"].env[name=\"A\"].value: expected string, got"},
      {"a struct that is cut", "spec.x: Invalid value: core.EnvVar{Value:\"s3cr", "spec.x: Invalid value"},
      {"a cause, whose path is elsewhere", "Invalid value: \"s3cret\": must not be set",
       "Invalid value: must not be set", "spec.containers[0].env[0].value"},
      {"a cause of another field", "Invalid value: \"x\": must not be set",
       "Invalid value: \"x\": must not be set", "spec.environment"}};
  for (const Row& row : rows) {
    INFO(row.name);
    CHECK(withoutQuotedValues(row.message, row.field) == row.shown);
  }
}

}  // namespace dynamo::k8s::test
