"""Trains a configuration of FlexPipe, Aceso's runtime, on CPU: one process a GPU.

Usage: flexpipe_ranks.py <runtime of a checkout> <output folder> <words>

The words are those that launch.sh gives to pretrain_gpt.py.

The runtime itself is used as it is. Replaced are: CUDA by the CPU, apex's
kernels by PyTorch's, NCCL by gloo; and what FlexPipe draws at random: tokens
(upstream has zeros alone), attention masks and first weights. Weights, tokens
and labels depend on names and numbers alone, so that any cut of the model
starts equal. Each rank writes ranks/<rank>.pt into the output folder:
{"loss": [of each step], "norm": [...], "gradients": [{name: [gradient,
dimension that tp splits or -1, tp rank, tp degree]}, ...]}. A parameter's name
is <index of the operator>.<name>.
"""

import json
import os
import signal
import sys
import types
import zlib

import torch

RUNTIME, OUT = (os.path.abspath(path) for path in sys.argv[1:3])
WORDS = sys.argv[3:]
VOCABULARY = 64  # Divided by every tp degree.


def module(name, **members):
    """Makes an importable module of these members."""
    made = types.ModuleType(name)
    made.__dict__.update(members)
    sys.modules[name] = made
    return made


def nothing(*_, **__):
    return None


# --- CUDA, apex and NCCL ------------------------------------------------------


def use_cpu():
    """CUDA's functions act on the CPU."""
    cuda = torch.cuda
    cuda.is_available = lambda: True
    cuda.device_count = lambda: 1
    cuda.current_device = lambda: "cpu"
    cuda.set_device = cuda.synchronize = cuda.empty_cache = nothing
    cuda.manual_seed = nothing  # Nothing here is drawn from a generator.
    cuda.get_rng_state = torch.get_rng_state
    for kind in "Float", "Double", "Int", "Long", "Half", "BFloat16":
        setattr(cuda, f"{kind}Tensor", getattr(torch, f"{kind}Tensor"))
    torch.nn.Module.cuda = lambda self, *_: self
    # PyTorch 1's on CPU multiplies memory that it never set by `beta`, 0.
    torch.baddbmm = lambda _, left, right, beta, alpha: (
        alpha * torch.bmm(left, right))
    kind_of = torch.Tensor.type
    torch.Tensor.type = lambda self, *to: (  # Clipping asserts CUDA's.
        kind_of(self, *to) if to
        else kind_of(self).replace("torch.", "torch.cuda."))


def use_pytorch_for_apex():
    """Kernels of apex, and those that the runtime would compile."""
    def norm(_, lists, *__):
        return torch.norm(torch.stack([t.norm() for t in lists[0]])), None

    def scale(_, lists, factor):
        for source, target in zip(*lists):
            target.copy_(source * factor)

    def layer_norm(tensor, shape, weight, bias, eps):
        return torch.native_layer_norm(tensor, shape, weight, bias, eps)

    def layer_norm_backward(gradient, mean, inverse, tensor, shape, weight,
                            bias, _):
        return torch.ops.aten.native_layer_norm_backward(
            gradient, tensor, shape, mean, inverse, weight, bias, [True] * 3)

    module("apex", __path__=[])
    module("apex.optimizers", FusedAdam=torch.optim.AdamW,
           FusedSGD=torch.optim.SGD)
    module("apex.multi_tensor_apply",
           multi_tensor_applier=lambda kernel, *args: kernel(*args))
    module("amp_C", multi_tensor_l2norm=norm, multi_tensor_scale=scale)
    module("fused_mix_prec_layer_norm_cuda", forward_affine=layer_norm,
           backward_affine=layer_norm_backward)


def use_gloo():
    """Ranks meet at a file, so that no port must be free."""
    start = torch.distributed.init_process_group

    def init_process_group(backend, world_size, rank, init_method):
        del backend, init_method
        start("gloo", world_size=world_size, rank=rank,
              init_method=f"file://{OUT}/ranks/meeting")

    torch.distributed.init_process_group = init_process_group


def leave_out_what_needs_packages():
    """Data sets, compilers and the tokenizer, whose vocabulary is tiny here."""
    def build_tokenizer(args):
        args.padded_vocab_size = VOCABULARY

    module("megatron.tokenizer", build_tokenizer=build_tokenizer)
    module("megatron.fused_kernels", load=nothing)
    module("megatron.data", __path__=[])
    module("megatron.data.gpt_dataset", build_train_valid_test_datasets=None)
    module("megatron.data.dataset_utils", compile_helper=nothing)
    module("megatron.data.data_samplers",
           build_pretraining_data_loader=nothing)


# --- Tokens and weights -------------------------------------------------------


class Tokens:
    """What a rank reads: its samples of each microbatch, in turn."""

    def __init__(self, get_args, mpu):
        self.get_args, self.mpu = get_args, mpu
        self.microbatch = -1

    def samples(self, op):
        """Returns this rank's samples at the stage of operator `op`, the first
        or the last, each with one token more, the last label."""
        args = self.get_args()
        size = args.micro_batch_size // self.mpu.get_op_dp_size(op)
        first = (self.microbatch * args.micro_batch_size +
                 self.mpu.get_data_parallel_rank() * size)
        return torch.stack([
            torch.randint(VOCABULARY, (args.seq_length + 1,),
                          generator=torch.Generator().manual_seed(sample))
            for sample in range(first, first + size)])

    def get_batch(self, _):
        """Takes the place of pretrain_gpt.get_batch."""
        self.microbatch += 1
        args = self.get_args()
        tokens, length = self.samples(0)[:, :-1], args.seq_length
        ahead = torch.ones(length, length).triu(1).bool()
        return (tokens.contiguous(), torch.ones(self.labels().shape),
                torch.arange(length).expand_as(tokens),
                ahead.expand(args.micro_batch_size, 1, length, length))

    def labels(self):
        return self.samples(-1)[:, 1:].contiguous()


def use_real_labels(mpu, tokens):
    """The runtime computes the loss of labels that are zero by construction."""
    for name in "vocab_parallel_cross_entropy", "new_vocab_parallel_cross_entropy":
        loss = getattr(mpu, name)
        setattr(mpu, name,
                lambda logits, _, loss=loss: loss(logits, tokens.labels()))


def parameters(model):
    """Yields (name, parameter, tp degree) of all operators of a rank."""
    for op in model.language_model.ops:
        for name, parameter in op.named_parameters():
            yield f"{op.op_index}.{name}", parameter, op.tp_size


def split_dimension(parameter):
    split = getattr(parameter, "tensor_model_parallel", False)
    return parameter.partition_dim if split else -1


def draw_weights(model, tp_rank):
    """Gives every parameter the values that belong to its name. The head gets
    those of the embedding from the runtime itself."""
    for name, parameter, tp in parameters(model):
        if getattr(parameter, "shared", False):
            continue
        shape, dimension = list(parameter.shape), split_dimension(parameter)
        if dimension >= 0:
            shape[dimension] *= tp
        draw = torch.Generator().manual_seed(zlib.crc32(name.encode()))
        value = torch.randn(shape, generator=draw) * 0.1
        if "layernorm.weight" in name:
            value += 1
        if dimension >= 0:
            value = value.chunk(tp, dimension)[tp_rank]
        parameter.data.copy_(value)


# --- One rank -----------------------------------------------------------------


def train(rank):
    sys.path.insert(0, RUNTIME)
    sys.argv = ["pretrain_gpt.py", *WORDS]
    os.environ["RANK"] = str(rank)
    use_cpu()
    use_pytorch_for_apex()
    use_gloo()
    leave_out_what_needs_packages()
    import megatron.mpu.random
    megatron.mpu.random._set_cuda_rng_state = nothing
    import pretrain_gpt
    from megatron import get_args, mpu, training
    record = {"loss": [], "norm": [], "gradients": []}
    models = []

    def model_provider(**ends):
        model = make_model(**ends)
        draw_weights(model, mpu.get_tensor_model_parallel_rank())
        models.append(model)
        pretrain_gpt.get_batch = tokens.get_batch
        return model

    def synchronize(chunks):
        share(chunks)
        record["gradients"].append({
            name: [None if gradient is None else gradient.clone(),
                   split_dimension(parameter),
                   mpu.get_tensor_model_parallel_rank(), tp]
            for name, parameter, tp in parameters(models[0])
            for gradient in [getattr(parameter, "main_grad", None)]})

    def step(*args):
        losses, skipped, norm, zeros = one_step(*args)
        record["loss"] += [float(loss) for loss in losses.values()]
        record["norm"].append(norm)
        return losses, skipped, norm, zeros

    make_model, share, one_step = (
        pretrain_gpt.model_provider, training.synchronize_shared_weights_grads,
        training.train_step)
    training.synchronize_shared_weights_grads = synchronize
    training.train_step = step
    tokens = Tokens(get_args, mpu)
    use_real_labels(mpu, tokens)
    training.pretrain(pretrain_gpt.train_valid_test_datasets_provider,
                      model_provider, pretrain_gpt.forward_step,
                      args_defaults={"tokenizer_type": "GPT2BPETokenizer"})
    torch.save(record, f"{OUT}/ranks/{rank}.pt")


def main():
    last = len(WORDS) - 1 - WORDS[::-1].index("--flexpipe-config")
    with open(WORDS[last + 1], encoding="utf-8") as f:
        world = sum(json.load(f)["num_gpus"])
    os.environ["WORLD_SIZE"] = str(world)
    os.makedirs(f"{OUT}/ranks")
    ranks = set()
    for rank in range(world):
        child = os.fork()
        if child == 0:
            torch.set_num_threads(1)
            train(rank)
            os._exit(0)
        ranks.add(child)
    while ranks:
        rank, status = os.wait()
        ranks.remove(rank)
        if status:  # The others would wait for it.
            for other in ranks:
                os.kill(other, signal.SIGKILL)
            sys.exit(1)


if __name__ == "__main__":
    main()
