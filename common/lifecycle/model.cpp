#include "common/lifecycle/model.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "common/field/show.h"
#include "common/json/build.h"
#include "common/json/parse.h"
#include "common/json/utf8.h"
#include "common/lifecycle/conditions.h"
#include "common/lifecycle/deletion.h"
#include "common/lifecycle/model_endpoints.h"
#include "common/lifecycle/object.h"
#include "common/render/hash.h"

namespace dynamo::lifecycle {
namespace {

using json::Allocator;
using json::Value;

constexpr int kNotFound = 404;
constexpr int kFailed = 500;
constexpr std::string_view kServicesFound = "ServicesFound";
constexpr std::string_view kEndpointsReady = "EndpointsReady";
constexpr std::size_t kMaxReason = 200;  // bytes of the text of a pod in a message
constexpr std::size_t kMaxProblems = 5;  // pods that a message names

bool isSuccess(int status) {
  return status >= 200 && status < 300;
}

std::string lowered(std::string_view text) {
  std::string out{text};
  for (char& c : out) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return out;
}

/// What a reply says in words: its "message" or "detail", or the whole text.
std::string wordsOf(std::string_view body) {
  json::Document reply;
  std::string words{body};
  if (!json::parse(body, reply)) {
    for (const std::string_view key : {"message", "detail", "error"}) {
      if (const std::string_view found = json::findText(&reply, key); !found.empty()) {
        words = found;
        break;
      }
    }
  }
  return shortened(field::oneLine(json::repaired(words)), kMaxReason);
}

std::string problemOf(int status, std::string_view body) {
  const std::string words = wordsOf(body);
  return fmt::format("answered {}{}{}", status, words.empty() ? "" : ": ", words);
}

/// The first texts, and how many more there are.
std::string listOf(const std::vector<std::string>& texts) {
  std::string out;
  for (std::size_t i = 0; i < std::min(texts.size(), kMaxProblems); ++i)
    out.append(i == 0 ? "" : "; ").append(texts[i]);
  if (texts.size() > kMaxProblems) out += fmt::format("; and {} more", texts.size() - kMaxProblems);
  return out;
}

/// That of EndpointsReady; nullopt in a status of the reference.
std::optional<std::int64_t> observedGenerationOf(const Value& model) {
  const Value* condition = findCondition(statusOf(model), kEndpointsReady);
  const std::int64_t seen = numberAt(condition, "observedGeneration", kNoGeneration);
  return seen == kNoGeneration ? std::nullopt : std::optional{seen};
}

/// Percent-encodes what may not stand in a path.
std::string escaped(std::string_view path) {
  constexpr std::string_view kPlain = "-._~!$&'()*+,;=:@/";
  std::string out;
  for (const char c : path) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (letter || kPlain.find(c) != std::string_view::npos) {
      out += c;
    } else {
      out += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return out;
}

class Model {
 public:
  Model(const Value& model, const ModelState& state, Time now, Allocator& allocator)
      : model_(model),
        state_(state),
        now_(now),
        make_(allocator),
        stored_(statusOf(model)),
        status_(stored_ == nullptr ? make_.object() : make_.value(*stored_)) {}

  Outcome run() {
    setEndpoints();
    const std::string problem = loraProblem(model_);
    // Without a source no endpoint is asked, so only the Services say whether there are slices.
    if (nothingFound() && (problem.empty() || state_.services == 0)) {
      const std::string message = fmt::format("No endpoint slices found for base model {}",
                                              json::findText(specOf(model_), "baseModelName"));
      set(kServicesFound, ConditionStatus::False, "NoServicesFound", message);
      finish(ConditionStatus::False, "NoEndpoints", message, "NoEndpointsFound");
      return std::move(outcome_);
    }
    if (state_.services > 0) {
      set(kServicesFound, ConditionStatus::True, "ServicesFound",
          fmt::format("Found {} service(s)", state_.services));
    } else {
      set(kServicesFound, ConditionStatus::False, "NoServicesFound",
          "The endpoint slices belong to no Service");
    }
    if (!problem.empty()) {
      finish(ConditionStatus::False, "NoEndpoints", problem, "NotReady");
    } else if (state_.endpoints.empty()) {
      finish(ConditionStatus::False, "NoEndpoints", "No endpoint can be used" + skipped(),
             "NoEndpointsFound");
    } else if (!isLora(model_)) {
      finish(ConditionStatus::True, "EndpointsDiscovered",
             fmt::format("Found {} endpoint(s) for base model", state_.endpoints.size()),
             "EndpointsDiscovered");
    } else {
      finishLora();
    }
    return std::move(outcome_);
  }

 private:
  bool nothingFound() const { return state_.endpoints.empty() && state_.skipped.empty(); }

  /// Endpoints that the status has stay where they are. The reference does not sort them either.
  void setEndpoints() {
    std::vector<const ModelEndpoint*> sorted;
    sorted.reserve(state_.endpoints.size());
    for (const ModelEndpoint& each : state_.endpoints) sorted.push_back(&each);
    const Value* before = json::find(stored_, "endpoints");
    const auto placeOf = [&](const ModelEndpoint* endpoint) {
      rapidjson::SizeType place = 0;
      if (before == nullptr || !before->IsArray()) return place;
      for (; place < before->Size(); ++place) {
        if (json::findText(&(*before)[place], "podName") == endpoint->pod) break;
      }
      return place;
    };
    std::stable_sort(sorted.begin(), sorted.end(),
                     [&](const auto* a, const auto* b) { return placeOf(a) < placeOf(b); });
    Value endpoints = make_.list();
    for (const ModelEndpoint* each : sorted) {
      make_.push(endpoints, make_.object("address", endpointUrl(each->address), "podName", each->pod, "ready",
                                         each->ready));
    }
    const auto ready =
        std::count_if(sorted.begin(), sorted.end(), [](const auto* each) { return each->ready; });
    if (sorted.empty()) {
      json::remove(status_, "endpoints");
    } else {
      make_.set(status_, "endpoints", std::move(endpoints));
    }
    make_.set(status_, "readyEndpoints", ready);
    make_.set(status_, "totalEndpoints", sorted.size());
  }

  std::string skipped() const {
    return state_.skipped.empty() ? "" : "; not asked: " + listOf(state_.skipped);
  }

  void finishLora() {
    std::vector<std::string> problems;
    std::size_t ready = 0;
    std::size_t waiting = 0;
    for (const ModelEndpoint& each : state_.endpoints) {
      if (each.ready) ++ready;
      if (each.waits) ++waiting;
      if (!each.problem.empty()) problems.push_back(fmt::format("pod {}: {}", each.pod, each.problem));
    }
    const std::size_t total = state_.endpoints.size();
    if (ready == total) {
      const std::string message = fmt::format("All {} endpoint(s) are ready", total) + skipped();
      return finish(ConditionStatus::True, "AllEndpointsReady", message, "EndpointsReady");
    }
    const std::string failed = listOf(problems);
    std::string message = fmt::format("Found {} ready endpoint(s) out of {} total", ready, total);
    if (!failed.empty()) message.append(": ").append(failed);
    message += skipped();
    // Nothing has failed: the rest follows.
    if (ready + waiting == total) return finish(ConditionStatus::False, "Updating", message, "Updating");
    const Value* before = findCondition(stored_, kEndpointsReady);
    if (!failed.empty() && json::findText(before, "message") != shortened(message, kMaxConditionMessage))
      outcome_.events.push_back(warning("PartialEndpointFailure", failed));
    finish(ConditionStatus::False, "NotReady", message, "NotReady");
  }

  void set(std::string_view type, ConditionStatus status, std::string_view reason, std::string message) {
    setCondition(status_, {type, status, reason, std::move(message)}, generationOf(model_), now_,
                 make_.allocator());
  }

  /// A process that starts sees by the earlier generation that pods may have another source. 0: no generation
  /// of this model was loaded into all of them.
  void keepEarlierGeneration() {
    const std::int64_t seen = observedGenerationOf(model_).value_or(0);
    setObservedGeneration(status_, kEndpointsReady, std::min(seen, generationOf(model_) - 1),
                          make_.allocator());
  }

  /// Sets EndpointsReady. An Event is due if its reason or its message is new.
  void finish(ConditionStatus status, std::string_view reason, const std::string& message,
              std::string_view event) {
    const Value* before = findCondition(stored_, kEndpointsReady);
    const bool same = json::findText(before, "reason") == reason &&
                      json::findText(before, "message") == shortened(message, kMaxConditionMessage);
    if (!same) {
      const bool isNormal = status == ConditionStatus::True || reason == "Updating";
      outcome_.events.push_back(isNormal ? normal(event, message) : warning(event, message));
    }
    const std::string_view told = json::findText(before, "message");
    for (const std::string& each : state_.skipped) {
      const bool fits = shortened(message, kMaxConditionMessage).find(each) != std::string::npos;
      if (fits && told.find(each) == std::string_view::npos)
        outcome_.events.push_back(warning("EndpointSkipped", each));
    }
    set(kEndpointsReady, status, reason, message);
    if (state_.outdated) keepEarlierGeneration();
    setStatus(outcome_, model_, std::move(status_));
  }

  const Value& model_;
  const ModelState& state_;
  Time now_;
  json::Maker make_;
  const Value* stored_;
  Value status_;
  Outcome outcome_;
};

}  // namespace

bool isLora(const Value& model) {
  return lowered(json::findText(specOf(model), "modelType")) == "lora";
}

std::string baseModelHash(const Value& model) {
  return render::modelHash(json::findText(specOf(model), "baseModelName"));
}

bool hasFinalizer(const Value& model) {
  const Value* finalizers = json::find(metadataOf(model), "finalizers");
  if (finalizers == nullptr || !finalizers->IsArray()) return false;
  return std::any_of(finalizers->Begin(), finalizers->End(),
                     [](const Value& each) { return json::text(each) == kFinalizer; });
}

std::optional<Write> finalizerWrite(const Value& model, Allocator& allocator) {
  if (hasFinalizer(model)) return std::nullopt;
  const json::Maker make{allocator};
  Value all = make.list();
  const Value* others = json::find(metadataOf(model), "finalizers");
  if (others != nullptr && others->IsArray()) {
    for (const Value& each : others->GetArray()) make.push(all, each);
  }
  make.push(all, kFinalizer);
  return patchOf(model, make.object("metadata", make.object("finalizers", std::move(all))), true);
}

std::string loraProblem(const Value& model) {
  if (!isLora(model)) return "";
  if (modelNameOf(model).empty()) return "spec.modelName: Required value";
  return sourceUriOf(model).empty() ? "spec.source.uri: Required value: must be set when modelType is lora"
                                    : "";
}

std::string loadBody(const Value& model) {
  json::Document memory;
  const json::Maker make{memory.GetAllocator()};
  return json::dump(
      make.object("lora_name", modelNameOf(model), "source", make.object("uri", sourceUriOf(model))));
}

std::string_view modelNameOf(const Value& model) {
  return json::findText(specOf(model), "modelName");
}
std::string_view sourceUriOf(const Value& model) {
  return json::findText(json::findObject(specOf(model), "source"), "uri");
}

bool wasObserved(const Value& model) {
  return observedGenerationOf(model).has_value();
}

bool isAdapterEdited(const Value& model) {
  const auto seen = observedGenerationOf(model);
  return seen && *seen < generationOf(model);
}

std::string unloadPath(std::string_view modelName) {
  return fmt::format("{}/{}", kLoadPath, escaped(modelName));
}

std::string loadProblem(int status, std::string_view body) {
  if (isSuccess(status)) return "";
  // Then the runtime has no endpoints for adapters at all.
  const std::string_view advice =
      status == kNotFound ? "; the worker loads adapters only with DYN_LORA_ENABLED=true" : "";
  return problemOf(status, body).append(advice);
}

std::string unloadProblem(int status, std::string_view body) {
  if (isSuccess(status) || status == kNotFound) return "";
  if (status == kFailed && lowered(body).find("not found") != std::string::npos) return "";
  return problemOf(status, body);
}

bool hasAdapter(const ModelMemory::Pod& given, const Value& pod) {
  return given.uid == uidOf(pod) && restartsOf(pod) <= given.restarts && !isStopped(pod);
}

std::chrono::milliseconds loadRetry(unsigned failures) {
  constexpr std::chrono::seconds kMost{30};  // as in the reference, which has no shorter ones
  constexpr unsigned kShifts = 4;
  return std::min<std::chrono::milliseconds>(
      std::chrono::seconds{2U << std::min(failures == 0 ? 0 : failures - 1, kShifts)}, kMost);
}

Outcome modelOutcome(const Value& model, const ModelState& state, Time now, Allocator& allocator) {
  return Model{model, state, now, allocator}.run();
}

Event unloadEvent(std::string_view modelName, std::size_t pods, std::span<const std::string> problems) {
  if (problems.empty()) {
    return normal("LoRAUnloaded", fmt::format("Unloaded LoRA {} from {} endpoint(s)", modelName, pods));
  }
  return warning("LoRAUnloadFailed",
                 fmt::format("Failed to unload LoRA {} from {} of {} endpoint(s): {}", modelName,
                             problems.size(), pods, listOf({problems.begin(), problems.end()})));
}

bool isOlder(const Value& model, const Value& other) {
  const auto ageOf = [](const Value& object) {
    return std::pair{json::findText(metadataOf(object), "creationTimestamp"), uidOf(object)};
  };
  return ageOf(model) < ageOf(other);
}

bool sharesAdapter(const Value& model, std::string_view modelName, const Value& other) {
  return uidOf(other) != uidOf(model) && namespaceOf(other) == namespaceOf(model) && !isBeingDeleted(other) &&
         isLora(other) && modelNameOf(other) == modelName && baseModelHash(other) == baseModelHash(model);
}

}  // namespace dynamo::lifecycle
