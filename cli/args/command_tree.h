#ifndef TANGRAM_CLI_ARGS_COMMAND_TREE_H_
#define TANGRAM_CLI_ARGS_COMMAND_TREE_H_

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace tangram {

struct OptionHelp {
  std::string name;   // "--nodes"; "PLAN.json" for a positional argument.
  std::string value;  // "GROUP=N,..."; empty for flags and positionals.
  std::string help;   // One phrase.
  std::string default_value;  // As help prints it; empty: none.
  bool is_positional = false;
  bool is_required = false;
};

// A command with its options and subcommands, as manual pages and completion
// need them.
struct CommandTree {
  std::string name;  // "plan"; "tangram" for the whole program.
  std::string help;  // One phrase.
  std::vector<OptionHelp> options;
  std::vector<CommandTree> subcommands;
};

// Returns the tree of `app`, in the order of its help, without commands and
// options that help hides.
CommandTree TreeOf(const CLI::App& app);

// Returns the subcommand called `name`; null if there is none.
const CommandTree* FindSubcommand(const CommandTree& tree,
                                  const std::string& name);

// Returns the option called `name` ("--nodes"); null if there is none.
const OptionHelp* FindOption(const CommandTree& tree, const std::string& name);

}  // namespace tangram

#endif  // TANGRAM_CLI_ARGS_COMMAND_TREE_H_
