#!/usr/bin/env bash
# Hotrow beside TorchRec, FBGEMM and (with --part ipex) Intel's extension for PyTorch.
#
#   bench/peers/run.sh [compare.py's arguments]     (--help lists them)
#   bench/peers/run.sh --setup-only                 makes build/peers-venv, and measures nothing
#
# Builds Hotrow, makes the peers' virtual environments under build/ when they are not there (several GB from PyPI: torch
# comes with its GPU libraries), and runs compare.py. README.md in this folder says what is measured.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

say() { echo "peers: $*" >&2; }

# make_venv FOLDER COMMAND: the folder gets its name only when everything is installed, so a half-made one is never used.
make_venv() {
  local folder="$1" fill="$2"
  [[ ! -x "$folder/bin/python" ]] || return 0
  if ! python3 -c 'import ensurepip' 2>/dev/null; then
    say "error: python3 cannot make virtual environments; on Debian: apt-get install python3-venv"
    exit 1
  fi
  say "making $folder"
  rm -rf "$folder.part"
  python3 -m venv "$folder.part"
  "$fill" "$folder.part/bin/python" >&2
  # A virtual environment knows its place only in its scripts, and only python itself is used here.
  mv "$folder.part" "$folder"
}

fill_peers() {
  "$1" -m pip install -q torch==2.14.1 numpy safetensors scikit-learn
  # TorchRec asks for fbgemm-gpu, which must be absent: it and fbgemm-gpu-cpu are one Python package with two different
  # libraries inside. So nothing below may bring its dependencies along, and fbgemm-gpu-cpu comes last.
  "$1" -m pip install -q --no-deps torchrec==1.9.2 tensordict pyre-extensions iopath tqdm torchmetrics \
    lightning-utilities cloudpickle orjson importlib_metadata pyvers portalocker psutil typing-inspect mypy_extensions \
    typing_extensions
  "$1" -m pip uninstall -q -y fbgemm-gpu 2>/dev/null || true
  "$1" -m pip install -q --no-deps fbgemm-gpu-cpu==1.9.0
  "$1" -c 'import torchrec; from torchrec.models.dlrm import DLRM_DCN; import fbgemm_gpu'
}

fill_ipex() {
  "$1" -m pip install -q torch==2.8.0 numpy psutil packaging
  "$1" -m pip install -q --no-deps intel-extension-for-pytorch==2.8.0
  "$1" -c 'import intel_extension_for_pytorch as ipex; ipex.nn.modules.MergedEmbeddingBagWithAdaGrad'
}

for argument in "$@"; do
  if [[ "$argument" == -h || "$argument" == --help ]]; then
    exec python3 bench/peers/compare.py --help
  fi
  if [[ "$argument" == ipex ]]; then
    if ! grep -q -m1 avx512f /proc/cpuinfo; then
      say "error: Intel's extension needs a CPU with AVX-512; leave 'ipex' out of --part"
      exit 1
    fi
    make_venv build/ipex-venv fill_ipex
  fi
done

if [[ "${1:-}" == --setup-only ]]; then
  make_venv build/peers-venv fill_peers
  exit 0
fi
scripts/setup.sh release hotrow_cli
make_venv build/peers-venv fill_peers
exec python3 bench/peers/compare.py "$@"
