#pragma once
// Reads a ConversionReview as a stream: first the envelope, then one object at a time. A list of 100 MB is
// therefore never in memory twice.

#include <array>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "common/json/value.h"

namespace dynamo::webhook {

/// The members of the envelope. The views are valid as long as the reader and its body.
struct ConversionEnvelope {
  std::string_view apiVersion;
  std::string_view kind;
  std::string_view uid;
  std::string_view desiredVersion;
};

/// The text of members of metadata that conversion does not change. They are more than half of many objects,
/// so they are copied without being parsed.
using CopiedMembers = std::array<std::string, 2>;
inline constexpr std::size_t kManagedFields = 0;  ///< metadata.managedFields; empty: absent
inline constexpr std::size_t kLastAppliedText =
    1;  ///< the annotation of kubectl apply; empty: absent, or parsed with the object

class ConversionReader {
 public:
  /// `body` must have passed json::guard() and be NUL-terminated. It must outlive everything read from it,
  /// because objects are parsed in place.
  explicit ConversionReader(std::string& body);

  /// Reads the envelope up to the list of objects if possible. Returns false when the body is not a
  /// ConversionReview; error() then gives the reason.
  bool readEnvelope(ConversionEnvelope& envelope);

  /// Parses the next object into `object` with its allocator. Members that conversion copies unchanged are
  /// null in `object`; copiedMembers() has their text. Returns false at the end of the list, or when the text
  /// is malformed and error() is not empty.
  bool next(json::Document& object);

  /// The copied members of the last object.
  const CopiedMembers& copiedMembers() const { return copiedMembers_; }

  const std::string& error() const { return error_; }

 private:
  enum class Scope { Review, Request };

  bool readMembers(Scope scope, ConversionEnvelope& envelope);
  bool readName(Scope scope, std::string_view& name);
  bool readMember(Scope scope, std::string_view key, ConversionEnvelope& envelope, bool& stop);
  bool readText(std::string_view& text);
  bool skipValue();
  bool readTail();
  bool readLastApplied(json::Document& object);
  bool expect(char c);
  bool fail(std::string_view reason);
  void skipSpace();

  char* begin_ = nullptr;
  char* at_ = nullptr;
  char* end_ = nullptr;
  char* objects_ = nullptr;  ///< directly after the "[" of the list
  bool inList_ = false;
  bool first_ = true;
  bool tailRead_ = false;                   ///< the rest of the envelope has been checked
  std::deque<std::string> decoded_;         ///< strings with escapes, decoded
  std::vector<std::string_view> names_[2];  ///< member names of the review and of the request
  CopiedMembers copiedMembers_;
  std::string error_;
};

}  // namespace dynamo::webhook
