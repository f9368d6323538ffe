#pragma once
// Decodes replies of an API server: objects, pages of lists, watch events. Pure. Errors do not quote the
// reply.

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

#include "common/json/value.h"
#include "controller/kube/api_error.h"

namespace dynamo::kube {

/// Returns the JSON object in a reply. The error is transient, because an API server always sends an object:
/// another body comes from a proxy or is damaged.
Result<json::Document> decodeObject(std::string_view body);

struct ListReply {
  json::Document list;
  std::size_t omitted = 0;  ///< items that are not JSON as json::parse accepts it
};

/// Returns the List in a reply. An item that cannot be decoded, for example because it is nested too deeply,
/// is omitted: one object must not hide all others.
Result<ListReply> decodeListReply(std::string_view body);

/// A List object as received. Its items may lack apiVersion and kind; items of built-in resources always do.
struct ListPage {
  explicit ListPage(json::Document list_) : list(std::move(list_)) {}

  json::Document list;

  /// Returns the items, which decodeList has checked to be objects.
  json::Value::ConstArray items() const;
  /// Returns the token of the next page, or an empty text if this is the last page.
  std::string_view continueToken() const;
  std::string_view resourceVersion() const;
};

/// Returns the page if its `items` are objects. `items: null` is an empty list, because Go encodes an empty
/// slice as null.
Result<ListPage> decodeList(json::Document list);

enum class EventType { Added, Modified, Deleted, Bookmark };

struct WatchEvent {
  WatchEvent(EventType type_, json::Document event_) : type(type_), event(std::move(event_)) {}

  EventType type;
  json::Document event;

  /// Returns the current state of the object, or its last state if it was deleted. A bookmark contains only
  /// kind and metadata.
  const json::Value& object() const { return *json::find(event, "object"); }
  std::string_view resourceVersion() const;
  /// Returns true for the bookmark that follows the initial events (WatchOptions::sendInitialEvents).
  bool endsInitialEvents() const;
};

/// Decodes one line of a watch. For an ERROR event, returns the error of its Status; the reason is Gone if
/// the resourceVersion is too old. For a line that cannot be decoded, returns an error with status 0.
Result<WatchEvent> decodeEvent(std::string_view line);

}  // namespace dynamo::kube
