// One file alone is compiled with the path: the compiler cache of one clone serves another.
#include "recorded.h"

namespace dynamo::lifecycle::test {

std::string recordingsFolder() {
  return RECORDINGS;
}

}  // namespace dynamo::lifecycle::test
