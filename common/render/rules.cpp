#include "common/render/rules.h"

#include <array>

namespace dynamo::render {
namespace {

using field::Severity;

constexpr std::array<field::Rule, 16> kRules = {{
    {"render.autoscaling", Severity::Error, "enabled autoscaling has maxReplicas"},
    {"render.checkpoint", Severity::Error,
     "the operator configuration enables checkpointing if a component uses it"},
    {"render.checkpoint-container", Severity::Error, "the pod template of a checkpoint has a container"},
    {"render.deployment-config", Severity::Error, "DYN_DEPLOYMENT_CONFIG has valid types and quantities"},
    {"render.epp-config", Severity::Error, "an endpoint picker has a configuration"},
    {"render.framework", Severity::Error, "the command and backendFramework agree on one engine"},
    {"render.kai-queue", Severity::Error,
     "the queue of the KAI scheduler exists; only a controller checks it"},
    {"render.lws-command", Severity::Error, "a component in a LeaderWorkerSet has a command and arguments"},
    {"render.lws-replicas", Severity::Error, "replicas that are LeaderWorkerSets do not exceed the limit"},
    {"render.mount-name", Severity::Error, "a volume mount names a claim"},
    {"render.mount-point", Severity::Error, "a volume mount has a path or is a cache with a default path"},
    {"render.owner-uid", Severity::Error,
     "an object whose children a controller creates has a uid from the API server"},
    {"render.quantity", Severity::Error, "resources are valid quantities"},
    {"render.service", Severity::Error, "a service is not null"},
    {"render.size", Severity::Error, "services, shared variables and claims do not exceed the limits"},
    {"render.trtllm-nodes", Severity::Error, "one command can list the hosts of a TensorRT-LLM component"},
}};

}  // namespace

std::span<const field::Rule> rules() {
  return kRules;
}

}  // namespace dynamo::render
