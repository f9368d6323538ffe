#pragma once
// Requests, models and checkpoints with the objects that belong to them, as trees and as lines. Pure.

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/json/value.h"
#include "common/lifecycle/time.h"
#include "common/render/context.h"
#include "controller/view/status_tree.h"

namespace dynamo::view {

/// A fact about an object that people look for, such as the model of a request.
struct Detail {
  std::string_view title;  ///< in text: "base model"
  std::string_view key;    ///< in JSON: "baseModel"
  std::string text;        ///< empty: not known yet
};

/// A summary of the status of a DynamoGraphDeploymentRequest, DynamoModel or DynamoCheckpoint.
struct ObjectSummary {
  std::string kind;
  std::string namespaceName;
  std::string name;
  bool ready =
      false;  ///< a request: it is Ready or Deployed; a model: of all endpoints; a checkpoint: it is Ready
  bool observed = false;  ///< the status describes the latest spec
  bool deleting = false;
  std::string phase;                ///< status.phase; empty: the kind has none
  std::optional<Time> since;        ///< the begin of the phase; nullopt: not known
  std::string reason;               ///< of the condition that describes the phase
  std::string message;              ///< the same; or why there is no current status
  std::optional<Counts> endpoints;  ///< of a model
  std::optional<Time> created;
  std::vector<Detail> details;  ///< the same titles for all objects of a kind
};

struct ObjectTree {
  ObjectSummary summary;
  std::vector<Node> nodes;
};

/// Returns the summary of an object of one of the three kinds; of a request in version v1beta1. `objects`
/// contains objects of the namespace. Of these, graphs tell who uses a checkpoint, and a Job since when a
/// request is profiled; they may be missing.
ObjectSummary summaryOfObject(const json::Value& object, std::span<const json::Value* const> objects);

/// Returns the tree of a request: its Job with pods, and its graph with everything below; of a model: its
/// endpoints with their pods; of a checkpoint: its Job with pods, and the graphs that use it. Objects that do
/// not belong to the object are ignored. `context` is for the graph: see treeOf.
ObjectTree treeOfObject(const json::Value& object, std::span<const json::Value* const> objects,
                        const render::Context& context, Time now);

}  // namespace dynamo::view
