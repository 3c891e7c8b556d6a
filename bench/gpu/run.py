#!/usr/bin/env python3
"""Compares Holdfast with llama-server on a machine with a card: make bench-gpu

Needs nothing but Python's own library. Servers run by turns, each anew for every round; figures
are medians of the rounds. Writes a JSON file with every single figure, and a table.
"""
import argparse
import json
import os
import shutil
import statistics
import subprocess
import tempfile
import time

import scenarios
import talk


def contestants(options, model, slots, context):
    """Their commands: the same model, slots and context for each."""
    common = ["-m", model, "-ngl", "99", "-fa", "on", "-np", str(slots)]
    hold = [options.holdfast, "serve", *common, "-c", str(context), "--no-ui", "--cache-dir",
            os.path.join(options.work, "cache"), "--spec", "auto" if options.drafts else "off"]
    peer = [options.llama_server, *common, "-c", str(context * slots), "--no-webui"]
    all_of_them = {
        "holdfast": hold,
        "holdfast, checkpoints off": hold + ["--checkpoints", "off"],
        "llama-server": peer,
        "llama-server, caches off": peer + ["--cache-ram", "0", "--ctx-checkpoints", "0"],
    }
    wanted = options.contestants.split(";") if options.contestants else list(all_of_them)
    return {name: command for name, command in all_of_them.items() if name in wanted}


def device_mib():
    try:
        text = subprocess.run(["nvidia-smi", "--query-gpu=memory.used", "--format=csv,noheader,nounits"],
                              capture_output=True, text=True, check=True).stdout
        return int(text.split()[0])
    except (OSError, subprocess.CalledProcessError, ValueError, IndexError):
        return 0


def one_round(options, model, scenario, name, command, number):
    shutil.rmtree(os.path.join(options.work, "cache"), ignore_errors=True)
    log = os.path.join(options.work, f"{scenario.__name__}-{name.replace(' ', '_')}.log")
    server = talk.Server(f"{name} ({os.path.basename(model)})", command, options.port, log)
    try:
        talk.ask(server, [{"role": "user", "content": "Say hello."}], 4)  # the card is warm
        sample = talk.document(1, 1000, 1.0)
        figures = scenario(server, 1000 / max(server.tokens(sample), 1), number)
        figures["host MiB"] = server.resident_mib()
        figures["card MiB"] = device_mib()
        return figures
    finally:
        server.stop()


def run(options):
    results = []
    for scenario in scenarios.ALL:
        if options.only and scenario.__name__ not in options.only.split(","):
            continue
        for model in options.model:
            for number in range(options.rounds):
                for name, command in contestants(options, model, *scenario.shape).items():
                    begun = time.monotonic()
                    figures = one_round(options, model, scenario, name, command, number)
                    results.append({"scenario": scenario.__name__, "model": os.path.basename(model),
                                    "contestant": name, "round": number, "figures": figures})
                    print(f"{scenario.__name__:12} {os.path.basename(model):20} {name:26}"
                          f" {time.monotonic() - begun:5.1f} s  {brief(figures)}", flush=True)
    return results


def brief(figures):
    return "  ".join(f"{key} {value:.4g}" for key, value in figures.items())


def table(results):
    lines = []
    groups = {}
    for one in results:
        key = (one["scenario"], one["model"])
        groups.setdefault(key, {}).setdefault(one["contestant"], []).append(one["figures"])
    for (scenario, model), by_name in groups.items():
        names = list(by_name)
        lines += ["", f"### {scenario}, {model}", "", "| | " + " | ".join(names) + " |",
                  "|---|" + "--:|" * len(names)]
        for figure in by_name[names[0]][0]:
            cells = [f"{statistics.median(one[figure] for one in by_name[name]):.4g}"
                     for name in names]
            lines.append(f"| {figure} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--holdfast", required=True, help="the program to measure")
    parser.add_argument("--llama-server", required=True, help="the peer, on the same libraries")
    parser.add_argument("--model", action="append", required=True, help="a GGUF file; may be repeated")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", help="some scenarios: " +
                        ",".join(scenario.__name__ for scenario in scenarios.ALL))
    parser.add_argument("--contestants", help="some of them, with ';' between the names")
    parser.add_argument("--drafts", action="store_true",
                        help="Holdfast drafts with the model's own MTP head, if it has one")
    parser.add_argument("--port", type=int, default=18931)
    parser.add_argument("--out", default="build/bench-gpu.json")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="holdfast-bench-") as options.work:
        results = run(options)
    with open(options.out, "w", encoding="utf-8") as file:
        json.dump(results, file, indent=1)
    print(table(results))


if __name__ == "__main__":
    main()
