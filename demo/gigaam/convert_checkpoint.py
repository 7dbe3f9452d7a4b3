#!/usr/bin/env python3
"""Converts a published GigaAM checkpoint (.ckpt, PyTorch) into the folder that `tandem transcribe --weights` takes.

Usage: convert_checkpoint.py MODEL.ckpt OUTDIR [--tokenizer FILE.model] [--dtype f32|f16|bf16]

Needs torch, omegaconf and numpy (README.md names versions). Writes OUTDIR/model.safetensors, OUTDIR/config.json and, for
models with a SentencePiece vocabulary (v3_e2e_*), OUTDIR/tokenizer.model. The tokenizer is a file of its own beside the
checkpoint; --tokenizer names it when it is not MODEL_tokenizer.model.

Opening a .ckpt runs code that is inside of it (pickle): only open files that you trust.
"""
import argparse
import json
import pathlib
import shutil
import struct
import sys

PARTS = ("encoder.", "head.")
DTYPES = {"f32": "F32", "f16": "F16", "bf16": "BF16"}


class ConvertError(Exception):
    pass


def weight_name(name):
    """The name of a tensor in the file, or None for one that the model does not need."""
    if name.startswith("model."):
        name = name[len("model."):]
    if not name.startswith(PARTS) or name.endswith(".num_batches_tracked"):
        return None
    return name


def select_weights(state):
    """(name in the file, tensor) of everything that is needed, by name."""
    chosen = {}
    for name, tensor in state.items():
        new_name = weight_name(name)
        if new_name is None:
            continue
        if new_name in chosen:
            raise ConvertError(f'two tensors of the checkpoint are "{new_name}", with and without "model." before it')
        chosen[new_name] = tensor
    for part in PARTS:
        if not any(name.startswith(part) for name in chosen):
            raise ConvertError(f'the checkpoint has no tensor "{part}*": it is not that of a speech recogniser')
    return sorted(chosen.items())


def without_classes(value):
    """The configuration without the names of Python classes and files of the machine that it was made on."""
    if isinstance(value, dict):
        return {key: without_classes(part) for key, part in value.items() if not key.startswith("_")}
    return [without_classes(part) for part in value] if isinstance(value, (list, tuple)) else value


def model_config(cfg):
    """config.json of a checkpoint's `cfg`, as plain dictionaries and lists."""
    config = {}
    for key in ("model_name", "sample_rate", "preprocessor", "encoder", "head"):
        if key in cfg:
            config[key] = without_classes(cfg[key])
    for key in ("preprocessor", "encoder", "head"):
        if not isinstance(config.get(key), dict):
            raise ConvertError(f'the configuration of the checkpoint has no "{key}"')
    config["head"]["type"] = "rnnt" if "decoder" in config["head"] or "joint" in config["head"] else "ctc"
    decoding = cfg.get("decoding") or {}
    vocabulary = decoding.get("vocabulary")
    if vocabulary and not decoding.get("model_path"):
        config["labels"] = [str(entry) for entry in vocabulary]
    return config


def needs_tokenizer(config):
    return "labels" not in config


def find_tokenizer(checkpoint, given):
    """The SentencePiece model of a checkpoint that has no list of characters."""
    path = pathlib.Path(given) if given else checkpoint.with_name(checkpoint.stem + "_tokenizer.model")
    if not path.is_file():
        raise ConvertError(f"this model has a SentencePiece vocabulary, but there is no {path}; name it with --tokenizer")
    return path


def write_safetensors(path, tensors):
    """`tensors`: (name, dtype as "F32", shape, function that gives the bytes), one tensor in memory at a time."""
    widths = {"F32": 4, "F16": 2, "BF16": 2}
    header, at = {}, 0
    for name, dtype, shape, _ in tensors:
        size = widths[dtype]
        for extent in shape:
            size *= extent
        header[name] = {"dtype": dtype, "shape": list(shape), "data_offsets": [at, at + size]}
        at += size
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for name, _, _, data in tensors:
            begin, end = header[name]["data_offsets"]
            data = data()
            if len(data) != end - begin:
                raise ConvertError(f'"{name}" has {len(data)} bytes instead of {end - begin}')
            file.write(data)


def write_folder(out, state, cfg, dtype, checkpoint, tokenizer, to_bytes):
    """`to_bytes(tensor, dtype)` gives little-endian elements in row-major order; tensors have a `shape`."""
    config = model_config(cfg)
    tokenizer_path = find_tokenizer(checkpoint, tokenizer) if needs_tokenizer(config) else None
    weights = select_weights(state)
    out.mkdir(parents=True, exist_ok=True)
    write_safetensors(
        out / "model.safetensors",
        [(name, DTYPES[dtype], tuple(tensor.shape), lambda tensor=tensor: to_bytes(tensor, dtype))
         for name, tensor in weights])
    (out / "config.json").write_text(json.dumps(config, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    copy = out / "tokenizer.model"
    if tokenizer_path and not (copy.exists() and copy.samefile(tokenizer_path)):
        shutil.copyfile(tokenizer_path, copy)
    return len(weights)


def torch_bytes(tensor, dtype):
    import torch

    kinds = {"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16}
    tensor = tensor.detach().cpu().to(kinds[dtype]).contiguous()
    # NumPy has no bfloat16: the same bytes as whole numbers.
    return (tensor.view(torch.int16) if dtype == "bf16" else tensor).numpy().tobytes()


def load_checkpoint(path):
    import torch
    from omegaconf import OmegaConf

    checkpoint = torch.load(path, map_location="cpu", weights_only=False)
    for key in ("cfg", "state_dict"):
        if key not in checkpoint:
            raise ConvertError(f'{path} has no "{key}": it is not a GigaAM checkpoint')
    cfg = checkpoint["cfg"]
    return checkpoint["state_dict"], OmegaConf.to_container(cfg, resolve=True) if OmegaConf.is_config(cfg) else cfg


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkpoint", type=pathlib.Path, metavar="MODEL.ckpt")
    parser.add_argument("out", type=pathlib.Path, metavar="OUTDIR")
    parser.add_argument("--tokenizer", metavar="FILE.model")
    parser.add_argument("--dtype", choices=sorted(DTYPES), default="f32")
    arguments = parser.parse_args()
    try:
        state, cfg = load_checkpoint(arguments.checkpoint)
        count = write_folder(arguments.out, state, cfg, arguments.dtype, arguments.checkpoint, arguments.tokenizer,
                             torch_bytes)
    except (ConvertError, OSError) as error:
        sys.exit(f"convert_checkpoint.py: {error}")
    print(f"{count} tensors in {arguments.out / 'model.safetensors'}")


if __name__ == "__main__":
    main()
