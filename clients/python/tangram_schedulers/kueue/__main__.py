"""Runs the controller."""

import argparse
import functools
import logging
import sys

from tangram_schedulers import frontier
from tangram_schedulers.kueue.answers import Settings
from tangram_schedulers.kueue.api import Api
from tangram_schedulers.kueue.controller import Controller


def main():
    options = _parser().parse_args()
    logging.basicConfig(level=logging.INFO, stream=sys.stderr,
                        format="%(asctime)s %(levelname)s %(message)s")
    try:
        api = (Api(options.server, token_file=options.token_file,
                   ca_file=options.ca_file)
               if options.server else Api.in_cluster())
    except (ValueError, OSError) as error:
        print(f"tangram_schedulers.kueue: {error}", file=sys.stderr)
        return 2
    question = ["--cluster", options.cluster]
    if options.coordinator:
        question += ["--coordinator", options.coordinator]
    Controller(api, Settings(
        flavors=dict(options.flavor), options=question,
        ask=functools.partial(frontier.ask, program=options.program),
        retry_after_s=options.retry_after), options.seconds).run()
    return 0


def _parser():
    parser = argparse.ArgumentParser(prog="python3 -m tangram_schedulers.kueue",
                                     description=__doc__)
    parser.add_argument("--cluster", required=True, metavar="FILE")
    parser.add_argument("--flavor", action="append", required=True, type=_flavor,
                        metavar="FLAVOR=GROUP:GPUS", help="group of the cluster "
                        "file of a ResourceFlavor, and the GPUs of its nodes; "
                        "every group must be named")
    parser.add_argument("--coordinator", metavar="HOST:PORT")
    parser.add_argument("--program", help="the command `tangram`")
    parser.add_argument("--seconds", type=_seconds, default=1.8, metavar="S",
                        help="longest wait for an answer [%(default)s]")
    parser.add_argument("--retry-after", type=int, default=600, metavar="S")
    parser.add_argument("--server", metavar="URL",
                        help="API server [that of this pod]")
    parser.add_argument("--token-file", metavar="FILE")
    parser.add_argument("--ca-file", metavar="FILE")
    return parser


def _flavor(text):
    flavor, equals, rest = text.partition("=")
    group, colon, gpus = rest.rpartition(":")
    if not (flavor and equals and group and colon and gpus.isascii()
            and gpus.isdigit() and int(gpus) > 0):
        raise argparse.ArgumentTypeError(f"{text}; expected FLAVOR=GROUP:GPUS")
    return flavor, (group, int(gpus))


def _seconds(text):
    value = float(text)
    if not 0 < value <= 60:
        raise argparse.ArgumentTypeError(f"{text}; expected up to 60")
    return value


if __name__ == "__main__":
    sys.exit(main())
