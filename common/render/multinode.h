#pragma once
// Host names and ranks of multinode components (quirks pod-Q8, pod-Q9).

#include <string>
#include <string_view>
#include <vector>

#include "common/render/context.h"

namespace dynamo::render {

enum class Role { Main, Leader, Worker, Checkpoint };

/// Host names and ranks of the pods of a component.
struct Hosts {
  bool grove = false;   ///< true: Grove; false: LeaderWorkerSet
  std::string service;  ///< part of host names: name of the service or of the component deployment
  long long nodes = 1;

  /// The address of the leader for fields in which the kubelet expands $(NAME): args, and commands of init
  /// containers.
  std::string leaderDirect() const;
  /// The address of the leader for a shell script.
  std::string leaderShell() const;
  /// The addresses of the workers for a shell script, in order.
  std::vector<std::string> workers() const;
  /// The rank of the node as a shell expression.
  std::string rank() const;
  /// `factor` times the rank of the node as a shell expression.
  std::string rankTimes(long long factor) const;
};

}  // namespace dynamo::render
