#pragma once
// Prints the findings of `check` as text, JSON or SARIF.

#include <string>
#include <vector>

#include "common/text/positions.h"

namespace dynamo::webhook {

/// A finding with its file and object.
struct FileFinding {
  std::string file;
  text::Position at;
  std::string kind;
  std::string name;
  bool isError = true;
  std::string rule;
  std::string field;
  std::string message;  ///< without the field path
};

struct Summary {
  std::size_t objects = 0;  ///< of Dynamo's kinds
  std::size_t skipped = 0;  ///< of other API groups
  std::vector<FileFinding> findings;

  std::size_t errors() const;
  std::size_t warnings() const;
};

/// One line per finding, `file:line:column: error: Kind/name: path: message [rule]`, and a line with totals.
std::string toText(const Summary& summary);
std::string toJson(const Summary& summary);
/// SARIF 2.1.0, the format of code hosts and editors.
std::string toSarif(const Summary& summary);

}  // namespace dynamo::webhook
