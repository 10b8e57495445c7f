#!/usr/bin/env python3
"""One peer in a process of its own, run by compare.py in the interpreter that has the peer installed.

  worker.py JSON      {"kind", "optimizer", "ids", "max_rows", "batch", "threads", "batches", "seed"}

Prints one JSON line when it is ready, then one for every line "STEPS" it reads: the times in ms of that many steps.
While it waits for a line it sleeps, so that it does not disturb what is measured in between.
"""

import json
import os
import sys
import time

CONFIG = json.loads(sys.argv[1])
# The runtime reads it when it is loaded, so before torch is imported.
os.environ["OMP_NUM_THREADS"] = str(CONFIG["threads"])

import numpy as np  # noqa: E402
import torch  # noqa: E402

torch.set_num_threads(CONFIG["threads"])

LEARNING_RATE = 0.01
EPS = 1e-8
DIM = 128
NUM_DENSE = 13
SHAPES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "shapes", "tables_mlperf.txt")


def read_tables(max_rows):
    """[(name, rows, ids a sample)] of MLPerf's model, every table capped."""
    tables = []
    with open(SHAPES, encoding="utf-8") as file:
        for line in file:
            if not line.startswith("#"):
                name, rows, ids = line.split()
                tables.append((name, min(int(rows), max_rows), int(ids)))
    return tables


def draw_ids(random, distribution, rows, count):
    """The distributions of `hotrow bench --ids`: row 0 is the hottest under Zipf."""
    u = random.random(count)
    if distribution == "uniform":
        ids = np.floor(u * rows)
    else:
        alpha = float(distribution.removeprefix("zipf:"))
        if alpha == 1.0:
            ids = np.floor(float(rows) ** u - 1)
        else:
            ids = np.floor(((rows ** (1 - alpha) - 1) * u + 1) ** (1 / (1 - alpha)) - 1)
    return torch.from_numpy(np.clip(ids, 0, rows - 1).astype(np.int64))


class Embedding:
    """The tables alone: forward, then backward with a fixed gradient, the optimizer fused into it."""

    def __init__(self, config):
        self.tables = read_tables(config["max_rows"])
        self.batch_size = config["batch"]
        random = np.random.default_rng(config["seed"])
        self.batches = [[draw_ids(random, config["ids"], rows, self.batch_size * size)
                         for _, rows, size in self.tables] for _ in range(config["batches"])]
        self.make(config)
        self.next = 0

    def step(self):
        batch = self.batches[self.next]
        self.next = (self.next + 1) % len(self.batches)
        start = time.perf_counter()
        out = self.forward(batch)
        middle = time.perf_counter()
        self.backward(out)
        end = time.perf_counter()
        return {"forward_ms": 1e3 * (middle - start), "step_ms": 1e3 * (end - start)}


class Fbgemm(Embedding):
    def make(self, config):
        import fbgemm_gpu  # noqa: F401  registers the operators
        from fbgemm_gpu.split_embedding_configs import EmbOptimType
        from fbgemm_gpu.split_table_batched_embeddings_ops_common import (
            BoundsCheckMode, EmbeddingLocation, PoolingMode)
        from fbgemm_gpu.split_table_batched_embeddings_ops_training import (
            ComputeDevice, SplitTableBatchedEmbeddingBagsCodegen)

        self.tbe = SplitTableBatchedEmbeddingBagsCodegen(
            [(rows, DIM, EmbeddingLocation.HOST, ComputeDevice.CPU) for _, rows, _ in self.tables],
            optimizer=EmbOptimType[config["optimizer"].upper()], learning_rate=LEARNING_RATE, eps=EPS,
            pooling_mode=PoolingMode.SUM, bounds_check_mode=BoundsCheckMode.NONE)
        self.tbe.init_embedding_weights_uniform(-0.01, 0.01)
        sizes = torch.tensor([size for _, _, size in self.tables]).repeat_interleave(self.batch_size)
        self.offsets = torch.cat([torch.zeros(1, dtype=torch.int64), sizes.cumsum(0)])
        self.batches = [torch.cat(batch) for batch in self.batches]
        self.gradient = 1e-3 * torch.randn(self.batch_size, DIM * len(self.tables))

    def forward(self, batch):
        return self.tbe(batch, self.offsets)

    def backward(self, out):
        out.backward(self.gradient)


class Ipex(Embedding):
    def make(self, config):
        import intel_extension_for_pytorch as ipex

        bags = []
        for _, rows, _ in self.tables:
            bag = torch.nn.EmbeddingBag(rows, DIM, mode="sum", sparse=True, include_last_offset=True)
            torch.nn.init.uniform_(bag.weight, -0.01, 0.01)
            bags.append(bag)
        self.merged = ipex.nn.modules.MergedEmbeddingBagWithAdaGrad.from_embeddingbag_list(
            bags, lr=LEARNING_RATE, eps=EPS)
        self.offsets = [torch.arange(0, (self.batch_size + 1) * size, size) for _, _, size in self.tables]
        self.gradients = [1e-3 * torch.randn(self.batch_size, DIM) for _ in self.tables]

    def forward(self, batch):
        return self.merged(batch, self.offsets)

    def backward(self, out):
        torch.autograd.backward(out, self.gradients)


class Permute:
    """FBGEMM's recat: what 8 ranks sent, [source][feature][sample], permuted to [feature][source][sample]. config["optimizer"]
    is the bytes of an id. Like Hotrow's it starts from the payload as it arrived; offsets are its own to compute, as in
    TorchRec, and the number of ids, which is known, is given to it."""

    RANKS = 8

    def __init__(self, config):
        import fbgemm_gpu  # noqa: F401  registers the operators

        tables = read_tables(config["max_rows"])
        features = len(tables)
        sizes = torch.tensor([size for _, _, size in tables], dtype=torch.int32)
        self.lengths = sizes.repeat(self.RANKS).reshape(-1, 1).repeat(1, config["batch"]).contiguous()
        self.order = torch.tensor([k * features + f for f in range(features) for k in range(self.RANKS)],
                                  dtype=torch.int32)
        self.count = int(self.lengths.sum())
        kind = {"4": torch.int32, "8": torch.int64}[config["optimizer"]]
        self.ids = torch.randint(0, min(rows for _, rows, _ in tables), (self.count,), dtype=kind)

    def step(self):
        start = time.perf_counter()
        torch.ops.fbgemm.permute_2D_sparse_data(self.order, self.lengths, self.ids, None, self.count)
        return {"ms": 1e3 * (time.perf_counter() - start)}


class Step:
    """TorchRec's DLRM_DCN, one whole training step. config["optimizer"] says how the tables are trained: "dense" (a gradient
    as large as the table), "sparse" (torch's sparse gradients), "fused" (FBGEMM)."""

    def __init__(self, config):
        from torchrec.models.dlrm import DLRM_DCN
        from torchrec.modules.embedding_configs import EmbeddingBagConfig
        from torchrec.modules.embedding_modules import EmbeddingBagCollection
        from torchrec.sparse.jagged_tensor import KeyedJaggedTensor

        torch.manual_seed(config["seed"])
        tables = read_tables(config["max_rows"])
        size = config["batch"]
        kind = config["optimizer"]
        configs = [EmbeddingBagConfig(name=name, num_embeddings=rows, embedding_dim=DIM, feature_names=[f"f{i}"])
                   for i, (name, rows, _) in enumerate(tables)]
        if kind == "fused":
            from torchrec.modules.fused_embedding_modules import FusedEmbeddingBagCollection
            bags = FusedEmbeddingBagCollection(
                tables=configs, optimizer_type=torch.optim.Adagrad,
                optimizer_kwargs={"lr": LEARNING_RATE, "eps": EPS}, device=torch.device("cpu"))
        else:
            bags = EmbeddingBagCollection(tables=configs, device=torch.device("cpu"))
            for bag in bags.embedding_bags.values():
                bag.sparse = kind == "sparse"
        self.model = DLRM_DCN(
            embedding_bag_collection=bags, dense_in_features=NUM_DENSE, dense_arch_layer_sizes=[512, 256, DIM],
            over_arch_layer_sizes=[1024, 1024, 512, 256, 1], dcn_num_layers=3, dcn_low_rank_dim=512)
        table_parameters = [] if kind == "fused" else list(bags.parameters())
        own = {id(p) for p in bags.parameters()}
        dense_parameters = [p for p in self.model.parameters() if id(p) not in own]
        # torch's fused CPU Adagrad is its fastest; it does not take sparse gradients.
        self.optimizers = [torch.optim.Adagrad(dense_parameters, lr=LEARNING_RATE, eps=EPS, fused=True)]
        if table_parameters:
            self.optimizers.append(torch.optim.Adagrad(table_parameters, lr=LEARNING_RATE, eps=EPS,
                                                       fused=kind == "dense"))
        self.loss = torch.nn.BCEWithLogitsLoss()
        self.dense = torch.randn(size, NUM_DENSE)
        self.labels = torch.randint(0, 2, (size,)).float()
        random = np.random.default_rng(config["seed"])
        lengths = torch.tensor([h for _, _, h in tables], dtype=torch.int32).repeat_interleave(size)
        self.batches = []
        for _ in range(config["batches"]):
            ids = torch.cat([draw_ids(random, config["ids"], rows, size * h) for _, rows, h in tables])
            batch = KeyedJaggedTensor.from_lengths_sync([f"f{i}" for i in range(len(tables))], ids, lengths)
            batch.offsets()  # Computed and kept: making the batch is not part of a step.
            batch.offset_per_key()
            self.batches.append(batch)
        self.next = 0

    def step(self):
        batch = self.batches[self.next]
        self.next = (self.next + 1) % len(self.batches)
        start = time.perf_counter()
        for optimizer in self.optimizers:
            optimizer.zero_grad()
        logits = self.model(self.dense, batch).squeeze(-1)
        self.loss(logits, self.labels).backward()
        for optimizer in self.optimizers:
            optimizer.step()
        return {"step_ms": 1e3 * (time.perf_counter() - start)}


def main():
    # What libraries print must not mix with the answers.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    peer = {"fbgemm": Fbgemm, "ipex": Ipex, "torchrec": Step, "permute": Permute}[CONFIG["kind"]](CONFIG)
    print(json.dumps({"ready": True, "torch": torch.__version__}), file=answers, flush=True)
    for line in sys.stdin:
        times = [peer.step() for _ in range(int(line))]
        print(json.dumps({key: [t[key] for t in times] for key in times[0]}), file=answers, flush=True)


if __name__ == "__main__":
    main()
