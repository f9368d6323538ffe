#pragma once
// What the rules of graphs look at: a DynamoGraphDeployment and its services, or a DynamoComponentDeployment
// as a graph of one service.

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

/// A service of a graph, or the component of a component deployment, beside the others.
struct Service : model::Component {
  const Graph& graph;

  const json::Value* annotations() const { return json::findObject(&spec, "annotations"); }
  /// A Service (of Kubernetes) is made for it (quirk child-Q9).
  bool hasService() const;
  bool checkpointed() const;
};

/// The object of a request, resolved. Null services are left out. Not to be copied: services refer to it.
struct Graph : model::Graph {
  enum class Kind { Graph, Component };

  Graph(const Request& request, Kind kind);
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;
  ~Graph() = default;

  const json::Value* old;  ///< nullptr on CREATE
  std::string_view username;
  const GraphPolicy& policy;
  std::vector<Service> services;  ///< sorted by key

  /// Grove runs no pod of it: by configuration, by its annotation, or because it is a component deployment.
  bool withoutGrove() const;
};

using GraphCheck = Check<Graph>;
using ServiceCheck = Check<Service>;

// The tables of rules. Warnings are told in the order of the tables; remarks last.
std::span<const GraphCheck> graphChecks();
std::span<const GraphCheck> graphLockChecks();
std::span<const GraphCheck> graphAnnotationChecks();
std::span<const GraphCheck> graphNameChecks();
std::span<const GraphCheck> claimChecks();
std::span<const GraphCheck> claimRemarks();
std::span<const ServiceCheck> claimServiceChecks();
std::span<const GraphCheck> restartChecks();
std::span<const GraphCheck> graphEnvChecks();
std::span<const GraphCheck> componentLockChecks();
std::span<const GraphCheck> componentNameChecks();
std::span<const ServiceCheck> graphServiceNameChecks();
std::span<const ServiceCheck> serviceLockChecks();
std::span<const ServiceCheck> serviceChecks();
std::span<const ServiceCheck> serviceCommandChecks();
std::span<const ServiceCheck> serviceRemarks();
std::span<const ServiceCheck> serviceResourceChecks();
std::span<const ServiceCheck> serviceMountChecks();
std::span<const ServiceCheck> serviceEnvChecks();
std::span<const ServiceCheck> serviceMetadataChecks();
std::span<const ServiceCheck> serviceIngressChecks();
std::span<const ServiceCheck> serviceMultinodeChecks();
std::span<const ServiceCheck> serviceCheckpointChecks();
std::span<const ServiceCheck> endpointPickerChecks();

/// A whole number at `field`; nullopt when absent or of another type.
std::optional<long long> integerAt(const json::Value* object, std::string_view field);
/// The texts in a list, others left out.
std::vector<std::string_view> textsOf(const json::Value* list);
/// Lower-cased ASCII equals.
bool equalsIgnoringCase(std::string_view text, std::string_view lowerCase);
/// The account of "system:serviceaccount:<namespace>:<name>" as "<namespace>/<name>"; empty for others.
std::string serviceAccountOf(std::string_view username);
/// Whether it is the operator itself that asks. Other accounts that may scale are not the operator.
bool isOperator(std::string_view username, const GraphPolicy& policy);

}  // namespace dynamo::rules
