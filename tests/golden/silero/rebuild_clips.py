#!/usr/bin/env python3
"""Makes the sound clips of clips.json from files of Debian packages and checks the hash of each.

Usage: rebuild_clips.py OUTDIR [CLIP...]     all clips when none is named

Writes OUTDIR/<clip id>.f32 (little-endian f32 samples). A clip that is already there with the right hash is kept. Needs
nothing but the standard library, and sox for the clips whose recipe says so. Exit code 1: at least one clip failed.
"""
import array
import hashlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent


class ClipError(Exception):
    pass


def sha256(data):
    return hashlib.sha256(data).hexdigest()


def to_bytes(samples, kind):
    packed = array.array(kind, samples)
    if sys.byteorder == "big":
        packed.byteswap()
    return packed.tobytes()


def from_s16le(data):
    samples = array.array("h")
    samples.frombytes(data[: len(data) & ~1])
    if sys.byteorder == "big":
        samples.byteswap()
    return samples.tolist()


def clamp(value):
    return max(-32768, min(32767, value))


def wav_payload(data):
    """The bytes of the data chunk; the header itself is vouched for by the file's hash."""
    at = 12
    while at + 8 <= len(data):
        size = int.from_bytes(data[at + 4 : at + 8], "little")
        if data[at : at + 4] == b"data":
            return data[at + 8 : at + 8 + size]
        at += 8 + size + size % 2
    raise ClipError("no data chunk")


def read_source(source):
    path = source["path"]
    try:
        data = pathlib.Path(path).read_bytes()
    except OSError as error:
        raise ClipError(f"{error}; install the Debian package {source['package']}") from error
    if sha256(data) != source["sha256"]:
        raise ClipError(f"{path} is not the file of {source['package']} {source['version']}")
    return from_s16le(wav_payload(data) if data.startswith(b"RIFF") else data)


def random_values(seed):
    """A linear congruential generator, as 16-bit values; the seed is its first state."""
    state = seed
    while True:
        state = (state * 1664525 + 1013904223) % 2**32
        yield (state >> 16) - 32768


def brown_noise(step):
    values, y, out = random_values(step["seed"]), 0, []
    for _ in range(step["count"]):
        y = y - (y >> 5) + (next(values) >> 4)
        out.append(clamp(y))
    return out


def lowest_bit_noise(step):
    values = random_values(step["seed"])
    return [(next(values) + 32768) % 3 - 1 for _ in range(step["count"])]


def run_sox(samples, step):
    with tempfile.TemporaryDirectory() as folder:
        places = {"IN": os.path.join(folder, "in"), "OUT": os.path.join(folder, "out")}
        pathlib.Path(places["IN"]).write_bytes(to_bytes(samples, "h"))
        command = [places.get(word, word) for word in step["command"].split()]
        try:
            subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
        except (OSError, subprocess.CalledProcessError) as error:
            raise ClipError(f"{error}; install the Debian package sox") from error
        data = pathlib.Path(places["OUT"]).read_bytes()
    if sha256(data) != step["out_sha256_s16le"]:
        raise ClipError(f"this sox gives other samples than {step['sox_version']}")
    return from_s16le(data)


def mix(samples, step, sources):
    other = follow(step["with"], sources)
    return [clamp(s + (other[i % len(other)] >> step["shift"])) for i, s in enumerate(samples)]


STEPS = {
    "source": lambda samples, step, sources: read_source(sources[step["index"]]),
    "zeros": lambda samples, step, sources: [0] * step["count"],
    "cut": lambda samples, step, sources: samples[step["start"] : step["start"] + step["count"]],
    "gain_clamp": lambda samples, step, sources: [clamp(s * step["factor"]) for s in samples],
    "add_clamp": lambda samples, step, sources: [clamp(s + step["value"]) for s in samples],
    "decimate": lambda samples, step, sources: samples[:: step["step"]],
    "concat": lambda samples, step, sources: [s for part in step["parts"] for s in follow(part, sources)],
    "mix_clamp": mix,
    "lcg_brown": lambda samples, step, sources: brown_noise(step),
    "lcg_lsb": lambda samples, step, sources: lowest_bit_noise(step),
    "sox": lambda samples, step, sources: run_sox(samples, step),
}


def follow(recipe, sources):
    """The int16 samples that the recipe's steps make, one after the other."""
    samples = []
    for step in recipe:
        if step["op"] not in STEPS:
            raise ClipError(f"unknown step {step['op']}")
        samples = STEPS[step["op"]](samples, step, sources)
    return samples


def make_clip(clip):
    recipe, exponent = clip["recipe"], 0
    if recipe[-1]["op"] == "scale_pow2":
        recipe, exponent = recipe[:-1], recipe[-1]["exponent"]
    samples = follow(recipe, clip["sources"])
    if clip["sha256_s16le"] is not None and sha256(to_bytes(samples, "h")) != clip["sha256_s16le"]:
        raise ClipError("the int16 samples differ")
    data = to_bytes([s / 32768 * 2.0**exponent for s in samples], "f")
    if len(samples) != clip["samples"] or sha256(data) != clip["sha256_f32le"]:
        raise ClipError("the f32 samples differ")
    return data


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    folder, wanted = pathlib.Path(sys.argv[1]), set(sys.argv[2:])
    clips = json.loads((HERE / "clips.json").read_text())["clips"]
    unknown = wanted - {clip["id"] for clip in clips}
    if unknown:
        sys.exit(f"no such clip: {', '.join(sorted(unknown))}")
    folder.mkdir(parents=True, exist_ok=True)
    failed = False
    for clip in clips:
        if wanted and clip["id"] not in wanted:
            continue
        target = folder / f"{clip['id']}.f32"
        if target.exists() and sha256(target.read_bytes()) == clip["sha256_f32le"]:
            continue
        try:
            # Renamed when complete: tests that run side by side may make the same clip.
            partial = folder / f"{clip['id']}.{os.getpid()}.partial"
            partial.write_bytes(make_clip(clip))
            partial.replace(target)
            print(f"{clip['id']}: {clip['samples']} samples")
        except ClipError as error:
            print(f"{clip['id']}: {error}", file=sys.stderr)
            failed = True
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
