// Changes the pods of multinode TensorRT-LLM: the leader runs mpirun, the workers run sshd. The readiness
// probe of the workers is not in components.yaml, because it checks the sshd. Quirks pod-Q1, pod-Q2, pod-Q13,
// pod-Q14, pod-Q15, pod-Q18, pod-Q40.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <set>
#include <string>
#include <vector>

#include "common/api/dynamo.h"
#include "common/json/build.h"
#include "common/render/backend.h"
#include "common/render/env.h"
#include "common/render/shell.h"

namespace dynamo::render {
namespace {

using json::Allocator;
using json::Value;

constexpr int kSecretMode = 0644;
/// The Secret name in every installation of the chart; used without a configured name.
constexpr std::string_view kDefaultSecret = "mpi-run-ssh-secret";
/// One argument lists all hosts, and an object has no room for many more.
constexpr long long kMaxNodes = 4096;

/// mpirun passes these variables to all nodes, even if the container does not set them.
constexpr std::string_view kForwardedEnv[] = {"CUDA_VISIBLE_DEVICES",
                                              "HF_DATASETS_CACHE",
                                              "HF_ENDPOINT",
                                              "HF_HOME",
                                              "HF_TOKEN",
                                              "HOME",
                                              "HUGGING_FACE_HUB_TOKEN",
                                              "LD_LIBRARY_PATH",
                                              "MODEL_PATH",
                                              "NCCL_DEBUG",
                                              "NCCL_IB_DISABLE",
                                              "NCCL_P2P_DISABLE",
                                              "PATH",
                                              "PYTHONPATH",
                                              "TENSORRT_LLM_CACHE_DIR",
                                              "TOKENIZERS_PARALLELISM",
                                              "TRANSFORMERS_CACHE",
                                              "TRTLLM_USE_UCX_KVCACHE",
                                              "USER"};

std::string singleQuoted(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\'') {
      out += R"('"'"')";
    } else {
      out += c;
    }
  }
  return out;
}

std::string joined(const Value* list) {
  std::string out;
  if (list == nullptr || !list->IsArray()) return out;
  for (const Value& item : list->GetArray()) {
    if (&item != list->Begin()) out += ' ';
    out += json::text(item);
  }
  return out;
}

/// The command of the user, escaped for use inside single quotes.
std::string originalCommand(const Value& main) {
  const Value* command = json::find(main, "command");
  const Value* args = json::find(main, "args");
  const bool hasCommand = command != nullptr && command->IsArray() && !command->Empty();
  const bool hasArgs = args != nullptr && args->IsArray() && !args->Empty();
  if (hasCommand && isPython(json::text((*command)[0]))) {
    std::string text = quoteAll(command, Quoting::InsideSingleQuotes);
    if (hasArgs) text += ' ' + quoteAll(args, Quoting::InsideSingleQuotes);
    return text;
  }
  return singleQuoted(joined(hasArgs ? args : command));
}

std::vector<std::string> sshSetup(bool worker) {
  return {
      worker ? "mkdir -p $HOME/.ssh $HOME/.ssh/host_keys $HOME/.ssh/run" : "mkdir -p $HOME/.ssh",
      "ls -la /ssh-pk/",
      "cp /ssh-pk/private.key $HOME/.ssh/id_rsa",
      "cp /ssh-pk/private.key.pub $HOME/.ssh/id_rsa.pub",
      "cp /ssh-pk/private.key.pub $HOME/.ssh/authorized_keys",
      "chmod 600 $HOME/.ssh/id_rsa $HOME/.ssh/authorized_keys",
      "chmod 644 $HOME/.ssh/id_rsa.pub",
      R"(printf 'Host *\nIdentityFile '$HOME'/.ssh/id_rsa\nStrictHostKeyChecking no\nPort 2222\n' > $HOME/.ssh/config)"};
}

std::string waitForNames(const std::vector<std::string>& workers) {
  return fmt::format(
      "TIMEOUT=300; START_TIME=$(date +%s); for worker in {}; do echo \"Looking up $worker\"; until getent "
      "hosts "
      "$worker >/dev/null 2>&1; do CURRENT_TIME=$(date +%s); if [ $((CURRENT_TIME - START_TIME)) -gt "
      "$TIMEOUT ]; "
      "then echo \"No address for $worker after $TIMEOUT s\"; exit 1; fi; echo \"No address for $worker "
      "yet\"; "
      "sleep 2; done; echo \"Found $worker\"; done; echo \"All workers have addresses\"",
      fmt::join(workers, " "));
}

std::string leaderScript(const Component& component, const Value& main) {
  std::vector<std::string> steps = sshSetup(false);
  const std::vector<std::string> workers = component.hosts.workers();
  if (!component.hosts.grove) steps.push_back(waitForNames(workers));
  std::set<std::string_view> names{std::begin(kForwardedEnv), std::end(kForwardedEnv)};
  if (const Value* env = json::find(main, "env"); env != nullptr && env->IsArray()) {
    for (const Value& variable : env->GetArray()) names.insert(json::findText(&variable, "name"));
  }
  std::vector<std::string> hosts{component.hosts.leaderShell()};
  hosts.insert(hosts.end(), workers.begin(), workers.end());
  steps.push_back(fmt::format(
      "mpirun $([ \"$(id -u)\" = \"0\" ] && echo --allow-run-as-root) --oversubscribe -n {} -H {} --mca pml "
      "ob1 "
      "--mca plm_rsh_args \"-p {} -o StrictHostKeyChecking=no -i $HOME/.ssh/id_rsa\" -x {} bash -c "
      "'trtllm-llmapi-launch {}'",
      component.nodes * countedGpus(component.spec).number, fmt::join(hosts, ","), api::kMpiSshPort,
      fmt::join(names, " -x "), originalCommand(main)));
  return fmt::format("{}", fmt::join(steps, " && "));
}

std::string workerScript() {
  std::vector<std::string> steps = sshSetup(true);
  for (const std::string_view type : {"rsa", "ecdsa", "ed25519"}) {
    steps.push_back(fmt::format("ssh-keygen -t {0} -f $HOME/.ssh/host_keys/ssh_host_{0}_key -N ''", type));
  }
  steps.emplace_back(
      R"(printf 'Port 2222\nHostKey '$HOME'/.ssh/host_keys/ssh_host_rsa_key\nHostKey '$HOME'/.ssh/host_keys/ssh_host_ecdsa_key\nHostKey '$HOME'/.ssh/host_keys/ssh_host_ed25519_key\nPidFile '$HOME'/.ssh/run/sshd.pid\nStrictModes no\nPermitRootLogin yes\nPasswordAuthentication no\nPubkeyAuthentication yes\nAuthorizedKeysFile '$HOME'/.ssh/authorized_keys\n' > $HOME/.ssh/sshd_config)");
  steps.emplace_back("/usr/sbin/sshd -D -f $HOME/.ssh/sshd_config");
  return fmt::format("{}", fmt::join(steps, " && "));
}

}  // namespace

void updateForTrtllm(const Component& component, Role role, const Context& context, PodDraft& pod,
                     Errors& errors, Allocator& allocator) {
  if (!component.multinode() || role == Role::Checkpoint) return;
  if (component.nodes > kMaxNodes) {
    errors.push_back(
        {field::ErrorType::Invalid, component.at("multinode.nodeCount").path(),
         fmt::format("{}", component.nodes),
         fmt::format("must be at most {} for TensorRT-LLM, because one command lists all hosts", kMaxNodes),
         "render.trtllm-nodes"});
    return;
  }
  const json::Maker make{allocator};
  const std::string_view configured = context.config.mpi.sshSecretName;
  const std::string_view secret = configured.empty() ? kDefaultSecret : configured;
  if (role == Role::Worker) {
    removeProbes(pod.main);
    pod.setOfMain("readinessProbe",
                  make.object("tcpSocket", make.object("port", api::kMpiSshPort), "initialDelaySeconds", 20,
                              "periodSeconds", 20, "timeoutSeconds", 5, "failureThreshold", 10),
                  allocator);
  }
  pod.addMount(make.object("name", secret, "mountPath", api::kMpiSshPath, "readOnly", true), allocator);
  pod.addEnv(make.object("name", "OMPI_MCA_orte_keep_fqdn_hostnames", "value", "1"), allocator);
  if (json::findNamed(json::find(pod.spec, "volumes"), secret) == nullptr) {
    pod.addVolume(
        make.object("name", secret, "secret", make.object("secretName", secret, "defaultMode", kSecretMode)),
        allocator);
  }
  if (role == Role::Main) return;
  const std::string script = role == Role::Leader ? leaderScript(component, pod.main) : workerScript();
  make.set(pod.main, "command", make.list("/bin/sh", "-c"));
  make.set(pod.main, "args", make.list(script));
}

}  // namespace dynamo::render
