// Parallel sizes of engines, compared with the GPUs of their pods.

#include "graph_support.h"

namespace dynamo::rules::test {
namespace {

TEST_CASE("service.parallel-size") {
  const auto with = [](std::string_view command, std::string_view args, std::string_view members = "",
                       std::string_view main = "") {
    return service(
        fmt::format(R"("componentType":"worker","extraPodSpec":{{"mainContainer":{{"command":[{}],)"
                    R"("args":[{}]{}}}}}{})",
                    command, args, main, members));
  };
  const std::string python = R"("python3","-m")";
  const auto vllm = [&](std::string_view flags,
                        std::string_view members = R"(,"resources":{"limits":{"gpu":"4"}})",
                        std::string_view main = "") {
    return with(python, fmt::format(R"("dynamo.vllm"{}{})", flags.empty() ? "" : ",", flags), members, main);
  };
  const auto sglang = [&](std::string_view flags) {
    return with(python, fmt::format(R"("dynamo.sglang",{})", flags),
                R"(,"resources":{"limits":{"gpu":"4"}})");
  };
  const auto trtllm = [&](std::string_view flags) {
    return with(python, fmt::format(R"("dynamo.trtllm",{})", flags),
                R"(,"resources":{"limits":{"gpu":"4"}})");
  };
  const auto needs = [](int item, std::string_view sizes, int needed,
                        std::string_view have = "the pod has 4") {
    return fmt::format(
        "W service.parallel-size spec.services[a].extraPodSpec.mainContainer.args[{}]: {} needs {} "
        "GPUs, but {}\n",
        item, sizes, needed, have);
  };
  const std::string eight = R"("--tensor-parallel-size","8")";
  const std::string tensor8 = "tensor-parallel size 8";
  check({
      {"as many", vllm(R"("--tensor-parallel-size","4")"), ""},
      {"fewer", vllm(R"("-tp","2")"), ""},
      {"more", vllm(eight), needs(1, tensor8, 8)},
      {"with =", vllm(R"("--tensor-parallel-size=8")"), needs(1, tensor8, 8)},
      {"short", vllm(R"("-tp","8")"), needs(1, tensor8, 8)},
      {"short with =", vllm(R"("-tp=8")"), needs(1, tensor8, 8)},
      {"underscores", vllm(R"("--tensor_parallel_size=8")"), needs(1, tensor8, 8)},
      {"pipeline", vllm(R"("-tp","4","--pipeline-parallel-size","2")"),
       needs(1, "tensor-parallel size 4 x pipeline-parallel size 2", 8)},
      {"data", vllm(R"("-tp","2","-dp","4")"), needs(1, "tensor-parallel size 2 x data-parallel size 4", 8)},
      {"an explicit data-parallel rank", vllm(R"("-tp","2","-dp","4","--data-parallel-rank","0")"), ""},
      {"local ranks", vllm(R"("--data-parallel-size","16","--data-parallel-size-local=4")"), ""},
      {"twice, the last counts", vllm(R"("-tp","8","-tp","2")"), ""},
      {"a variable", vllm(R"_("-tp","$(TP)")_"), ""},
      {"no number", vllm(R"("-tp","many")"), ""},
      {"the Ray executor", vllm(R"("-tp","8","--distributed-executor-backend","ray")"), ""},
      {"explicit number of nodes", vllm(R"("-tp","8","--nnodes=2")"), ""},
      {"another program's flag", with(R"("run")", eight, R"(,"resources":{"limits":{"gpu":"4"}})"), ""},
      {"another module",
       with(python, R"("dynamo.vllm_mock",)" + eight, R"(,"resources":{"limits":{"gpu":"4"}})"), ""},
      {"sglang", sglang(R"("--tp-size","8")"), needs(1, tensor8, 8)},
      {"sglang, short", sglang(R"("--tp","8")"), needs(1, tensor8, 8)},
      {"sglang, long", sglang(eight), needs(1, tensor8, 8)},
      {"sglang, data", sglang(R"("--tp=4","--dp","2")"),
       needs(1, "tensor-parallel size 4 x data-parallel size 2", 8)},
      {"sglang, data of attention", sglang(R"("--tp=4","--dp","2","--enable-dp-attention")"), ""},
      {"sglang, pipeline", sglang(R"("--pp-size","8")"), needs(1, "pipeline-parallel size 8", 8)},
      {"trtllm", trtllm(eight), needs(1, tensor8, 8)},
      {"trtllm, another engine's spelling", trtllm(R"("--tp","8")"), ""},
      {"trtllm, a file overrides flags", trtllm(eight + R"(,"--extra-engine-args","f.yaml")"), ""},
      {"trtllm, overridden", trtllm(R"("--override-engine-args","{\"tensor_parallel_size\": 8}")"),
       needs(1, tensor8, 8)},
      {"trtllm, overridden by a smaller size",
       trtllm(eight + R"(,"--override-engine-args={'tensor_parallel_size': 2}")"), ""},
      {"a shell",
       with(R"("sh","-c")", R"("python3 -m dynamo.vllm --tensor-parallel-size '8' > log")",
            R"(,"resources":{"limits":{"gpu":"4"}})"),
       needs(0, tensor8, 8)},
      {"each of a shell's commands",
       with(R"("sh","-c")", R"("python3 -m dynamo.vllm -tp 2 & python3 -m dynamo.vllm \\\n -tp 2; x -tp 9")",
            R"(,"resources":{"limits":{"gpu":"4"}})"),
       ""},
      {"a shell without command",
       with("", R"("python3 -m dynamo.vllm -tp 8")", R"(,"resources":{"limits":{"gpu":"1"}})"),
       needs(0, tensor8, 8, "the pod has 1")},
      {"several nodes",
       vllm(R"("-tp","8")", R"(,"multinode":{"nodeCount":2},"resources":{"limits":{"gpu":"4"}})"), ""},
      {"too few nodes",
       vllm(R"("-tp","16")", R"(,"multinode":{"nodeCount":2},"resources":{"limits":{"gpu":"4"}})"),
       needs(1, "tensor-parallel size 16", 16, "its 2 nodes have 8")},
      {"requested", vllm(eight, R"(,"resources":{"requests":{"gpu":"4"}})"), needs(1, tensor8, 8)},
      {"another type", vllm(eight, R"(,"resources":{"limits":{"gpu":"4","gpuType":"amd.com/gpu"}})"),
       needs(1, tensor8, 8)},
      {"custom", vllm(eight, R"(,"resources":{"limits":{"custom":{"nvidia.com/gpu":"4"}}})"),
       needs(1, tensor8, 8)},
      {"parts of GPUs",
       vllm(eight, R"(,"resources":{"limits":{"gpu":"4","custom":{"nvidia.com/mig-1g.5gb":"4"}}})"), ""},
      {"GPUs of the main container", vllm(eight, "", R"(,"resources":{"limits":{"nvidia.com/gpu":4}})"),
       needs(1, tensor8, 8)},
      {"unknown number of GPUs", vllm(eight, ""), ""},
      {"claims",
       vllm(eight, R"(,"resources":{"limits":{"gpu":"4"}})", R"(,"resources":{"claims":[{"name":"g"}]})"),
       ""},
      {"privileged",
       vllm(eight, R"(,"resources":{"limits":{"gpu":"4"}})", R"(,"securityContext":{"privileged":true})"),
       ""},
      {"devices by variable",
       vllm(
           eight,
           R"(,"resources":{"limits":{"gpu":"4"}},"envs":[{"name":"NVIDIA_VISIBLE_DEVICES","value":"all"}])"),
       ""},
  });
}

}  // namespace
}  // namespace dynamo::rules::test
