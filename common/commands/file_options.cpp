#include "common/commands/file_options.h"

#include <ostream>
#include <utility>

#include "common/config/load.h"
#include "common/model/pathway.h"
#include "common/render/facts.h"

namespace dynamo::commands {

std::optional<admission::Settings> loadSettings(const FileOptions& options, config::Purpose purpose,
                                                std::string_view program, std::ostream& report) {
  const auto refuse = [&](const std::string& problem) {
    if (!problem.empty()) report << program << ": " << problem << '\n';
    return !problem.empty();
  };
  std::optional<config::OperatorConfig> config = config::loadForCommand(options.configFile, report, purpose);
  if (!config || refuse(config::operatorVersionProblem(options.operatorVersion))) return std::nullopt;
  render::Facts facts;
  if (!options.factsFile.empty() && refuse(render::loadFacts(options.factsFile, facts))) return std::nullopt;
  model::choosePathway(options.pathway, config->orchestrators);
  return admission::Settings{*std::move(config), options.operatorVersion, {}, std::move(facts)};
}

}  // namespace dynamo::commands
