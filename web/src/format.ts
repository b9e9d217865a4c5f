/** Numbers as people read them. */

export function bytes(n: number): string {
	const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
	const sign = n < 0 ? "-" : "";
	let v = Math.abs(n), i = 0;
	while (v >= 1024 && i < units.length - 1) { v /= 1024; i++; }
	return `${sign}${i && v < 100 ? v.toPrecision(3) : Math.round(v)} ${units[i]}`;
}

export function duration(ns: number): string {
	const v = Math.abs(ns), sign = ns < 0 ? "-" : "";
	const [unit, size] = v >= 1e9 ? ["s", 1e9] as const : v >= 1e6 ? ["ms", 1e6] as const : v >= 1e3 ? ["µs", 1e3] as const : ["ns", 1] as const;
	const x = v / size;
	return `${sign}${unit !== "ns" && x < 100 ? x.toPrecision(3) : Math.round(x)} ${unit}`;
}

export const signed = (text: string, v: number): string => (v > 0 ? `+${text}` : text);

/** 3200000000 as "3.2 G", for rates. */
export function metric(n: number): string {
	const units = ["", "k", "M", "G", "T", "P", "E"];
	let v = n, i = 0;
	while (v >= 1000 && i < units.length - 1) { v /= 1000; i++; }
	return `${v < 100 && v % 1 ? v.toPrecision(3) : Math.round(v)} ${units[i]}`;
}

export const count = (n: number): string => n.toLocaleString("en");

export function percent(part: number, whole: number): string {
	const p = whole > 0 ? (100 * part) / whole : 0;
	return p > 0 && p < 1 ? "<1%" : `${Math.round(p)}%`;
}

export function times(a: number, b: number): string {
	const x = b > 0 ? a / b : 0;
	return `${x < 10 ? x.toFixed(2) : x < 100 ? x.toFixed(1) : Math.round(x)}×`;
}

export function ago(text: string): string {
	const s = Math.max(0, (Date.now() - Date.parse(text)) / 1000);
	return s < 90 ? `${Math.round(s)} s ago` : s < 5400 ? `${Math.round(s / 60)} min ago` : s < 129600 ? `${Math.round(s / 3600)} h ago` : `${Math.round(s / 86400)} d ago`;
}

export const short = (id: string): string => id.replace(/^(sha256:|s-)/, "").slice(0, 8);
