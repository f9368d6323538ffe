#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "common/api/kinds.h"
#include "common/field/show.h"
#include "controller/view/object_tree.h"
#include "controller/view/status_text.h"
#include "controller/view/tree_table.h"

namespace dynamo::view {
namespace {

std::string upper(std::string_view text) {
  std::string out{text};
  std::transform(out.begin(), out.end(), out.begin(), [](unsigned char c) { return std::toupper(c); });
  return out;
}

/// Returns a text such as "Profiling for 5m".
std::string phaseText(const ObjectSummary& object, const TextOptions& options) {
  const std::string age = ageOf(object.since, options);
  const std::string_view phase = object.phase.empty() ? "none" : std::string_view{object.phase};
  return age.empty() || object.phase.empty() ? std::string{phase} : fmt::format("{} for {}", phase, age);
}

std::string readyText(const ObjectSummary& object) {
  std::string text = object.ready ? "True" : "False";
  if (!object.reason.empty()) text += ", " + object.reason;
  if (!object.message.empty()) text += ": " + object.message;
  return text;
}

/// The head of the first column, which tells the kind.
std::string_view headOf(std::string_view kind) {
  if (kind == api::kDynamoGraphDeploymentRequest) return "REQUEST";
  return kind == api::kDynamoModel ? "MODEL" : "CHECKPOINT";
}

bool hasPhase(std::string_view kind) {
  return kind != api::kDynamoModel;
}

}  // namespace

std::string toText(const ObjectTree& tree, const TextOptions& options) {
  const ObjectSummary& object = tree.summary;
  const Color color = object.ready ? Color::Green : Color::Red;
  Table table{options.style};
  if (hasPhase(object.kind)) table.add({label("phase"), {phaseText(object, options), color}});
  table.add({label("ready"), {readyText(object), color}});
  if (object.endpoints) table.add({label("endpoints"), countsOf(object.endpoints)});
  for (const Detail& detail : object.details) {
    if (!detail.text.empty()) table.add({label(detail.title), {detail.text}});
  }
  if (options.ages) table.add({label("age"), {ageOf(object.created, options)}});
  const std::string title = fmt::format("{} {}/{}", object.kind, object.namespaceName, object.name);
  std::string text = options.style.paint(Color::Bold, field::oneLine(title)) + '\n' + table.text();
  return tree.nodes.empty() ? text : text + '\n' + treeText(tree.nodes, options);
}

std::string toText(std::span<const ObjectSummary> objects, bool allNamespaces, const TextOptions& options) {
  if (objects.empty()) return {};
  const ObjectSummary& first = objects.front();
  Table table{options.style};
  std::vector<Cell> head;
  if (allNamespaces) head.push_back({"NAMESPACE"});
  head.push_back({std::string{headOf(first.kind)}});
  head.push_back({"READY"});
  if (hasPhase(first.kind)) head.push_back({"PHASE"});
  if (first.endpoints) head.push_back({"ENDPOINTS"});
  head.push_back({"SINCE"});
  for (const Detail& detail : first.details) head.push_back({upper(detail.title)});
  head.push_back({"AGE"});
  head.push_back({"MESSAGE"});
  for (Cell& cell : head) cell.color = Color::Dim;
  table.add(std::move(head));
  for (const ObjectSummary& object : objects) {
    std::vector<Cell> row;
    if (allNamespaces) row.push_back({object.namespaceName});
    row.push_back({object.name});
    row.push_back({object.ready ? "True" : "False", object.ready ? Color::Green : Color::Red});
    if (hasPhase(object.kind)) row.push_back({object.phase.empty() ? "none" : object.phase});
    if (object.endpoints) row.push_back(countsOf(object.endpoints));
    row.push_back({ageOf(object.since, options)});
    for (const Detail& detail : object.details) row.push_back({detail.text.empty() ? "-" : detail.text});
    row.push_back({ageOf(object.created, options)});
    row.push_back({object.ready ? "" : object.message});
    table.add(std::move(row));
  }
  return table.text();
}

}  // namespace dynamo::view
