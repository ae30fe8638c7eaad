#include "cli/args/import_command_line.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "formats/import_profile/import_profile.h"

namespace tangram {
namespace {

std::string FormatNames() {
  return absl::StrJoin(ProfileFormats(), ", ",
                       [](std::string* out, const ProfileFormat& format) {
                         absl::StrAppend(out, format.name);
                       });
}

// Adds an option that appends its files to `inputs`. An empty `flag` adds a
// positional argument instead.
void AddInputs(CLI::App& app, const std::string& flag, const std::string& help,
               const std::string& type_name,
               std::vector<ClusterInput>& inputs) {
  const std::string name = flag.empty() ? "files" : flag;
  app.add_option_function<std::vector<std::string>>(
         name,
         [flag, &inputs](const std::vector<std::string>& arguments) {
           for (const std::string& argument : arguments) {
             inputs.push_back({argument, flag});
           }
         },
         help)
      ->type_name(type_name);
}

void AddClusterInputs(CLI::App& app, std::vector<ClusterInput>& inputs) {
  AddInputs(app, "", "Files of any of these kinds, recognised by content",
            "[SCOPE=]FILE", inputs);
  AddInputs(app, "--slurm",
            "Read scontrol show node, scontrol show topology or sinfo [--json]",
            "FILE", inputs);
  AddInputs(app, "--kubernetes", "Read kubectl get nodes -o json", "FILE",
            inputs);
  AddInputs(app, "--nvidia-smi-xml", "Read nvidia-smi -q -x of these nodes",
            "NODES=FILE", inputs);
  AddInputs(app, "--topology",
            "Read nvidia-smi topo -m of these nodes or a group of them",
            "NODES=FILE", inputs);
  AddInputs(app, "--nccl-tests",
            "Read nccl-tests of a group, or between two, A:B [by its hosts]",
            "GROUP=FILE", inputs);
}

}  // namespace

void AddImportCluster(CLI::App& app, ImportClusterOptions& options) {
  AddClusterInputs(app, options.inputs);
  app.add_option("--cluster", options.own_cluster_file,
                 "Prefer the values of this cluster file, which may be partial")
      ->type_name("FILE");
  app.add_option("--gpu", options.gpu_types,
                 "Set the type of GPUs that the inventory calls NAME, or of "
                 "nodes NAME")
      ->allow_extra_args(false)
      ->type_name("NAME=TYPE");
  app.add_option("--nodes", options.nodes,
                 "Import only these nodes, written as in $SLURM_JOB_NODELIST")
      ->type_name("HOSTLIST");
  app.add_option("--partition", options.partitions,
                 "Import only nodes of these Slurm partitions")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("NAME,...");
  app.add_flag("--free", options.free_gpus_only,
               "Import only GPUs that no Slurm job uses now");
  app.add_flag("--flat", options.flat,
               "Put nodes of different switches or zones into one group");
  app.add_option("--name", options.name,
                 "Name the cluster [after the output file]");
  app.add_option("-o,--output", options.output_file,
                 "Write the cluster file; -: to standard output [-]")
      ->type_name("FILE");
}

void AddImportModel(CLI::App& app, ImportModelOptions& options) {
  app.add_option("config", options.config_file,
                 "Hugging Face config.json; -: standard input")
      ->required()
      ->type_name("FILE");
  app.add_option("-o,--output", options.output_file,
                 "Write the model file; -: to standard output [-]")
      ->type_name("FILE");
}

void AddImportProfile(CLI::App& app, ImportProfileOptions& options) {
  app.add_option("--from", options.format,
                 absl::StrCat("Read files of this format: ", FormatNames()))
      ->required()
      ->type_name("FORMAT");
  app.add_option("files", options.files, "Files of one GPU type")
      ->required()
      ->type_name("FILE");
  app.add_option("-o,--output", options.output_file,
                 "Write the profile as JSON; -: to standard output [-]")
      ->type_name("FILE");
  app.add_option("--device", options.device,
                 "Name the GPU type that was measured [as in the files]")
      ->type_name("GPU");
  app.add_option("--model", options.model.name_or_file,
                 "Name the model that was measured [as in the files]")
      ->type_name("NAME|FILE");
  app.add_option("--precision", options.precision,
                 "Set the precision: fp32, fp16, bf16, fp8 [as in the files]");
  app.add_option_function<int>(
         "--seq", [&options](int length) { options.sequence_length = length; },
         "Set the tokens per sequence [as in the files]")
      ->check(CLI::PositiveNumber);
}

}  // namespace tangram
