#include "common/render/rules.h"

#include <array>

namespace dynamo::render {
namespace {

using field::Severity;

constexpr std::array<field::Rule, 13> kRules = {{
    {"render.checkpoint", Severity::Error,
     "checkpointing is configured in the operator when a component uses it"},
    {"render.checkpoint-container", Severity::Error, "a checkpoint's pod template has a container"},
    {"render.deployment-config", Severity::Error,
     "DYN_DEPLOYMENT_CONFIG has the types that the component pathway reads"},
    {"render.epp-config", Severity::Error, "an endpoint picker has a configuration"},
    {"render.framework", Severity::Error, "the command and backendFramework name one engine"},
    {"render.lws-command", Severity::Error, "a component of LeaderWorkerSets has a command and arguments"},
    {"render.lws-replicas", Severity::Error, "replicas that are LeaderWorkerSets each stay within reason"},
    {"render.mount-name", Severity::Error, "a volume mount names a claim"},
    {"render.mount-point", Severity::Error, "a volume mount has a path, or its engine a default one"},
    {"render.quantity", Severity::Error, "resources are quantities"},
    {"render.service", Severity::Error, "a service is not null"},
    {"render.size", Severity::Error, "what services share is not multiplied beyond reason"},
    {"render.trtllm-nodes", Severity::Error, "the hosts of a TensorRT-LLM component fit one command"},
}};

}  // namespace

std::span<const field::Rule> rules() {
  return kRules;
}

}  // namespace dynamo::render
