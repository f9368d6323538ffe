#include "controller/view/status_text.h"

#include <fmt/format.h>

#include <vector>

#include "common/field/show.h"
#include "controller/view/table.h"
#include "controller/view/tree_table.h"

namespace dynamo::view {
namespace {

std::string joined(const std::vector<std::string>& texts) {
  return fmt::format("{}", fmt::join(texts, ", "));
}

/// Returns a text such as ", started 5m ago".
std::string agoText(std::string_view verb, std::optional<Time> time, const TextOptions& options) {
  const std::string age = ageOf(time, options);
  return age.empty() ? "" : fmt::format(", {} {} ago", verb, age);
}

std::string rollingUpdateText(const RollingUpdateStatus& rolling, const TextOptions& options) {
  std::string text = rolling.phase;
  text +=
      rolling.ended ? agoText("ended", rolling.ended, options) : agoText("started", rolling.started, options);
  if (!rolling.updatedServices.empty()) text += ", updated: " + joined(rolling.updatedServices);
  return text;
}

std::string restartText(const RestartStatus& restart) {
  std::string text = fmt::format("{}, id {}", restart.phase, restart.id);
  if (!restart.inProgress.empty()) text += ", in progress: " + joined(restart.inProgress);
  return text;
}

/// Returns the condition Ready, or why it is not current.
std::string readyText(const GraphSummary& graph) {
  std::string text = graph.ready || graph.status != "True" ? graph.status : "";
  for (const std::string* part : {&graph.reason, &graph.message}) {
    if (!part->empty()) text += (text.empty() ? "" : part == &graph.reason ? ", " : ": ") + *part;
  }
  return text;
}

std::string summaryText(const GraphSummary& graph, const TextOptions& options) {
  const Color color = graph.ready ? Color::Green : Color::Red;
  Table table{options.style};
  table.add({label("state"), {graph.state.empty() ? "none" : graph.state, color}});
  table.add({label("ready"), {readyText(graph), color}});
  table.add({label("replicas"), countsOf(graph.replicas)});
  if (graph.rollingUpdate)
    table.add({label("rolling update"), {rollingUpdateText(*graph.rollingUpdate, options)}});
  if (graph.restart) table.add({label("restart"), {restartText(*graph.restart)}});
  if (options.ages) table.add({label("age"), {ageOf(graph.created, options)}});
  const std::string title = fmt::format("DynamoGraphDeployment {}/{}", graph.namespaceName, graph.name);
  return options.style.paint(Color::Bold, field::oneLine(title)) + '\n' + table.text();
}

}  // namespace

std::string toText(const GraphTree& tree, const TextOptions& options) {
  return summaryText(tree.summary, options) + '\n' + treeText(tree.nodes, options);
}

std::string toText(std::span<const GraphSummary> graphs, bool allNamespaces, const TextOptions& options) {
  Table table{options.style};
  std::vector<Cell> head;
  if (allNamespaces) head.push_back({"NAMESPACE"});
  for (const char* name :
       {"NAME", "READY", "REPLICAS", "STATE", "ROLLING UPDATE", "RESTART", "AGE", "MESSAGE"})
    head.push_back({name});
  for (Cell& cell : head) cell.color = Color::Dim;
  table.add(std::move(head));
  for (const GraphSummary& graph : graphs) {
    std::vector<Cell> row;
    if (allNamespaces) row.push_back({graph.namespaceName});
    row.push_back({graph.name});
    row.push_back({graph.ready ? "True" : "False", graph.ready ? Color::Green : Color::Red});
    row.push_back(countsOf(graph.replicas));
    row.push_back({graph.state.empty() ? "none" : graph.state});
    row.push_back({graph.rollingUpdate ? graph.rollingUpdate->phase : "-"});
    row.push_back({graph.restart ? graph.restart->phase : "-"});
    row.push_back({ageOf(graph.created, options)});
    row.push_back({graph.ready ? "" : graph.message});
    table.add(std::move(row));
  }
  return table.text();
}

}  // namespace dynamo::view
