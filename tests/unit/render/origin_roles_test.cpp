// Origins in the pods of leaders and workers, of components on their own and of checkpoints.

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "tests/unit/render/recorded.h"

namespace dynamo::render {
namespace {

using test::check;
using test::kSvc;
using test::parsed;
using test::Pathway;
using test::Recorded;
using test::recorded;
using test::Setup;
using test::Template;

const char* const kMultinode =
    R"({"componentType":"worker","multinode":{"nodeCount":2},"labels":{"a":"1"},
        "resources":{"limits":{"gpu":"8"}},"extraPodSpec":{"mainContainer":{"image":"i","command":["python3"],
        "args":["-m","dynamo.vllm","-tp","16"]}}})";

TEST_CASE("origins: leaders and workers") {
  for (const Pathway pathway : {Pathway::LeaderWorkerSet, Pathway::Grove}) {
    const bool grove = pathway == Pathway::Grove;
    const std::string main = kSvc + "extraPodSpec.mainContainer.";
    check(pathway, kMultinode,
          {
              {"metadata.labels[a]", kSvc + "labels[a]"},
              {"spec.containers[0].image", main + "image"},
              {"spec.containers[0].command[0]", main + "command[0]"},
              {"spec.containers[0].args[3]", main + "args[3]"},
              {"spec.containers[0].args[5]", "made of " + main + "args"},
              {"spec.containers[0].livenessProbe.httpGet.port",
               "default " + main + "livenessProbe.httpGet.port"},
          });
    check(pathway, kMultinode,
          {
              {"spec.containers[0].args[0]", "made of " + main + "args"},
              {"spec.initContainers[0].image", main + "image"},
              {"spec.initContainers[0].name", "operator's, for spec.services[Svc]"},
              {"spec.containers[0].env[VLLM_NIXL_SIDE_CHANNEL_HOST].name",
               "operator's, for spec.services[Svc]"},
          },
          1);
    if (grove) continue;
    check(pathway, kMultinode,
          {
              {"spec.schedulerName", "operator's, for spec.services[Svc]"},
              {"metadata.labels[role]", "operator's, for spec.services[Svc]"},
          },
          1);
  }
}

TEST_CASE("origins: mpirun") {
  const char* const service =
      R"({"componentType":"worker","multinode":{"nodeCount":2},"resources":{"limits":{"gpu":"8"}},
          "extraPodSpec":{"volumes":[{"name":"v"}],"mainContainer":{"image":"i","command":["python3"],
          "args":["-m","dynamo.trtllm"]}}})";
  for (const Pathway pathway : {Pathway::LeaderWorkerSet, Pathway::Grove}) {
    for (const std::size_t role : {0U, 1U}) {
      check(pathway, service,
            {
                {"spec.volumes[mpi-secret].secret.secretName", "operator's, for spec.services[Svc]"},
                {"spec.containers[0].volumeMounts[/ssh-pk].mountPath", "operator's, for spec.services[Svc]"},
                {"spec.containers[0].args[0]", "made of " + kSvc + "extraPodSpec.mainContainer.args"},
            },
            role);
    }
    check(pathway, service,
          {{"spec.containers[0].readinessProbe.tcpSocket.port", "operator's, for spec.services[Svc]"}}, 1);
  }
}

TEST_CASE("origins: a component on its own") {
  const json::Document component = test::parsed(
      R"({"apiVersion":"nvidia.com/v1alpha1","kind":"DynamoComponentDeployment",
          "metadata":{"name":"c","namespace":"ns","labels":{"a":"1"}},
          "spec":{"componentType":"worker","labels":{"a":"2","b":"2"},"envs":[{"name":"A"}],
            "extraPodMetadata":{"labels":{"b":"3"}},"extraPodSpec":{"mainContainer":{"image":"i"}}}})");
  const Recorded all = recorded(component, Setup{Pathway::Deployment});
  check(all.templates.at(0), {
                                 {"metadata.labels[a]", "metadata.labels[a]"},
                                 {"metadata.labels[b]", "spec.extraPodMetadata.labels[b]"},
                                 {"spec.containers[0].image", "spec.extraPodSpec.mainContainer.image"},
                                 {"spec.containers[0].env[A].name", "spec.envs[0].name"},
                                 {"spec.serviceAccountName", "default spec.extraPodSpec.serviceAccountName"},
                             });
}

TEST_CASE("origins: component labels win in LeaderWorkerSets of a component on its own") {
  const json::Document component = test::parsed(
      R"({"apiVersion":"nvidia.com/v1alpha1","kind":"DynamoComponentDeployment",
          "metadata":{"name":"c","namespace":"ns"},
          "spec":{"componentType":"worker","labels":{"b":"2"},"multinode":{"nodeCount":2},
            "extraPodMetadata":{"labels":{"b":"3"}},"extraPodSpec":{"mainContainer":{"image":"i",
            "command":["a"],"args":["b"]}}}})");
  const Recorded all = recorded(component, Setup{Pathway::LeaderWorkerSet});
  for (const Template& pod : all.templates) check(pod, {{"metadata.labels[b]", "spec.labels[b]"}});
  CHECK(all.templates.size() == 2);
}

TEST_CASE("origins: pods that are checkpointed") {
  Setup setup{Pathway::Grove};
  setup.config.checkpoint.enabled = true;
  check(Pathway::Grove,
        R"({"componentType":"worker","envs":[{"name":"A"}],"checkpoint":{"enabled":true,"checkpointRef":"x"},
          "extraPodSpec":{"mainContainer":{"image":"i"}}})",
        {
            {"spec.containers[0].env[0].name", "operator's, for spec.services[Svc]"},
            {"spec.containers[0].env[A].name", kSvc + "envs[0].name"},
            {"spec.volumes[podinfo].name", "operator's, for spec.services[Svc]"},
            {"spec.volumes[checkpoint-storage].name", "operator's, for spec.services[Svc]"},
            {"spec.containers[0].volumeMounts[/checkpoints].name", "operator's, for spec.services[Svc]"},
            {"spec.securityContext.seccompProfile.type", "operator's, for spec.services[Svc]"},
            {"spec.securityContext.fsGroup", "default " + kSvc + "extraPodSpec.securityContext.fsGroup"},
        },
        0, &setup);
}

TEST_CASE("origins: the Job of a checkpoint") {
  const json::Document checkpoint = test::parsed(
      R"({"apiVersion":"nvidia.com/v1alpha1","kind":"DynamoCheckpoint","metadata":{"name":"c","namespace":"ns"},
          "spec":{"identity":{"model":"m","backendFramework":"vllm"},"job":{"podTemplateSpec":{
            "metadata":{"labels":{"a":"1"}},
            "spec":{"containers":[{"name":"s","image":"t"},{"name":"main","image":"i","env":[{"name":"A"}],
              "volumeMounts":[{"name":"v","mountPath":"/v"}]}],"volumes":[{"name":"v","emptyDir":{}}]}}}}})");
  const Recorded all = recorded(checkpoint, Setup{});
  const std::string given = "spec.job.podTemplateSpec.";
  check(all.templates.at(0), {
                                 {"metadata.labels[a]", given + "metadata.labels[a]"},
                                 {"spec.containers[0].image", given + "spec.containers[0].image"},
                                 {"spec.containers[1].env[A].name", given + "spec.containers[1].env[0].name"},
                                 {"spec.containers[1].env[DYN_CHECKPOINT_HASH].value",
                                  "operator's, for " + given + "spec.containers[1].env"},
                                 {"spec.volumes[v].name", given + "spec.volumes[0].name"},
                                 {"spec.volumes[podinfo].name", "operator's, for " + given + "spec.volumes"},
                                 {"spec.containers[1].volumeMounts[/etc/podinfo].name",
                                  "operator's, for " + given + "spec.containers[1].volumeMounts"},
                                 {"spec.containers[1].readinessProbe.exec",
                                  "operator's, for " + given + "spec.containers[1].readinessProbe"},
                                 {"spec.restartPolicy", "operator's, for " + given + "spec.restartPolicy"},
                             });
}

}  // namespace
}  // namespace dynamo::render
