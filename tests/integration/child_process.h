#ifndef TANGRAM_TESTS_INTEGRATION_CHILD_PROCESS_H_
#define TANGRAM_TESTS_INTEGRATION_CHILD_PROCESS_H_

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "common/base/check.h"

namespace tangram::testing {

// A daemon from the folder of this program, with its log in a pipe. The
// destructor kills it if it still runs.
class ChildProcess {
 public:
  ChildProcess(const std::string& program, std::vector<std::string> arguments) {
    int log[2];
    TANGRAM_CHECK(pipe(log) == 0);
    const std::string path =
        std::filesystem::read_symlink("/proc/self/exe").parent_path() / program;
    arguments.insert(arguments.begin(), path);
    std::vector<char*> argv;
    for (std::string& argument : arguments) argv.push_back(argument.data());
    argv.push_back(nullptr);
    pid_ = fork();
    TANGRAM_CHECK(pid_ >= 0);
    if (pid_ == 0) {
      dup2(log[1], STDERR_FILENO);
      close(log[0]);
      close(log[1]);
      execv(path.c_str(), argv.data());
      _exit(127);
    }
    close(log[1]);
    log_ = fdopen(log[0], "r");
  }

  ~ChildProcess() {
    if (pid_ > 0) {
      Signal(SIGKILL);
      Wait();
    }
    std::fclose(log_);
  }
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  // Returns the next line of its log; empty once it has ended.
  std::string NextLine() {
    std::string line;
    for (int c = std::fgetc(log_); c != EOF && c != '\n';
         c = std::fgetc(log_)) {
      line.push_back(static_cast<char>(c));
    }
    return line;
  }

  // Returns the next line that contains `text`; empty if there is none.
  std::string AwaitLine(const std::string& text) {
    std::string line = NextLine();
    while (!line.empty() && line.find(text) == std::string::npos) {
      line = NextLine();
    }
    return line;
  }

  // Returns the value after `key` and an equals sign on a line of the log.
  static std::string ValueIn(const std::string& line, const std::string& key) {
    const size_t at = line.find(" " + key + "=");
    if (at == std::string::npos) return "";
    const std::string rest = line.substr(at + key.size() + 2);
    return rest.substr(0, rest.find(' '));
  }

  void Signal(int signal) { kill(pid_, signal); }

  // Returns its exit code; −1 if a signal ended it.
  int Wait() {
    int status = 0;
    waitpid(std::exchange(pid_, 0), &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

 private:
  pid_t pid_ = 0;
  std::FILE* log_ = nullptr;
};

}  // namespace tangram::testing

#endif  // TANGRAM_TESTS_INTEGRATION_CHILD_PROCESS_H_
