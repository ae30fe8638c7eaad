#include "frameworks/hetu_program.h"

namespace tangram {

const char kHetuProgram[] =
    R"py("""Trains with Hetu's trainer on the ranks of a plan.

Takes the place of examples/pretrain/train_hetu.py in a checkout of Hetu and
takes its options. Besides, it
* makes sure that devices are numbered host by host as in hosts.yaml. Hetu
  numbers hosts in the order in which they connect.
* tells the model the length of sequences, which its rotary positions ask for in
  padded batches too.
"""

import os
import sys

import hetu
import hydra
import yaml
from hetu.engine.trainer import Trainer
from hetu.engine.trainer_config import TrainingConfig
from hetu.engine.wrapper import ModelWrapperFromConfig
from hetu.utils.parallel.distributed import distributed_init
from omegaconf import OmegaConf


class PaddedTrainer(Trainer):

    def _init_config_symbol(self):
        super()._init_config_symbol()
        length = hetu.IntSymbol(1)
        length.set_data(self.pretrain_config.max_seq_length)
        self.model.config.max_seqlen_symbol = length


def check_hosts(file):
    """Ends the program if devices are not in the order of the hosts."""
    with open(file, encoding="utf-8") as f:
        hosts = yaml.safe_load(f)["hosts"]
    wanted = [host["addr"] for host in hosts
              for _ in range(host["initial_workers"])]
    devices = hetu.global_device_group()
    here = os.environ["HETU_LOCAL_HOSTNAME"]  # Local devices have no name.
    found = [devices.get(i).hostname or here
             for i in range(devices.num_devices)]
    if found != wanted:
        sys.exit(f"devices are on {found}; expected {wanted}, as in {file}: "
                 "raise HOST_DELAY, the seconds between the starts of hosts")


@hydra.main(config_path=None, config_name="hetu", version_base=None)
def main(config):
    OmegaConf.resolve(config)
    distributed_init(config.rpc.num_gpus, config.rpc.server_addr,
                     str(config.rpc.server_port))
    check_hosts(config.rpc.hosts)
    settings = OmegaConf.to_object(
        OmegaConf.merge(OmegaConf.structured(TrainingConfig), config.trainer))
    trainer = PaddedTrainer(settings, ModelWrapperFromConfig(config.model),
                            config.model.tokenizer, config.model.optimizer)
    trainer.build()
    trainer.train()


if __name__ == "__main__":
    main()
)py";

}  // namespace tangram
