"""Draws a strategy document beside its baselines: step time (compute, exposed communication) and peak memory against the limit.

    shardwright search .. --json | python3 tests/bench/picture.py > docs/pictures/strategy.svg
"""
import json
import sys
from xml.sax.saxutils import escape

ROW, LEFT, BAR, GAP = 30, 190, 300, 100
COMPUTE, EXPOSED, MEMORY, OVER = "#2f6f9f", "#e39c37", "#6a9a58", "#b8463c"


def main():
    d = json.load(sys.stdin)
    rows = [("this strategy", d["cost"], d["fits"])] + [(b["name"], b["cost"], b["fits"]) for b in d["baselines"]]
    rows = [r for r in rows if r[1]["runtime_ns"] < 4 * d["cost"]["runtime_ns"]]
    most_ns = max(c["runtime_ns"] for _, c, _ in rows)
    most_bytes = max(c["peak_bytes"] for _, c, _ in rows)
    limit = d["memory_limit_bytes"]
    width, height = LEFT + 2 * BAR + 2 * GAP + 40, ROW * (len(rows) + 3)
    mesh = ",".join("%s=%d" % (a["name"], a["size"]) for a in d["mesh"]["axes"])
    out = ['<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" font-family="sans-serif" font-size="13">' % (width, height, width, height),
           '<rect width="100%" height="100%" fill="white"/>']

    def text(x, y, s, **kw):
        style = " ".join('%s="%s"' % (k.replace("_", "-"), v) for k, v in kw.items())
        out.append('<text x="%.1f" y="%.1f" %s>%s</text>' % (x, y, style, escape(s)))

    def bar(x, y, w, color):
        out.append('<rect x="%.1f" y="%.1f" width="%.1f" height="%d" fill="%s"/>' % (x, y, max(w, 0.5), ROW - 10, color))
    second = LEFT + BAR + GAP
    text(10, 20, "@%s on %s of %s" % (d["module"]["name"], mesh, d["device"]), font_weight="bold")
    text(LEFT, 46, "step time: compute and exposed communication", fill="#444")
    text(second, 46, "peak memory per device; the line is the limit", fill="#444")
    for i, (name, c, fits) in enumerate(rows):
        y = ROW * (i + 2)
        text(LEFT - 10, y + 14, name, text_anchor="end", font_weight="bold" if i == 0 else "normal")
        exposed = c["exposed_communication_ns"] / most_ns * BAR
        total = c["runtime_ns"] / most_ns * BAR
        bar(LEFT, y, total - exposed, COMPUTE)
        bar(LEFT + total - exposed, y, exposed, EXPOSED)
        text(LEFT + total + 5, y + 14, "%.0f ms" % (c["runtime_ns"] / 1e6) if c["runtime_ns"] > 1e7 else "%.2f ms" % (c["runtime_ns"] / 1e6))
        memory = c["peak_bytes"] / most_bytes * BAR
        bar(second, y, memory, MEMORY if fits else OVER)
        text(second + memory + 5, y + 14, "%.1f GiB" % (c["peak_bytes"] / 2 ** 30))
    x = second + limit / most_bytes * BAR
    if limit < most_bytes * 1.1:
        out.append('<line x1="%.1f" y1="%d" x2="%.1f" y2="%d" stroke="black" stroke-dasharray="4 3"/>' % (x, ROW * 2 - 8, x, height - ROW + 4))
    out.append("</svg>")
    print("\n".join(out))


if __name__ == "__main__":
    main()
