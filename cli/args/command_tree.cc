#include "cli/args/command_tree.h"

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"

namespace tangram {
namespace {

OptionHelp HelpOf(const CLI::Option& option) {
  OptionHelp help{.help = option.get_description(),
                  .default_value = option.get_default_str(),
                  .is_positional = option.get_positional(),
                  .is_required = option.get_required()};
  if (help.is_positional) {
    help.name = option.get_type_name();
  } else {
    help.name = absl::StrCat("--", option.get_lnames().front());
    if (option.get_expected_max() > 0) help.value = option.get_type_name();
  }
  return help;
}

template <typename Things>
auto FindNamed(Things& things, const std::string& name) {
  for (auto& thing : things) {
    if (thing.name == name) return &thing;
  }
  return decltype(&things.front())(nullptr);
}

}  // namespace

CommandTree TreeOf(const CLI::App& app) {
  CommandTree tree{.name = app.get_name(), .help = app.get_description()};
  for (const CLI::Option* option : app.get_options(
           [](const CLI::Option* any) { return !any->get_group().empty(); })) {
    tree.options.push_back(HelpOf(*option));
  }
  for (const CLI::App* subcommand : app.get_subcommands(
           [](const CLI::App* any) { return !any->get_group().empty(); })) {
    tree.subcommands.push_back(TreeOf(*subcommand));
  }
  return tree;
}

const CommandTree* FindSubcommand(const CommandTree& tree,
                                  const std::string& name) {
  return FindNamed(tree.subcommands, name);
}

const OptionHelp* FindOption(const CommandTree& tree, const std::string& name) {
  return FindNamed(tree.options, name);
}

}  // namespace tangram
