#!/usr/bin/env python3
"""Hotrow and its peers side by side, from one run.

A cloud machine's speed changes from minute to minute, so the two are measured in turn, A B A B …, and what is reported of
them is the ratio of neighbours: its median over the rounds, and its range. Needs nothing but Python itself; the peers run
in the interpreters that run.sh prepares.
"""

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.normpath(os.path.join(HERE, "..", ".."))

# What is compared: part, the peer's name, its kind and optimizer in worker.py, Hotrow's optimizer. Of recat: bytes of an id,
# and Hotrow's engine.
RANKS = 8  # that sent ids to the one whose recat is timed
CASES = [
    ("embedding", "FBGEMM exact_adagrad", "fbgemm", "exact_adagrad", "adagrad"),
    ("embedding", "FBGEMM exact_row_wise_adagrad", "fbgemm", "exact_rowwise_adagrad", "rowwise_adagrad"),
    ("ipex", "IPEX MergedEmbeddingBagWithAdaGrad", "ipex", "adagrad", "adagrad"),
    ("recat", "FBGEMM permute_2D_sparse_data, 8-byte ids", "permute", "8", "tc"),
    ("recat", "FBGEMM permute_2D_sparse_data, 4-byte ids", "permute", "4", "tc"),
    ("step", "TorchRec, dense gradients", "torchrec", "dense", "adagrad"),
    ("step", "TorchRec, sparse gradients", "torchrec", "sparse", "adagrad"),
    ("step", "TorchRec, FBGEMM fused", "torchrec", "fused", "adagrad"),
]
DEFAULT_MAX_ROWS = {"embedding": 500_000, "ipex": 500_000, "recat": 100_000, "step": 100_000}


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", nargs="+", choices=["embedding", "step", "recat", "ipex"], default=["embedding", "step"],
                        help="what to compare (embedding step)")
    parser.add_argument("--peer", default="", help="only peers whose name contains this text")
    parser.add_argument("--ids", nargs="+", default=["uniform", "zipf:1.05"],
                        help="distributions of ids for the embedding parts; the step uses the first (uniform zipf:1.05)")
    parser.add_argument("--rounds", type=int, default=5, help="times that each is measured, in turn (5)")
    parser.add_argument("--steps", type=int, default=10, help="timed steps a round (10)")
    parser.add_argument("--warmup", type=int, default=3, help="steps before the timed ones (3)")
    parser.add_argument("--batch", type=int, default=4096, help="samples a step (4096)")
    parser.add_argument("--max-rows", type=int, help="cap of every table (embedding 500000, step 100000)")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)), help="threads of each (the cores)")
    parser.add_argument("--batches", type=int, default=8, help="different batches of ids a peer cycles through (8)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--hotrow", default=os.path.join(ROOT, "build", "release", "hotrow"))
    parser.add_argument("--peers-python", default=os.path.join(ROOT, "build", "peers-venv", "bin", "python"))
    parser.add_argument("--ipex-python", default=os.path.join(ROOT, "build", "ipex-venv", "bin", "python"))
    parser.add_argument("--json", help="also write every measurement to this file")
    return parser.parse_args()


class Peer:
    """A worker.py process: starts, then steps when it is told to, and sleeps in between."""

    def __init__(self, python, config):
        self.log = tempfile.TemporaryFile("w+")  # a pipe that nobody reads would fill and stop the peer
        self.process = subprocess.Popen([python, os.path.join(HERE, "worker.py"), json.dumps(config)],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.log, text=True)
        self.versions = self.read()

    def read(self):
        line = self.process.stdout.readline()
        if not line:
            self.log.seek(0)
            raise SystemExit(f"error: the peer stopped:\n{self.log.read()[-2000:]}")
        return json.loads(line)

    def run(self, steps):
        """{"step_ms": [a time for every step], …}"""
        print(steps, file=self.process.stdin, flush=True)
        return self.read()

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def hotrow_flags(arguments, part, ids, peer_optimizer, optimizer):
    if part == "recat":
        return ["--part", "recat", "--ranks", str(RANKS), "--recat-mode", optimizer, "--id-bytes", peer_optimizer]
    return ["--part", "step" if part == "step" else "sparse", "--ids", ids, "--optimizer", optimizer,
            "--learning-rate", "0.01"]


def run_hotrow(arguments, part, max_rows, flags):
    """One run of `hotrow bench`, as {"forward_ms", "step_ms"}, of recat {"ms"}."""
    command = [arguments.hotrow, "bench", *flags, "--cardinality", "mlperf", "--max-rows", str(max_rows),
               "--per-chip-batch", str(arguments.batch), "--steps", str(arguments.steps),
               "--warmup", str(arguments.warmup), "--threads", str(arguments.threads), "--seed", str(arguments.seed),
               "--quiet", "--json", "-"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"error: {' '.join(command)}\n{done.stderr[-2000:]}")
    # The result is the one JSON object; a summary for people may stand before it.
    result = json.loads(done.stdout[done.stdout.index("{"):])
    if part == "step":
        return {"step_ms": result["ms_per_step"]["rank0_median"]}
    if part == "recat":
        return {"ms": result["ms"]}
    return {"forward_ms": result["forward_ms"], "step_ms": result["step_ms"]}


def compare(arguments, case, ids):
    """The rounds of one case: [{"hotrow": {what: ms}, "peer": {what: ms}}]."""
    part, name, kind, peer_optimizer, optimizer = case
    max_rows = arguments.max_rows or DEFAULT_MAX_ROWS[part]
    python = arguments.ipex_python if part == "ipex" else arguments.peers_python
    if not os.path.exists(python):
        raise SystemExit(f"error: {python} is not there; bench/peers/run.sh makes it")
    peer = Peer(python, {"kind": kind, "optimizer": peer_optimizer, "ids": ids, "max_rows": max_rows,
                         "batch": arguments.batch, "threads": arguments.threads, "batches": arguments.batches,
                         "seed": arguments.seed})
    rounds = []
    for number in range(arguments.rounds):
        print(f"{name}, {ids}: round {number + 1} of {arguments.rounds}", file=sys.stderr)
        hotrow = run_hotrow(arguments, part, max_rows,
                            hotrow_flags(arguments, part, ids, peer_optimizer, optimizer))
        peer.run(arguments.warmup)
        times = peer.run(arguments.steps)
        rounds.append({"hotrow": hotrow, "peer": {what: statistics.median(ms) for what, ms in times.items()}})
    peer.close()
    return rounds


def row(case, ids, max_rows, batch, what, rounds):
    ours = [r["hotrow"][what] for r in rounds]
    theirs = [r["peer"][what] for r in rounds]
    ratios = [b / a for a, b in zip(ours, theirs)]

    def spread(values, form):
        return f"{statistics.median(values):{form}} ({min(values):{form}} – {max(values):{form}})"

    if case[0] == "recat":
        batch = batch * RANKS
    label = {"ms": f"recat of what {RANKS} ranks sent, engine {case[4]}", "forward_ms": "forward", "step_ms": "whole step" if case[0] == "step" else "forward + backward + update"}
    return (f"| {case[1]} | {ids} | {max_rows:,} | {label[what]} | {spread(ours, '.1f')} | {spread(theirs, '.1f')} | "
            f"{1e3 * batch / statistics.median(ours):,.0f} | {1e3 * batch / statistics.median(theirs):,.0f} | "
            f"**{statistics.median(ratios):.2f}** ({min(ratios):.2f} – {max(ratios):.2f}) |")


def cpu_name():
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        for line in file:
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.machine()


def main():
    arguments = parse_arguments()
    if not os.path.exists(arguments.hotrow):
        raise SystemExit(f"error: {arguments.hotrow} is not there; build it with scripts/setup.sh")
    print(f"{cpu_name()}, {arguments.threads} threads, batch {arguments.batch}; {arguments.rounds} rounds of "
          f"{arguments.steps} steps in turn, {arguments.warmup} to warm up. Times in ms and ratios: median (lowest – highest) "
          "of the rounds' medians.\n")
    print("| peer | ids | rows at most | work | Hotrow ms | peer ms | Hotrow samples/s | peer samples/s | Hotrow is faster by |")
    print("|---|---|---|---|---|---|---|---|---|", flush=True)
    measured = []
    for case in CASES:
        if case[0] not in arguments.part or arguments.peer.lower() not in case[1].lower():
            continue
        for ids in arguments.ids[:1] if case[0] in ("step", "recat") else arguments.ids:
            rounds = compare(arguments, case, ids)
            max_rows = arguments.max_rows or DEFAULT_MAX_ROWS[case[0]]
            measured.append({"peer": case[1], "part": case[0], "ids": ids, "max_rows": max_rows, "rounds": rounds})
            for what in rounds[0]["hotrow"]:
                print(row(case, ids, max_rows, arguments.batch, what, rounds), flush=True)
    if arguments.json:
        with open(arguments.json, "w", encoding="utf-8") as file:
            json.dump({"arguments": vars(arguments), "cpu": cpu_name(), "measured": measured}, file, indent=1)


if __name__ == "__main__":
    main()
