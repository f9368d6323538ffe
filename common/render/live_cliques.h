#pragma once
// What a PodCliqueSet that exists decides about its next rendering: Grove refuses changes of some fields.
// Decision child-Q35.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/json/value.h"

namespace dynamo::render {

/// The template of a PodCliqueSet; an absent one has no cliques. It borrows the set.
class LiveCliques {
 public:
  explicit LiveCliques(const json::Value* podCliqueSet);

  bool exists() const { return template_ != nullptr; }
  /// nullptr: the set has no such clique, or no such group.
  const json::Value* clique(std::string_view name) const;
  const json::Value* group(std::string_view name) const;
  std::string_view startupType() const;
  /// The pods of a clique without which Grove starts no replica; nullopt: there is no such clique.
  std::optional<std::int64_t> minAvailable(std::string_view clique) const;
  /// The names of the cliques, in the order of the set.
  std::vector<std::string_view> order() const;

 private:
  const json::Value* template_ = nullptr;
};

/// The order of the cliques `names` in a new set: that of `names`, unless the name of one ends with that of
/// another. Grove gives a PodClique the template of the first clique whose name its own name ends with, so
/// longer names then come first.
std::vector<std::string_view> cliqueOrder(std::vector<std::string_view> names);

/// Pairs of cliques in the order of a set: the pods of the first get the template of the second.
std::vector<std::pair<std::string_view, std::string_view>> confusedCliques(
    const std::vector<std::string_view>& order);

}  // namespace dynamo::render
