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
constexpr std::size_t kMaxServices = 100;
/// Longer names are invalid in children anyway. The limit keeps findings small, because each field path
/// contains the name of the service.
constexpr std::size_t kMaxNameBytes = 253;
/// Bytes of graph variables in all services. Every service gets a copy, and one etcd object (1.5 MiB) may
/// contain all services.
constexpr std::size_t kMaxCopiedBytes = std::size_t{1} << 20U;
/// Bytes of graph variables that validation reads for all services: tens of thousands of variables each.
constexpr std::size_t kMaxReadBytes = std::size_t{40} << 20U;
constexpr std::size_t kVariableOverhead = 100;  // bytes of a variable besides name and value
/// Pairs of services and claims. Each service is checked against each claim.
constexpr std::size_t kMaxPairs = 20'000;

std::size_t bytesOf(const Value* envs) {
  std::size_t bytes = 0;
  if (envs == nullptr || !envs->IsArray()) return bytes;
  for (const Value& variable : envs->GetArray()) {
    bytes += kVariableOverhead + json::findText(&variable, "name").size() +
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
  if (size.services > kMaxServices) {
    return {error(ErrorType::TooMany, kServices,
                  fmt::format("must have at most {} services (it has {})", kMaxServices, size.services))};
  }
  if (size.name > kMaxNameBytes) {
    return {error(
        ErrorType::TooLong, kServices,
        fmt::format("names of services must have at most {} bytes (one has {})", kMaxNameBytes, size.name))};
  }
  Errors errors;
  if (size.copied > kMaxCopiedBytes) {
    errors.push_back(
        error(ErrorType::TooLong, kEnvs,
              fmt::format("must take at most {} bytes in all services (in {} services it takes {})",
                          kMaxCopiedBytes, size.services, size.copied)));
  }
  if (size.pairs() > kMaxPairs) {
    errors.push_back(error(ErrorType::TooMany, kClaims,
                           fmt::format("must have at most {} claims with {} services (it has {})",
                                       kMaxPairs / size.services, size.services, size.claims)));
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
  return size.services <= kMaxServices && size.name <= kMaxNameBytes && size.copied <= kMaxReadBytes &&
         size.pairs() <= kMaxPairs;
}

}  // namespace dynamo::render
