#include "cli/args/coordinator_options.h"

#include "CLI/CLI.hpp"
#include "cli/args/option_checks.h"

namespace tangram {

void AddCoordinator(CLI::App& app, CoordinatorAccess& coordinator,
                    bool required, const std::string& help) {
  app.add_option("--coordinator", coordinator.address, help)
      ->required(required)
      ->check(HostAndPort())
      ->type_name("HOST:PORT");
  const auto add_file = [&app](const char* name, std::string& file,
                               const char* variable, const char* what) {
    app.add_option(name, file, what)
        ->envname(variable)
        ->type_name("FILE")
        ->group("Access to the coordinator");
  };
  add_file("--tls-ca", coordinator.tls.ca_file, "TANGRAM_TLS_CA",
           "Encrypt, and trust a coordinator certified by these authorities");
  add_file("--tls-cert", coordinator.tls.cert_file, "TANGRAM_TLS_CERT",
           "Present this certificate to the coordinator");
  add_file("--tls-key", coordinator.tls.key_file, "TANGRAM_TLS_KEY",
           "Use this private key of the certificate");
  add_file("--token-file", coordinator.token_file, "TANGRAM_TOKEN_FILE",
           "Present the token in this file to the coordinator");
  app.add_flag("--allow-plaintext-token", coordinator.allow_plaintext_token,
               "Send the token to other machines without --tls-ca")
      ->group("Access to the coordinator");
}

void AddJob(CLI::App& app, CoordinatorAccess& coordinator,
            std::string& job_id) {
  AddCoordinator(app, coordinator);
  app.add_option("job", job_id, "Name of the job")->required()->type_name("ID");
}

void AddWorker(CLI::App& app, CoordinatorAccess& coordinator,
               std::string& name) {
  AddCoordinator(app, coordinator);
  app.add_option("name", name, "Name of the worker")
      ->required()
      ->type_name("NAME");
}

}  // namespace tangram
