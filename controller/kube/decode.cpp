#include "controller/kube/decode.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <vector>

#include "common/json/parse.h"

namespace dynamo::kube {
namespace {

ApiError unreadable(const std::string& what) {
  return {Reason::Transport, 0, "the server sent " + what};
}

std::string_view versionOf(const json::Value& object) {
  return json::findText(json::find(&object, "metadata"), "resourceVersion");
}

struct TypeRow {
  std::string_view word;
  EventType type;
};

constexpr std::array kTypes{
    TypeRow{"ADDED", EventType::Added},
    TypeRow{"MODIFIED", EventType::Modified},
    TypeRow{"DELETED", EventType::Deleted},
    TypeRow{"BOOKMARK", EventType::Bookmark},
};

/// A list in two parts: the text without the items, and the texts of the items.
struct CutList {
  std::string rest;
  std::vector<std::string_view> items;
};

/// Follows only strings and brackets. The parts may be invalid.
std::optional<CutList> cutItems(std::string_view body) {
  std::string_view name;  // the last string among the members of the list
  std::size_t depth = 0;
  std::size_t begin = 0;  // of the items
  std::size_t item = 0;
  bool inItems = false;
  CutList cut;
  for (std::size_t at = 0; at < body.size(); ++at) {
    const char c = body[at];
    if (c == '"') {
      const std::size_t start = ++at;
      while (at < body.size() && body[at] != '"') at += body[at] == '\\' ? 2 : 1;
      if (at >= body.size()) return std::nullopt;
      if (depth == 1) name = body.substr(start, at - start);
    } else if (c == '{' || c == '[') {
      if (inItems && depth == 2) item = at;
      if (c == '[' && depth == 1 && name == "items") {
        inItems = true;
        begin = at + 1;
      }
      ++depth;
    } else if (c == '}' || c == ']') {
      if (depth == 0) return std::nullopt;
      --depth;
      if (inItems && depth == 2) cut.items.push_back(body.substr(item, at + 1 - item));
      if (inItems && depth == 1) {
        cut.rest.append(body.substr(0, begin)).append(body.substr(at));
        return cut;
      }
    }
  }
  return std::nullopt;
}

}  // namespace

Result<json::Document> decodeObject(std::string_view body) {
  json::Document document;
  if (const auto error = json::parse(body, document)) {
    return unreadable("a reply that is not JSON (line " + std::to_string(error->line) + ", column " +
                      std::to_string(error->column) + ")");
  }
  if (!document.IsObject()) return unreadable("a reply that is not a JSON object");
  return document;
}

Result<ListReply> decodeListReply(std::string_view body) {
  auto whole = decodeObject(body);
  if (auto* list = std::get_if<json::Document>(&whole)) return ListReply{std::move(*list)};
  const std::optional<CutList> cut = cutItems(body);
  if (!cut) return std::get<ApiError>(std::move(whole));
  auto rest = decodeObject(cut->rest);
  if (auto* error = std::get_if<ApiError>(&rest)) return std::move(*error);
  ListReply reply{std::get<json::Document>(std::move(rest))};
  json::Value* items = json::findRaw(reply.list, "items");
  if (items == nullptr) return std::get<ApiError>(std::move(whole));
  for (const std::string_view text : cut->items) {
    json::Document item;
    if (json::parse(text, item)) {
      ++reply.omitted;
    } else {
      items->PushBack(json::copy(item, reply.list.GetAllocator()), reply.list.GetAllocator());
    }
  }
  return reply;
}

Result<ListPage> decodeList(json::Document list) {
  json::Value* items = json::findRaw(list, "items");
  if (items == nullptr) return unreadable("a list without items");
  if (items->IsNull()) items->SetArray();
  const bool good = items->IsArray() && std::all_of(items->Begin(), items->End(),
                                                    [](const json::Value& each) { return each.IsObject(); });
  if (!good) return unreadable("a list whose items are not objects");
  return ListPage{std::move(list)};
}

json::Value::ConstArray ListPage::items() const {
  return json::find(list, "items")->GetArray();
}

std::string_view ListPage::continueToken() const {
  return json::findText(json::find(list, "metadata"), "continue");
}

std::string_view ListPage::resourceVersion() const {
  return versionOf(list);
}

std::string_view WatchEvent::resourceVersion() const {
  return versionOf(object());
}

bool WatchEvent::endsInitialEvents() const {
  const json::Value* const annotations = json::find(json::find(object(), "metadata"), "annotations");
  return type == EventType::Bookmark && json::findText(annotations, "k8s.io/initial-events-end") == "true";
}

Result<WatchEvent> decodeEvent(std::string_view line) {
  auto decoded = decodeObject(line);
  if (auto* error = std::get_if<ApiError>(&decoded)) return std::move(*error);
  auto& event = std::get<json::Document>(decoded);
  const json::Value* const object = json::find(event, "object");
  if (object == nullptr || !object->IsObject()) return unreadable("an event without an object");
  const std::string_view word = json::findText(&event, "type");
  if (word == "ERROR") return errorOf(*object);
  const auto* const row =
      std::find_if(kTypes.begin(), kTypes.end(), [&](const TypeRow& each) { return each.word == word; });
  if (row == kTypes.end()) return unreadable("an event of an unknown type");
  return WatchEvent{row->type, std::move(event)};
}

}  // namespace dynamo::kube
