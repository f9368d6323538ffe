#include "controller/commands/moved.h"

#include <CLI/CLI.hpp>
#include <iostream>
#include <string>

namespace dynamo::controller {
namespace {

constexpr int kUsage = 2;

}  // namespace

void addMovedCommands(CLI::App& app, std::function<int()>& run) {
  for (const char* name : {"status", "diff", "render"}) {
    CLI::App* command = app.add_subcommand(name)->prefix_command()->group("");
    command->set_help_flag();
    command->callback([&run, name] {
      run = [name] {
        std::cerr << "dynamo-controller: " << name << ": use kubectl dynamo " << name
                  << ", a command of the program kubectl-dynamo\n";
        return kUsage;
      };
    });
  }
}

}  // namespace dynamo::controller
