#include "controller/kube/backoff.h"

#include <memory>
#include <random>

namespace dynamo::kube {

Random systemRandom() {
  auto generator = std::make_shared<std::mt19937_64>(std::random_device{}());
  return [generator] { return std::uniform_real_distribution<double>{0, 1}(*generator); };
}

}  // namespace dynamo::kube
