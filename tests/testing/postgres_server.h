#ifndef TANGRAM_TESTS_TESTING_POSTGRES_SERVER_H_
#define TANGRAM_TESTS_TESTING_POSTGRES_SERVER_H_

#include <libpq-fe.h>
#include <pwd.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace tangram::testing {

// A PostgreSQL server for one test, on a Unix socket in a temporary folder that
// is deleted with it.
class PostgresServer {
 public:
  // Returns the folder of Debian's package; empty: not installed.
  static std::string BinFolder() {
    namespace fs = std::filesystem;
    std::error_code none;
    for (const auto& version :
         fs::directory_iterator("/usr/lib/postgresql", none)) {
      const std::string bin = version.path().string() + "/bin";
      if (fs::exists(bin + "/initdb")) return bin;
    }
    return "";
  }

  PostgresServer() : bin_(BinFolder()) {
    char folder[] = "/tmp/tangram_postgres_XXXXXX";
    folder_ = mkdtemp(folder);
    // The server refuses to run as root.
    if (geteuid() == 0) {
      const passwd* user = getpwnam("postgres");
      if (chown(folder_.c_str(), user->pw_uid, user->pw_gid) == 0) {
        user_ = user->pw_uid;
        group_ = user->pw_gid;
      }
    }
    Wait(Spawn({bin_ + "/initdb", "--pgdata=" + data(), "--auth=trust",
                "--username=tangram", "--encoding=UTF8", "--no-locale",
                "--no-sync"}));
    Start();
  }
  ~PostgresServer() {
    Stop(SIGQUIT);
    std::filesystem::remove_all(folder_);
  }

  std::string connection() const {
    return "host=" + folder_ + " user=tangram dbname=postgres";
  }
  void Start() {
    server_ = Spawn({bin_ + "/postgres", "-D", data(), "-k", folder_, "-c",
                     "listen_addresses=", "-c", "fsync=off"});
    while (PQping(connection().c_str()) != PQPING_OK) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
  }
  // SIGQUIT stops it at once.
  void Stop(int signal) {
    kill(server_, signal);
    Wait(server_);
  }

 private:
  std::string data() const { return folder_ + "/data"; }

  pid_t Spawn(const std::vector<std::string>& command) const {
    const std::string log = folder_ + "/log";
    std::vector<char*> arguments;
    for (const std::string& word : command) {
      arguments.push_back(const_cast<char*>(word.c_str()));
    }
    arguments.push_back(nullptr);
    const pid_t pid = fork();
    if (pid != 0) return pid;
    if (user_ != 0 && (setgid(group_) != 0 || setuid(user_) != 0)) _exit(1);
    prctl(PR_SET_PDEATHSIG, SIGQUIT);
    if (chdir(folder_.c_str()) != 0) _exit(1);
    if (freopen(log.c_str(), "a", stdout) == nullptr ||
        dup2(STDOUT_FILENO, STDERR_FILENO) < 0) {
      _exit(1);
    }
    execv(arguments[0], arguments.data());
    _exit(1);
  }
  static void Wait(pid_t pid) { waitpid(pid, nullptr, 0); }

  const std::string bin_;
  std::string folder_;
  uid_t user_ = 0;
  gid_t group_ = 0;
  pid_t server_ = 0;
};

}  // namespace tangram::testing

#endif  // TANGRAM_TESTS_TESTING_POSTGRES_SERVER_H_
