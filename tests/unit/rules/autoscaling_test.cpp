// The deprecated `autoscaling` of services (dec-3).
#include "graph_support.h"

namespace dynamo::rules::test {
namespace {

GraphPolicy honouring() {
  GraphPolicy policy;
  policy.honoursAutoscaling = true;
  return policy;
}

std::string scaled(std::string_view autoscaling) {
  return service(fmt::format(R"("autoscaling":{})", autoscaling));
}

TEST_CASE("service.autoscaling: the field is ignored unless the configuration says otherwise") {
  const std::string ignored =
      "W service.autoscaling spec.services[a].autoscaling: is deprecated and ignored: use scalingAdapter\n";
  check({
      {"empty", scaled("{}"), ignored},
      {"disabled", scaled(R"({"enabled":false})"), ignored},
      {"limits are not checked", scaled(R"({"enabled":true,"minReplicas":-1,"maxReplicas":-2})"), ignored},
      {"null", scaled("null"), ""},
  });
}

TEST_CASE("service.autoscaling: with compatibility.autoscaling the warning says what happens") {
  const std::string path = "W service.autoscaling spec.services[a].autoscaling: is deprecated";
  const std::string disabled = path + " and has no effect because it is not enabled: use scalingAdapter\n";
  check(
      {
          {"empty", scaled("{}"), disabled},
          {"disabled", scaled(R"({"enabled":false,"minReplicas":-1})"), disabled},
          {"enabled", scaled(R"({"enabled":true,"maxReplicas":3})"),
           path + ": the operator creates a HorizontalPodAutoscaler; use scalingAdapter and your own\n"},
          {"null", scaled("null"), ""},
      },
      honouring());
}

TEST_CASE("service.autoscaling: a component deployment has no scaling adapter") {
  const std::string text =
      R"({"apiVersion":"nvidia.com/v1alpha1","kind":"DynamoComponentDeployment","metadata":{"name":"d",)"
      R"("namespace":"ns"},"spec":{"autoscaling":{"enabled":true,"maxReplicas":0}}})";
  CHECK(findingsOf(validateDcd, text, {}, honouring()) ==
        "W service.autoscaling spec.autoscaling: is deprecated and ignored: use scalingAdapter\n");
}

TEST_CASE("service.autoscaling-replicas: the limits of a HorizontalPodAutoscaler") {
  const std::string path = "E service.autoscaling-replicas spec.services[a].autoscaling.";
  const std::string min = path + "minReplicas: Invalid value: ";
  const std::string max = path + "maxReplicas: Invalid value: ";
  const std::string positive = ": must be greater than 0 unless a metric has type Object or External\n";
  struct Limits {
    const char* members;
    std::string expected;
  };
  const Limits table[] = {
      {R"("maxReplicas":1)", ""},
      {R"("minReplicas":2,"maxReplicas":2)", ""},
      {R"("minReplicas":null,"maxReplicas":1)", ""},
      {R"("minReplicas":2)", path + "maxReplicas: Required value: must be set when autoscaling is enabled\n"},
      {R"("maxReplicas":null)",
       path + "maxReplicas: Required value: must be set when autoscaling is enabled\n"},
      {R"("maxReplicas":0)", max + "0: must be greater than 0\n"},
      {R"("maxReplicas":-1)", max + "-1: must be greater than 0\n"},
      {R"("minReplicas":3,"maxReplicas":2)",
       max + "2: must be greater than or equal to minReplicas, which is 3\n"},
      {R"("minReplicas":-1,"maxReplicas":2)", min + "-1: must be greater than or equal to 0\n"},
      {R"("minReplicas":0,"maxReplicas":2)", min + "0" + positive},
      {R"("minReplicas":0,"maxReplicas":2,"metrics":[{"type":"Resource"}])", min + "0" + positive},
      {R"("minReplicas":0,"maxReplicas":2,"metrics":[{"type":"Resource"},{"type":"External"}])", ""},
      {R"("minReplicas":0,"maxReplicas":2,"metrics":[{"type":"Object"}])", ""},
      {R"("minReplicas":0,"maxReplicas":0)", max + "0: must be greater than 0\n" + min + "0" + positive},
  };
  for (const Limits& row : table) {
    INFO(row.members);
    const std::string found = findingsOf(
        validateDgd, scaled(fmt::format(R"({{"enabled":true,{}}})", row.members)), {}, honouring());
    CHECK(found.substr(0, found.find("W ")) == row.expected);
  }
}

TEST_CASE("service.autoscaling-replicas: limits that were invalid before an update are warnings") {
  const std::string stored = scaled(R"({"enabled":true})");
  const std::string found = findingsOf(validateDgd, stored, stored, honouring());
  CHECK(found.find("W service.autoscaling-replicas spec.services[a].autoscaling.maxReplicas: ") !=
        std::string::npos);
  CHECK(found.find("E ") == std::string::npos);
}

}  // namespace
}  // namespace dynamo::rules::test
