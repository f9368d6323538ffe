#pragma once
// Random DynamoGraphDeploymentRequests of both versions with edge values. Each seed gives the same objects.

#include <cstdint>
#include <random>

#include "common/json/value.h"

namespace dynamo::test {

class Generator {
 public:
  Generator(std::uint64_t seed, json::Allocator& allocator) : random_(seed), allocator_(allocator) {}

  json::Value alpha();
  json::Value beta();
  /// Any JSON value, nesting at most `depth`.
  json::Value any(int depth);

  bool chance(int percent) { return below(100) < static_cast<unsigned>(percent); }
  unsigned below(unsigned bound) { return std::uniform_int_distribution<unsigned>{0, bound - 1}(random_); }

 private:
  using Value = json::Value;
  Value object() const { return Value{rapidjson::kObjectType}; }
  Value text(std::string_view s) { return json::string(s, allocator_); }
  Value pick(std::initializer_list<std::string_view> options);
  Value number();
  Value textMap();
  Value metadata(const char* prefix);
  Value conditions();
  Value tolerations();
  Value resources();
  Value profilerConfig();
  Value profilingJob();
  Value deployment();
  /// Adds a member with the given chance.
  template <class Make>
  void maybe(Value& parent, const char* key, int percent, Make&& make) {
    if (chance(percent)) parent.AddMember(json::ref(key), make(), allocator_);
  }

  std::mt19937_64 random_;
  json::Allocator& allocator_;
};

}  // namespace dynamo::test
