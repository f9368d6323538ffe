#pragma once
// Objects from JSON with single quotes, and outcomes as text.

#include <string>
#include <string_view>
#include <vector>

#include "common/json/parse.h"
#include "common/lifecycle/outcome.h"
#include "common/lifecycle/time.h"

namespace dynamo::lifecycle::test {

/// Parses `text`, in which ' stands for ". The test fails if the text is invalid.
json::Document parsed(std::string text);

/// Applies the RFC 7396 merge patch `patch` to `target`.
void mergePatch(json::Value& target, const json::Value& patch, json::Allocator& allocator);

/// 2026-01-02T03:04:05Z
extern const Time kNow;
inline constexpr const char* kNowText = "2026-01-02T03:04:05Z";

/// "type=status reason: message", one per line, in order.
std::string conditionsOf(const json::Value& status);

/// "Warning Reason: message", one per line.
std::string eventsOf(const std::vector<Event>& events);

/// "patch Kind/name {...}", "scale Kind/name N", "delete Kind/name", one per line. "@version" follows where
/// the write depends on a resourceVersion.
std::string writesOf(const std::vector<Write>& writes);

/// Documents, and pointers to them for views.
class Objects {
 public:
  Objects() = default;
  explicit Objects(const std::vector<std::string>& texts) {
    for (const std::string& text : texts) add(text);
  }
  void add(const std::string& text) {
    documents_.push_back(parsed(text));
    pointers_.clear();
    for (const json::Document& document : documents_) pointers_.push_back(&document);
  }
  const std::vector<const json::Value*>& view() const { return pointers_; }

 private:
  std::vector<json::Document> documents_;
  std::vector<const json::Value*> pointers_;
};

}  // namespace dynamo::lifecycle::test
