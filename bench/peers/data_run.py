"""Input pipelines side by side: tf.data, PyTorch's DataLoader and ours.

As in run.py: first every variant is tried alone, then the best of each side
take turns, round by round. A figure is the mean of a round, the best round's.
Peers are halted while it is not their turn: they would go on filling their
buffers, at the cost of whoever is measured then and to their own gain later.
"""

import atexit
import importlib
import json
import os
import pathlib
import signal
import subprocess

import data_common as data

FRAMEWORKS = ("tensorflow", "torch")
# Arguments of bench_data for each way of ours; all that differ in what they
# make are reported, of the others the fastest.
OURS = {
    "memory": {
        "1 reader": ["--readers=1", "--slots=32"],
        "2 readers": ["--readers=2", "--slots=32"],
        "no reader": ["--readers=0", "--slots=8"],
    },
    "npy": {
        "read ahead": ["--workers=1", "--readers=0", "--slots=2"],
        "1 reader": ["--workers=0", "--readers=1", "--slots=32"],
        "one thread": ["--workers=0", "--readers=0", "--slots=2"],
    },
    "tfrecord": {
        "1 parser, no reader": ["--workers=1", "--readers=0"],
        "1 parser, 1 reader": ["--workers=1", "--readers=1", "--slots=32"],
    },
    "resize": {
        "2 readers": ["--readers=2", "--slots=8"],
    },
    "jpeg": {
        "2 readers": ["--readers=2", "--slots=3"],
    },
}
ALSO = {
    "jpeg": {
        "fast DCT": ["--fast-dct", "--readers=2", "--slots=3"],
        "pixels first": ["--pixels-first", "--readers=2", "--slots=3"],
    }
}


def run_ours(binary, case, arguments, folder, seconds):
    data.warm(folder, case)
    command = [binary, "--case", case, "--folder", folder, "--json"]
    command += ["--seconds", str(seconds)] + arguments
    text = subprocess.check_output(command, text=True)
    return json.loads(text.strip().splitlines()[-1])


def measure(worker, seconds, case, folder):
    data.warm(folder, case)
    # A halted process would outlive an interrupted run.
    atexit.register(worker.process.kill)
    worker.process.send_signal(signal.SIGCONT)
    worker.measure(seconds)
    worker.process.send_signal(signal.SIGSTOP)


def stop(worker):
    worker.process.send_signal(signal.SIGCONT)
    worker.stop()


def choose_peers(case, options, log, worker_class):
    """The fastest variant of each framework, still running."""
    chosen, failed = [], []
    for framework in FRAMEWORKS:
        if options.only and framework not in options.only:
            continue
        module = importlib.import_module(f"data_{framework}")
        best = None
        for variant in module.VARIANTS.get(case, ()):
            worker = worker_class(
                framework,
                variant,
                case,
                options.threads,
                "data",
                [options.data_folder],
            )
            measure(worker, options.seconds, case, options.data_folder)
            if worker.error:
                log(f"  {framework} {variant}: {worker.error}")
                failed.append([framework, variant, worker.error])
                stop(worker)
                continue
            log(f"  {framework} {variant}: {mean(worker):,.0f} elements/s")
            if best and mean(best) >= mean(worker):
                stop(worker)
                continue
            if best:
                stop(best)
            best = worker
        if best:
            best.rounds.clear()
            chosen.append(best)
    return chosen, failed


def mean(worker):
    return max((r["mean"] for r in worker.rounds), default=0.0)


def choose_ours(case, options, log):
    """The fastest way of ours, and those that stand beside it."""
    if not options.ours_data:
        return {}
    rates = {}
    for name, arguments in OURS[case].items():
        got = run_ours(
            options.ours_data,
            case,
            arguments,
            options.data_folder,
            options.seconds,
        )
        rates[name] = got["elements_per_second"]
        log(f"  plimsoll {name}: {rates[name]:,.0f} elements/s")
    best = max(rates, key=rates.get)
    return {best: OURS[case][best], **ALSO.get(case, {})}


def peer_row(worker):
    peak = max(r["rss_peak_bytes"] for r in worker.rounds)
    return {
        "name": worker.framework,
        "variant": worker.variant,
        "version": next(iter(worker.hello["versions"].values())),
        "elements_per_second": mean(worker),
        "peak_rss_bytes": peak,
    }


def ours_row(name, rounds):
    best = max(rounds, key=lambda r: r["elements_per_second"])
    return {
        "name": "plimsoll",
        "variant": name,
        "elements_per_second": best["elements_per_second"],
        "peak_rss_bytes": max(r["peak_rss_bytes"] for r in rounds),
        "pipeline_bytes": best["pipeline_bytes"],
    }


def run_case(case, options, log, worker_class):
    log(f"{case}: trying each side's variants")
    data.make_files(
        pathlib.Path(options.data_folder), [case], options.npy_rows
    )
    load = os.getloadavg()[0]
    ours = choose_ours(case, options, log)
    workers, failed = choose_peers(case, options, log, worker_class)
    rounds = {name: [] for name in ours}
    for number in range(options.rounds):
        for worker in workers:
            measure(worker, options.seconds, case, options.data_folder)
        for name, arguments in ours.items():
            rounds[name].append(
                run_ours(
                    options.ours_data,
                    case,
                    arguments,
                    options.data_folder,
                    options.seconds,
                )
            )
        log(f"{case}: round {number + 1} of {options.rounds}")
    for worker in workers:
        stop(worker)
    return {
        "case": case,
        "threads": options.threads,
        "load_before": load,
        "peers": [peer_row(w) for w in workers if w.rounds],
        "ours": [ours_row(name, got) for name, got in rounds.items()],
        "failed": failed,
    }


def table(result):
    case = result["case"]
    lines = [
        f"{case}: {data.CASES[case]['what']}, batch {data.BATCH}, "
        f"{result['threads']} thread(s), load {result['load_before']:.1f} before"
    ]
    shape = "{:<12} {:<22} {:>12} {:>11} {:>9} {:>8}"
    head = ("", "variant", "elements/s", "peak RSS", "x tf.data", "RSS of it")
    lines.append(shape.format(*head))
    base = next((r for r in result["peers"] if r["name"] == "tensorflow"), None)

    def of_base(row, key):
        return f"{row[key] / base[key]:.2f}" if base else "-"

    rows = result["peers"] + result["ours"]
    for row in sorted(rows, key=lambda r: -r["elements_per_second"]):
        lines.append(
            shape.format(
                row["name"],
                row["variant"],
                f"{row['elements_per_second']:,.0f}",
                f"{row['peak_rss_bytes'] / 2**20:,.1f} MiB",
                of_base(row, "elements_per_second"),
                of_base(row, "peak_rss_bytes"),
            )
        )
    for row in result["ours"] if base else []:
        bar = data.CASES[case]["bar"]
        speed = row["elements_per_second"] / base["elements_per_second"]
        memory = row["peak_rss_bytes"] / base["peak_rss_bytes"]
        lines.append(
            f"plimsoll, {row['variant']}: {speed:.2f} of {bar} times tf.data "
            f"({'met' if speed >= bar else 'not met'}), memory {memory:.2f} of "
            f"{data.MOST_RSS_RATIO:.2f} "
            f"({'met' if memory <= data.MOST_RSS_RATIO else 'not met'})"
        )
    return "\n".join(lines)
