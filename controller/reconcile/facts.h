#pragma once
// The facts of the cluster (common/render/fact_index.h). Watches and discovery keep them up to date.

#include <chrono>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "common/json/value.h"
#include "common/render/fact_index.h"
#include "controller/kube/cache.h"
#include "controller/kube/discovery.h"
#include "controller/kube/reflector.h"

namespace dynamo::controller {

/// Returns the registries of a Secret of type kubernetes.io/dockerconfigjson, or an empty set if its data is
/// malformed.
std::set<std::string> registriesOf(const json::Value& secret);

/// Returns true if the API server serves all groups of an API in the versions that are rendered.
bool isServed(render::Api api, const kube::ApiGroups& groups, std::string_view version);

inline constexpr std::chrono::minutes kAbsentTime{5};

/// Must be used on the loop's thread.
class ClusterFacts {
 public:
  const render::Facts& facts() const { return facts_; }

  /// Returns a sink for Secrets of type kubernetes.io/dockerconfigjson. Only the names of registries are
  /// stored.
  kube::Sink pullSecretSink();
  /// Returns a sink for ServiceAccounts with the label nvidia.com/dynamo-component-pod.
  kube::Sink componentAccountSink();
  /// Returns a sink for the queues of the KAI scheduler.
  kube::Sink queueSink();
  /// Updates the facts after a change of a DynamoCheckpoint.
  void checkpointChanged(const kube::Change& change);
  /// Updates the facts after a discovery at `now`. An API that was served is taken for absent only when it
  /// has been absent for kAbsentTime: while it is installed again, or the API server's list is incomplete,
  /// workloads stay as they are.
  /// `version`: of the API server, such as "v1.34.3"; empty if unknown.
  void discovered(const kube::ApiGroups& groups, std::string_view version,
                  std::chrono::steady_clock::time_point now = std::chrono::steady_clock::now());

  /// Sets the listener that is called with the keys of changed facts.
  void onChange(std::function<void(const render::FactKeys&)> listener) { listener_ = std::move(listener); }

 private:
  using Name = std::pair<std::string, std::string>;  ///< namespace, name

  void setSecret(const Name& name, std::set<std::string> registries);
  void setAccount(const Name& name, bool present);
  void setQueue(const Name& name, bool present);
  void tell(const render::FactKeys& keys) const;

  render::Facts facts_;
  std::map<Name, std::set<std::string>> secrets_;
  std::set<Name> accounts_;
  std::set<Name> queues_;                                                     ///< without a namespace
  std::map<render::Api, std::chrono::steady_clock::time_point> absentSince_;  ///< of APIs that were served
  std::function<void(const render::FactKeys&)> listener_;
};

}  // namespace dynamo::controller
