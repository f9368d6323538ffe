#pragma once
// A graph "g" in namespace "demo" with its children, as text.

#include <string>
#include <vector>

#include "common/json/value.h"

namespace dynamo::view::test {

/// An object in JSON with single quotes. Its uid is "KIND/NAME". `owner` is the uid of its controller; empty:
/// none. `rest`: further members.
std::string object(const std::string& kind, const std::string& name, const std::string& owner,
                   const std::string& labels = "", const std::string& rest = "");

/// The graph "g"; its children have the owner kGraph.
std::string graph(const std::string& spec, const std::string& status);
inline const std::string kGraph = "DynamoGraphDeployment/g";

/// Members of a status: the condition Ready of the first generation.
std::string readyCondition(const std::string& status, const std::string& reason, const std::string& message);

/// Labels of the objects of a service. `hash`: the worker generation; empty: none.
std::string labelsOf(const std::string& service, const std::string& hash = "");

/// A component deployment of the graph. `condition`: members of its condition Available.
std::string component(const std::string& name, const std::string& service, const std::string& hash,
                      int replicas, int ready, const std::string& condition);

/// A pod. `status`: members of its status; empty: it is ready.
std::string pod(const std::string& name, const std::string& owner, const std::string& labels,
                const std::string& status = "");

/// Spec and status of a workload of the first generation with so many replicas, of which `ready` are ready.
std::string workload(int replicas, int ready);

/// The status of the graph as text without ages. `unlisted`: kinds that the user may not list.
std::string shown(const std::string& graph, const std::vector<std::string>& children, bool grove = false,
                  const std::vector<std::string>& unlisted = {});

}  // namespace dynamo::view::test
