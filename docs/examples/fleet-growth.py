#!/usr/bin/env python3
"""Time and memory of a simulated fleet against its number of nodes, as SVG.

    for n in 64 128 256 512 1024; do
      rm -f growth.sqlite*
      /usr/bin/time -a -o growth.txt -f "$n %e %M" ipcmark --store growth.sqlite -q \
        fleet --simulate $n --seed 3 --html growth.html -o growth.out
    done
    fleet-growth.py growth.txt >fleet-growth.svg
"""
import math
import sys

rows = [line.split() for line in open(sys.argv[1])]
rows = [tuple(map(float, row)) for row in rows if len(row) == 3]
W, H, L, T, B = 360, 240, 56, 28, 44


def panel(left, title, unit, values, bound):
    xs = [math.log2(n) for n, _ in values]
    top = max(v for _, v in values + [(0, bound)])
    low = math.floor(math.log10(min(v for _, v in values)))
    high = math.ceil(math.log10(top))
    x = lambda n: left + L + (math.log2(n) - xs[0]) / (xs[-1] - xs[0]) * (W - L - 20)
    y = lambda v: T + (high - math.log10(v)) / (high - low) * (H - T - B)
    out = [f'<text x="{left + L}" y="16" font-weight="bold">{title}</text>']
    for power in range(low, high + 1):
        at = y(10**power)
        out.append(f'<line x1="{left + L}" x2="{left + W - 20}" y1="{at:.1f}" y2="{at:.1f}" stroke="#ddd"/>')
        out.append(f'<text x="{left + L - 6}" y="{at + 4:.1f}" text-anchor="end">{10.0**power:g} {unit}</text>')
    at = y(bound)
    out.append(f'<line x1="{left + L}" x2="{left + W - 20}" y1="{at:.1f}" y2="{at:.1f}" stroke="#b00" stroke-dasharray="4 3"/>')
    out.append(f'<text x="{left + W - 22}" y="{at - 4:.1f}" text-anchor="end" fill="#b00">bound: {bound:g} {unit}</text>')
    out.append('<polyline fill="none" stroke="#1f5fa8" stroke-width="2" points="' + " ".join(f"{x(n):.1f},{y(v):.1f}" for n, v in values) + '"/>')
    for n, v in values:
        out.append(f'<circle cx="{x(n):.1f}" cy="{y(v):.1f}" r="3.5" fill="#1f5fa8"/>')
        anchor = "start" if n == values[0][0] else "middle"  # not over the axis
        out.append(f'<text x="{x(n):.1f}" y="{y(v) - 8:.1f}" text-anchor="{anchor}">{v:.3g}</text>')
        out.append(f'<text x="{x(n):.1f}" y="{H - B + 16}" text-anchor="middle">{n:g}</text>')
    out.append(f'<text x="{left + (L + W) / 2:.0f}" y="{H - 8}" text-anchor="middle">nodes</text>')
    return out


body = panel(0, "Plan, keep and report one tournament", "s", [(n, s) for n, s, _ in rows], 600)
body += panel(W, "Largest resident memory", "MiB", [(n, k / 1024) for n, _, k in rows], 1024)
print(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {2 * W} {H}" font-family="sans-serif" font-size="11">')
print('<title>Growth of a simulated fleet from 64 to 1,024 nodes</title>')
print('<rect width="100%" height="100%" fill="#fff"/>', *body, "</svg>", sep="\n")
