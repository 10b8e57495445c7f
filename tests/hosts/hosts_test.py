#!/usr/bin/env python3
"""32 ranks on 4 hosts (scripts/hosts.sh) train to the bits of one process, and end together when one cannot go on.

  hosts_test.py HOSTS_SH HOTROW          exit code 77: skipped, and a line says why
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

HOSTS, RANKS_PER_HOST, BATCH = 4, 8, 16  # samples a rank
WORLD = HOSTS * RANKS_PER_HOST
BENCH = ("bench --part step --embedding-dim 128 --sharding column_wise --reduction-units 32 --max-rows 1000 "
         "--multi-hot one --dense-arch 32,128 --over-arch 32,1 --dcn-num-layers 1 --dcn-low-rank 16 --threads 1 "
         "--warmup 1 --limits off --quiet").split()


def run(command):
    begin = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        out, err = process.communicate(timeout=100)
    except subprocess.TimeoutExpired:
        process.terminate()
        out, err = process.communicate()
    done = subprocess.CompletedProcess(command, process.returncode, out, err)
    if command[0].endswith("hosts.sh"):
        expect(f"hotrow-{process.pid}-" not in subprocess.getoutput("ip netns list"), "nothing is left behind", done)
    return done, time.monotonic() - begin


def expect(condition, what, done):
    if not condition:
        sys.exit(f"FAILED: {what}\nexit code {done.returncode}\n{done.stdout[-4000:]}\n{done.stderr[-4000:]}")


def namespaces(process):
    return sum(line.startswith(f"hotrow-{process.pid}-") for line in subprocess.getoutput("ip netns list").splitlines())


def check_leftovers(script, directory):
    """Another run leaves a live one alone, whatever its script is called, and removes what a killed one has left."""
    other_name = os.path.join(directory, "cluster")
    shutil.copy(script, other_name)
    one_host = ["--hosts", "1", "--ranks", "1", "--"]
    live = subprocess.Popen([other_name] + one_host + ["sleep", "60"], stderr=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + 20
        while namespaces(live) < 2 and time.monotonic() < deadline:
            time.sleep(0.1)
        done, _ = run([script] + one_host + ["true"])
        expect(done.returncode == 0 and namespaces(live) == 2, "a run leaves another one alone", done)
    finally:
        live.kill()
        live.wait()
    expect(namespaces(live) == 2, "a killed run leaves its hosts", done)
    done, _ = run([script] + one_host + ["true"])
    expect(done.returncode == 0 and namespaces(live) == 0, "what a killed run has left is removed", done)


def main():
    script, hotrow = sys.argv[1:3]
    on_hosts = [script, "--hosts", str(HOSTS), "--ranks", str(RANKS_PER_HOST), "--"]
    with tempfile.TemporaryDirectory() as directory:
        many, one = os.path.join(directory, "many.json"), os.path.join(directory, "one.json")
        done, _ = run(on_hosts + [hotrow] + BENCH + ["--steps", "5", "--per-chip-batch", str(BATCH), "--json", many])
        if done.returncode == 77:
            print(done.stderr)
            return 77
        check_leftovers(script, directory)
        expect(done.returncode == 0, "32 ranks on 4 hosts train", done)
        done, _ = run([hotrow] + BENCH + ["--steps", "5", "--per-chip-batch", str(BATCH * WORLD), "--json", one])
        expect(done.returncode == 0, "one process trains", done)
        with open(many) as file:
            many = json.load(file)
        with open(one) as file:
            one = json.load(file)
        expect(many["world"] == WORLD and many["transport"] == "mpi", f"{WORLD} MPI ranks", done)
        expect(len(one["losses"]) == 6 and one["weights_hash"], "losses and a hash to compare", done)
        for key in ("losses", "weights_hash", "state_hash", "global_batch", "reduction_units"):
            expect(many[key] == one[key], f"{key}: {many[key]} on {WORLD} ranks, {one[key]} on one", done)

        done, seconds = run(on_hosts + [hotrow] + BENCH + ["--recat-mode", "nope"])
        expect(done.returncode == 2, "a mistake's exit code is 2", done)
        expect(done.stderr.count("error: ") == 1, "a mistake of all ranks is said once", done)
        expect(seconds < 15, f"a mistake ends all ranks soon, not after {seconds:.0f} s", done)

        # Only the last host's ranks find a mistake: none of the hosts it leaves the word to will speak.
        wrapper = os.path.join(directory, "last_host.sh")
        with open(wrapper, "w") as file:
            file.write(f'#!/bin/sh\n[ "$OMPI_COMM_WORLD_RANK" -lt {WORLD - RANKS_PER_HOST} ] || set -- "$@" --nope\n'
                       'exec "$@"\n')
        os.chmod(wrapper, 0o755)
        done, seconds = run(on_hosts + [wrapper, hotrow] + BENCH + ["--steps", "1000000"])
        expect(done.returncode == 2, "a mistake on the last host has a mistake's exit code", done)
        expect(done.stderr.count("error: ") == 1, "a mistake on the last host is said, once", done)
        expect(seconds < 25, f"a mistake on the last host ends all soon, not after {seconds:.0f} s", done)

        # One rank's process is killed while all train; the steps alone would take minutes.
        rank = os.path.join(directory, "rank.sh")
        with open(rank, "w") as file:
            file.write('#!/bin/sh\n[ "$OMPI_COMM_WORLD_RANK" != 19 ] || exec timeout -s KILL 2 "$@"\nexec "$@"\n')
        os.chmod(rank, 0o755)
        done, seconds = run(on_hosts + [rank, hotrow] + BENCH + ["--steps", "1000000"])
        expect(done.returncode not in (0, 2), "a killed rank ends all", done)
        expect(seconds < 20, f"a killed rank ends all soon, not after {seconds:.0f} s", done)
    return 0


if __name__ == "__main__":
    sys.exit(main())
