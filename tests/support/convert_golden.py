#!/usr/bin/env python3
"""Runs demo/gigaam/convert_checkpoint.py on a golden file that is dressed up as a published checkpoint, without PyTorch.

Usage: convert_golden.py GOLDEN.safetensors OUTDIR f32|f16 [TOKENIZER.model]

With a tokenizer the checkpoint has no list of characters, as those of the e2e models. Nothing but the standard library.
"""
import importlib.util
import json
import pathlib
import struct
import sys

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "demo" / "gigaam" / "convert_checkpoint.py"


class Tensor:
    """What the script asks of a tensor."""

    def __init__(self, shape, data):
        self.shape, self.data = shape, data


def to_bytes(tensor, dtype):
    if dtype == "f32":
        return tensor.data
    values = struct.unpack(f"<{len(tensor.data) // 4}f", tensor.data)
    return struct.pack(f"<{len(values)}e", *values)


def read_golden(path):
    data = path.read_bytes()
    size = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8:8 + size])
    config = json.loads(header.pop("__metadata__")["config"])
    tensors = {}
    for name, entry in header.items():
        begin, end = entry["data_offsets"]
        tensors[name] = Tensor(tuple(entry["shape"]), data[8 + size + begin:8 + size + end])
    return tensors, config


def expect_error(convert, call, words):
    try:
        call()
    except convert.ConvertError as error:
        assert words in str(error), error
        return
    raise AssertionError(f'no error with "{words}"')


def check_pure_parts(convert, state, cfg):
    assert convert.weight_name("model.encoder.layers.0.norm_out.bias") == "encoder.layers.0.norm_out.bias"
    assert convert.weight_name("preprocessor.featurizer.0.mel_scale.fb") is None
    assert convert.weight_name("encoder.layers.0.conv.batch_norm.num_batches_tracked") is None
    twice = {"encoder.a": 0, "model.encoder.a": 0, "head.b": 0}
    expect_error(convert, lambda: convert.select_weights(twice), "encoder.a")
    expect_error(convert, lambda: convert.select_weights({"encoder.a": 0}), "head.")
    expect_error(convert, lambda: convert.model_config({"encoder": {}}), "preprocessor")
    rnnt = {"preprocessor": {}, "encoder": {}, "head": {"_target_": "x", "decoder": {"_target_": "y", "num_classes": 34}}}
    assert convert.model_config(rnnt)["head"] == {"type": "rnnt", "decoder": {"num_classes": 34}}
    expect_error(convert, lambda: convert.find_tokenizer(pathlib.Path("/nonexistent/v3_e2e_ctc.ckpt"), None),
                 "/nonexistent/v3_e2e_ctc_tokenizer.model")


def main():
    golden, out, dtype = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), sys.argv[3]
    tokenizer = sys.argv[4] if len(sys.argv) > 4 else None
    spec = importlib.util.spec_from_file_location("convert_checkpoint", SCRIPT)
    convert = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(convert)

    tensors, config = read_golden(golden)
    state = {name: tensor for name, tensor in tensors.items() if name.startswith(("encoder.", "head."))}
    state["preprocessor.featurizer.0.spectrogram.window"] = Tensor((2,), bytes(8))
    characters = [" "] + [chr(ord("а") + i) for i in range(32)]
    cfg = {
        "model_class": "ctc", "model_name": "tiny", "sample_rate": config.get("sample_rate", 16000),
        "preprocessor": {"_target_": "gigaam.preprocess.FeatureExtractor", "mel_norm": None, "mel_scale": "htk",
                         **config["preprocessor"]},
        "encoder": {"_target_": "gigaam.encoder.ConformerEncoder", "flash_attn": False, **config["encoder"]},
        "head": {"_target_": "gigaam.decoder.CTCHead", "feat_in": config["encoder"]["d_model"],
                 "num_classes": config["head"]["num_classes"]},
        "decoding": {"_target_": "gigaam.decoding.CTCGreedyDecoding", "vocabulary": None if tokenizer else characters,
                     **({"model_path": "/somewhere/tokenizer.model"} if tokenizer else {})},
        "hashes": {"model": "0"},
    }
    check_pure_parts(convert, state, cfg)
    count = convert.write_folder(out, state, cfg, dtype, golden, tokenizer, to_bytes)
    assert count == len(state) - 1, count


main()
