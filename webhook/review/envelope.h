#pragma once
// Reads a ConversionReview as a stream: the envelope by hand, the objects one at a time, so that a list of
// 100 MB never stands in memory twice.

#include <array>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "common/json/value.h"

namespace dynamo::webhook {

/// What the envelope says before the objects; views live as long as the reader and its body.
struct ConversionEnvelope {
  std::string_view apiVersion;
  std::string_view kind;
  std::string_view uid;
  std::string_view desiredVersion;
};

/// Members of metadata as they were written: the larger half of many objects, and none of conversion's
/// business.
using PassedOn = std::array<std::string, 2>;
inline constexpr std::size_t kManagedFields = 0;  ///< empty: the object has none
inline constexpr std::size_t kLastAppliedText =
    1;  ///< what kubectl apply keeps; empty: none, or it was read after all
inline constexpr std::string_view kLastApplied = "kubectl.kubernetes.io/last-applied-configuration";

class ConversionReader {
 public:
  /// `body` must have passed json::guard(), be NUL-terminated and outlive everything read from it: objects
  /// are parsed in place.
  explicit ConversionReader(std::string& body);

  /// Reads the envelope as far as it is needed. False: error() says why it is no ConversionReview.
  bool readEnvelope(ConversionEnvelope& envelope);

  /// Parses the next object into `object` (whose allocator is kept); what conversion only passes on is null
  /// there and stands in passedOn(). False at the end of the list, or when the text is malformed: then
  /// error() is not empty.
  bool next(json::Document& object);

  /// Of the last object.
  const PassedOn& passedOn() const { return passedOn_; }

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
  char* objects_ = nullptr;  ///< just behind the "[" of the list
  bool inList_ = false;
  bool first_ = true;
  bool tailRead_ = false;                   ///< the rest of the envelope has been checked already
  std::deque<std::string> decoded_;         ///< strings that had escapes
  std::vector<std::string_view> names_[2];  ///< seen in the review and in the request
  PassedOn passedOn_;
  std::string error_;
};

}  // namespace dynamo::webhook
