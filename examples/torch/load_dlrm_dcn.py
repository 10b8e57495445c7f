#!/usr/bin/env python3
"""Loads a model that Hotrow trained into TorchRec's DLRM_DCN (or DLRM), and checks that both predict the same.

  hotrow train … --save model.safetensors
  hotrow predict --model model.safetensors --data test.tsv --logits --dump-inputs inputs.jsonl > logits.txt
  build/peers-venv/bin/python examples/torch/load_dlrm_dcn.py model.safetensors inputs.jsonl logits.txt

Without the last two arguments it loads the model and prints what it is. The interpreter needs torch, torchrec and
safetensors; bench/peers/run.sh makes one under build/.

inputs.jsonl is what the model saw, a sample a line: {"dense": [...], "ids": [[...] for every feature]}, and "weights" shaped like
"ids" where ids are weighted. logits.txt has a logit a line. Exit 1 if one differs by more than 1e-5 (relative above 1).
"""

import json
import sys

import torch
from safetensors import safe_open
from torchrec.models.dlrm import DLRM, DLRM_DCN
from torchrec.modules.embedding_configs import EmbeddingBagConfig, PoolingType
from torchrec.modules.embedding_modules import EmbeddingBagCollection
from torchrec.sparse.jagged_tensor import KeyedJaggedTensor

TOLERANCE = 1e-5
BATCH = 1024


def build(config, weighted):
    """The TorchRec module that the file's "hotrow.model" describes."""
    tables = [
        EmbeddingBagConfig(
            name=table["name"], num_embeddings=table["num_embeddings"], embedding_dim=table["embedding_dim"],
            feature_names=table["feature_names"],
            pooling=PoolingType.MEAN if table["pooling"] == "mean" else PoolingType.SUM)
        for table in config["tables"]
    ]
    order = [feature for table in tables for feature in table.feature_names]
    if order != config["features"]:
        raise SystemExit(f"error: TorchRec interacts features in the order of their tables, {order}; "
                         f"this model has them as {config['features']}")
    bags = EmbeddingBagCollection(tables=tables, is_weighted=weighted, device=torch.device("cpu"))
    sizes = dict(embedding_bag_collection=bags, dense_in_features=config["num_dense"],
                 dense_arch_layer_sizes=config["dense_arch"], over_arch_layer_sizes=config["over_arch"])
    if config["model"] == "dlrm_dcn":
        return DLRM_DCN(dcn_num_layers=config["dcn_num_layers"], dcn_low_rank_dim=config["dcn_low_rank"], **sizes)
    return DLRM(**sizes)


def load(path, weighted=False):
    """(module with the file's weights, the model's configuration). Every name and shape must be there, and no other but
    Hotrow's own: vocabularies of the data."""
    with safe_open(path, framework="pt") as file:
        metadata = file.metadata() or {}
        if "hotrow.model" not in metadata:
            raise SystemExit(f"error: {path} has no 'hotrow.model' in its metadata: not a model that Hotrow saved")
        config = json.loads(metadata["hotrow.model"])
        weights = {name: file.get_tensor(name) for name in file.keys() if not name.startswith("hotrow.")}
    module = build(config, weighted)
    module.load_state_dict(weights, strict=True)
    return module.eval(), config


def to_batch(samples, features):
    """Lines of inputs.jsonl as (dense [B, num_dense], KeyedJaggedTensor)."""
    dense = torch.tensor([sample["dense"] for sample in samples], dtype=torch.float32)

    def by_feature(key, dtype):
        return torch.tensor([x for f in range(len(features)) for sample in samples for x in sample[key][f]], dtype=dtype)

    lengths = torch.tensor([len(sample["ids"][f]) for f in range(len(features)) for sample in samples], dtype=torch.int32)
    weights = by_feature("weights", torch.float32) if "weights" in samples[0] else None
    return dense, KeyedJaggedTensor(features, by_feature("ids", torch.int64), weights=weights, lengths=lengths)


def predict(module, samples, features):
    """A logit a sample."""
    logits = []
    with torch.no_grad():
        for begin in range(0, len(samples), BATCH):
            dense, sparse = to_batch(samples[begin:begin + BATCH], features)
            logits += module(dense, sparse).squeeze(-1).tolist()
    return logits


def main():
    if len(sys.argv) not in (2, 4):
        raise SystemExit("usage: load_dlrm_dcn.py MODEL.safetensors [INPUTS.jsonl LOGITS.txt]")
    if len(sys.argv) == 2:
        module, config = load(sys.argv[1])
        print(f"{type(module).__name__}: {len(config['tables'])} tables, "
              f"{sum(p.numel() for p in module.parameters()):,} parameters, all loaded")
        return 0

    with open(sys.argv[2], encoding="utf-8") as file:
        samples = [json.loads(line) for line in file if line.strip()]
    with open(sys.argv[3], encoding="utf-8") as file:
        theirs = [float(line) for line in file if line.strip()]
    if not samples or len(samples) != len(theirs):
        raise SystemExit(f"error: {len(samples)} inputs and {len(theirs)} logits")
    module, config = load(sys.argv[1], weighted="weights" in samples[0])
    ours = predict(module, samples, config["features"])

    worst = max(abs(a - b) / max(1.0, abs(a)) for a, b in zip(ours, theirs))
    print(f"{len(ours)} samples; largest difference between TorchRec's and Hotrow's logits {worst:.1e} (allowed {TOLERANCE:.0e})")
    return 0 if worst <= TOLERANCE else 1


if __name__ == "__main__":
    sys.exit(main())
