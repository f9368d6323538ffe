#pragma once
// Rewriting of commands and arguments (quirks pod-Q8, pod-Q13 to pod-Q16, pod-Q31).

#include <optional>
#include <string>
#include <string_view>

#include "common/json/value.h"

namespace dynamo::render {

/// python, python3, …/python3.11: the container starts the interpreter itself, without a shell.
bool isPython(std::string_view command);

enum class Quoting { Plain, InsideSingleQuotes };

/// `text` as one word of a shell command. References $(NAME) stay: the kubelet fills them in.
std::string quote(std::string_view text, Quoting quoting = Quoting::Plain);

/// Every item of both lists quoted, separated by spaces.
std::string quoteAll(const json::Value* list, Quoting quoting = Quoting::Plain);

/// Flags for a framework's process: `direct` when they become arguments of the process itself, `shell` when
/// they become part of a shell's text.
struct Flags {
  std::string direct;
  std::string shell;
};

/// Puts `flags` behind the framework's module in the command of `container`. A python command, also behind a
/// launcher such as env, gets arguments of its own, or is wrapped in a shell when `needsShell`; in a shell's
/// text they follow `dynamo.<framework>` in the first item that runs it, of args, else of the command (quirk
/// pod-Q31). A command that is neither stays as it is: false.
bool injectFlags(json::Value& container, const Flags& flags, bool needsShell, std::string_view framework,
                 json::Allocator& allocator);

/// Whether injectFlags finds a place in `container`.
bool takesFlags(const json::Value& container, std::string_view framework);

/// `text` with `flags` behind every run of the framework's module; nullopt when it runs none.
std::optional<std::string> injectIntoText(std::string_view text, std::string_view flags,
                                          std::string_view framework);

/// The number given to `flag` ("--data-parallel-size") or its short form ("-dp") in args or command; 1 when
/// there is none or it is no number.
long long flagValue(const json::Value& container, std::string_view flag, std::string_view shortFlag);

}  // namespace dynamo::render
