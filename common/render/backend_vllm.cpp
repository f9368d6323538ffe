// Changes command and environment of multinode vLLM, depending on the distributed executor (ray or mp).
// Quirks pod-Q2, pod-Q4, pod-Q8, pod-Q9, pod-Q12, pod-Q17, pod-Q31, pod-Q32, pod-Q41.

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "common/api/dynamo.h"
#include "common/json/build.h"
#include "common/k8s/names.h"
#include "common/k8s/semver.h"
#include "common/render/backend.h"
#include "common/render/env.h"
#include "common/render/shell.h"

namespace dynamo::render {
namespace {

using json::Allocator;
using json::Value;

constexpr int kMasterPort = 29500;
constexpr int kDataParallelPort = 13445;
constexpr int kRayPort = 6379;

enum class Mode { Untouched, Multiprocessing, Ray, DataParallel };

struct Sizes {
  long long tensor, pipeline, data, gpus;

  long long world() const { return saturate(tensor, pipeline); }
  static long long saturate(long long a, long long b) {
    long long product = 0;
    return __builtin_mul_overflow(a, b, &product) ? INT64_MAX : product;
  }
};

/// Whether the user joins the nodes: a command with these words is the user's own way to do so.
bool joinsNodes(const Value& main) {
  constexpr std::string_view kOwn[] = {"--nnodes",
                                       "--node-rank",
                                       "--headless",
                                       "--master-addr",
                                       "--distributed-executor-backend",
                                       "--data-parallel-address",
                                       "--data-parallel-start-rank",
                                       "--data-parallel-rank",
                                       "--data-parallel-hybrid-lb",
                                       "--data-parallel-external-lb",
                                       "ray start"};
  for (const std::string_view member : {"command", "args"}) {
    const Value* list = json::find(main, member);
    if (list == nullptr || !list->IsArray()) continue;
    for (const Value& item : list->GetArray()) {
      const std::string_view text = json::text(item);
      if (std::any_of(std::begin(kOwn), std::end(kOwn),
                      [&](std::string_view own) { return text.find(own) != std::string_view::npos; }))
        return true;
    }
  }
  return false;
}

bool usesMultiprocessing(AnnotationLayers layers) {
  const auto find = [&](std::string_view key) {
    const Value* found = nullptr;
    for (const Value* layer : layers) found = found != nullptr ? found : json::find(layer, key);
    return found;
  };
  const std::string executor = k8s::lowerAscii(json::text(find(api::annotation::kVllmExecutor)));
  if (executor == "mp") return true;
  if (executor == "ray") return false;
  const Value* origin = find(api::annotation::kOriginVersion);
  return k8s::originAtLeast(origin == nullptr ? std::nullopt : std::optional{json::text(*origin)},
                            k8s::kVllmMultiprocessingSince);
}

Mode modeOf(const Sizes& sizes, bool multiprocessing) {
  if (sizes.gpus <= 0) return Mode::Untouched;
  if (sizes.world() > sizes.gpus) return multiprocessing ? Mode::Multiprocessing : Mode::Ray;
  return Sizes::saturate(sizes.world(), sizes.data) > sizes.gpus ? Mode::DataParallel : Mode::Untouched;
}

/// GPUs that only the container has are not counted where the user joins the nodes: such commands ran without
/// flags of the operator, which would come on top (quirk pod-Q41).
bool countsGpus(const Value& component, const Value& main) {
  return gpuPlace(component, main) == GpuPlace::Service || !joinsNodes(main);
}

Sizes sizesOf(const Value& main, const Value& component) {
  return {flagValue(main, "--tensor-parallel-size", "-tp"),
          flagValue(main, "--pipeline-parallel-size", "-pp"), flagValue(main, "--data-parallel-size", "-dp"),
          countsGpus(component, main) ? gpusOf(component, main) : 0};
}

/// Returns false if the command cannot take the flags.
bool injectMultiprocessing(const Component& component, Role role, Value& main, Allocator& allocator) {
  const Hosts& hosts = component.hosts;
  std::string rank;
  if (role == Role::Leader) rank = " --node-rank 0";
  if (role == Role::Worker) rank = fmt::format(" --node-rank {} --headless", hosts.rank());
  const auto flags = [&](std::string_view leader) {
    return fmt::format("--distributed-executor-backend mp --nnodes {} --master-addr {} --master-port {}{}",
                       hosts.nodes, leader, kMasterPort, rank);
  };
  return injectFlags(main, {flags(hosts.leaderDirect()), flags(hosts.leaderShell())}, role == Role::Worker,
                     model::kVllm, allocator);
}

/// Adds `flags` to the first item of `list` that is a shell script which runs vLLM.
bool injectIntoItem(Value* list, std::string_view flags, const json::Maker& make) {
  if (list == nullptr || !list->IsArray()) return false;
  for (Value& item : list->GetArray()) {
    const auto changed = injectIntoText(json::text(item), flags, model::kVllm);
    if (!changed) continue;
    item = make.value(*changed);
    return true;
  }
  return false;
}

void injectDataParallel(const Component& component, const Sizes& sizes, Role role, Value& main,
                        Allocator& allocator) {
  // Without orchestration there are no flags. Like the reference, this adds a space to a shell script in
  // args.
  if (role == Role::Main) {
    injectIntoItem(json::find(main, "args"), "", json::Maker{allocator});
    return;
  }
  const long long local = sizes.gpus / std::max(sizes.world(), 1LL);
  const std::string rank = role == Role::Leader ? "0" : component.hosts.rankTimes(local);
  const auto flags = [&](std::string_view leader) {
    return fmt::format(
        "--data-parallel-hybrid-lb --data-parallel-size-local {} --data-parallel-start-rank {} "
        "--data-parallel-address {} --data-parallel-rpc-port {}",
        local, rank, leader, kDataParallelPort);
  };
  injectFlags(main, {flags(component.hosts.leaderDirect()), flags(component.hosts.leaderShell())},
              role == Role::Worker, model::kVllm, allocator);
}

void wrapInRay(const Component& component, Role role, Value& main, Allocator& allocator) {
  const json::Maker make{allocator};
  Value* command = json::find(main, "command");
  Value* args = json::find(main, "args");
  constexpr std::string_view kRayFlag = "--distributed-executor-backend ray";
  std::string text;
  if (role == Role::Worker) {
    text = fmt::format("ray start --address={}:{} --block", component.hosts.leaderShell(), kRayPort);
  } else if (role == Role::Leader) {
    const std::string start = fmt::format("ray start --head --port={} && ", kRayPort);
    // A flag after a shell script would be an argument of the shell (quirk pod-Q12).
    const bool python =
        command != nullptr && command->IsArray() && !command->Empty() && isPython(json::text((*command)[0]));
    const bool inText =
        !python && (injectIntoItem(command, kRayFlag, make) || injectIntoItem(args, kRayFlag, make));
    text = fmt::format("{}{} {}", start, quoteAll(command), quoteAll(args));
    if (!inText) text.append(" ").append(kRayFlag);
  }
  make.set(main, "command", make.list("/bin/sh", "-c"));
  if (!text.empty()) make.set(main, "args", make.list(text));
}

/// An init container that waits for the leader, because the processes of a worker do not retry to connect.
Value waitForLeader(const Component& component, const Value& main, const json::Maker& make) {
  const std::string script = fmt::format(R"(import socket
import sys
import time

host, port = "{}", {}
start = shown = time.monotonic()
while True:
    try:
        with socket.create_connection((host, port), timeout=2):
            print(f"leader answers after {{time.monotonic() - start:.0f}} s", flush=True)
            sys.exit(0)
    except Exception as error:
        now = time.monotonic()
        if now - shown >= 30:
            shown = now
            print(f"no leader for {{now - start:.0f}} s: {{type(error).__name__}}: {{error}}", flush=True)
        time.sleep(2)
)",
                                         component.hosts.leaderDirect(), kMasterPort);
  Value container = make.object("name", api::kWaitForLeader);
  if (const Value* image = json::find(main, "image")) make.set(container, "image", *image);
  make.set(container, "command", make.list("python3", "-c", script));
  return container;
}

/// The path of the first mount that is used as compilation cache.
std::string_view cachePath(const Component& component) {
  const Value* mounts = json::find(component.spec, "volumeMounts");
  if (mounts == nullptr || !mounts->IsArray()) return {};
  for (const Value& mount : mounts->GetArray()) {
    if (!json::findBool(&mount, "useAsCompilationCache").value_or(false)) continue;
    const std::string_view path = json::findText(&mount, "mountPoint");
    return path.empty() ? api::kVllmCachePath : path;
  }
  return {};
}

}  // namespace

bool vllmNeedsFlags(const Value& main, const Value& component, AnnotationLayers layers) {
  const Mode mode = modeOf(sizesOf(main, component), usesMultiprocessing(layers));
  return mode == Mode::Multiprocessing || mode == Mode::DataParallel;
}

bool vllmLacksGpus(const Value& main, const Value& component) {
  return lacksGpus(component, main) && !joinsNodes(main);
}

void removeProbes(Value& container) {
  for (const std::string_view probe : {"livenessProbe", "readinessProbe", "startupProbe"}) {
    json::remove(container, probe);
  }
}

void updateForVllm(const Component& component, Role role, PodDraft& pod, Allocator& allocator) {
  const json::Maker make{allocator};
  if (component.multinode() && role != Role::Checkpoint) {
    const Sizes sizes = sizesOf(pod.main, component.spec);
    const bool multiprocessing = usesMultiprocessing({component.annotations});
    const Mode mode = modeOf(sizes, multiprocessing);
    const bool joined =
        mode == Mode::Multiprocessing && injectMultiprocessing(component, role, pod.main, allocator);
    if (mode == Mode::Ray) wrapInRay(component, role, pod.main, allocator);
    if (mode == Mode::DataParallel) injectDataParallel(component, sizes, role, pod.main, allocator);
    if (multiprocessing) {
      pod.addEnv(make.object("name", "VLLM_NIXL_SIDE_CHANNEL_HOST", "valueFrom",
                             make.object("fieldRef", make.object("fieldPath", "status.podIP"))),
                 allocator);
    }
    if (role == Role::Worker) {
      removeProbes(pod.main);
      // A leader without the multinode flags never listens.
      if (joined) {
        Value& init = json::ensureList(pod.spec, "initContainers", allocator);
        if (pod.origins != nullptr) {
          const field::Path at = field::Path{"spec.initContainers"}[init.Size()];
          pod.origins->byOperator(at);
          pod.origins->copy(at / "image", pod.mainAt / "image");
        }
        init.PushBack(waitForLeader(component, pod.main, make), allocator);
      }
    }
  }
  if (const std::string_view path = cachePath(component); !path.empty()) {
    pod.addEnv(make.object("name", "VLLM_CACHE_ROOT", "value", path), allocator);
  }
}

}  // namespace dynamo::render
