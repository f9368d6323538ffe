#pragma once
// Captures standard error of code under test.

#include <fcntl.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <string>

namespace dynamo::log::test {

/// The text that `write` prints on standard error.
template <typename Write>
std::string captured(Write&& write) {
  char path[] = "/tmp/captured_XXXXXX";
  const int file = mkstemp(path);
  REQUIRE(file >= 0);
  const int saved = dup(STDERR_FILENO);
  dup2(file, STDERR_FILENO);
  write();
  dup2(saved, STDERR_FILENO);
  close(saved);
  std::string text(static_cast<std::size_t>(lseek(file, 0, SEEK_END)), '\0');
  REQUIRE(pread(file, text.data(), text.size(), 0) == static_cast<ssize_t>(text.size()));
  close(file);
  unlink(path);
  return text;
}

}  // namespace dynamo::log::test
