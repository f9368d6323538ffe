#pragma once
// Findings of the offline commands as text, JSON or SARIF.

#include <string>
#include <vector>

#include "common/text/positions.h"

namespace dynamo::webhook {

/// One finding of one object of one file.
struct FileFinding {
  std::string file;
  text::Position at;
  std::string kind;
  std::string name;
  bool isError = true;
  std::string rule;
  std::string field;
  std::string message;  ///< the part after the path
};

struct Summary {
  std::size_t objects = 0;  ///< of our kinds
  std::size_t skipped = 0;  ///< of other API groups
  std::vector<FileFinding> findings;

  std::size_t errors() const;
  std::size_t warnings() const;
};

/// `file:line:column: error: Kind/name: path: message [rule]`, and a last line with the totals.
std::string toText(const Summary& summary);
std::string toJson(const Summary& summary);
/// SARIF 2.1.0, as code hosts and editors read it.
std::string toSarif(const Summary& summary);

}  // namespace dynamo::webhook
