// A real daemon in a folder of its own, and a browser on its page.
import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { chromium } from "playwright-core";

export const ROOT = resolve(new URL("../..", import.meta.url).pathname);
export const program = (name, variable) => resolve(process.env[variable] ?? join(ROOT, "build", name));

export class Daemon {
	static async start(...flags) {
		const d = new Daemon();
		d.folder = mkdtempSync(join(tmpdir(), "shardwright-web-"));
		await d.run("127.0.0.1:0", flags);
		return d;
	}
	async run(address, flags) {
		this.process = spawn(program("shardwrightd", "SHARDWRIGHTD"), ["--listen", address, "--store", join(this.folder, "store"), "--worker-binary", program("shardwright", "SHARDWRIGHT"), ...flags],
			{ stdio: ["ignore", "pipe", "ignore"] });
		this.url = await new Promise((found, failed) => {
			this.process.once("exit", code => failed(new Error(`the daemon ended with ${code}`)));
			this.process.stdout.once("data", text => found(/http:\S+/.exec(text.toString())[0]));
		});
	}
	/** Ends the process; its store stays. */
	async kill(signal = "SIGKILL") {
		if (this.process.exitCode !== null || this.process.signalCode !== null) return;
		const gone = new Promise(done => this.process.once("exit", done));
		this.process.kill(signal);
		await gone;
	}
	/** After kill: at the same address, with the same store. */
	again(...flags) { return this.run(new URL(this.url).host, flags); }
	async stop() {
		await this.kill("SIGTERM");
		rmSync(this.folder, { recursive: true, force: true });
	}
	async json(path, options) {
		const response = await fetch(this.url + path, options);
		const body = await response.json();
		if (!response.ok) throw new Error(`${path}: ${response.status} ${JSON.stringify(body)}`);
		return body;
	}
	/** bytes or text */
	async upload(body) { return (await this.json("/v1/modules", { method: "POST", body })).id; }
	post(path, body) { return this.json(path, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) }); }
	/** What a verifier answers: these rows, for the oldest search that waits for one. */
	async verify(rows) {
		const task = await this.post("/v1/verifications/claim", { verifier: "test verifier" });
		const row = more => ({ plan: "this plan", apply: "exact", source: "compiled", compiler: "XLA for cpu", version: "jaxlib 1", options: {}, runtime_ns: 900, peak_bytes: 5000, fits: true,
			predicted_runtime_ns: 1000, predicted_peak_bytes: 4000, seconds: 1.5, reason: null, chosen: false, ...more });
		return this.post(`/v1/verifications/${task.search}/result`, { attempt: task.attempt, verifications: rows.map(row) });
	}
	async search(fields) {
		let s = await this.post("/v1/searches", fields);
		while (s.state === "queued" || s.state === "running") s = await this.json(`/v1/searches/${s.id}?wait=30s`);
		if (s.state !== "succeeded") throw new Error(JSON.stringify(s.error));
		return s;
	}
}

export const corpus = name => readFileSync(join(ROOT, "tests/corpus", `${name}.mlir.zst`));

/** executablePath: Debian's. There is no network but this machine's: no name has an address. Errors of a page, and requests to anybody but its daemon, end in page.faults. */
export const launch = () => chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox", "--disable-gpu", "--disable-lcd-text", "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost"] });

export async function open(browser, daemon, options = {}) {
	const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, ...options });
	const page = await context.newPage();
	page.faults = [];
	page.on("pageerror", e => page.faults.push(e.message));
	page.on("console", m => { if (m.type() === "error") page.faults.push(m.text()); });
	page.on("request", r => { if (!r.url().startsWith(daemon.url) && !/^(data|blob):/.test(r.url())) page.faults.push(`a request to ${r.url()}`); });
	page.at = path => page.goto(`${daemon.url}/${path}`);
	return page;
}
