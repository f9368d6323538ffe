#pragma once
// Facts of a cluster as renderings look them up, each in logarithmic time, and which of them a rendering has
// looked up: what changes later concerns those renderings alone that asked for it.

#include <array>
#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dynamo::render {

/// APIs of others that decide what is rendered.
enum class Api : std::uint8_t {
  Grove,
  LeaderWorkerSet,  ///< leaderworkerset.x-k8s.io and scheduling.volcano.sh, both
  KaiScheduler,
  InferencePool  ///< inference.networking.k8s.io
};
inline constexpr std::array<std::string_view, 4> kApiNames = {"grove", "leaderWorkerSet", "kaiScheduler",
                                                              "inferencePool"};
inline constexpr std::string_view nameOf(Api api) {
  return kApiNames[static_cast<std::size_t>(api)];
}

/// A DynamoCheckpoint as far as services that use it read it.
struct CheckpointFact {
  std::string namespaceName;
  std::string name;
  std::string hash;       ///< status.identityHash
  std::string labelHash;  ///< label nvidia.com/snapshot-checkpoint-hash
  bool ready = false;     ///< status.phase is Ready

  bool operator==(const CheckpointFact&) const = default;
};

/// What a rendering can ask for.
enum class FactKind : std::uint8_t {
  Api,               ///< name: of the API (kApiNames)
  PullSecrets,       ///< name: the registry's host
  ComponentAccount,  ///< no name
  CheckpointByName,  ///< name: the DynamoCheckpoint's
  CheckpointByHash,  ///< name: the value of its hash label
};

struct FactKey {
  FactKind kind = FactKind::Api;
  std::string namespaceName;  ///< empty: of the whole cluster
  std::string name;

  auto operator<=>(const FactKey&) const = default;
};
using FactKeys = std::set<FactKey>;

/// Whether two sets of keys have one in common: whether what changed concerns who looked up the other.
bool intersect(const FactKeys& a, const FactKeys& b);

/// Facts of a cluster. What nobody has told is not in the cluster; of APIs only once discovery has run.
class Facts {
 public:
  /// nullopt: nobody knows. Offline the documented defaults hold then: every API is present but KAI's.
  std::optional<bool> api(Api api) const;
  void setApi(Api api, bool present) { apis_[static_cast<std::size_t>(api)] = present; }
  /// Discovery has run: an API that it has not found is absent.
  void setDiscovered(bool discovered = true) { discovered_ = discovered; }
  bool discovered() const { return discovered_; }

  /// Names of the pull secrets of a namespace for a registry (pull_secrets.h), sorted; empty: none.
  std::span<const std::string> pullSecrets(std::string_view namespaceName, std::string_view registry) const;
  /// Adds secrets that serve `registry`.
  void addPullSecrets(std::string_view namespaceName, std::string_view registry,
                      const std::vector<std::string>& secrets);
  /// Forgets one secret for all registries: it is gone, or is about to be added with what it says now.
  void removePullSecret(std::string_view namespaceName, std::string_view secret);

  /// The service account labelled for component pods, of several the smallest name; empty: none.
  std::string_view componentAccount(std::string_view namespaceName) const;
  void addComponentAccount(std::string_view namespaceName, std::string_view account);
  void removeComponentAccount(std::string_view namespaceName, std::string_view account);

  /// nullptr: there is none.
  const CheckpointFact* checkpointNamed(std::string_view namespaceName, std::string_view name) const;
  /// The checkpoint with this hash as its label, of several the smallest name; nullptr: there is none.
  const CheckpointFact* checkpointWithHash(std::string_view namespaceName, std::string_view hash) const;
  /// Adds a checkpoint, in the place of one of its name.
  void setCheckpoint(const CheckpointFact& fact);
  void removeCheckpoint(std::string_view namespaceName, std::string_view name);

  /// The keys whose answers differ.
  friend FactKeys changed(const Facts& before, const Facts& after);

 private:
  template <typename T>
  using ByName = std::map<std::string, T, std::less<>>;
  template <typename T>
  using ByNamespace = ByName<ByName<T>>;
  using Names = std::set<std::string, std::less<>>;

  std::array<std::optional<bool>, kApiNames.size()> apis_{};
  bool discovered_ = false;
  // No entry of these is empty: an answer is there or it is not.
  ByNamespace<std::vector<std::string>> pullSecrets_;
  ByName<Names> accounts_;
  ByNamespace<CheckpointFact> checkpoints_;
  ByNamespace<Names> checkpointHashes_;  ///< label -> names
};

FactKeys changed(const Facts& before, const Facts& after);

/// Facts as one rendering asks for them; `lookedUp`, where there is one, gets every key that it asks for,
/// also those without an answer. Both must outlive it.
class FactsView {
 public:
  // NOLINTNEXTLINE(google-explicit-constructor): facts are a view without a recorder.
  FactsView(const Facts& facts, FactKeys* lookedUp = nullptr) : facts_(&facts), lookedUp_(lookedUp) {}
  FactsView(const Facts&& facts, FactKeys* lookedUp = nullptr) = delete;

  std::optional<bool> api(Api api) const;
  std::span<const std::string> pullSecrets(std::string_view namespaceName, std::string_view registry) const;
  std::string_view componentAccount(std::string_view namespaceName) const;
  const CheckpointFact* checkpointNamed(std::string_view namespaceName, std::string_view name) const;
  const CheckpointFact* checkpointWithHash(std::string_view namespaceName, std::string_view hash) const;

 private:
  void record(FactKind kind, std::string_view namespaceName, std::string_view name) const;

  const Facts* facts_;
  FactKeys* lookedUp_;
};

}  // namespace dynamo::render
