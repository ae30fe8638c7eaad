"""Largest numbers of a plan file, as in common/domain/limits.h."""

MAX_LAYERS = 1 << 14
MAX_HIDDEN_SIZE = 1 << 20
MAX_HEADS = 1 << 12
MAX_HEAD_DIM = 1 << 14
MAX_EXPERTS = 1 << 11
MAX_VOCABULARY = 1 << 24
MAX_POSITIONS = 1 << 24
MAX_BATCH = 1 << 24
MAX_WARM_UP_PASSES = 1 << 14
MAX_NODES = 100_000
MAX_GPUS_PER_NODE = 1 << 10
MAX_GPUS = 1 << 20
MAX_REPLICA_GROUPS = 1 << 8
MAX_OPS_PER_LAYER = 32  # Bits of a mask.
