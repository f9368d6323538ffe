#pragma once
// Programs of containers, identified by name.

#include <algorithm>
#include <array>
#include <string_view>

namespace dynamo::k8s {

/// The file name of a path: "sh" for "/bin/sh".
constexpr std::string_view programName(std::string_view path) {
  return path.substr(path.rfind('/') + 1);
}

/// Whether the program is a shell, which expands variables in its arguments.
constexpr bool isShell(std::string_view path) {
  constexpr std::array<std::string_view, 5> kShells = {"ash", "bash", "dash", "sh", "zsh"};
  return std::find(kShells.begin(), kShells.end(), programName(path)) != kShells.end();
}

}  // namespace dynamo::k8s
