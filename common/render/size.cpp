#include "common/render/size.h"

#include <fmt/format.h>

#include <algorithm>

#include "common/render/object.h"

namespace dynamo::render {
namespace {

using json::Value;

constexpr std::string_view kRule = "render.size";
constexpr field::Members kServices = "spec.services";
constexpr field::Members kEnvs = "spec.envs";
constexpr field::Members kClaims = "spec.pvcs";
constexpr std::size_t kMostServices = 100;
/// Names of children hold less. Every path of a finding names the service, and there may be thousands.
constexpr std::size_t kMostOfName = 253;
/// Variables of the graph stand in every service. An object of etcd has 1.5 MiB, and all services may be in
/// one.
constexpr std::size_t kMostCopied = std::size_t{1} << 20U;
/// Tens of thousands of variables that are read for each service.
constexpr std::size_t kMostRead = std::size_t{40} << 20U;
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

struct Size {
  std::size_t services = 0;
  std::size_t name = 0;    ///< bytes of the longest name of a service
  std::size_t copied = 0;  ///< bytes of variables
  std::size_t claims = 0;

  std::size_t pairs() const { return services * claims; }
};

Size sizeOf(const Value& graph) {
  const Value* spec = specOf(graph);
  const Value* services = json::findObject(spec, "services");
  const Value* claims = json::find(spec, "pvcs");
  Size size;
  size.services = services == nullptr ? 0 : services->MemberCount();
  if (services != nullptr) {
    for (const auto& service : services->GetObject()) {
      size.name = std::max(size.name, json::text(service.name).size());
    }
  }
  size.copied = size.services * bytesOf(json::find(spec, "envs"));
  size.claims = claims == nullptr || !claims->IsArray() ? 0 : claims->Size();
  return size;
}

field::FieldError error(field::ErrorType type, field::Members field, std::string detail) {
  return {type, field, "", std::move(detail), std::string{kRule}};
}

}  // namespace

Errors tooLarge(const Value& graph) {
  using field::ErrorType;
  const Size size = sizeOf(graph);
  if (size.services > kMostServices) {
    return {error(ErrorType::TooMany, kServices,
                  fmt::format("must have at most {} services (it has {})", kMostServices, size.services))};
  }
  if (size.name > kMostOfName) {
    return {error(
        ErrorType::TooLong, kServices,
        fmt::format("names of services may have at most {} bytes (one has {})", kMostOfName, size.name))};
  }
  Errors errors;
  if (size.copied > kMostCopied) {
    errors.push_back(
        error(ErrorType::TooLong, kEnvs,
              fmt::format("{} services with a copy each would take {} bytes, at most {} are allowed",
                          size.services, size.copied, kMostCopied)));
  }
  if (size.pairs() > kMostPairs) {
    errors.push_back(error(ErrorType::TooMany, kClaims,
                           fmt::format("must have at most {} claims with {} services (it has {})",
                                       kMostPairs / size.services, size.services, size.claims)));
  }
  return errors;
}

bool grown(const field::Path& field, const Value& graph, const Value& old) {
  const Size now = sizeOf(graph);
  const Size before = sizeOf(old);
  if (field == field::Path{kServices}) return now.services > before.services || now.name > before.name;
  return field == field::Path{kEnvs} ? now.copied > before.copied : now.pairs() > before.pairs();
}

bool judgeable(const Value& graph) {
  const Size size = sizeOf(graph);
  return size.services <= kMostServices && size.name <= kMostOfName && size.copied <= kMostRead &&
         size.pairs() <= kMostPairs;
}

}  // namespace dynamo::render
