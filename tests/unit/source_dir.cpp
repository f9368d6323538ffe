#include "tests/unit/source_dir.h"

namespace dynamo::test {

std::string sourceFile(std::string_view path) {
  return std::string{DYNAMO_SOURCE_DIR "/"}.append(path);
}

}  // namespace dynamo::test
