#pragma once
// A DynamoModel: what its pods are asked, and its status. Decisions ctl-Q23, ctl-Q80 to ctl-Q85, ctl-Q94,
// ctl-Q95.
//
// base, adapter  the pods that serve the base model are listed
// lora           the adapter is loaded into each of them, and unloaded when the model is deleted

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/json/value.h"
#include "common/lifecycle/outcome.h"
#include "common/lifecycle/time.h"

namespace dynamo::lifecycle {

bool isLora(const json::Value& model);
/// The label value of the pods and EndpointSlices that serve the base model.
std::string baseModelHash(const json::Value& model);

/// Returns the write that adds the finalizer; nullopt if the model has it.
std::optional<Write> finalizerWrite(const json::Value& model, json::Allocator& allocator);
bool hasFinalizer(const json::Value& model);

/// What is wrong with the spec of an adapter, such as a missing source; empty: nothing.
std::string loraProblem(const json::Value& model);

/// The body of POST /v1/loras.
std::string loadBody(const json::Value& model);
inline constexpr std::string_view kLoadPath = "/v1/loras";
/// The path of DELETE. "/" in the name of the model separates segments, as in the reference.
std::string unloadPath(std::string_view modelName);
std::string_view modelNameOf(const json::Value& model);
std::string_view sourceUriOf(const json::Value& model);
/// Whether pods may have the adapter of another source than the spec has, as far as the status tells. One of
/// the reference does not.
bool isAdapterEdited(const json::Value& model);
/// Whether the status tells which generation of the spec the pods have. One of the reference does not.
bool wasObserved(const json::Value& model);

/// Why a reply says that the adapter is not loaded, or not unloaded; empty: it is. An adapter that the pod
/// does not know is unloaded: the runtime answers 500 with "not found" in its message.
std::string loadProblem(int status, std::string_view body);
std::string unloadProblem(int status, std::string_view body);

/// What one process remembers of a model: it does not ask pods again that have the adapter.
struct ModelMemory {
  struct Pod {
    std::string uid;
    std::int64_t restarts = -1;  ///< of its main container when it was asked
    std::string address;
  };

  std::string uid;                    ///< of the model
  std::string name;                   ///< spec.modelName that `loaded` have
  std::string uri;                    ///< spec.source.uri that `loaded` have
  std::set<std::string> outdated;     ///< names of pods that may have the adapter of an earlier source
  std::map<std::string, Pod> loaded;  ///< by name
  /// Names of pods that did not answer when they were last asked, with the number of this time.
  std::map<std::string, std::uint64_t> silent;
  std::uint64_t asks = 0;
  /// Names of pods that were gone or must not be asked, and of those whose main container did not run, when
  /// they were last asked.
  std::set<std::string> unusable;
  std::set<std::string> stopped;
  std::set<std::string> usable;         ///< names of pods that could be asked, while it is disputed
  bool disputed = false;                ///< an older model wanted the adapter from another source
  bool mustReload = false;              ///< another model has unloaded the adapter
  std::map<std::string, Time> missing;  ///< since when pods of the slices do not exist, by name
  unsigned failures = 0;                ///< number of consecutive reconciles in which a pod failed
  std::optional<Event> told = {};       ///< what came of unloading
  bool unloaded = false;                ///< the pods were asked to unload it, for the deletion
};

/// Whether `pod`, as the cache has it, still has the adapter that it was given.
bool hasAdapter(const ModelMemory::Pod& given, const json::Value& pod);

/// The time until pods that failed are asked again.
std::chrono::milliseconds loadRetry(unsigned failures);

/// A pod, and whether the adapter is loaded.
struct ModelEndpoint {
  std::string pod;
  std::string address;  ///< an IP address
  bool ready = false;
  std::string problem = {};  ///< why it is not ready
  bool waits = false;        ///< it keeps the adapter of an earlier source until others have the new one
};

struct ModelState {
  std::size_t services = 0;
  std::vector<ModelEndpoint> endpoints;
  std::vector<std::string> skipped = {};  ///< why pods of the slices were not asked
  bool outdated = false;                  ///< pods may have the adapter of an earlier source
};

/// The outcome of a reconcile: status, and Events about what is new.
Outcome modelOutcome(const json::Value& model, const ModelState& state, Time now, json::Allocator& allocator);

/// The Event about the pods that were asked to unload the adapter. `problems`: of those that failed.
Event unloadEvent(std::string_view modelName, std::size_t pods, std::span<const std::string> problems);

/// Whether `other` is another model, and needs the adapter `modelName` in the pods of `model`.
bool sharesAdapter(const json::Value& model, std::string_view modelName, const json::Value& other);
/// Whether `model` was created before `other`. The source of the oldest model counts (decision ctl-Q94).
bool isOlder(const json::Value& model, const json::Value& other);

}  // namespace dynamo::lifecycle
