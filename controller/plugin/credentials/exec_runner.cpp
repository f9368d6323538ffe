#include "controller/plugin/credentials/exec_runner.h"

#include <cstddef>

#include "controller/plugin/credentials/exec_credential.h"
#include "controller/plugin/credentials/process.h"

namespace dynamo::plugin {
namespace {

/// The maximum output of a plugin: a token, or a certificate chain with its key.
constexpr std::size_t kMaxOutput = std::size_t{256} << 10;

}  // namespace

std::variant<kube::ExecCredential, std::string> runExecPlugin(const kube::ExecPlugin& plugin) {
  Program program{plugin.command, plugin.arguments, plugin.environment, kExecTime, kMaxOutput};
  program.environment.emplace_back("KUBERNETES_EXEC_INFO", execInfo(plugin.apiVersion, plugin.cluster));
  const auto about = [&](const std::string& what) {
    return "credential plugin " + plugin.command + ": " + what;
  };
  auto ran = run(program);
  if (const auto* error = std::get_if<ProgramError>(&ran)) {
    const bool hint = error->notFound && !plugin.installHint.empty();
    return about(error->message + (hint ? ": " + plugin.installHint : ""));
  }
  auto read = readExecCredential(std::get<ProgramOutput>(ran).text, plugin.apiVersion);
  if (const auto* error = std::get_if<std::string>(&read)) return about(*error);
  return read;
}

}  // namespace dynamo::plugin
