// Changes the command of multinode SGLang.

#include <fmt/format.h>

#include "common/render/backend.h"
#include "common/render/shell.h"

namespace dynamo::render {
namespace {

constexpr int kDistInitPort = 29500;

}  // namespace

void updateForSglang(const Component& component, Role role, PodDraft& pod, json::Allocator& allocator) {
  if (!component.multinode() || role == Role::Checkpoint) return;
  if (role == Role::Worker) removeProbes(pod.main);
  const Hosts& hosts = component.hosts;
  const bool leader = role == Role::Leader;
  const auto flags = [&](std::string_view address) {
    return fmt::format("--dist-init-addr {}:{} --nnodes {} --node-rank {}", address, kDistInitPort,
                       hosts.nodes, leader ? "0" : hosts.rank());
  };
  injectFlags(pod.main, {flags(hosts.leaderDirect()), flags(hosts.leaderShell())}, !leader, model::kSglang,
              allocator);
}

}  // namespace dynamo::render
