#ifndef TANGRAM_TESTS_FUZZ_IMPORT_SEEDS_H_
#define TANGRAM_TESTS_FUZZ_IMPORT_SEEDS_H_

namespace tangram::fuzz {

// A short sample of each format that importers read.
struct Seed {
  const char* name;
  const char* text;
};

inline constexpr Seed kInventorySeeds[] = {
    {"scontrol_nodes",
     "NodeName=a1 Gres=gpu:h100:8(S:0-1) GresUsed=gpu:h100:3(IDX:0-2) "
     "State=MIXED Partitions=all,big\n"
     "NodeName=t2 Gres=gpu:t4:4 State=DOWN Reason=fan [a@b]\n"},
    {"scontrol_topology",
     "SwitchName=s1 Level=0 Nodes=a[1-2]\nSwitchName=s2 Level=1 "
     "Switches=s[0-1] LinkSpeed=1\n"},
    {"sinfo", "NODELIST|GRES|STATE|PARTITION\nt[1-2,04]|gpu:t4:4|idle|all*\n"},
    {"slurm_json",
     R"({"nodes": [{"name": "a1", "gres": "gpu:a100:8", "state": ["IDLE"],
         "partitions": ["all"]}]})"},
    {"kubernetes",
     R"({"kind": "List", "items": [{"kind": "Node", "metadata": {"name": "n1",
         "labels": {"nvidia.com/gpu.product": "Tesla-T4",
         "nvidia.com/gpu.memory": "15360", "nvidia.com/gpu.count": "4",
         "topology.kubernetes.io/zone": "eu-1a"}}, "spec": {}, "status": {
         "allocatable": {"nvidia.com/gpu": "4"}, "conditions": [
         {"type": "Ready", "status": "True"}]}}]})"},
    {"nvidia_smi_xml",
     "<?xml version=\"1.0\" ?>\n<nvidia_smi_log><attached_gpus>1"
     "</attached_gpus><gpu id=\"00000000:01:00.0\"><product_name>Tesla T4"
     "</product_name><mig_mode><current_mig>N/A</current_mig></mig_mode>"
     "<fb_memory_usage><total>15360 MiB</total></fb_memory_usage>"
     "</gpu></nvidia_smi_log>\n"},
    {"gpu_topology",
     "\tGPU0\tGPU1\tCPU Affinity\nGPU0\t X \tNV2\t0-15\nGPU1\tNV2\t X \t0-15\n"
     "\nLegend:\n\n  X    = Self\n"},
    {"nccl_tests",
     "# nThread 1 nGpus 2 minBytes 8 maxBytes 128\n"
     "#  Rank  0 Group  0 Pid 1 on t1 device  0 [0x01] Tesla T4\n"
     "#  Rank  1 Group  0 Pid 1 on t1 device  1 [0x02] Tesla T4\n"
     "     1048576  262144  float  sum  -1  200.0  5.24  5.24  0  201.0  5.2  "
     "5.2  0\n"
     "# Avg bus bandwidth    : 5.2\n"}};

// The first line is the name of the file.
inline constexpr Seed kProfileSeeds[] = {
    {"aceso",
     "gpt_1_mbs1_tp1_algo0.csv\nop_name,forward-compute,backward-compute,"
     "input_size,output_size,weights,activations,fwd_reserved,bwd_reserved\n"
     "enc-embedding,100,200,4,0,1,2,3,4\n"},
    {"galvatron",
     "computation_profiling_bf16_hidden1_head1.json\n"
     R"({"layertype_0_bsz2_seq512": 5.0})"},
    {"metis",
     "DeviceType.T4_tp1_bs1.json\n"
     R"({"execution_time": {"layer_compute_total_ms": [1, 30, 9]},
         "execution_memory": {"layer_memory_total_mb": [1, 2, 3]}})"},
    {"mist",
     "f.json\n"
     R"({"ops": [{"name": "linear", "inputs": [{"name": "x",
         "shape": [2, 8, 16], "dtype": "float16"}], "fwd": 1.0}]})"},
    {"nccl-tests",
     "all_reduce.txt\n1048576 262144 float sum -1 200.0 5.24 "
     "5.24 0 201.0 5.2 5.2 0\n"},
    {"sailor",
     "profile.json\n"
     R"({"1": {"1": {"0": [0.1, 0.2, 0.3]}}})"}};

}  // namespace tangram::fuzz

#endif  // TANGRAM_TESTS_FUZZ_IMPORT_SEEDS_H_
