#!/usr/bin/env python3
"""Plots the friction that was felt, from a recording of hapticd.

    pip install mcap zstandard matplotlib
    python friction_from_recording.py session.mcap friction.svg

Read it from top to bottom like a notebook.
"""

# %% What is needed: the mcap package reads the file, struct the messages, matplotlib plots.
import struct
import sys

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plot
from mcap.exceptions import McapError
from mcap.stream_reader import StreamReader
from mcap.records import Channel, Message, Schema

# %% A schema is a list of `type name` lines; the messages are plain little-endian CDR behind four bytes.
FORMATS = {"uint64": "Q", "float64": "d", "uint32": "I", "float32": "f", "uint8": "B"}


def layout(schema_text):
    """Names and struct format of a flat message. Its fields lie so that there is no padding."""
    fields = [line.split()[:2] for line in schema_text.splitlines() if line and not line.startswith("#")]
    return [name for _, name in fields], "<" + "".join(FORMATS[kind] for kind, _ in fields)


# %% Read every tick. A stream reader needs no summary, so it also reads files that were cut short by a kill.
def ticks(path):
    schemas, channels = {}, {}
    with open(path, "rb") as file:
        try:
            for record in StreamReader(file).records:
                if isinstance(record, Schema):
                    schemas[record.id] = record
                elif isinstance(record, Channel):
                    channels[record.id] = record
                elif isinstance(record, Message) and channels[record.channel_id].topic == "/tick":
                    names, form = layout(schemas[channels[record.channel_id].schema_id].data.decode())
                    yield dict(zip(names, struct.unpack_from(form, record.data, 4)))
        except (McapError, EOFError) as error:
            print(f"the file ends early: {error}", file=sys.stderr)


# %% Friction against normal force, for every tick in which the tool is pressed against something.
def main(path, picture):
    pressed = [(tick["normal_force_n"], tick["tangent_force_n"]) for tick in ticks(path) if tick["normal_force_n"] > 0.05]
    if not pressed:
        sys.exit("the tool was never pressed against anything")
    ratios = sorted(abs(tangent / normal) for normal, tangent in pressed)
    coefficient = ratios[int(0.99 * (len(ratios) - 1))]
    figure, axes = plot.subplots(figsize=(6, 4.5))
    axes.scatter(*zip(*pressed), s=3, alpha=0.3, label="ticks in contact")
    top = max(normal for normal, _ in pressed)
    for side in (1, -1):
        axes.plot([0, top], [0, side * coefficient * top], "--", color="tab:red", label="99 %" if side > 0 else None)
    axes.set(xlabel="normal force / N", ylabel="friction / N", title=f"friction coefficient felt: {coefficient:.2f}")
    axes.legend()
    figure.savefig(picture)
    print(f"{len(pressed)} ticks in contact, 99 % below a friction coefficient of {coefficient:.3f}")


if __name__ == "__main__":
    main(*sys.argv[1:3])
