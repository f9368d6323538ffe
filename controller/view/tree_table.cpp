#include "controller/view/tree_table.h"

#include <fmt/format.h>

#include "controller/view/age.h"
#include "controller/view/status_node.h"

namespace dynamo::view {
namespace {

Cell stateOf(const Node& node) {
  std::string text = node.state;
  if (!node.message.empty()) text += (text.empty() ? "" : ": ") + node.message;
  const Color unready = node.state == kUnknown ? Color::Yellow : Color::Red;
  return {text, node.ready ? Color::Green : unready};
}

class TreeTable {
 public:
  TreeTable(const TextOptions& options, Table& table) : options_(options), table_(table) {}

  void add(const std::vector<Node>& nodes, const std::string& indent) {
    std::vector<const Node*> shown;
    std::size_t ready = 0;
    for (const Node& node : nodes) {
      if (node.kind == "Pod" && node.ready && ++ready > kMaxReadyPods) continue;
      shown.push_back(&node);
    }
    const std::size_t hidden = ready > kMaxReadyPods ? ready - kMaxReadyPods : 0;
    for (const Node* node : shown) {
      const bool last = node == shown.back() && hidden == 0;
      table_.add({{fmt::format("{}{} {} {}", indent, last ? "└─" : "├─", node->kind, node->name)},
                  countsOf(node->replicas),
                  {ageOf(node->created, options_)},
                  stateOf(*node)});
      add(node->children, indent + (last ? "   " : "│  "));
    }
    if (hidden > 0) table_.add({{fmt::format("{}└─ {} more ready pods", indent, hidden)}, {}, {}, {}});
  }

 private:
  const TextOptions& options_;
  Table& table_;
};

}  // namespace

std::string ageOf(std::optional<Time> since, const TextOptions& options) {
  return since && options.ages ? formatAge(options.now - *since) : "";
}

Cell countsOf(const std::optional<Counts>& counts) {
  if (!counts) return {};
  const Color color = counts->ready < counts->desired ? Color::Yellow : Color::Plain;
  return {fmt::format("{}/{}", counts->ready, counts->desired), color};
}

Cell label(std::string_view text) {
  return {"  " + std::string{text}, Color::Dim};
}

std::string treeText(const std::vector<Node>& nodes, const TextOptions& options) {
  Table table{options.style};
  table.add({{"OBJECT", Color::Dim}, {"READY", Color::Dim}, {"AGE", Color::Dim}, {"STATUS", Color::Dim}});
  TreeTable{options, table}.add(nodes, "");
  return table.text();
}

}  // namespace dynamo::view
