#pragma once
// Divides the namespaces of a cluster among several controllers (`--shard I/N`). Pure.

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

namespace dynamo::kube {

/// More controllers than this would compete for the API server, which limits the throughput of them all.
inline constexpr unsigned kMaxShards = 256;

struct Shard {
  unsigned index = 0;  ///< less than `count`
  unsigned count = 1;

  bool operator==(const Shard&) const = default;
};

/// Parses "I/N", such as "0/3". I is taken modulo N, so that the pods of a StatefulSet with 2 N replicas are
/// N leaders and N standbys. The string is an error message.
std::variant<Shard, std::string> parseShard(std::string_view text);

/// Returns the 64-bit FNV-1a hash: offset basis 0xcbf29ce484222325, prime 0x100000001b3. The hash of a name
/// must never change: during an upgrade, controllers of both versions must agree on the owner of a namespace.
std::uint64_t shardHash(std::string_view namespaceName);

/// Returns true if the shard manages the namespace: shardHash modulo `count` equals `index`. Cluster-scoped
/// objects, whose namespace is empty, belong to one shard as well.
bool inShard(std::string_view namespaceName, const Shard& shard);

/// Returns the name of the Lease for the leader election of a shard: `base` if there is only one shard,
/// otherwise "BASE-shard-I-of-N". The name contains the count because shards of different counts overlap.
/// All controllers must be stopped before the count is changed.
std::string shardLeaseName(std::string_view base, const Shard& shard);

}  // namespace dynamo::kube
