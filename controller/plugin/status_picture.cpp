#include "controller/plugin/status_picture.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <tuple>
#include <variant>
#include <vector>

#include "common/api/kinds.h"
#include "controller/plugin/target_tree.h"
#include "controller/view/object_tree.h"
#include "controller/view/status_tree.h"

namespace dynamo::plugin {
namespace {

std::string_view kindOf(const json::Value& object) {
  return json::findText(&object, "kind");
}

template <class Summary>
void sortByName(std::vector<Summary>& all) {
  const auto key = [](const Summary& each) { return std::tie(each.namespaceName, each.name); };
  std::sort(all.begin(), all.end(), [&](const auto& a, const auto& b) { return key(a) < key(b); });
}

template <class Summary>
bool areReady(const std::vector<Summary>& all) {
  return std::all_of(all.begin(), all.end(), [](const Summary& each) { return each.ready; });
}

Picture notFound(const std::string& message) {
  Picture picture;
  picture.text = message + '\n';
  picture.content = picture.text;
  return picture;
}

/// All objects of a list: graphs, and the other kinds one after another.
struct Lists {
  std::vector<view::GraphSummary> graphs;
  std::vector<std::vector<view::ObjectSummary>> others;

  bool empty() const { return graphs.empty() && others.empty(); }
};

Lists listsOf(const LoadedObjects& loaded) {
  Lists lists;
  for (const json::Value* object : loaded.pointers) {
    if (kindOf(*object) == api::kDynamoGraphDeployment) lists.graphs.push_back(view::summaryOf(*object));
  }
  for (const std::string_view kind :
       {api::kDynamoGraphDeploymentRequest, api::kDynamoModel, api::kDynamoCheckpoint}) {
    std::vector<view::ObjectSummary> found;
    for (const json::Value* object : loaded.pointers) {
      if (kindOf(*object) == kind) found.push_back(view::summaryOfObject(*object, loaded.pointers));
    }
    sortByName(found);
    if (!found.empty()) lists.others.push_back(std::move(found));
  }
  sortByName(lists.graphs);
  return lists;
}

std::string textOf(const Lists& lists, bool allNamespaces, const view::TextOptions& options) {
  std::string text;
  if (!lists.graphs.empty()) text = view::toText(lists.graphs, allNamespaces, options);
  for (const auto& objects : lists.others)
    text += (text.empty() ? "" : "\n") + view::toText(objects, allNamespaces, options);
  return text;
}

std::string jsonOf(const Lists& lists) {
  std::vector<view::ObjectSummary> others;
  for (const auto& objects : lists.others) others.insert(others.end(), objects.begin(), objects.end());
  return view::toJson(lists.graphs, others);
}

}  // namespace

view::TextOptions Painter::textOptions(bool ages) const {
  const auto now = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
  return {style_, now, ages};
}

Picture Painter::draw() const {
  Picture picture = target_.name.empty() ? drawList() : drawTree();
  for (const std::string& note : snapshot_.notes()) {
    if (json_) {
      picture.notes += note + '\n';
      continue;
    }
    const std::string line = style_.paint(view::Color::Yellow, note) + '\n';
    picture.text += line;
    picture.content += line;
  }
  return picture;
}

template <class Tree>
Picture Painter::pictureOf(const Tree& tree) const {
  Picture picture;
  picture.found = true;
  picture.ready = tree.summary.ready;
  picture.text = json_ ? view::toJson(tree) : view::toText(tree, textOptions(true));
  picture.content = json_ ? picture.text : view::toText(tree, textOptions(false));
  return picture;
}

Picture Painter::drawTree() const {
  const auto found = treeOfTarget(snapshot_, target_, textOptions(true).now);
  if (!found) return notFound(fmt::format("{} {}/{} not found", target_.kind, namespaceName_, target_.name));
  return std::visit([this](const auto& tree) { return pictureOf(tree); }, *found);
}

Picture Painter::drawList() const {
  const bool allNamespaces = namespaceName_.empty();
  const Lists lists = listsOf(snapshot_.objects());
  if (lists.empty()) {
    const std::string where = allNamespaces ? "" : " in namespace " + namespaceName_;
    return notFound(fmt::format("no graphs, requests, models or checkpoints found{}", where));
  }
  Picture picture;
  picture.found = true;
  picture.ready = areReady(lists.graphs) &&
                  std::all_of(lists.others.begin(), lists.others.end(),
                              [](const std::vector<view::ObjectSummary>& each) { return areReady(each); });
  picture.text = json_ ? jsonOf(lists) : textOf(lists, allNamespaces, textOptions(true));
  picture.content = json_ ? picture.text : textOf(lists, allNamespaces, textOptions(false));
  return picture;
}

}  // namespace dynamo::plugin
