#include "common/api/kinds.h"
#include "common/json/build.h"
#include "controller/view/status_text.h"

namespace dynamo::view {
namespace {

using json::Value;

void setText(Value& object, std::string_view key, std::string_view text, const json::Maker& make) {
  if (!text.empty()) make.set(object, key, text);
}

void setTime(Value& object, std::string_view key, std::optional<Time> time, const json::Maker& make) {
  if (time) make.set(object, key, std::string_view{lifecycle::formatTime(*time)});
}

void setTexts(Value& object, std::string_view key, const std::vector<std::string>& texts,
              const json::Maker& make) {
  if (texts.empty()) return;
  Value list = make.list();
  for (const std::string& text : texts) make.push(list, std::string_view{text});
  make.set(object, key, std::move(list));
}

Value countsValue(const Counts& counts, const json::Maker& make) {
  return make.object("ready", counts.ready, "desired", counts.desired);
}

Value nodeValue(const Node& node, const json::Maker& make) {
  Value value = make.object("kind", std::string_view{node.kind}, "name", std::string_view{node.name}, "ready",
                            node.ready);
  setText(value, "reason", node.state, make);
  setText(value, "message", node.message, make);
  if (node.replicas) make.set(value, "replicas", countsValue(*node.replicas, make));
  setTime(value, "created", node.created, make);
  if (!node.children.empty()) {
    Value children = make.list();
    for (const Node& child : node.children) make.push(children, nodeValue(child, make));
    make.set(value, "children", std::move(children));
  }
  return value;
}

Value summaryValue(const GraphSummary& graph, const json::Maker& make) {
  Value value =
      make.object("kind", api::kDynamoGraphDeployment, "namespace", std::string_view{graph.namespaceName},
                  "name", std::string_view{graph.name}, "ready", graph.ready);
  setText(value, "state", graph.state, make);
  setText(value, "reason", graph.reason, make);
  setText(value, "message", graph.message, make);
  make.set(value, "replicas", countsValue(graph.replicas, make));
  setTime(value, "created", graph.created, make);
  if (graph.rollingUpdate) {
    Value rolling = make.object("phase", std::string_view{graph.rollingUpdate->phase});
    setTime(rolling, "startTime", graph.rollingUpdate->started, make);
    setTime(rolling, "endTime", graph.rollingUpdate->ended, make);
    setTexts(rolling, "updatedServices", graph.rollingUpdate->updatedServices, make);
    make.set(value, "rollingUpdate", std::move(rolling));
  }
  if (graph.restart) {
    Value restart = make.object("phase", std::string_view{graph.restart->phase}, "id",
                                std::string_view{graph.restart->id});
    setTexts(restart, "inProgress", graph.restart->inProgress, make);
    make.set(value, "restart", std::move(restart));
  }
  return value;
}

Value summaryValue(const ObjectSummary& object, const json::Maker& make) {
  Value value =
      make.object("kind", std::string_view{object.kind}, "namespace", std::string_view{object.namespaceName},
                  "name", std::string_view{object.name}, "ready", object.ready);
  setText(value, "phase", object.phase, make);
  setTime(value, "since", object.since, make);
  setText(value, "reason", object.reason, make);
  setText(value, "message", object.message, make);
  if (object.endpoints) make.set(value, "endpoints", countsValue(*object.endpoints, make));
  for (const Detail& detail : object.details) setText(value, detail.key, detail.text, make);
  setTime(value, "created", object.created, make);
  return value;
}

template <class Tree>
std::string treeJson(const Tree& tree) {
  json::Document document;
  const json::Maker make{document.GetAllocator()};
  Value value = summaryValue(tree.summary, make);
  Value children = make.list();
  for (const Node& node : tree.nodes) make.push(children, nodeValue(node, make));
  make.set(value, "children", std::move(children));
  return json::dump(value) + '\n';
}

}  // namespace

std::string toJson(const GraphTree& tree) {
  return treeJson(tree);
}

std::string toJson(const ObjectTree& tree) {
  return treeJson(tree);
}

std::string toJson(std::span<const GraphSummary> graphs, std::span<const ObjectSummary> objects) {
  json::Document document;
  const json::Maker make{document.GetAllocator()};
  Value list = make.list();
  for (const GraphSummary& graph : graphs) make.push(list, summaryValue(graph, make));
  for (const ObjectSummary& object : objects) make.push(list, summaryValue(object, make));
  return json::dump(list) + '\n';
}

}  // namespace dynamo::view
