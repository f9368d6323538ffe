#include "tests/unit/conversion/generator.h"

#include <string>

namespace dynamo::test {

using json::Value;

Value Generator::pick(std::initializer_list<std::string_view> options) {
  return text(*(options.begin() + below(static_cast<unsigned>(options.size()))));
}

Value Generator::number() {
  switch (below(9)) {
    case 0:
      return Value{0};
    case 1:
      return Value{-1};
    case 2:
      return Value{4000};  // a value equal to the schema default of isl
    case 3:
      return Value{1000};
    case 4:
      return Value{200.5};
    case 5:
      return Value{std::int64_t{9007199254740993}};
    case 6:
      return Value{3e10};
    case 7:
      return Value{30.0};
    default:
      return Value{static_cast<int>(below(5000))};
  }
}

Value Generator::textMap() {
  Value map = object();
  for (unsigned i = below(3); i > 0; --i) {
    map.AddMember(text("k" + std::to_string(i)), pick({"", "v", "a/b~c", "\xC3\xA9"}), allocator_);
  }
  return map;
}

Value Generator::any(int depth) {
  switch (below(depth > 0 ? 8 : 5)) {
    case 0:
      return pick({"", "text", "<&>", "a\"b\\", "\xE2\x80\xA8"});
    case 1:
      return number();
    case 2:
      return Value{chance(50)};
    case 3:
      return Value{std::uint64_t{18446744073709551615U}};
    case 4:
      return text("x");
    case 5: {
      Value list{rapidjson::kArrayType};
      for (unsigned i = below(4); i > 0; --i) list.PushBack(any(depth - 1), allocator_);
      return list;
    }
    default: {
      Value map = object();
      for (unsigned i = below(4); i > 0; --i) {
        map.AddMember(text((chance(20) ? "a/~" : "m") + std::to_string(i)), any(depth - 1), allocator_);
      }
      return map;
    }
  }
}

Value Generator::metadata(const char* prefix) {
  Value meta = object();
  meta.AddMember("name", text(prefix + std::to_string(below(1000))), allocator_);
  meta.AddMember("namespace", "ns", allocator_);
  meta.AddMember("uid", text("u-" + std::to_string(below(1000))), allocator_);
  maybe(meta, "labels", 30, [&] { return textMap(); });
  maybe(meta, "annotations", 40, [&] { return textMap(); });
  maybe(meta, "finalizers", 20, [&] {
    Value list{rapidjson::kArrayType};
    list.PushBack("nvidia.com/finalizer", allocator_);
    return list;
  });
  return meta;
}

Value Generator::conditions() {
  Value list{rapidjson::kArrayType};
  for (unsigned i = below(3); i > 0; --i) {
    Value condition = object();
    condition.AddMember("type", i == 1 ? "Succeeded" : "Profiling", allocator_);
    condition.AddMember("status", "True", allocator_);
    condition.AddMember("lastTransitionTime", "2026-01-01T00:00:00Z", allocator_);
    condition.AddMember("reason", "R", allocator_);
    condition.AddMember("message", pick({"", "m"}), allocator_);
    list.PushBack(condition, allocator_);
  }
  return list;
}

Value Generator::tolerations() {
  Value list{rapidjson::kArrayType};
  for (unsigned i = below(3); i > 0; --i) {
    Value toleration = object();
    toleration.AddMember("key", pick({"a", "b"}), allocator_);
    toleration.AddMember("operator", "Exists", allocator_);
    list.PushBack(toleration, allocator_);
  }
  return list;
}

Value Generator::resources() {
  Value resources = object();
  const auto quantities = [&] {
    Value map = object();
    maybe(map, "cpu", 60, [&] { return pick({"1000m", "2", "0.5"}); });
    maybe(map, "nvidia.com/gpu", 40, [&] { return Value{8}; });
    return map;
  };
  maybe(resources, "limits", 50, quantities);
  maybe(resources, "requests", 50, quantities);
  maybe(resources, "claims", 20, [&] {
    Value claim = object();
    claim.AddMember("name", "gpu", allocator_);
    Value list{rapidjson::kArrayType};
    list.PushBack(claim, allocator_);
    return list;
  });
  return resources;
}

Value Generator::profilerConfig() {
  Value config = object();
  const auto oddOr = [&](auto make) { return [this, make] { return chance(10) ? any(1) : make(); }; };
  maybe(config, "sla", 60, oddOr([&] {
          Value sla = object();
          for (const char* key : {"ttft", "itl", "isl", "osl"}) {
            maybe(sla, key, 45, oddOr([&] { return number(); }));
          }
          maybe(sla, "other", 15, [&] { return any(2); });
          return sla;
        }));
  maybe(
      config, "deployment", 50, oddOr([&] {
        Value deployment = object();
        maybe(
            deployment, "modelCache", 70, oddOr([&] {
              Value cache = object();
              for (const char* key : {"pvcName", "modelPathInPvc", "pvcMountPath", "pvcPath", "mountPath"}) {
                maybe(cache, key, 35, oddOr([&] { return pick({"", "p", "/opt/model-cache", "/m"}); }));
              }
              maybe(cache, "other", 15, [&] { return any(1); });
              return cache;
            }));
        maybe(deployment, "namespace", 20, [&] { return text("n"); });
        return deployment;
      }));
  maybe(config, "planner", 40, [&] { return any(2); });
  maybe(config, "hardware", 20, [&] { return any(2); });
  return config;
}

Value Generator::deployment() {
  Value deployment = object();
  maybe(deployment, "name", 80, [&] { return pick({"", "d", "e"}); });
  maybe(deployment, "namespace", 50, [&] { return pick({"", "n"}); });
  deployment.AddMember("state", pick({"initializing", "pending", "successful", "failed", "", "Ready"}),
                       allocator_);
  maybe(deployment, "created", 50, [&] { return Value{chance(70)}; });
  return deployment;
}

Value Generator::alpha() {
  Value profiling = object();
  profiling.AddMember("profilerImage", pick({"", "img:1", "img:2"}), allocator_);
  maybe(profiling, "config", 70, [&] { return profilerConfig(); });
  maybe(profiling, "configMapRef", 30, [&] {
    Value reference = object();
    reference.AddMember("name", pick({"", "base"}), allocator_);
    maybe(reference, "key", 60, [&] { return pick({"", "disagg.yaml"}); });
    return reference;
  });
  maybe(profiling, "outputPVC", 30, [&] { return pick({"", "out"}); });
  maybe(profiling, "resources", 40, [&] { return resources(); });
  maybe(profiling, "tolerations", 30, [&] { return tolerations(); });
  maybe(profiling, "nodeSelector", 30, [&] { return textMap(); });

  Value spec = object();
  spec.AddMember("model", pick({"", "Qwen/Qwen3-0.6B"}), allocator_);
  spec.AddMember("backend", pick({"auto", "vllm", "sglang", "trtllm", ""}), allocator_);
  maybe(spec, "useMocker", 40, [&] { return Value{chance(60)}; });
  maybe(spec, "enableGpuDiscovery", 50, [&] { return Value{chance(60)}; });
  maybe(spec, "autoApply", 70, [&] { return Value{chance(50)}; });
  if (chance(97)) spec.AddMember("profilingConfig", profiling, allocator_);
  maybe(spec, "deploymentOverrides", 40, [&] {
    Value overrides = object();
    maybe(overrides, "name", 40, [&] { return pick({"", "my-dgd"}); });
    maybe(overrides, "namespace", 30, [&] { return pick({"", "prod"}); });
    maybe(overrides, "labels", 30, [&] { return textMap(); });
    maybe(overrides, "annotations", 30, [&] { return textMap(); });
    maybe(overrides, "workersImage", 40, [&] { return pick({"", "img:1", "w:1"}); });
    return overrides;
  });

  Value status = object();
  maybe(status, "state", 95, [&] {
    return pick({"Initializing", "Pending", "Profiling", "Deploying", "Ready", "DeploymentDeleted", "Failed",
                 "", "odd"});
  });
  maybe(status, "backend", 40, [&] { return pick({"", "vllm"}); });
  maybe(status, "observedGeneration", 50, [&] { return Value{3}; });
  maybe(status, "conditions", 50, [&] { return conditions(); });
  maybe(status, "profilingResults", 30, [&] { return pick({"", "configmap/x"}); });
  maybe(status, "generatedDeployment", 30, [&] { return any(3); });
  maybe(status, "deployment", 40, [&] { return deployment(); });

  Value result = object();
  result.AddMember("apiVersion", "nvidia.com/v1alpha1", allocator_);
  result.AddMember("kind", "DynamoGraphDeploymentRequest", allocator_);
  result.AddMember("metadata", metadata("a"), allocator_);
  if (chance(98)) result.AddMember("spec", spec, allocator_);
  if (chance(80)) result.AddMember("status", status, allocator_);
  return result;
}

Value Generator::profilingJob() {
  Value podSpec = object();
  Value containers{rapidjson::kArrayType};
  for (unsigned i = chance(5) ? 12 : below(4); i > 0; --i) {
    Value container = object();
    container.AddMember("name", pick({"", "profiler", "sidecar"}), allocator_);
    maybe(container, "image", 40, [&] { return text("i:1"); });
    maybe(container, "resources", 50, [&] { return resources(); });
    maybe(container, "env", 20, [&] { return tolerations(); });
    containers.PushBack(container, allocator_);
  }
  podSpec.AddMember("containers", containers, allocator_);
  maybe(podSpec, "tolerations", 40, [&] { return tolerations(); });
  maybe(podSpec, "nodeSelector", 30, [&] { return textMap(); });
  Value pods = object();
  pods.AddMember("spec", podSpec, allocator_);
  maybe(pods, "metadata", 30, [&] { return any(2); });
  Value job = object();
  job.AddMember("template", pods, allocator_);
  maybe(job, "backoffLimit", 40, [&] { return Value{1}; });
  return job;
}

Value Generator::beta() {
  Value spec = object();
  spec.AddMember("model", pick({"m", "Qwen/Qwen3-0.6B"}), allocator_);
  maybe(spec, "backend", 80, [&] { return pick({"auto", "vllm", "sglang", "trtllm"}); });
  maybe(spec, "image", 60, [&] { return pick({"", "img:1", "i:2"}); });
  maybe(spec, "modelCache", 40, [&] {
    Value cache = object();
    for (const char* key : {"pvcName", "pvcModelPath", "pvcMountPath"}) {
      maybe(cache, key, 50, [&] { return pick({"", "p", "/opt/model-cache"}); });
    }
    return cache;
  });
  maybe(spec, "hardware", 40, [&] {
    Value hardware = object();
    maybe(hardware, "gpuSku", 50, [&] { return text("h200_sxm"); });
    maybe(hardware, "vramMb", 50, [&] { return number(); });
    maybe(hardware, "totalGpus", 50, [&] { return Value{16}; });
    maybe(hardware, "numGpusPerNode", 50, [&] { return Value{8}; });
    return hardware;
  });
  maybe(spec, "workload", 45, [&] {
    Value workload = object();
    maybe(workload, "isl", 60, [&] { return Value{chance(40) ? 4000 : 0}; });
    maybe(workload, "osl", 60, [&] { return Value{chance(40) ? 1000 : 512}; });
    maybe(workload, "concurrency", 40, [&] { return number(); });
    maybe(workload, "requestRate", 40, [&] { return number(); });
    return workload;
  });
  maybe(spec, "sla", 45, [&] {
    Value sla = object();
    for (const char* key : {"ttft", "itl", "e2eLatency"}) maybe(sla, key, 50, [&] { return number(); });
    return sla;
  });
  maybe(spec, "overrides", 45, [&] {
    Value overrides = object();
    maybe(overrides, "profilingJob", 70, [&] { return profilingJob(); });
    maybe(overrides, "dgd", 40, [&] { return any(3); });
    return overrides;
  });
  maybe(spec, "features", 50, [&] {
    Value features = object();
    maybe(features, "planner", 60, [&] {
      Value planner = chance(25) ? object() : any(2);
      return planner.IsObject() ? std::move(planner) : object();
    });
    maybe(features, "mocker", 50, [&] {
      Value mocker = object();
      maybe(mocker, "enabled", 80, [&] { return Value{chance(50)}; });
      return mocker;
    });
    return features;
  });
  maybe(spec, "searchStrategy", 70, [&] { return pick({"rapid", "thorough"}); });
  maybe(spec, "autoApply", 70, [&] { return Value{chance(50)}; });
  maybe(spec, "futureField", 5, [&] { return any(2); });

  Value status = object();
  maybe(status, "phase", 90, [&] {
    return pick({"Pending", "Profiling", "Ready", "Deploying", "Deployed", "Failed", "", "odd"});
  });
  maybe(status, "profilingPhase", 40, [&] { return text("Initializing"); });
  maybe(status, "dgdName", 50, [&] { return pick({"", "d"}); });
  maybe(status, "profilingJobName", 50, [&] { return pick({"", "j"}); });
  maybe(status, "conditions", 50, [&] { return conditions(); });
  maybe(status, "observedGeneration", 50, [&] { return Value{2}; });
  maybe(status, "profilingResults", 40, [&] {
    Value results = object();
    maybe(results, "selectedConfig", 60, [&] { return any(3); });
    maybe(results, "pareto", 50, [&] {
      Value list{rapidjson::kArrayType};
      for (unsigned i = below(3); i > 0; --i) {
        Value point = object();
        point.AddMember("config", any(2), allocator_);
        list.PushBack(point, allocator_);
      }
      return list;
    });
    return results;
  });
  maybe(status, "deploymentInfo", 40, [&] { return any(1); });

  Value result = object();
  result.AddMember("apiVersion", "nvidia.com/v1beta1", allocator_);
  result.AddMember("kind", "DynamoGraphDeploymentRequest", allocator_);
  result.AddMember("metadata", metadata("b"), allocator_);
  if (chance(98)) result.AddMember("spec", spec, allocator_);
  if (chance(80)) result.AddMember("status", status, allocator_);
  return result;
}

}  // namespace dynamo::test
