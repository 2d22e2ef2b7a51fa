"""Which way to log Z is fastest on this GPU, forward and backward, and in how much memory?

    python benchmarks/head.py [--targets 20480] [--senses 157001] [--d 256]

Each variant in bfloat16 on the same random numbers: the median of 20 runs by the GPU's own clock, the peak memory above
the inputs, and the largest errors beside float64, relative to the largest entry: log Z, gradients of y (both of every
64th target), E and b.
"""

import argparse
import statistics

import torch

from polylm.model import head, head_triton


def measure(function, inputs, weights, repeats=20):
    def step():
        for tensor in inputs:
            tensor.grad = None
        (function(*inputs) * weights).sum().backward()

    for _ in range(4):
        step()
    torch.cuda.synchronize()
    for tensor in inputs:
        tensor.grad = None
    before = torch.cuda.memory_allocated()
    torch.cuda.reset_peak_memory_stats()
    step()
    torch.cuda.synchronize()
    peak = torch.cuda.max_memory_allocated() - before
    times = []
    for _ in range(repeats):
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        step()
        end.record()
        torch.cuda.synchronize()
        times.append(start.elapsed_time(end))
    return statistics.median(times), peak / 2**30


def reference(y, embeddings, bias, weights, every=64):
    """log Z and the gradient of y for some targets, the gradients of E and b from all, in float64 by chunks."""
    e = embeddings.detach().to(torch.bfloat16).double()
    d_e, d_b = torch.zeros_like(e), torch.zeros_like(bias, dtype=torch.float64)
    log_z, d_y = [], []
    for start in range(0, len(y), 512):
        part = y[start : start + 512].detach().double()
        scores = part @ e.T + bias.detach().double()
        z = torch.logsumexp(scores, 1)
        p = torch.exp(scores - z[:, None]) * weights[start : start + 512, None]
        d_e += p.T @ part
        d_b += p.sum(0)
        log_z.append(z[::every])
        d_y.append(p[::every] @ e)
    return torch.cat(log_z), torch.cat(d_y), d_e, d_b


def errors(function, inputs, weights, expected, every=64):
    for tensor in inputs:
        tensor.grad = None
    log_z = function(*inputs)
    (log_z * weights).sum().backward()
    got = (log_z.detach()[::every], *(t.grad for t in inputs))
    got = (got[0], got[1][::every], got[2], got[3])
    return [((a.double() - b).abs().max() / b.abs().max()).item() for a, b in zip(got, expected, strict=True)]


def show_kernels(function, inputs, weights):
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profile:
        (function(*inputs) * weights).sum().backward()
        torch.cuda.synchronize()
    for event in sorted(profile.key_averages(), key=lambda e: -e.device_time_total)[:6]:
        print(f"    {event.device_time_total / 1000:7.2f} ms  {event.count:4}  {event.key[:90]}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--targets", type=int, default=20480)
    parser.add_argument("--senses", type=int, default=157_001)
    parser.add_argument("--d", type=int, default=256)
    parser.add_argument("--tiles", action="store_true", help="try other tile sizes too")
    parser.add_argument("--kernels", action="store_true", help="show what the time goes to")
    args = parser.parse_args()
    torch.manual_seed(0)
    y = torch.randn(args.targets, args.d, device="cuda").to(torch.bfloat16).requires_grad_()
    embeddings = (torch.randn(args.senses, args.d, device="cuda") * args.d**-0.5).requires_grad_()
    bias = torch.randn(args.senses, device="cuda").requires_grad_()
    weights = torch.full((args.targets,), 1 / args.targets, device="cuda")
    expected = reference(y, embeddings, bias, weights)

    def variant(method):
        return lambda *inputs: head.log_partition(*inputs, method=method)

    variants = {
        "matmul + logsumexp": variant("matmul"),
        "matmul + logsumexp, compiled": torch.compile(variant("matmul"), dynamic=False),
        "chunked": variant("chunked"),
        "triton": variant("triton"),
    }
    if args.tiles:
        for tile in (
            (128, 128, 4, 2), (128, 128, 8, 2), (128, 128, 8, 3), (128, 256, 8, 2), (64, 128, 4, 3), (64, 256, 8, 2),
            (64, 256, 4, 2), (256, 128, 8, 2), (128, 64, 4, 3), (128, 64, 8, 4),
        ):  # fmt: skip
            same = head_triton.Tile(*tile)
            variants[f"triton {tile}"] = lambda *x, tile=same: head_triton.log_partition_triton(*x, None, tile, tile)
    flops = 6 * args.targets * args.senses * args.d
    print(f"{torch.cuda.get_device_name()}, {args.targets} targets, {args.senses} senses, d {args.d}, bfloat16")
    for name, function in variants.items():
        try:
            milliseconds, gigabytes = measure(function, (y, embeddings, bias), weights)
            wrong = errors(function, (y, embeddings, bias), weights, expected)
        except Exception as error:  # a tile may not fit
            print(f"{name:36} {type(error).__name__}: {str(error)[:80]}", flush=True)
            continue
        shown = " ".join(f"{value:.0e}" for value in wrong)
        rate = flops / milliseconds / 1e9
        print(
            f"{name:36} {milliseconds:7.2f} ms  {gigabytes:6.2f} GiB  {rate:4.0f} TFLOP/s useful  errors {shown}",
            flush=True,
        )
        if args.kernels and name.startswith("triton"):
            show_kernels(function, (y, embeddings, bias), weights)
        torch.cuda.empty_cache()


if __name__ == "__main__":
    main()
