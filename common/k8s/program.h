#pragma once
// Programs that containers start, known by their names.

#include <algorithm>
#include <array>
#include <string_view>

namespace dynamo::k8s {

/// "sh" of "/bin/sh".
constexpr std::string_view programName(std::string_view path) {
  return path.substr(path.rfind('/') + 1);
}

/// Whether it expands the variables in its text by itself.
constexpr bool isShell(std::string_view path) {
  constexpr std::array<std::string_view, 5> kShells = {"ash", "bash", "dash", "sh", "zsh"};
  return std::find(kShells.begin(), kShells.end(), programName(path)) != kShells.end();
}

}  // namespace dynamo::k8s
