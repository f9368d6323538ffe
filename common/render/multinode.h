#pragma once
// Host names and ranks of multinode components (quirks pod-Q8, pod-Q9).

#include <string>
#include <string_view>
#include <vector>

#include "common/render/context.h"

namespace dynamo::render {

enum class Role { Main, Leader, Worker, Checkpoint };

/// How the pods of one component find each other.
struct Hosts {
  bool grove = false;   ///< else as LeaderWorkerSets name them
  std::string service;  ///< as in host names: the service key, or the DCD's name
  long long nodes = 1;

  /// The leader's address where the kubelet expands $(NAME): arguments, and commands of init containers.
  std::string leaderDirect() const;
  /// The leader's address in a shell's text.
  std::string leaderShell() const;
  /// Addresses of the workers in a shell's text, in order.
  std::vector<std::string> workers() const;
  /// This node's rank, as a shell evaluates it.
  std::string rank() const;
  /// `factor` times this node's rank, as a shell evaluates it.
  std::string rankTimes(long long factor) const;
};

}  // namespace dynamo::render
