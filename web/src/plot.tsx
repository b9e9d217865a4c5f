/** uPlot in the colours of the page. */
import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import { useMedia } from "./ui";

export const color = (name: string): string => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

interface Props { label: string; height: number; data: uPlot.AlignedData; options: (width: number) => Omit<uPlot.Options, "width" | "height">; range?: [number, number]; keep: string }

/** keep: while it is equal only the data changes, so that zoom and cursor stay. */
export function Plot({ label, height, data, options, range, keep }: Props) {
	const box = useRef<HTMLDivElement>(null), plot = useRef<uPlot | null>(null);
	const dark = useMedia("(prefers-color-scheme: dark)");
	useEffect(() => {
		const el = box.current!;
		const make = () => {
			plot.current?.destroy();
			plot.current = new uPlot({ ...options(el.clientWidth), width: el.clientWidth, height }, data, el);
		};
		make();
		const sizes = new ResizeObserver(() => plot.current?.setSize({ width: el.clientWidth, height }));
		sizes.observe(el);
		return () => { sizes.disconnect(); plot.current?.destroy(); plot.current = null; };
	}, [keep, dark, height]);
	useEffect(() => { plot.current?.setData(data, !range); if (range) plot.current?.setScale("x", { min: range[0], max: range[1] }); }, [data]);
	useEffect(() => { if (range) plot.current?.setScale("x", { min: range[0], max: range[1] }); }, [range?.[0], range?.[1]]);
	return <div class="plot" ref={box} role="img" aria-label={label} />;
}

const POWERS = Array.from({ length: 50 }, (_, i) => 2 ** i);

/** label: "" for none; binary: marks at powers of two, for bytes. */
export const axis = (format: (v: number) => string, label: string, size = 64, binary = false): uPlot.Axis => ({
	...(label ? { label } : {}), ...(binary ? { incrs: POWERS } : {}),
	stroke: color("--soft"), grid: { stroke: color("--line"), width: 1 }, ticks: { stroke: color("--line"), width: 1 }, labelSize: 18, size,
	font: "12px system-ui, sans-serif", labelFont: "12px system-ui, sans-serif", values: (_, ticks) => ticks.map(v => (v === null ? "" : format(v))),
});
