#pragma once
// Rewrites commands and arguments of containers (quirks pod-Q8, pod-Q13 to pod-Q16, pod-Q31).

#include <optional>
#include <string>
#include <string_view>

#include "common/json/value.h"

namespace dynamo::render {

/// Whether the command is a Python interpreter, such as python, python3 or /usr/bin/python3.11.
bool isPython(std::string_view command);

enum class Quoting { Plain, InsideSingleQuotes };

/// `text` as one word of a shell command. References $(NAME) are kept, because the kubelet expands them.
std::string quote(std::string_view text, Quoting quoting = Quoting::Plain);

/// All items of `list`, quoted and separated by spaces.
std::string quoteAll(const json::Value* list, Quoting quoting = Quoting::Plain);

/// Flags of a framework: `direct` are arguments of the process, `shell` are part of a shell script.
struct Flags {
  std::string direct;
  std::string shell;
};

/// Adds `flags` to the command of `container`. A Python command, also after a launcher such as env, gets them
/// as arguments; with `needsShell` it is wrapped in a shell. In a shell script they follow
/// `dynamo.<framework>`, in the first item of args or else of the command that runs it (quirk pod-Q31).
/// Returns false and changes nothing if the command is of another form.
bool injectFlags(json::Value& container, const Flags& flags, bool needsShell, std::string_view framework,
                 json::Allocator& allocator);

/// Whether injectFlags() can add flags to `container`.
bool takesFlags(const json::Value& container, std::string_view framework);

/// `text` with `flags` after each run of the framework; nullopt if it does not run the framework.
std::optional<std::string> injectIntoText(std::string_view text, std::string_view flags,
                                          std::string_view framework);

/// The value of `flag` ("--data-parallel-size") or `shortFlag` ("-dp") in args or command; 1 if it is absent
/// or not a number.
long long flagValue(const json::Value& container, std::string_view flag, std::string_view shortFlag);

}  // namespace dynamo::render
