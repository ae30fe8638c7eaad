#ifndef TANGRAM_CLI_ARGS_COMMAND_TREE_H_
#define TANGRAM_CLI_ARGS_COMMAND_TREE_H_

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace tangram {

struct OptionHelp {
  std::string name;   // "--nodes"; of a positional argument "PLAN.json".
  std::string value;  // "GROUP=N,..."; empty: a flag, or positional.
  std::string help;
  std::string default_value;
  bool is_positional = false;
  bool is_required = false;
};

// What can be typed, for what is made of it: manual pages and completion.
struct CommandTree {
  std::string name;
  std::string help;
  std::vector<OptionHelp> options;
  std::vector<CommandTree> subcommands;
};

// The tree below `app`, in the order of its help. What help hides is left out.
CommandTree TreeOf(const CLI::App& app);

// The subcommand of that name; null if there is none.
const CommandTree* FindSubcommand(const CommandTree& tree,
                                  const std::string& name);

// The option of that name, "--nodes"; null if there is none.
const OptionHelp* FindOption(const CommandTree& tree, const std::string& name);

}  // namespace tangram

#endif  // TANGRAM_CLI_ARGS_COMMAND_TREE_H_
