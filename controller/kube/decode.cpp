#include "controller/kube/decode.h"

#include <algorithm>
#include <array>
#include <string>

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
