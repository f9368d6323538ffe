// Whose field each value of a rendered pod template was: what findings about pods are told at.

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "tests/unit/render/recorded.h"

namespace dynamo::render {
namespace {

using field::Path;
using test::check;
using test::kSvc;
using test::parsed;
using test::pathIn;
using test::Pathway;
using test::Recorded;
using test::recorded;
using test::Setup;

constexpr Pathway kPathways[] = {Pathway::Deployment, Pathway::Grove};
TEST_CASE("origins: the pod and its containers") {
  for (const Pathway pathway : kPathways) {
    check(pathway,
          R"({"componentType":"worker","extraPodSpec":{"nodeSelector":{"a/b":"c"},"tolerations":[{"key":"k"}],
             "volumes":[{"name":"v","emptyDir":{}}],"containers":[{"name":"s","image":"t"}],
             "initContainers":[{"name":"w","image":"u"}],
             "mainContainer":{"image":"i","args":["x"],"ports":[{"containerPort":1}],
               "securityContext":{"runAsUser":5},"envFrom":[{"configMapRef":{"name":"c"}}],
               "volumeMounts":[{"name":"v","mountPath":"/v"}],"lifecycle":{"preStop":{"sleep":{"seconds":1}}}}},
             "envFromSecret":"s"})",
          {
              {"spec.nodeSelector[a/b]", kSvc + "extraPodSpec.nodeSelector[a/b]"},
              {"spec.tolerations[0].key", kSvc + "extraPodSpec.tolerations[0].key"},
              {"spec.dnsConfig.nameservers", kSvc + "extraPodSpec.dnsConfig.nameservers"},
              {"spec.volumes[v].name", kSvc + "extraPodSpec.volumes[0].name"},
              {"spec.containers[0].image", kSvc + "extraPodSpec.containers[0].image"},
              {"spec.containers[0].ports", kSvc + "extraPodSpec.containers[0].ports"},
              {"spec.initContainers[0].name", kSvc + "extraPodSpec.initContainers[0].name"},
              {"spec.containers[1].image", kSvc + "extraPodSpec.mainContainer.image"},
              {"spec.containers[1].args[0]", kSvc + "extraPodSpec.mainContainer.args[0]"},
              {"spec.containers[1].ports[0].containerPort",
               kSvc + "extraPodSpec.mainContainer.ports[0].containerPort"},
              {"spec.containers[1].securityContext.runAsUser",
               kSvc + "extraPodSpec.mainContainer.securityContext.runAsUser"},
              {"spec.containers[1].lifecycle.preStop.sleep.seconds",
               kSvc + "extraPodSpec.mainContainer.lifecycle.preStop.sleep.seconds"},
              {"spec.containers[1].volumeMounts[/v].name",
               kSvc + "extraPodSpec.mainContainer.volumeMounts[0].name"},
              {"spec.containers[1].envFrom[0].configMapRef.name",
               kSvc + "extraPodSpec.mainContainer.envFrom[0].configMapRef.name"},
              {"spec.containers[1].envFrom[1].secretRef.name", kSvc + "envFromSecret"},
              {"spec.containers[1].envFrom[1]", "made of " + kSvc + "envFromSecret"},
              {"spec.containers[1].name", "operator's, for spec.services[Svc]"},
              {"spec.containers[1].imagePullPolicy", kSvc + "extraPodSpec.mainContainer.imagePullPolicy"},
              {"metadata.labels[nvidia.com/metrics-enabled]", "operator's, for spec.services[Svc]"},
          });
  }
}

TEST_CASE("origins: variables are those of the layer that won") {
  const json::Document graph = test::parsed(
      R"({"apiVersion":"nvidia.com/v1alpha1","kind":"DynamoGraphDeployment","metadata":{"name":"g","namespace":"ns"},
          "spec":{"envs":[{"name":"Z","value":"1"},{"name":"A","value":"1"},{"name":"B","value":"1"}],
            "services":{"Svc":{"componentType":"worker","envs":[{"name":"C"},{"name":"A","value":"2"},
              {"name":"A","value":"3"}],
              "extraPodSpec":{"mainContainer":{"image":"i","env":[{"name":"D"},{"name":"B"},{"name":"A"}]}},
              "frontendSidecar":{"image":"f","args":["a"],"envs":[{"name":"E","value":"1"}],
                "envFromSecret":"t"}}}}})");
  for (const Pathway pathway : kPathways) {
    const Recorded all = recorded(graph, Setup{pathway});
    REQUIRE(all.templates.size() == 1);
    check(all.templates[0],
          {
              {"spec.containers[0].env[A].value", kSvc + "envs[2].value"},
              {"spec.containers[0].env[B].value", "spec.envs[2].value"},
              {"spec.containers[0].env[C].name", kSvc + "envs[0].name"},
              {"spec.containers[0].env[D].name", kSvc + "extraPodSpec.mainContainer.env[0].name"},
              {"spec.containers[0].env[Z].value", "spec.envs[0].value"},
              {"spec.containers[0].env[POD_UID].name",
               "default " + kSvc + "extraPodSpec.mainContainer.env[" +
                   std::to_string([&] {  // its index among the defaults does not matter
                     const Path at = pathIn(*all.templates[0].value, "spec.containers[0].env[POD_UID]");
                     const Path field = all.templates[0].origins->of(at).field;
                     return field.view().back().index;
                   }()) +
                   "].name"},
              {"spec.containers[1].image", kSvc + "frontendSidecar.image"},
              {"spec.containers[1].args[0]", kSvc + "frontendSidecar.args[0]"},
              {"spec.containers[1].env[E].value", kSvc + "frontendSidecar.envs[0].value"},
              {"spec.containers[1].envFrom[0].secretRef.name", kSvc + "frontendSidecar.envFromSecret"},
              {"spec.containers[1].livenessProbe", "operator's, for " + kSvc + "frontendSidecar"},
              {"spec.containers[1].name", "operator's, for " + kSvc + "frontendSidecar"},
          });
  }
}

TEST_CASE("origins: resources stand in two places") {
  for (const Pathway pathway : kPathways) {
    check(pathway,
          R"({"componentType":"worker","resources":{"limits":{"cpu":"2","gpu":"1","custom":{"x.io/y":"3"}},
              "requests":{"memory":"1Gi","custom":{"x.io/y":"3"}},"claims":[{"name":"c"}]},
              "extraPodSpec":{"mainContainer":{"image":"i","resources":{"limits":{"cpu":"1","memory":"2Gi"},
                "claims":[{"name":"d"}]}}}})",
          {
              {"spec.containers[0].resources.limits[cpu]", kSvc + "resources.limits.cpu"},
              {"spec.containers[0].resources.limits[memory]",
               kSvc + "extraPodSpec.mainContainer.resources.limits[memory]"},
              {"spec.containers[0].resources.limits[nvidia.com/gpu]", kSvc + "resources.limits.gpu"},
              {"spec.containers[0].resources.limits[x.io/y]", kSvc + "resources.limits.custom[x.io/y]"},
              {"spec.containers[0].resources.requests[memory]", kSvc + "resources.requests.memory"},
              {"spec.containers[0].resources.requests[x.io/y]", kSvc + "resources.requests.custom[x.io/y]"},
              {"spec.containers[0].resources.claims[0].name",
               kSvc + "extraPodSpec.mainContainer.resources.claims[0].name"},
              {"spec.containers[0].resources.claims[1].name", kSvc + "resources.claims[0].name"},
          });
    // A request for GPUs alone becomes the limit.
    check(pathway, R"({"resources":{"requests":{"gpu":"1"}},"extraPodSpec":{"mainContainer":{"image":"i"}}})",
          {{"spec.containers[0].resources.limits[nvidia.com/gpu]", kSvc + "resources.requests.gpu"}});
  }
}

TEST_CASE("origins: claims, shared memory and the endpoint picker's configuration") {
  for (const Pathway pathway : kPathways) {
    check(pathway,
          R"({"componentType":"worker","sharedMemory":{"size":"1Gi"},"backendFramework":"vllm",
              "volumeMounts":[{"name":"c","mountPoint":"/c"},{"name":"c","mountPoint":"/d"}],
              "extraPodSpec":{"mainContainer":{"image":"i"}}})",
          {
              {"spec.volumes[c].persistentVolumeClaim.claimName", kSvc + "volumeMounts[0].name"},
              {"spec.volumes[c]", "made of " + kSvc + "volumeMounts[0].name"},
              {"spec.containers[0].volumeMounts[/c].mountPath", kSvc + "volumeMounts[0].mountPoint"},
              {"spec.containers[0].volumeMounts[/d].mountPath", kSvc + "volumeMounts[1].mountPoint"},
              {"spec.containers[0].volumeMounts[/d].name", kSvc + "volumeMounts[1].name"},
              {"spec.volumes[shared-memory].emptyDir.sizeLimit", kSvc + "sharedMemory.size"},
              {"spec.volumes[shared-memory].name", "operator's, for " + kSvc + "sharedMemory"},
              {"spec.containers[0].volumeMounts[/dev/shm].mountPath",
               "operator's, for " + kSvc + "sharedMemory"},
          });
    check(pathway, R"({"componentType":"worker","extraPodSpec":{"mainContainer":{"image":"i"}}})",
          {{"spec.volumes[shared-memory].emptyDir.sizeLimit", "default " + kSvc + "sharedMemory.size"}});
    check(pathway,
          R"({"componentType":"epp","eppConfig":{"configMapRef":{"name":"m","key":"k"}},
              "extraPodSpec":{"mainContainer":{"image":"i"}}})",
          {
              {"spec.volumes[epp-config].configMap.name", kSvc + "eppConfig.configMapRef.name"},
              {"spec.volumes[epp-config].configMap.items[0].key", kSvc + "eppConfig.configMapRef.key"},
              {"spec.volumes[epp-config].name", "made of " + kSvc + "eppConfig.configMapRef.name"},
          });
    // The user's own volume of that name is no part of the picker's configuration.
    check(pathway,
          R"({"componentType":"epp","eppConfig":{"configMapRef":{"name":"m","key":"k"}},"extraPodSpec":{
              "volumes":[{"name":"epp-config","configMap":{"name":"n"}}],"mainContainer":{"image":"i"}}})",
          {{"spec.volumes[epp-config].configMap.name", kSvc + "extraPodSpec.volumes[0].configMap.name"}});
  }
}

TEST_CASE("origins: labels and annotations") {
  const json::Document graph = test::parsed(
      R"({"apiVersion":"nvidia.com/v1alpha1","kind":"DynamoGraphDeployment","metadata":{"name":"g","namespace":"ns",
          "annotations":{"nvidia.com/vllm-distributed-executor-backend":"mp"}},
          "spec":{"services":{"Svc":{"componentType":"worker","subComponentType":"p","modelRef":{"name":"m"},
            "labels":{"a":"1","b":"1","nvidia.com/dynamo-component":"x"},"annotations":{"own":"1"},
            "extraPodMetadata":{"labels":{"b":"2","c.d/e":"2"},"annotations":{"extra":"1"}},
            "extraPodSpec":{"mainContainer":{"image":"i"}}}}}})");
  for (const Pathway pathway : kPathways) {
    const Recorded all = recorded(graph, Setup{pathway});
    REQUIRE(all.templates.size() == 1);
    check(all.templates[0],
          {
              {"metadata.labels[a]", kSvc + "labels[a]"},
              {"metadata.labels[b]", kSvc + "extraPodMetadata.labels[b]"},
              {"metadata.labels[c.d/e]", kSvc + "extraPodMetadata.labels[c.d/e]"},
              {"metadata.labels[nvidia.com/dynamo-component-type]", kSvc + "componentType"},
              {"metadata.labels[nvidia.com/dynamo-sub-component-type]", kSvc + "subComponentType"},
              {"metadata.labels[nvidia.com/dynamo-base-model-hash]", "made of " + kSvc + "modelRef.name"},
              {"metadata.labels[nvidia.com/dynamo-component]", "operator's, for spec.services[Svc]"},
              {"metadata.annotations[extra]", kSvc + "extraPodMetadata.annotations[extra]"},
          });
    if (pathway != Pathway::Grove) continue;
    check(all.templates[0], {
                                {"metadata.annotations[own]", kSvc + "annotations[own]"},
                                {"metadata.annotations[nvidia.com/vllm-distributed-executor-backend]",
                                 "metadata.annotations[nvidia.com/vllm-distributed-executor-backend]"},
                                {"metadata.annotations[nvidia.com/dynamo-discovery-backend]",
                                 "operator's, for spec.services[Svc]"},
                            });
  }
}

TEST_CASE("origins: probes") {
  for (const Pathway pathway : kPathways) {
    check(pathway,
          R"({"componentType":"worker","livenessProbe":{"exec":{"command":["a"]}},
              "extraPodSpec":{"mainContainer":{"image":"i","livenessProbe":{"periodSeconds":1},
                "readinessProbe":{"periodSeconds":2}}}})",
          {
              {"spec.containers[0].livenessProbe.exec.command[0]", kSvc + "livenessProbe.exec.command[0]"},
              {"spec.containers[0].readinessProbe.periodSeconds",
               kSvc + "extraPodSpec.mainContainer.readinessProbe.periodSeconds"},
              {"spec.containers[0].readinessProbe.httpGet.port",
               "default " + kSvc + "extraPodSpec.mainContainer.readinessProbe.httpGet.port"},
              {"spec.containers[0].startupProbe.httpGet.port",
               "default " + kSvc + "extraPodSpec.mainContainer.startupProbe.httpGet.port"},
          });
  }
}

TEST_CASE("origins: what DYN_DEPLOYMENT_CONFIG sets is made of the variable, without Grove") {
  const auto graph = [](std::string_view service, std::string_view spec) {
    return test::parsed(
        R"({"apiVersion":"nvidia.com/v1alpha1","kind":"DynamoGraphDeployment","metadata":{"name":"g","namespace":"ns"},
            "spec":{"services":{"Svc":{"componentType":"worker","resources":{"limits":{"cpu":"1","memory":"1Gi"}},
            "extraPodSpec":{"mainContainer":{"image":"i"}})" +
        std::string{service} + "}}" + std::string{spec} + "}}");
  };
  const std::string variable =
      R"("envs":[{"name":"A"},{"name":"DYN_DEPLOYMENT_CONFIG","value":"{\"Svc\":{\"ServiceArgs\":{\"Resources\":{\"cpu\":\"2\",\"custom\":{\"x.io/y\":\"1\"}}}}}"}])";
  const auto rows = [](const std::string& field, bool applied) -> std::vector<test::Row> {
    const std::string made = "made of " + field;
    return {{"spec.containers[0].resources.limits[cpu]", applied ? made : kSvc + "resources.limits.cpu"},
            {"spec.containers[0].resources.limits[x.io/y]",
             applied ? made : kSvc + "extraPodSpec.mainContainer.resources.limits[x.io/y]"},
            {"spec.containers[0].resources.limits[memory]", kSvc + "resources.limits.memory"},
            {"spec.containers[0].env[DYN_DEPLOYMENT_CONFIG].value", field}};
  };
  for (const Pathway pathway : kPathways) {
    const bool applied = pathway != Pathway::Grove;
    const json::Document ofService = graph("," + variable, "");
    check(recorded(ofService, Setup{pathway}).templates.at(0), {});
    const Recorded own = recorded(ofService, Setup{pathway});
    check(own.templates.at(0), rows(kSvc + "envs[1].value", applied));
    const json::Document ofGraph = graph("", "," + variable);
    const Recorded handedDown = recorded(ofGraph, Setup{pathway});
    check(handedDown.templates.at(0), rows("spec.envs[1].value", applied));
  }
}

}  // namespace
}  // namespace dynamo::render
