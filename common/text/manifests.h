#pragma once
// Reads manifests for the offline commands (-f FILE|DIR|-): YAML or JSON, several documents, Lists expanded.

#include <string>
#include <vector>

#include "common/field/path.h"
#include "common/json/value.h"
#include "common/text/positions.h"

namespace dynamo::text {

/// An object and its source.
struct Manifest {
  std::string file;
  json::Document object;
  Positions positions;
  field::Path base;  ///< the path of the object in its List, such as "items[3]"; empty without a List

  /// The position in the file of the value at `path`.
  Position locate(field::PathView path) const;
  std::string_view kind() const;
  std::string_view name() const;
};

struct Manifests {
  std::vector<Manifest> objects;
  std::vector<std::string> errors;  ///< one line per file that cannot be read or parsed
};

/// Reads all files in order; "-" is standard input. A directory stands for its files *.json, *.yaml and
/// *.yml, by name.
Manifests readManifests(const std::vector<std::string>& given);

}  // namespace dynamo::text
