#include "formats/import_cluster/format_hints.h"

#include "formats/import_cluster/inventory_format.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tangram {
namespace {

using ::testing::HasSubstr;

void Hints(const char* text, const char* hint) {
  EXPECT_EQ(DetectFormat(text), std::nullopt) << text;
  EXPECT_THAT(HintFor(text), HasSubstr(hint)) << text;
}

TEST(HintForTest, SaysWhatToPrintInstead) {
  Hints("Name: a\nLabels:  kubernetes.io/arch=amd64\n",
        "kubectl describe; expected kubectl get nodes -o json");
  Hints("Name: a\nLabels:  amd.com/gpu.cu-count=40\n", "kubectl describe");
  Hints("NAME   STATUS   ROLES    AGE\na  Ready  <none>  12d\n",
        "table of kubectl; expected kubectl get nodes");
  Hints("NAME  NODE  DRIVER  POOL  AGE\n",
        "expected kubectl get resourceslices");
  Hints(R"({"nvidia.com/gpu.product": "NVIDIA-L4"})", "labels of a node alone");
  Hints("    nvidia.com/gpu.product=NVIDIA-L4\n", "labels of a node alone");
  Hints("    amd.com/gpu.cu-count=304\n", "labels of a node alone");
  Hints("  habana.ai/gaudi:  8\n", "a part of a node alone");
  Hints("JOBID  PARTITION  NODES  NODELIST(REASON)\n", "squeue");
  Hints("JOBID  USER  NODES  NODELIST (REASON)\n", "squeue");
  Hints("#SBATCH --gres=gpu:4\necho \"$SLURM_JOB_NODELIST\"\n",
        "a script of a job");
  Hints("n1: GPU 0: NVIDIA L40S (UUID: GPU-0)\n",
        "several nodes; expected the output of each node in a file");
  Hints("# gpu    pwr  gtemp\n", "dmon, which names no product");
  Hints("    FB Memory Usage\n", "a part of nvidia-smi -q");
  Hints("GPU3  NV12  X  NV12\n\nLegend:\n", "a part of nvidia-smi topo");
  Hints("Unable to determine the device handle for GPU 1: Unknown Error\n",
        "cannot reach a GPU");
  Hints("allocatable:\n  nvidia.com/gpu: \"1\"\n", "a part of a node alone");
  Hints("Name=gpu Type=h100 File=/dev/nvidia0\n",
        "gres.conf; expected scontrol show node");
  Hints("   Gres=gpu:a100:4\n   Gres=gpu:a100:4\n",
        "without their nodes; expected the whole output of scontrol");
  Hints(R"({"model_type": "llama"})", "a model; expected by --model");
  Hints("tangram_cluster: 1\nname: c\n",
        "a cluster file; expected after --cluster");
  Hints("NVIDIA-SMI has failed because it couldn't communicate\n",
        "cannot reach the driver");
  Hints("GPU: 0\n    KFD_ID: 63484\n", "expected amd-smi static");
  Hints("GPU  XCP  POWER  VRAM_USED  VRAM_TOTAL\n",
        "amd-smi monitor, which names no product");
  Hints("PARTITION   NODES   GRES\ngpu  4  a100:4\n",
        "sinfo without nodes; expected sinfo -N");
  Hints("gpu01 gpu:2\ngpu02 gpu:2\n", "without titles; expected sinfo -N");
  Hints("GPU (null) g-0-[1-12]\n", "without titles; expected sinfo -N");
  Hints("[gpu_nodes]\ngpu01 ansible_host=10.0.0.1\n",
        "Ansible without GPUs; expected a line such as gpu01 slots=8");
  Hints("node01\nnode02.example.org\n", "names of nodes without GPUs");
  Hints("me@alpha.example.org\nme@beta.example.org\n",
        "names of nodes without GPUs");
  Hints("NodeName=n1 Name=gpu File=/dev/nvidia0\n",
        "gres.conf; expected scontrol show node");
  Hints("| npu-smi 24.1      Version: 24.1 |\n",
        "npu-smi, whose devices the catalogue lacks; expected a group");
  Hints("|  Intel XPU-SMI v2.0  |\n", "xpu-smi, whose devices the catalogue");
}

TEST(HintForTest, IsSilentOnOtherTexts) {
  EXPECT_EQ(HintFor(""), "");
  EXPECT_EQ(HintFor("name: c1\ngroups: []\n"), "");
  EXPECT_EQ(HintFor("152 NONAME_GPU gpus\n"), "");
}

}  // namespace
}  // namespace tangram
