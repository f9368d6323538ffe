#pragma once
// Prints findings about manifests as text, JSON or SARIF.

#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

#include "common/text/positions.h"

namespace dynamo::commands {

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

/// `file:line:column: error: Kind/name: path: message [rule]`, without control characters.
std::string toLine(const FileFinding& finding);
/// Writes the lines of the errors. Returns whether there are any.
bool reportErrors(const std::vector<FileFinding>& findings, std::ostream& report);
/// The lines of all findings, and a line with totals.
std::string toText(const Summary& summary);
std::string toJson(const Summary& summary);
/// SARIF 2.1.0, the format of code hosts and editors. `program` and `version` name the tool.
std::string toSarif(const Summary& summary, std::string_view program, std::string_view version);

}  // namespace dynamo::commands
