#pragma once
// The record of what the webhook wrote into an object, in one annotation: by it an UPDATE tells the user's
// units from derived ones, which do not go stale:
//
//   {"v":1,"metadata":{"annotations":{"<origin version>":"…"}},"spec":{"services":{"<name>":<trie>}}}
//
// or, for a component on its own, {"v":1,"spec":<trie>}. Tries: units.h.

#include <string>
#include <string_view>

#include "common/json/value.h"

namespace dynamo::defaults {

inline constexpr int kRecordVersion = 1;
/// Largest record of one component, in bytes. What does not fit is not written but left to rendering.
inline constexpr std::size_t kMaxTrie = 1024;

/// The record of an object as it stands there.
class Record {
 public:
  /// nullptr: no object, no record. One with the text of `same` is not read again and counts as absent.
  explicit Record(const json::Value* object, const Record* same = nullptr);
  Record(const Record&) = delete;
  Record& operator=(const Record&) = delete;

  bool present() const { return known_; }
  /// Written by a later version: nothing in it is understood, and nothing may be overwritten.
  bool newer() const { return newer_; }
  const std::string& text() const { return text_; }
  const json::Value& value() const { return document_; }

  /// The trie of a service, or of a component on its own; nullptr when there is none.
  const json::Value* service(std::string_view name) const;
  const json::Value* component() const;
  /// The digest of the origin version; empty when the webhook did not stamp it.
  std::string_view stamp() const;

 private:
  std::string text_;
  json::Document document_;
  bool known_ = false;
  bool newer_ = false;
};

/// metadata.annotations.<key>; empty when absent.
std::string_view annotationOf(const json::Value* object, std::string_view key);

}  // namespace dynamo::defaults
