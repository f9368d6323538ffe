// Multinode components of each engine.
#include <catch2/catch.hpp>

#include "support.h"

namespace dynamo::render::test {
namespace {

using json::Value;

constexpr const char* kVersioned = R"({"nvidia.com/dynamo-operator-origin-version":"1.0.0"})";
constexpr const char* kOld = R"({"nvidia.com/dynamo-operator-origin-version":"0.9.0"})";
const std::string kGroveLeader = "$(GROVE_PCSG_NAME)-$(GROVE_PCSG_INDEX)-svc-ldr-0.$(GROVE_HEADLESS_SERVICE)";

struct Result {
  json::Document graph;
  Children children;
};

Result multinode(Pathway pathway, const std::string& command, const std::string& args,
                 const char* annotations, const char* more = "") {
  Result result;
  result.graph = graphOf(R"({"componentType":"worker","replicas":1,"multinode":{"nodeCount":2},
      "resources":{"limits":{"gpu":"8"}},"extraPodSpec":{"mainContainer":{"image":"i","command":)" +
                             command + R"(,"args":)" + args + "}}" + more + "}",
                         annotations);
  result.children = rendered(Setup{pathway}, result.graph);
  return result;
}

const Value& container(const Result& result, const char* role) {
  INFO(errorsOf(result.children));
  const Value* pod = podSpecOf(result.children, role);
  REQUIRE(pod != nullptr);
  return mainContainerOf(*pod);
}

TEST_CASE("vLLM counts the GPUs of its pods (pod-Q1, pod-Q41)") {
  struct Row {
    const char* component;
    const char* container;
    const char* local;  ///< ranks on each node, of 16 in total
  };
  const Row rows[] = {
      {R"("limits":{"gpu":"8"})", "", "8"},
      {R"("requests":{"gpu":"4"})", "", "4"},
      {R"("requests":{"gpu":"4"})", R"("limits":{"nvidia.com/gpu":8})", "8"},
      {R"("requests":{"gpu":"4"},"limits":{"gpu":"2"})", R"("limits":{"nvidia.com/gpu":8})", "2"},
      {"", R"("limits":{"nvidia.com/gpu":8})", "8"},
      {"", R"("limits":{"nvidia.com/gpu":"4"},"requests":{"nvidia.com/gpu":"4"})", "4"},
      {"", R"("requests":{"nvidia.com/gpu":"4"})", "4"},
      {R"("limits":{"cpu":"1"})", R"("limits":{"nvidia.com/gpu":8})", "8"},
      {R"("limits":{"gpuType":"amd.com/gpu"})", R"("limits":{"amd.com/gpu":8,"nvidia.com/gpu":2})", "8"},
      {R"("limits":{"custom":{"nvidia.com/gpu":"4"}})", "", "4"},
      {R"("limits":{"custom":{"nvidia.com/gpu":"4"}})", R"("limits":{"nvidia.com/gpu":8})", "4"},
  };
  for (const Row& row : rows) {
    INFO(row.component << row.container);
    Result result;
    result.graph = graphOf(R"({"componentType":"worker","multinode":{"nodeCount":2},"resources":{)" +
                               std::string{row.component} +
                               R"(},"extraPodSpec":{"mainContainer":{"image":"i","command":["python3"],)"
                               R"("args":["-m","dynamo.vllm","-dp","16"],"resources":{)" +
                               row.container + "}}}}",
                           kVersioned);
    result.children = rendered(Setup{Pathway::Grove}, result.graph);
    CHECK(json::dump(*json::find(container(result, "leader"), "args"))
              .find(R"("--data-parallel-size-local",")" + std::string{row.local} + "\"") !=
          std::string::npos);
  }
}

TEST_CASE("GPUs of the container join the nodes of vLLM unless the command does (pod-Q41)") {
  struct Row {
    const char* service;
    const char* container;
    const char* args;
    bool flags;
  };
  const char* const kEight = R"("resources":{"limits":{"nvidia.com/gpu":8}})";
  const char* const kSixteen = R"("-m","dynamo.vllm","--tensor-parallel-size","16")";
  const Row rows[] = {
      {"{}", kEight, kSixteen, true},
      {"{}", R"("resources":{"limits":{"nvidia.com/gpu":16}})", kSixteen, false},
      {"{}", R"("resources":{"limits":{"amd.com/gpu":8}})", kSixteen, false},
      {"{}", R"("resources":{"limits":{"nvidia.com/gpu":"500m"}})", kSixteen, false},
      {"{}", R"("resources":{})", kSixteen, false},
      {"{}", kEight, R"("-m","dynamo.vllm","-tp","16","--nnodes","2")", false},
      {"{}", kEight, R"("-m","dynamo.vllm","-tp","16","--distributed-executor-backend=ray")", false},
      {R"({"limits":{"gpu":"8"}})", kEight, R"("-m","dynamo.vllm","-tp","16","--nnodes","2")", true},
  };
  for (const Pathway pathway : {Pathway::Grove, Pathway::LeaderWorkerSet}) {
    for (const Row& row : rows) {
      INFO(row.service << row.container << row.args);
      Result result;
      result.graph = graphOf(
          R"({"componentType":"worker","multinode":{"nodeCount":2},"resources":)" + std::string{row.service} +
              R"(,"extraPodSpec":{"mainContainer":{"image":"i","command":["python3"],"args":[)" + row.args +
              "]," + row.container + "}}}",
          kVersioned);
      result.children = rendered(Setup{pathway}, result.graph);
      for (const char* role : {"leader", "worker"}) {
        const std::string main = json::dump(container(result, role));
        CHECK((main.find("--master-addr") != std::string::npos) == row.flags);
      }
    }
  }
}

TEST_CASE("commands of leaders and workers") {
  struct Row {
    const char* name;
    Pathway pathway;
    const char* command;
    const char* args;
    const char* annotations;
    std::string leader;
    std::string worker;
  };
  const std::string mp = "--distributed-executor-backend mp --nnodes 2 --master-addr ";
  const Row rows[] = {
      {"vLLM, mp, Grove", Pathway::Grove, R"(["python3"])",
       R"(["-m","dynamo.vllm","--tensor-parallel-size","16"])", kVersioned,
       "python3|-m|dynamo.vllm|--tensor-parallel-size|16|--distributed-executor-backend|mp|--nnodes|2|--"
       "master-addr|" +
           kGroveLeader + "|--master-port|29500|--node-rank|0",
       "sh|-c|exec python3 -m dynamo.vllm --tensor-parallel-size 16 " + mp + kGroveLeader +
           " --master-port 29500 --node-rank $((GROVE_PCLQ_POD_INDEX + 1)) --headless"},
      {"vLLM, mp, LWS (pod-Q8)", Pathway::LeaderWorkerSet, R"(["python3"])",
       R"(["-m","dynamo.vllm","--tensor-parallel-size","16"])", kVersioned,
       "python3|-m|dynamo.vllm|--tensor-parallel-size|16|--distributed-executor-backend|mp|--nnodes|2|--"
       "master-addr|"
       "$(LWS_LEADER_ADDRESS)|--master-port|29500|--node-rank|0",
       "sh|-c|exec python3 -m dynamo.vllm --tensor-parallel-size 16 " + mp +
           "$LWS_LEADER_ADDRESS --master-port 29500 --node-rank $(LWS_WORKER_INDEX) --headless"},
      {"vLLM, Ray, direct", Pathway::LeaderWorkerSet, R"(["python3","-m","dynamo.vllm"])",
       R"(["--tensor-parallel-size","16","--kv","{\"a\": \"b\"}"])", kOld,
       R"(/bin/sh|-c|ray start --head --port=6379 && python3 -m dynamo.vllm --tensor-parallel-size 16 --kv "{\"a\": \"b\"}" --distributed-executor-backend ray)",
       "/bin/sh|-c|ray start --address=$LWS_LEADER_ADDRESS:6379 --block"},
      {"vLLM, Ray, shell (pod-Q12)", Pathway::Grove, R"(["sh","-c"])",
       R"(["python3 -m dynamo.vllm --tensor-parallel-size 16"])", kOld,
       R"(/bin/sh|-c|ray start --head --port=6379 && sh -c "python3 -m dynamo.vllm )"
       R"(--distributed-executor-backend ray --tensor-parallel-size 16")",
       "/bin/sh|-c|ray start --address=" + kGroveLeader + ":6379 --block"},
      {"vLLM, Ray, a shell of the user's own", Pathway::Grove, R"(["/bin/bash","-ec"])",
       R"(["source /env; python3 -m dynamo.vllm --tensor-parallel-size 16 --x \"$X\"","name"])", kOld,
       R"(/bin/sh|-c|ray start --head --port=6379 && /bin/bash -ec "source /env; python3 -m dynamo.vllm )"
       R"(--distributed-executor-backend ray --tensor-parallel-size 16 --x \"\$X\"" name)",
       "/bin/sh|-c|ray start --address=" + kGroveLeader + ":6379 --block"},
      {"vLLM, data parallel, Grove", Pathway::Grove, R"(["python3"])",
       R"(["-m","dynamo.vllm","--data-parallel-size","8","--tensor-parallel-size","2"])", kVersioned,
       "python3|-m|dynamo.vllm|--data-parallel-size|8|--tensor-parallel-size|2|--data-parallel-hybrid-lb|"
       "--data-parallel-size-local|4|--data-parallel-start-rank|0|--data-parallel-address|" +
           kGroveLeader + "|--data-parallel-rpc-port|13445",
       "sh|-c|exec python3 -m dynamo.vllm --data-parallel-size 8 --tensor-parallel-size 2 "
       "--data-parallel-hybrid-lb "
       "--data-parallel-size-local 4 --data-parallel-start-rank $(( 4 * $((GROVE_PCLQ_POD_INDEX + 1)) )) "
       "--data-parallel-address " +
           kGroveLeader + " --data-parallel-rpc-port 13445"},
      {"vLLM, data parallel, LWS (pod-Q9)", Pathway::LeaderWorkerSet, R"(["sh","-c"])",
       R"(["python3 -m dynamo.vllm -dp 16"])", kVersioned,
       "sh|-c|python3 -m dynamo.vllm --data-parallel-hybrid-lb --data-parallel-size-local 8 "
       "--data-parallel-start-rank 0 --data-parallel-address $LWS_LEADER_ADDRESS --data-parallel-rpc-port "
       "13445 -dp 16",
       "sh|-c|python3 -m dynamo.vllm --data-parallel-hybrid-lb --data-parallel-size-local 8 "
       "--data-parallel-start-rank $(( 8 * LWS_WORKER_INDEX )) --data-parallel-address $LWS_LEADER_ADDRESS "
       "--data-parallel-rpc-port 13445 -dp 16"},
      {"vLLM, mp, all in a shell's command (pod-Q31)", Pathway::Grove,
       R"(["/bin/sh","-c","exec python3 -m dynamo.vllm --tensor-parallel-size 16 $0"])", R"(["--x"])",
       kVersioned,
       "/bin/sh|-c|exec python3 -m dynamo.vllm " + mp + kGroveLeader +
           " --master-port 29500 --node-rank 0 --tensor-parallel-size 16 $0|--x",
       "/bin/sh|-c|exec python3 -m dynamo.vllm " + mp + kGroveLeader +
           " --master-port 29500 --node-rank $((GROVE_PCLQ_POD_INDEX + 1)) --headless --tensor-parallel-size "
           "16 $0|--x"},
      {"vLLM, mp, all in the command (pod-Q31)", Pathway::LeaderWorkerSet,
       R"(["python3","-m","dynamo.vllm","-tp","16"])", R"(["--x"])", kVersioned,
       "python3|-m|dynamo.vllm|-tp|16|--x|--distributed-executor-backend|mp|--nnodes|2|--master-addr|"
       "$(LWS_LEADER_ADDRESS)|--master-port|29500|--node-rank|0",
       "sh|-c|exec python3 -m dynamo.vllm -tp 16 --x " + mp +
           "$LWS_LEADER_ADDRESS --master-port 29500 --node-rank $(LWS_WORKER_INDEX) --headless"},
      {"vLLM, mp, after a launcher", Pathway::LeaderWorkerSet, R"(["env","A=b c","python3"])",
       R"(["-m","dynamo.vllm","-tp","16"])", kVersioned,
       "env|A=b c|python3|-m|dynamo.vllm|-tp|16|--distributed-executor-backend|mp|--nnodes|2|--master-addr|"
       "$(LWS_LEADER_ADDRESS)|--master-port|29500|--node-rank|0",
       "sh|-c|exec env \"A=b c\" python3 -m dynamo.vllm -tp 16 " + mp +
           "$LWS_LEADER_ADDRESS --master-port 29500 --node-rank $(LWS_WORKER_INDEX) --headless"},
      {"SGLang, all in a shell's command", Pathway::Grove, R"(["bash","-ec","python3 -m dynamo.sglang --x"])",
       "[]", kVersioned,
       "bash|-ec|python3 -m dynamo.sglang --dist-init-addr " + kGroveLeader +
           ":29500 --nnodes 2 --node-rank 0 --x",
       "bash|-ec|python3 -m dynamo.sglang --dist-init-addr " + kGroveLeader +
           ":29500 --nnodes 2 --node-rank $((GROVE_PCLQ_POD_INDEX + 1)) --x"},
      {"vLLM that fits one node", Pathway::Grove, R"(["python3"])", R"(["-m","dynamo.vllm"])", kVersioned,
       "python3|-m|dynamo.vllm", "python3|-m|dynamo.vllm"},
      {"SGLang, shell", Pathway::LeaderWorkerSet, R"(["sh","-c"])",
       R"(["python -m dynamo.sglang | tee /tmp/log"])", kVersioned,
       "sh|-c|python -m dynamo.sglang --dist-init-addr $LWS_LEADER_ADDRESS:29500 --nnodes 2 --node-rank 0 | "
       "tee /tmp/log",
       "sh|-c|python -m dynamo.sglang --dist-init-addr $LWS_LEADER_ADDRESS:29500 --nnodes 2 --node-rank "
       "$(LWS_WORKER_INDEX) | tee /tmp/log"},
      {"SGLang, direct", Pathway::LeaderWorkerSet, R"(["python3","-m","dynamo.sglang"])", R"(["--x","it's"])",
       kVersioned,
       "python3|-m|dynamo.sglang|--x|it's|--dist-init-addr|$(LWS_LEADER_ADDRESS):29500|--nnodes|2|--node-"
       "rank|0",
       "sh|-c|exec python3 -m dynamo.sglang --x \"it's\" --dist-init-addr $LWS_LEADER_ADDRESS:29500 --nnodes "
       "2 "
       "--node-rank $(LWS_WORKER_INDEX)"},
      {"unknown engine", Pathway::Grove, R"(["java"])", R"(["-jar","x"])", kVersioned, "java|-jar|x",
       "java|-jar|x"},
  };
  for (const Row& row : rows) {
    INFO(row.name);
    const Result result = multinode(row.pathway, row.command, row.args, row.annotations);
    CHECK(commandOf(container(result, "leader")) == row.leader);
    CHECK(commandOf(container(result, "worker")) == row.worker);
  }
}

TEST_CASE("executor of vLLM by annotation and origin version") {
  struct Row {
    const char* annotations;
    bool ray;
  };
  const Row rows[] = {
      {"{}", true},
      {kVersioned, false},
      {kOld, true},
      {R"({"nvidia.com/dynamo-operator-origin-version":"2.0.0"})", false},
      {R"({"nvidia.com/dynamo-operator-origin-version":"v1.0"})", false},
      {R"({"nvidia.com/dynamo-operator-origin-version":"1.0.0-rc1"})", true},
      {R"({"nvidia.com/dynamo-operator-origin-version":"not-a-version"})", true},
      {R"({"nvidia.com/vllm-distributed-executor-backend":"MP"})", false},
      {R"({"nvidia.com/vllm-distributed-executor-backend":"RAY","nvidia.com/dynamo-operator-origin-version":"1.0.0"})",
       true},
      {R"({"nvidia.com/vllm-distributed-executor-backend":"other","nvidia.com/dynamo-operator-origin-version":"1.0.0"})",
       false},
  };
  for (const Row& row : rows) {
    INFO(row.annotations);
    const Result result = multinode(Pathway::Grove, R"(["python3"])",
                                    R"(["-m","dynamo.vllm","--tensor-parallel-size","16"])", row.annotations);
    CHECK((commandOf(container(result, "leader")).find("ray start") != std::string::npos) == row.ray);
    const Value* init = json::find(*podSpecOf(result.children, "worker"), "initContainers");
    CHECK((init != nullptr) == !row.ray);
  }
}

TEST_CASE("probes, environment and helpers of multinode workers") {
  const Result vllm = multinode(Pathway::LeaderWorkerSet, R"(["python3"])",
                                R"(["-m","dynamo.vllm","--tensor-parallel-size","16"])", kVersioned,
                                R"(,"livenessProbe":{"exec":{"command":["x"]}})");
  for (const char* probe : {"livenessProbe", "readinessProbe", "startupProbe"}) {
    INFO(probe);
    CHECK(json::find(container(vllm, "leader"), probe) != nullptr);
    CHECK(json::find(container(vllm, "worker"), probe) == nullptr);
  }
  CHECK(envOf(container(vllm, "worker")).ends_with("VLLM_NIXL_SIDE_CHANNEL_HOST=(status.podIP)"));
  const Value* init = json::find(*podSpecOf(vllm.children, "worker"), "initContainers");
  REQUIRE(init != nullptr);
  CHECK(json::findText(&(*init)[0], "name") == "wait-for-leader-mp");
  CHECK(json::findText(&(*init)[0], "image") == "i");
  CHECK(json::text((*json::find((*init)[0], "command"))[2])
            .find(R"~(host, port = "$(LWS_LEADER_ADDRESS)", 29500)~") != std::string_view::npos);
  CHECK(json::find(*podSpecOf(vllm.children, "leader"), "initContainers") == nullptr);

  const Result dataParallel = multinode(Pathway::Grove, R"(["python3"])",
                                        R"(["-m","dynamo.vllm","--data-parallel-size","16"])", kVersioned);
  CHECK(json::find(*podSpecOf(dataParallel.children, "worker"), "initContainers") == nullptr);  // pod-Q17

  // The flags cannot be inserted, so the leader runs alone without a listener.
  json::Document script = graphOf(
      R"({"componentType":"worker","backendFramework":"vllm","multinode":{"nodeCount":2},"resources":{"limits":{"gpu":"8"}},"extraPodSpec":{"mainContainer":{"command":["./start.sh"],"args":["-tp","16","vllm"]}}})",
      kVersioned);
  json::set(script["spec"], "backendFramework", Value{"vllm"}, script.GetAllocator());
  const Children untouched = rendered(Setup{Pathway::Grove}, script);
  CHECK(commandOf(mainContainerOf(*podSpecOf(untouched, "worker"))) == "./start.sh|-tp|16|vllm");
  CHECK(json::find(*podSpecOf(untouched, "worker"), "initContainers") == nullptr);

  const Result own = multinode(Pathway::Grove, R"(["python3"])", R"(["-m","dynamo.vllm"])", kVersioned,
                               R"(,"envs":[{"name":"VLLM_NIXL_SIDE_CHANNEL_HOST","value":"mine"}])");
  const std::string env = envOf(container(own, "leader"));  // pod-Q2
  CHECK(env.find("VLLM_NIXL_SIDE_CHANNEL_HOST=mine") != std::string::npos);
  CHECK(env.find("status.podIP") == std::string::npos);
}

TEST_CASE("TensorRT-LLM") {
  const Result grove =
      multinode(Pathway::Grove, R"(["sh","-c"])", R"(["python3 -m dynamo.trtllm --x 'a'"])", kVersioned,
                R"(,"envs":[{"name":"CUSTOM_VAR","value":"1"},{"name":"PATH","value":"p"}])");
  const std::string leader = commandOf(container(grove, "leader"));
  CHECK(leader.starts_with("/bin/sh|-c|mkdir -p $HOME/.ssh && ls -la /ssh-pk/ && "));
  CHECK(leader.find(
            "-n 16 -H " + kGroveLeader +
            ",$(GROVE_PCSG_NAME)-$(GROVE_PCSG_INDEX)-svc-wkr-0.$(GROVE_HEADLESS_SERVICE) --mca pml ob1") !=
        std::string::npos);
  CHECK(leader.find("-x CUDA_VISIBLE_DEVICES -x CUSTOM_VAR -x DYN_COMPONENT ") != std::string::npos);
  CHECK(leader.find(" -x PATH -x ") == leader.rfind(" -x PATH -x "));
  // pod-Q18
  CHECK(leader.ends_with(R"(bash -c 'trtllm-llmapi-launch python3 -m dynamo.trtllm --x '"'"'a'"'"'')"));
  CHECK(leader.find("getent") == std::string::npos);
  const std::string worker = commandOf(container(grove, "worker"));
  CHECK(worker.ends_with(" && /usr/sbin/sshd -D -f $HOME/.ssh/sshd_config"));
  CHECK(worker.find("ssh-keygen -t ed25519 -f $HOME/.ssh/host_keys/ssh_host_ed25519_key -N ''") !=
        std::string::npos);
  CHECK(
      json::dump(*json::find(container(grove, "worker"), "readinessProbe")) ==
      R"({"tcpSocket":{"port":2222},"initialDelaySeconds":20,"periodSeconds":20,"timeoutSeconds":5,"failureThreshold":10})");
  CHECK(json::find(container(grove, "worker"), "livenessProbe") == nullptr);
  const Value* volumes = json::find(*podSpecOf(grove.children, "worker"), "volumes");
  CHECK(json::dump((*volumes)[1]) ==
        R"({"name":"mpi-secret","secret":{"secretName":"mpi-secret","defaultMode":420}})");

  const Result lws =
      multinode(Pathway::LeaderWorkerSet, R"(["python3","-m","dynamo.trtllm"])", R"(["it's"])", kVersioned);
  const std::string direct = commandOf(container(lws, "leader"));
  CHECK(direct.find(R"(for worker in $(echo "$LWS_LEADER_ADDRESS" | sed 's/\./-1\./'); do)") !=
        std::string::npos);
  CHECK(direct.ends_with(R"(bash -c 'trtllm-llmapi-launch python3 -m dynamo.trtllm "it'"'"'s"')"));
}

TEST_CASE("the GPU count of TensorRT-LLM") {
  struct Row {
    const char* resources;
    const char* total;
  };
  const Row rows[] = {
      {R"({"limits":{"gpu":"8"}})", "-n 16 "},
      {R"({"limits":{"gpu":"8"},"requests":{"gpu":"3"}})", "-n 6 "},
      {R"({"limits":{"gpu":"8"},"requests":{"gpu":"invalid"}})", "-n 16 "},
      {R"({"requests":{"gpu":"2"}})", "-n 4 "},
      {R"({"limits":{"custom":{"nvidia.com/gpu":"5"}}})", "-n 10 "},
      {R"({"limits":{"gpu":"2.0"}})", "-n 4 "},
      {R"({"limits":{"custom":{"nvidia.com/gpu":"8.0"}}})", "-n 16 "},
      {R"({"limits":{"custom":{"nvidia.com/gpu":"2k"}}})", "-n 4000 "},
      {R"({"limits":{"custom":{"amd.com/gpu":"3"}},"requests":{"gpuType":"amd.com/gpu"}})", "-n 6 "}};
  for (const Row& row : rows) {
    INFO(row.resources);
    json::Document graph = graphOf(
        std::string{R"({"componentType":"worker","multinode":{"nodeCount":2},"resources":)"} + row.resources +
        R"(,"extraPodSpec":{"mainContainer":{"args":["python3 -m dynamo.trtllm"]}}})");
    const Children children = rendered(Setup{}, graph);
    CHECK(commandOf(mainContainerOf(*podSpecOf(children, "leader"))).find(row.total) != std::string::npos);
  }
}

TEST_CASE("the cache of vLLM (pod-Q4)") {
  const auto env = [](const char* mounts) {
    json::Document graph = graphOf(
        std::string{
            R"({"componentType":"worker","extraPodSpec":{"mainContainer":{"args":["python3 -m dynamo.vllm"]}},"volumeMounts":)"} +
        mounts + "}");
    const Children children = rendered(Setup{}, graph);
    const std::string all = envOf(mainContainerOf(*podSpecOf(children, "main")));
    const std::size_t at = all.find("VLLM_CACHE_ROOT=");
    return at == std::string::npos ? std::string{"-"} : all.substr(at);
  };
  CHECK(env(R"([{"name":"c","useAsCompilationCache":true}])") == "VLLM_CACHE_ROOT=/root/.cache/vllm");
  CHECK(env(R"([{"name":"c","useAsCompilationCache":true,"mountPoint":"/x"}])") == "VLLM_CACHE_ROOT=/x");
  CHECK(env(R"([{"name":"c","mountPoint":"/x"}])") == "-");
}

}  // namespace
}  // namespace dynamo::render::test
