#pragma once
// The record of the defaults that the webhook wrote into an object, stored in an annotation. An UPDATE uses
// it to tell defaults from values of the user:
//
//   {"v":1,"metadata":{"annotations":{"<origin version>":"…"}},"spec":{"services":{"<name>":<trie>}}}
//
// or, for a standalone component, {"v":1,"spec":<trie>}. units.h describes tries.

#include <string>
#include <string_view>

#include "common/json/value.h"

namespace dynamo::defaults {

inline constexpr int kRecordVersion = 1;
/// Maximum size of the trie of a component in bytes. Defaults that do not fit are added by rendering only.
inline constexpr std::size_t kMaxTrie = 1024;

/// The parsed record of an object.
class Record {
 public:
  /// `object` may be nullptr. A record with the same text as `same` is not parsed and counts as absent.
  explicit Record(const json::Value* object, const Record* same = nullptr);
  Record(const Record&) = delete;
  Record& operator=(const Record&) = delete;

  bool present() const { return known_; }
  /// Whether a later version wrote the record. Its content is unknown and must not be overwritten.
  bool newer() const { return newer_; }
  const std::string& text() const { return text_; }
  const json::Value& value() const { return document_; }

  /// The trie of a service or of a standalone component; nullptr if absent.
  const json::Value* service(std::string_view name) const;
  const json::Value* component() const;
  /// The digest of the origin version; empty if the webhook did not set the annotation.
  std::string_view stamp() const;

 private:
  std::string text_;
  json::Document document_;
  bool known_ = false;
  bool newer_ = false;
};

/// metadata.annotations.<key>; empty if absent.
std::string_view annotationOf(const json::Value* object, std::string_view key);

}  // namespace dynamo::defaults
