// Compares the parallel sizes in an engine's flags with the GPUs of its pods. Uncertain cases are skipped:
// GPUs that do not come from resources, sizes in files or variables, and processes that another program
// starts.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <span>

#include "common/k8s/names.h"
#include "common/k8s/quantity.h"
#include "common/render/resources.h"
#include "common/rules/graph/process.h"

namespace dynamo::rules {
namespace {

using json::Value;
using Names = std::span<const std::string_view>;

constexpr std::array<std::string_view, 2> kVllmTensor = {"--tensor-parallel-size", "-tp"};
constexpr std::array<std::string_view, 2> kVllmPipeline = {"--pipeline-parallel-size", "-pp"};
constexpr std::array<std::string_view, 2> kVllmData = {"--data-parallel-size", "-dp"};
constexpr std::array<std::string_view, 5> kVllmUnknown = {
    "--config", "--device", "--distributed-executor-backend", "--headless", "--nnodes"};
/// With these flags other pods run the other ranks.
constexpr std::array<std::string_view, 13> kVllmOwnRank = {"--data-parallel-address",
                                                           "--data-parallel-backend",
                                                           "--data-parallel-external-lb",
                                                           "--data-parallel-rank",
                                                           "--data-parallel-hybrid-lb",
                                                           "--data-parallel-size-local",
                                                           "-dpa",
                                                           "-dpb",
                                                           "-dpe",
                                                           "-dph",
                                                           "-dpl",
                                                           "-dpn",
                                                           "--data-parallel-start-rank"};
constexpr std::array<std::string_view, 3> kSglangTensor = {"--tensor-parallel-size", "--tp-size", "--tp"};
constexpr std::array<std::string_view, 3> kSglangPipeline = {"--pipeline-parallel-size", "--pp-size", "--pp"};
constexpr std::array<std::string_view, 3> kSglangData = {"--data-parallel-size", "--dp-size", "--dp"};
constexpr std::array<std::string_view, 4> kSglangUnknown = {"--config", "--device", "--nnodes", "--use-ray"};
/// Data-parallel attention divides the tensor-parallel group.
constexpr std::array<std::string_view, 1> kSglangOwnRank = {"--enable-dp-attention"};
constexpr std::array<std::string_view, 1> kTrtllmTensor = {"--tensor-parallel-size"};
constexpr std::array<std::string_view, 1> kTrtllmPipeline = {"--pipeline-parallel-size"};
/// The files of these flags take precedence over other flags.
constexpr std::array<std::string_view, 2> kTrtllmUnknown = {"--config", "--extra-engine-args"};
constexpr std::string_view kTrtllmOverride = "--override-engine-args";

struct Engine {
  std::string_view name;
  Names tensor, pipeline, data;
  Names unknown;  ///< flags that make the sizes uncertain
  Names ownRank;  ///< flags with which the data-parallel size does not add GPUs to this pod
};

constexpr std::array<Engine, 3> kEngines = {{
    {model::kVllm, kVllmTensor, kVllmPipeline, kVllmData, kVllmUnknown, kVllmOwnRank},
    {model::kSglang, kSglangTensor, kSglangPipeline, kSglangData, kSglangUnknown, kSglangOwnRank},
    {model::kTrtllm, kTrtllmTensor, kTrtllmPipeline, {}, kTrtllmUnknown, {}},
}};

/// A word of a command and the item of the process that contains it.
struct Word {
  std::string text;
  std::size_t item;  ///< of the process
};

struct Size {
  long long value = 1;
  std::size_t item = 0;  ///< of the process, where the value is more than 1
};

struct Sizes {
  Size tensor, pipeline, data;
  bool certain = true;
};

bool has(Names names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::optional<long long> numberIn(std::string_view text) {
  long long value = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = parsed.ec == std::errc{} && parsed.ptr == text.data() + text.size();
  return whole && value > 0 ? std::optional{value} : std::nullopt;
}

/// The number after `key` in the text of a Python or JSON dictionary.
std::optional<long long> numberOf(std::string_view key, std::string_view text) {
  const std::size_t at = text.find(key);
  if (at == std::string_view::npos) return std::nullopt;
  text.remove_prefix(at + key.size());
  const std::size_t begin = std::min(text.find_first_not_of("'\": \t"), text.size());
  text.remove_prefix(begin);
  return numberIn(text.substr(0, text.find_first_not_of("0123456789")));
}

void readOverride(const Word& word, std::string_view text, Sizes& sizes) {
  for (const auto& [key, size] : {std::pair{"tensor_parallel_size", &sizes.tensor},
                                  std::pair{"pipeline_parallel_size", &sizes.pipeline}}) {
    if (text.find(key) == std::string_view::npos) continue;
    const auto number = numberOf(key, text);
    sizes.certain = sizes.certain && number.has_value();
    *size = {number.value_or(1), word.item};
  }
}

/// The sizes in the flags of a command. The last value of a repeated flag is used.
Sizes sizesIn(const std::vector<Word>& words, const Engine& engine) {
  Sizes sizes;
  bool ownRank = false;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string_view text = words[i].text;
    if (!text.starts_with('-')) continue;
    const std::size_t equals = std::min(text.find('='), text.size());
    std::string name{text.substr(0, equals)};
    std::replace(name.begin(), name.end(), '_', '-');
    const bool joined = equals < text.size();
    const std::string_view value = joined                 ? text.substr(equals + 1)
                                   : i + 1 < words.size() ? std::string_view{words[i + 1].text}
                                                          : std::string_view{};
    sizes.certain = sizes.certain && !has(engine.unknown, name);
    ownRank = ownRank || has(engine.ownRank, name);
    if (name == kTrtllmOverride && engine.name == model::kTrtllm) readOverride(words[i], value, sizes);
    for (const auto& [names, size] :
         {std::pair{engine.tensor, &sizes.tensor}, std::pair{engine.pipeline, &sizes.pipeline},
          std::pair{engine.data, &sizes.data}}) {
      if (!has(names, name)) continue;
      const auto number = numberIn(value);
      sizes.certain = sizes.certain && number.has_value();
      *size = {number.value_or(1), words[i].item};
    }
  }
  if (ownRank) sizes.data = {};
  return sizes;
}

/// Whether the command starts the engine: python3 -m dynamo.vllm.
bool startsEngine(const std::vector<Word>& words, const Engine& engine) {
  const std::string module = fmt::format("dynamo.{}", engine.name);
  for (std::size_t i = 0; i + 1 < words.size(); ++i) {
    const std::string_view next = words[i + 1].text;
    if (words[i].text != "-m" || !next.starts_with(module)) continue;
    if (next.size() == module.size() || next[module.size()] == '.') return true;
  }
  return false;
}

std::vector<std::vector<Word>> commandsOf(const Process& process) {
  std::vector<std::vector<Word>> commands;
  if (process.script) {
    for (std::vector<std::string>& words : commandsIn(process.items[*process.script])) {
      std::vector<Word>& command = commands.emplace_back();
      for (std::string& word : words) command.push_back({std::move(word), *process.script});
    }
    return commands;
  }
  std::vector<Word>& command = commands.emplace_back();
  for (std::size_t i = 0; i < process.items.size(); ++i)
    command.push_back({std::string{process.items[i]}, i});
  return commands;
}

bool listsAny(const Value* object, std::string_view field) {
  return !isEmptyList(json::find(object, field));
}

/// Whether a container may use GPUs beyond those of its resources.
bool mayUseOtherGpus(const Service& service) {
  const Value* main = service.mainContainer();
  const Value* own = json::findObject(main, "resources");
  if (listsAny(json::findObject(&service.spec, "resources"), "claims") || listsAny(own, "claims"))
    return true;
  if (json::findBool(json::findObject(main, "securityContext"), "privileged").value_or(false)) return true;
  for (const Value* list :
       {json::find(service.graph.spec, "envs"), service.member("envs"), json::find(main, "env")}) {
    bool found = false;
    forEachObject(list, [&](const Value& variable, std::size_t) {
      found = found || json::findText(&variable, "name") == "NVIDIA_VISIBLE_DEVICES";
    });
    if (found) return true;
  }
  return false;
}

bool isGpu(std::string_view resource) {
  const std::string name = k8s::lowerAscii(resource);
  return name.find("gpu") != std::string::npos || name.find("mig-") != std::string::npos;
}

/// The number of GPUs of one pod, including parts of GPUs; nullopt when it is unknown.
std::optional<long long> gpusOf(const Service& service) {
  if (mayUseOtherGpus(service)) return std::nullopt;
  const Value* resources = json::findObject(&service.spec, "resources");
  const std::string_view type = render::gpuResource(resources);
  std::map<std::string_view, long long> gpus;
  const auto add = [&](std::string_view name, const Value& value) {
    if (name != type && !isGpu(name)) return;
    const auto quantity = k8s::parseQuantity(k8s::quantityText(value).value_or(""));
    constexpr long long kUnit = 1'000'000'000;
    constexpr decltype(quantity->nano) kMax = INT64_MAX;
    gpus[name] = quantity ? static_cast<long long>(std::clamp(quantity->nano / kUnit, {}, kMax)) : 0;
  };
  forEachMember(json::findObject(json::findObject(service.mainContainer(), "resources"), "limits"), add);
  forEachMember(json::findObject(json::findObject(resources, "limits"), "custom"), add);
  static const Value kNoContainer{rapidjson::kObjectType};
  const Value* main = service.mainContainer();
  const long long given = render::gpusOf(service.spec, main == nullptr ? kNoContainer : *main);
  if (given > 0) gpus[type] = given;
  long long all = 0;
  for (const auto& [name, count] : gpus) {
    if (__builtin_add_overflow(all, count, &all)) return std::nullopt;
  }
  return all > 0 ? std::optional{all} : std::nullopt;
}

void compareWithGpus(const Sizes& sizes, long long gpus, const Process& process, const Report& report) {
  const Service& service = *process.service;
  long long needed = 1;
  std::vector<std::string> factors;
  std::optional<std::size_t> item;
  for (const auto& [size, name] : {std::pair{&sizes.tensor, "tensor"}, std::pair{&sizes.pipeline, "pipeline"},
                                   std::pair{&sizes.data, "data"}}) {
    if (size->value == 1) continue;
    if (__builtin_mul_overflow(needed, size->value, &needed)) needed = INT64_MAX;
    factors.push_back(fmt::format("{}-parallel size {}", name, size->value));
    if (!item) item = size->item;
  }
  long long available = 0;
  if (__builtin_mul_overflow(gpus, std::max(service.nodes, 1LL), &available) || needed <= available) return;
  if (!item) return;
  report.warn(process.field(*item),
              fmt::format("{} needs {} GPUs, but {} {}", fmt::join(factors, " x "), needed,
                          service.multinode() ? fmt::format("its {} nodes have", service.nodes)
                                              : std::string{"the pod has"},
                          available));
}

}  // namespace

void parallelSizes(const Service& service, const Report& report) {
  if (service.mainContainer() == nullptr) return;
  const Process process = processOf(service);
  const auto namesModule = [](std::string_view text) {
    return text.find("dynamo.") != std::string_view::npos;
  };
  if (std::none_of(process.items.begin(), process.items.end(), namesModule)) return;
  for (const std::vector<Word>& command : commandsOf(process)) {
    for (const Engine& engine : kEngines) {
      if (!startsEngine(command, engine)) continue;
      const Sizes sizes = sizesIn(command, engine);
      if (!sizes.certain) continue;
      if (const auto gpus = gpusOf(service)) compareWithGpus(sizes, *gpus, process, report);
    }
  }
}

}  // namespace dynamo::rules
