#pragma once
// Objects of files for the offline commands: -f FILE|-, YAML or JSON, many documents, Lists expanded.

#include <string>
#include <vector>

#include "common/field/path.h"
#include "common/json/value.h"
#include "common/text/positions.h"

namespace dynamo::text {

/// One object and where it came from.
struct Manifest {
  std::string file;
  json::Document object;
  Positions positions;
  field::Path base;  ///< "items[3]" when the object stood in a List

  /// Where the value at `path` of the object stands in the file.
  Position locate(field::PathView path) const;
  std::string_view kind() const;
  std::string_view name() const;
};

struct Manifests {
  std::vector<Manifest> objects;
  std::vector<std::string> errors;  ///< files that cannot be read or parsed, one line each
};

/// Reads every file in order; "-" is standard input.
Manifests readManifests(const std::vector<std::string>& files);

}  // namespace dynamo::text
