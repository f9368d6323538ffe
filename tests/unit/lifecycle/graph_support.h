#pragma once
// Graphs with their observed children, and both halves of a reconcile.

#include <string>
#include <vector>

#include "common/lifecycle/graph_status.h"
#include "support.h"

namespace dynamo::lifecycle::test {

/// A graph "g", uid "u", generation 1, of `services`; `spec` and `status` are further members, `annotation`
/// the current worker hash.
std::string graphText(const std::string& services, const std::string& annotation = "",
                      const std::string& status = "{}", const std::string& spec = "");

/// A component deployment of `service` ("Worker" or "Frontend") of that graph.
struct Component {
  std::string service = "Worker";
  std::string hash = "new";  ///< empty: no label
  long long replicas = 1;
  long long ready = 0;
  std::string more = "";  ///< members of the spec
  std::string created = "2026-01-01T00:00:00Z";
  bool observed = true;
  long long present = -1;  ///< pods in the status; -1: `replicas`
  bool refused = false;    ///< its last reconcile failed

  std::string name() const;
  std::string text() const;
};

/// A graph and its children, and the outcome of a reconcile.
struct World {
  json::Document graph;
  Objects components;
  Objects pods;
  Objects cliques;
  Objects groups;
  json::Document set;  ///< null: no PodCliqueSet
  render::Facts facts;
  bool grove = false;
  std::string hash = "new";
  json::Document memory;

  explicit World(const std::string& text) : graph(parsed(text)) {}
  GraphView view() const;
  GraphPlan plan();
  Outcome pass(std::vector<Ending> failures = {});
  /// Writes the status of `outcome` into the graph.
  void keep(const Outcome& outcome);
};

}  // namespace dynamo::lifecycle::test
