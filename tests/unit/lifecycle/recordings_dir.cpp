// Only this file is compiled with the path, so that clones share the compiler cache.
#include "recorded.h"

namespace dynamo::lifecycle::test {

std::string recordingsFolder() {
  return RECORDINGS;
}

}  // namespace dynamo::lifecycle::test
