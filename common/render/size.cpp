#include "common/render/size.h"

#include <fmt/format.h>

#include "common/render/object.h"

namespace dynamo::render {
namespace {

using json::Value;

constexpr std::string_view kRule = "render.size";
constexpr std::size_t kMostServices = 100;
/// Variables of the graph stand in every service. An object of etcd has 1.5 MiB, and all services may be in
/// one.
constexpr std::size_t kMostCopied = std::size_t{1} << 20U;
constexpr std::size_t kAroundVariable = 100;  // what a variable takes besides its text
/// Each service is held against every claim.
constexpr std::size_t kMostPairs = 20'000;

std::size_t bytesOf(const Value* envs) {
  std::size_t bytes = 0;
  if (envs == nullptr || !envs->IsArray()) return bytes;
  for (const Value& variable : envs->GetArray()) {
    bytes += kAroundVariable + json::findText(&variable, "name").size() +
             json::findText(&variable, "value").size();
  }
  return bytes;
}

}  // namespace

Errors tooLarge(const Value& graph) {
  const Value* spec = specOf(graph);
  const Value* all = json::findObject(spec, "services");
  const std::size_t services = all == nullptr ? 0 : all->MemberCount();
  if (services > kMostServices) {
    return {{validation::ErrorType::TooMany, "spec.services", "",
             fmt::format("must have at most {} services (it has {})", kMostServices, services),
             std::string{kRule}}};
  }
  Errors errors;
  const std::size_t copied = services * bytesOf(json::find(spec, "envs"));
  if (copied > kMostCopied) {
    errors.push_back({validation::ErrorType::TooLong, "spec.envs", "",
                      fmt::format("{} services with a copy each would take {} bytes, at most {} are allowed",
                                  services, copied, kMostCopied),
                      std::string{kRule}});
  }
  const Value* claims = json::find(spec, "pvcs");
  const std::size_t count = claims == nullptr || !claims->IsArray() ? 0 : claims->Size();
  if (services * count > kMostPairs) {
    errors.push_back({validation::ErrorType::TooMany, "spec.pvcs", "",
                      fmt::format("must have at most {} claims with {} services (it has {})",
                                  kMostPairs / services, services, count),
                      std::string{kRule}});
  }
  return errors;
}

}  // namespace dynamo::render
