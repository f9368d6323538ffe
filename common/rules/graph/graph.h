#pragma once
// The subject of the rules of graphs: a DynamoGraphDeployment with its services, or a
// DynamoComponentDeployment as a graph with one service.

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/field/check.h"
#include "common/json/value.h"
#include "common/model/graph.h"
#include "common/rules/validators.h"

namespace dynamo::rules {

struct Graph;

/// A service of a graph, or the component of a component deployment.
struct Service : model::Component {
  const Graph& graph;

  const json::Value* annotations() const { return json::findObject(&spec, "annotations"); }
  /// Whether the operator creates a Kubernetes Service for it (quirk child-Q9).
  bool hasService() const;
  bool checkpointed() const;
};

/// The object of a request with its resolved components. Null services are left out. Services hold a
/// reference to the graph, so it cannot be copied.
struct Graph : model::ResolvedGraph {
  enum class Kind { Graph, Component };

  Graph(const Write& write, Kind kind);
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;
  ~Graph() = default;

  const json::Value* old;  ///< nullptr on CREATE
  std::string_view username;
  const GraphPolicy& policy;
  std::vector<Service> services;  ///< sorted by key

  /// Whether Grove cannot run its pods: Grove is disabled by the configuration or by the graph's annotation,
  /// or the object is a component deployment.
  bool withoutGrove() const;
  /// Whether Grove runs its pods, or will run them. On UPDATE, the kinds in the status decide.
  bool onGrove() const;
};

using GraphCheck = Check<Graph>;
using ServiceCheck = Check<Service>;

// The tables of rules. Warnings are reported in the order of the tables, remarks last.
std::span<const GraphCheck> graphChecks();
std::span<const GraphCheck> graphLockChecks();
std::span<const GraphCheck> graphAnnotationChecks();
std::span<const GraphCheck> graphNameChecks();
std::span<const GraphCheck> claimChecks();
std::span<const GraphCheck> claimRemarks();
std::span<const ServiceCheck> claimServiceChecks();
std::span<const GraphCheck> restartChecks();
std::span<const GraphCheck> groveChecks();
std::span<const GraphCheck> groveEnvChecks();
std::span<const ServiceCheck> groveServiceChecks();
std::span<const ServiceCheck> grovePodChecks();
std::span<const ServiceCheck> groveLockChecks();
std::span<const GraphCheck> graphEnvChecks();
std::span<const GraphCheck> componentLockChecks();
std::span<const GraphCheck> componentNameChecks();
std::span<const ServiceCheck> graphServiceNameChecks();
std::span<const ServiceCheck> serviceLockChecks();
std::span<const ServiceCheck> serviceChecks();
std::span<const ServiceCheck> serviceCommandChecks();
std::span<const ServiceCheck> serviceRemarks();
std::span<const ServiceCheck> serviceTemplateChecks();
std::span<const ServiceCheck> serviceResourceChecks();
std::span<const ServiceCheck> serviceMountChecks();
std::span<const ServiceCheck> serviceEnvChecks();
std::span<const ServiceCheck> serviceMetadataChecks();
std::span<const ServiceCheck> serviceIngressChecks();
std::span<const ServiceCheck> serviceMultinodeChecks();
std::span<const ServiceCheck> autoscalingChecks();
std::span<const ServiceCheck> autoscalingRemarks();
std::span<const ServiceCheck> serviceCheckpointChecks();
std::span<const ServiceCheck> endpointPickerChecks();
std::span<const ServiceCheck> frontendChecks();
std::span<const GraphCheck> kaiQueueChecks();

/// The integer at `field`; nullopt when it is absent or of another type.
std::optional<long long> integerAt(const json::Value* object, std::string_view field);
/// The strings of a list. Other items are skipped.
std::vector<std::string_view> textsOf(const json::Value* list);
/// Compares ASCII text regardless of case. `lowerCase` must be in lower case.
bool equalsIgnoringCase(std::string_view text, std::string_view lowerCase);
/// "<namespace>/<name>" for "system:serviceaccount:<namespace>:<name>"; empty for other users.
std::string serviceAccountOf(std::string_view username);
/// Whether the user is the operator's own service account. Other accounts that may scale are not.
bool isOperator(std::string_view username, const GraphPolicy& policy);

}  // namespace dynamo::rules
