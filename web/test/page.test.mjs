// A person's way through the page, with a real daemon and Debian's Chromium.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, afterEach, before, test } from "node:test";
import { Daemon, corpus, launch, open } from "./daemon.mjs";

let daemon, browser, page;
const pages = [];
const visit = async (path, options) => {
	page = await open(browser, daemon, options);
	pages.push(page);
	await page.at(path);
	return page;
};
const settled = () => page.waitForFunction(() => document.querySelector("h1") && !document.querySelector(".waiting"));
const view = () => page.evaluate(() => document.querySelector("main").innerText);

before(async () => { daemon = await Daemon.start("--workers", "2"); browser = await launch(); });
after(async () => { await browser?.close(); await daemon?.stop(); });
afterEach(async () => {
	const faults = pages.flatMap(p => p.faults);
	for (const p of pages.splice(0)) await p.context().close();
	assert.deepEqual(faults, []);
});

/** A program of its own: what differs in names only would be the same one. */
const tiny = (name, rows = 512) => `module @step {
  func.func public @main(%arg0: tensor<${rows}x16xf32> loc("${name}"), %arg1: tensor<16x32xf32> loc("${name}[1]")) -> tensor<${rows}x32xf32> {
    %0 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [0] : (tensor<${rows}x16xf32>, tensor<16x32xf32>) -> tensor<${rows}x32xf32> loc("${name}":1:2)
    return %0 : tensor<${rows}x32xf32>
  }
}
`;

const mlp = { search: null, id: "" };
async function answered() {
	mlp.id ||= await daemon.upload(corpus("mlp"));
	mlp.search ??= await daemon.search({ module: mlp.id, mesh: "data=4,model=2", evaluations: 400 });
	return mlp.search.strategy;
}

async function saved(title) {
	if (!await page.locator(".menu[open]").count()) await page.getByText("Download", { exact: true }).click();
	const [file] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: title, exact: true }).click()]);
	return { name: file.suggestedFilename(), text: readFileSync(await file.path(), "utf8") };
}

test("from a dropped module to a strategy, its timeline, a comparison and its files", async () => {
	await visit("");
	await page.getByRole("link", { name: "Ask for one" }).click();
	const bytes = [...corpus("mlp")];
	const data = await page.evaluateHandle(b => {
		const transfer = new DataTransfer();
		transfer.items.add(new File([new Uint8Array(b)], "mlp.mlir.zst"));
		return transfer;
	}, bytes);
	await page.dispatchEvent(".drop", "drop", { dataTransfer: data });
	await page.getByText("Arguments and pins").waitFor();
	assert.match(await view(), /jit_step[\s\S]*Arguments\s+27[\s\S]*Ops\s+458/);
	await page.getByRole("button", { name: /^double model/ }).click();
	assert.match(await view(), /16 devices of up to 256 on ici/);
	await page.getByRole("button", { name: /^halve model/ }).click();
	await page.getByRole("searchbox", { name: "Name" }).fill("batch['x']");
	await page.getByText("1 of 27 arguments").waitFor();
	await page.getByRole("button", { name: "dimension 0: whole; change" }).click();
	await page.getByRole("button", { name: "dimension 0: cut over data; change" }).waitFor();
	assert.equal(new URLSearchParams(new URL(page.url()).hash.split("?")[1]).get("pins"), `batch['x']:[["data"],[]]`);
	await page.getByLabel("Seconds").fill("3");
	await page.getByLabel("Seconds").blur();
	await page.getByRole("button", { name: "Search", exact: true }).click();
	await page.waitForURL(/#\/searches\//);
	await page.getByText("running").first().waitFor();
	assert.match(await view(), /of 3 s|about \d s left/);
	await page.locator(".uplot canvas").waitFor();
	await page.getByRole("link", { name: "See the strategy" }).click({ timeout: 60000 });
	await settled();
	assert.match(await view(), /What limits the step[\s\S]*waiting for memory[\s\S]*Against the baselines[\s\S]*zero3[\s\S]*mlp.py:\d+/);
	const id = /strategies\/([^?]+)/.exec(page.url())[1], document = await daemon.json(`/v1/strategies/${id}`);
	assert.deepEqual(document.arguments.find(a => a.name === "batch['x']").sharding, [["data"], []]);

	await page.getByRole("tab", { name: "Timeline" }).click();
	await page.locator("canvas.timeline").focus();
	await page.keyboard.press("n");
	assert.match(await page.locator(".run").innerText(), /stablehlo\.\w+[\s\S]*limited by/);
	await page.locator(".uplot canvas").waitFor();

	// the temporaries at the peak are those of the peak's memory
	const peak = (await daemon.json(`/v1/strategies/${id}/timeline`)).traceEvents.find(e => e.ph === "i").args;
	assert.equal(peak.bytes, document.cost.temporary_bytes);
	const live = page.locator('table:has(caption:text-is("Live at the peak")) tbody tr');
	assert.match(await live.first().innerText(), /^\w+[\w.]*\s[\s\S]*models\/\w+\.py:\d+/);
	assert.match(await view(), new RegExp(`${peak.values} temporaries`));

	const other = await answered();
	await page.reload();
	await page.getByLabel("Compare with").selectOption(other);
	await page.getByText("Arguments that differ").first().waitFor();
	assert.match(await view(), /B less A[\s\S]*batch\['x'\]/);
	await page.goBack();
	await settled();

	const strategy = await saved("Strategy"), plan = await saved("Module with it"), annotated = await saved("Module, annotated"), trace = await saved("Trace for Perfetto");
	assert.deepEqual(JSON.parse(strategy.text), document);
	assert.equal(strategy.name, "jit_step.strategy.json");
	assert.match(plan.text, /module @jit_step/);
	assert.match(annotated.text, /sdy\.sharding/);
	assert.ok(JSON.parse(trace.text).traceEvents.length > 20);
	await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
	for (const [title, words] of [["JAX", /PartitionSpec\('data', None\)/], ["PyTorch", /Shard\(0\)/]]) {
		await page.getByRole("button", { name: `Copy for ${title}` }).click();
		await page.getByText(`Copied for ${title}`).waitFor();
		assert.match(await page.evaluate(() => navigator.clipboard.readText()), words);
	}
});

test("a module that is wrong says where", async () => {
	await visit("#/ask");
	await page.getByText("Or paste its text").click();
	await page.getByLabel("Text of the module").fill("module {\n  nonsense\n}\n");
	page.faults = { push() {} }; // the browser logs the 400
	await page.getByRole("button", { name: "Use this text" }).click();
	assert.match(await page.getByRole("alert").innerText(), /Line 2, column 3/);
	page.faults = [];
});

test("a running search is canceled, and keeps its best", async () => {
	const module = await daemon.upload(corpus("transformer_4"));
	const post = { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ module, mesh: "data=2,model=2", seconds: 120 }) };
	const { id } = await daemon.json("/v1/searches", post);
	await visit(`#/searches/${id}`);
	await page.locator(".uplot canvas").waitFor({ timeout: 60000 });
	assert.match(await view(), /about \d+ s left/);
	// while it runs: the baselines beside the curve, and the tree, whose evaluations grow
	const tree = page.getByRole("treegrid", { name: "Search tree" }), state = page.locator(".state");
	await tree.waitFor({ timeout: 60000 });
	assert.match(await page.locator(".u-legend").innerText(), /data_parallel[\s\S]*zero2[\s\S]*zero3/);
	const spent = () => tree.locator(".grid-row .g-visits").first().innerText().then(t => Number(/[\d,]+/.exec(t)[0].replaceAll(",", "")));
	const before = await spent();
	await page.waitForFunction(n => Number(/[\d,]+/.exec(document.querySelector(".tree .grid-row .g-visits").innerText)[0].replaceAll(",", "")) > n, before, { timeout: 60000 });
	assert.equal(await state.innerText(), "running");
	await page.getByRole("button", { name: "Cancel, keep the best" }).click();
	await page.getByRole("link", { name: "See the strategy" }).waitFor({ timeout: 30000 });
	assert.match(await view(), /canceled \(partial\)/);
	// the tree stays when the search has ended, for whoever comes later
	await page.reload();
	await tree.waitFor();
	const rows = await tree.locator(".grid-row").evaluateAll(list => list.map(r => ({ level: Number(r.getAttribute("aria-level")), name: r.querySelector(".g-name").innerText, step: r.querySelector(".g-best").innerText })));
	assert.equal(rows[0].level, 1);
	assert.match(rows[0].name, /all plans/);
	// the first row is the best of all, and is reached by open rows down to a whole plan
	assert.ok(rows.some(r => r.level >= 4 && r.step === rows[0].step && /ZeRO/.test(r.name)), JSON.stringify(rows));
	await tree.focus();
	await page.keyboard.press("Home");
	await page.keyboard.press("ArrowLeft");
	await page.waitForFunction(() => document.querySelectorAll(".tree .grid-row").length === 1);
});

test("hostile names are text", async () => {
	const name = "<script>alert(1)</script><img src=x onerror=alert(2)>";
	const search = await daemon.search({ module: await daemon.upload(tiny(name)), mesh: "data=2,model=2", evaluations: 50 });
	page = null;
	await visit(`#/strategies/${search.strategy}?tab=arguments`);
	page.on("dialog", d => { page.faults.push(`a dialog: ${d.message()}`); d.dismiss(); });
	for (const tab of ["arguments", "decisions", "collectives", "timeline", "overview"]) {
		await page.at(`#/strategies/${search.strategy}?tab=${tab}`);
		await settled();
		assert.equal(await page.evaluate(() => document.querySelectorAll("main img, main script").length), 0);
	}
	await page.at(`#/strategies/${search.strategy}?tab=arguments`);
	await page.getByRole("treegrid").waitFor();
	assert.ok((await view()).includes("<script>alert(1)</script>"));
	await page.at(`#/ask?module=${"<b>"}&mesh=${encodeURIComponent("<img src=x>=2")}`);
	await page.getByRole("alert").waitFor();
	page.faults = page.faults.filter(f => !/404|400/.test(f));
});

/** A module with so many arguments, ten in each of its layers. */
const many = n => {
	const letters = "abcdefghij", parts = Array.from({ length: n }, (_, i) => `%arg${i}: tensor<64x64xf32> loc("params['layers'][${Math.floor(i / 10)}]['w${letters[i % 10]}']")`);
	const lines = Array.from({ length: 20 }, (_, i) => `    %${i} = stablehlo.add %${i ? i - 1 : "arg0"}, %arg${i + 1} : tensor<64x64xf32>`);
	return `module @step {\n  func.func public @main(${parts.join(", ")}) -> tensor<64x64xf32> {\n${lines.join("\n")}\n    return %19 : tensor<64x64xf32>\n  }\n}\n`;
};

/** Notes when a first row of the table is there, when it is painted, and when the view's data had come. */
const noteRows = () => {
	window.noted = new Promise(done => {
		const look = new MutationObserver(() => {
			if (!document.querySelector(".grid-row")) return;
			look.disconnect();
			requestAnimationFrame(() => setTimeout(() => {
				const data = performance.getEntriesByType("resource").filter(r => /\/v1\/strategies\/[^/?]+(\/outline)?$/.test(r.name));
				done({ painted: performance.now(), came: Math.max(...data.map(r => r.responseEnd)), bytes: data.reduce((n, r) => n + r.encodedBodySize, 0), requests: data.length });
			}));
		});
		look.observe(document, { childList: true, subtree: true });
	});
};

test("the table of 100,000 arguments is painted after less than 200 ms of work, by a click and by a cold link", async () => {
	const search = await daemon.search({ module: await daemon.upload(many(100000)), mesh: "data=2,model=2", evaluations: 10 }), url = `#/strategies/${search.strategy}`;
	const shown = list => list.map(t => Math.round(t)).join(", ");
	await fetch(`${daemon.url}/v1/strategies/${search.strategy}/outline`); // which a worker makes once
	/** ms that the page's own thread computes from here on: what else the machine does is not in it */
	const computing = async () => {
		const devtools = await page.context().newCDPSession(page);
		await devtools.send("Performance.enable", { timeDomain: "threadTicks" });
		return async () => (await devtools.send("Performance.getMetrics")).metrics.find(m => m.name === "TaskDuration").value * 1000;
	};
	const ways = { click: [], link: [] }, worked = { click: [], link: [] }, after = [];
	for (let run = 0; run < 3; run++) {
		await visit(`${url}?tab=collectives`);
		await settled();
		const computed = await computing(), before = await computed();
		await page.evaluate(noteRows);
		const at = await page.evaluate(() => { const at = performance.now(); document.querySelector("#tab-arguments").click(); return at; });
		ways.click.push((await page.evaluate(() => window.noted)).painted - at);
		worked.click.push(await computed() - before);
		// nothing of it is known before: another context has no cache
		page = await open(browser, daemon);
		pages.push(page);
		await page.addInitScript(noteRows);
		const cold = await computing(), none = await cold();
		await page.at(`${url}?tab=arguments`);
		const noted = await page.evaluate(() => window.noted);
		worked.link.push(await cold() - none);
		ways.link.push(noted.painted);
		after.push(noted.painted - noted.came);
		assert.equal(noted.requests, 1);
		assert.ok(noted.bytes < 100000, `${noted.bytes} bytes`);
	}
	console.log(`100,000 arguments: first paint of the table ${shown(ways.click)} ms after a click, of which the page computed ${shown(worked.click)} ms`);
	console.log(`100,000 arguments by a cold link: painted ${shown(ways.link)} ms after the navigation began, ${shown(after)} ms after the data came; the page computed ${shown(worked.link)} ms in all`);
	for (const list of Object.values(worked)) assert.ok(Math.min(...list) > 5 && Math.min(...list) < 200, `${shown(list)} ms`);
	const grid = page.getByRole("treegrid");
	assert.ok(await page.locator(".grid-row").count() < 100);
	await page.getByRole("searchbox", { name: "Name" }).fill("params['layers'][9999]['wc']");
	await page.getByText("1 of 100,000 arguments").waitFor();
	await page.getByRole("searchbox", { name: "Name" }).fill("");
	await page.getByText(/^100,000 arguments/).waitFor();
	await grid.focus();
	await page.keyboard.press("End");
	await page.keyboard.press("ArrowRight");
	await page.waitForFunction(() => Number(document.querySelector("[role=treegrid]").getAttribute("aria-rowcount")) > 9000);
	await page.keyboard.press("End");
	await page.locator(".grid-row[aria-selected=true]").getByText("[9999]").waitFor();
	assert.ok(await page.locator(".grid-row").count() < 100);
});

test("a slow link: something is there at once, each part comes when its data does, and nothing breaks", async () => {
	const search = await daemon.search({ module: await daemon.upload(many(20000)), mesh: "data=2,model=2", evaluations: 10 });
	await fetch(`${daemon.url}/v1/strategies/${search.strategy}/outline`);
	page = await open(browser, daemon);
	pages.push(page);
	await page.addInitScript(noteRows);
	const devtools = await page.context().newCDPSession(page);
	await devtools.send("Network.enable");
	const link = { offline: false, latency: 300, downloadThroughput: 750e3 / 8, uploadThroughput: 250e3 / 8 }; // a mobile one
	await devtools.send("Network.emulateNetworkConditions", link);
	await page.goto(`${daemon.url}/#/strategies/${search.strategy}?tab=arguments`, { waitUntil: "commit" });
	// before the strategy has come: the frame of the page, and that it waits
	await page.locator(".waiting").first().waitFor();
	assert.match(await page.locator("header").innerText(), /Shardwright[\s\S]*Ask/);
	const noted = await page.evaluate(() => window.noted), first = await page.evaluate(() => performance.getEntriesByName("first-contentful-paint")[0].startTime);
	console.log(`750 kbit/s, 300 ms: first paint after ${Math.round(first)} ms, the table of 20,000 arguments after ${Math.round(noted.painted)} ms, ${Math.round(noted.painted - noted.came)} ms after its data`);
	assert.ok(first < noted.came && noted.bytes < 100000);
	// what is long is on its way (3 MB): the page says so, what is there can be used, and going elsewhere does not wait for it
	await page.getByRole("treegrid").focus();
	await page.keyboard.press("Home");
	await page.keyboard.press("ArrowRight");
	await page.getByText("Loading the names of all arguments").waitFor();
	assert.ok(await page.locator(".grid-row").count() >= 10);
	await page.keyboard.press("ArrowDown");
	await page.waitForURL(/arg=/);
	assert.equal(await page.evaluate(() => document.activeElement.getAttribute("role")), "treegrid");
	await page.getByRole("tab", { name: "Decisions" }).click();
	await page.locator(".decisions > li").first().waitFor({ timeout: 20000 });
	// cut off: it is said, and the way back works
	await devtools.send("Network.emulateNetworkConditions", { ...link, offline: true });
	page.faults = { push() {} }; // the browser logs what it could not load
	await page.getByRole("link", { name: "Queue" }).click();
	await page.locator("main").getByRole("alert").waitFor();
	await devtools.send("Network.emulateNetworkConditions", { ...link, latency: 0, downloadThroughput: -1, uploadThroughput: -1 });
	await page.goBack();
	await page.locator(".decisions > li").first().waitFor();
	await page.getByRole("tab", { name: "Arguments" }).click();
	await page.getByRole("treegrid").waitFor();
	assert.equal(await page.locator("main").getByRole("alert").count(), 0);
	page.faults = [];
});

test("a strategy whose outline cannot be made is shown all the same", async () => {
	const id = await answered();
	page = await open(browser, daemon);
	pages.push(page);
	await page.route("**/outline", route => route.fulfill({ status: 507, contentType: "application/problem+json", body: '{"detail": "the disk is full"}' }));
	page.faults = { push() {} }; // the browser logs the 507
	await page.at(`#/strategies/${id}?tab=arguments`);
	await page.getByText(/^27 arguments/).waitFor();
	assert.equal(await page.locator(".grid-row").first().innerText().then(t => /params/.test(t)), true);
	const names = await page.locator(".grid-row .name").allInnerTexts();
	assert.ok(names.length > 20 && names.every(n => !n.includes("*")));
	await page.getByRole("tab", { name: "Decisions" }).click();
	await page.locator(".decisions > li").first().waitFor();
	assert.match(await view(), /Shard dimension \d of/);
	await page.at("#/strategies/sha256:00");
	await page.locator("main").getByText("there is no strategy").waitFor();
	page.faults = [];
});

test("a shared URL shows the same to somebody else, and after a reload, without any network but the daemon's", async () => {
	const id = await answered();
	await visit(`#/strategies/${id}?tab=arguments`);
	await page.getByRole("searchbox", { name: "Name" }).fill("opt_state");
	await page.getByLabel("Role").selectOption("state");
	await page.locator(".grid-row").nth(3).click();
	await page.waitForURL(/arg=/);
	const complete = () => Promise.all([page.locator(".mesh h2").waitFor(), page.getByRole("link", { name: "ask again" }).waitFor(), page.getByLabel("Compare with").waitFor()]);
	await complete();
	const shown = await view(), url = page.url();
	await page.reload();
	await settled();
	await complete();
	assert.equal(await view(), shown);
	await visit(new URL(url).hash);
	await complete();
	assert.equal(await view(), shown);
	await visit(`#/ask?module=${mlp.id}&mesh=x=2,y=3&device=h100&memory=40GiB&seconds=7&objective=memory`);
	await settled();
	assert.equal(await page.getByLabel("Seconds").inputValue(), "7");
	assert.equal(await page.getByLabel("Minimise").inputValue(), "memory");
	assert.ok(await page.getByRole("radio", { name: /h100/ }).isChecked());
	assert.match(await view(), /6 devices of up to 8 on nvlink/);
});

test("the focus stays while lists are refreshed", async () => {
	await answered();
	await visit("");
	const box = page.getByRole("searchbox");
	await box.fill("data");
	const first = page.locator("tbody a").first();
	await first.focus();
	const href = await first.getAttribute("href");
	for (const list of ["/v1/searches", "/v1/strategies"]) await page.waitForResponse(r => r.url().includes(list), { timeout: 15000 });
	await page.waitForTimeout(300);
	assert.equal(await page.evaluate(() => document.activeElement.getAttribute("href")), href);
	assert.equal(await box.inputValue(), "data");
});

test("the keyboard alone is enough", async () => {
	const id = await answered();
	await visit("");
	await page.locator("tbody a").first().waitFor();
	await page.keyboard.press("Tab");
	assert.equal(await page.evaluate(() => document.activeElement.textContent), "Skip to the content");
	await page.at(`#/strategies/${id}`);
	await settled();
	await page.getByRole("tab", { name: "Overview" }).focus();
	await page.keyboard.press("ArrowRight");
	await page.getByRole("treegrid").waitFor();
	assert.match(await page.evaluate(() => document.activeElement.textContent), /^Arguments/);
	for (let i = 0; i < 12 && await page.evaluate(() => document.activeElement.getAttribute("role")) !== "treegrid"; i++) await page.keyboard.press("Tab");
	assert.equal(await page.evaluate(() => document.activeElement.getAttribute("role")), "treegrid");
	const rows = () => page.evaluate(() => Number(document.querySelector("[role=treegrid]").getAttribute("aria-rowcount")));
	const folded = await rows();
	for (let i = 0; i < 8 && await rows() === folded; i++) { await page.keyboard.press("ArrowDown"); await page.keyboard.press("ArrowRight"); await page.waitForTimeout(50); }
	assert.ok(await rows() > folded);
	await page.keyboard.press("ArrowLeft");
	await page.waitForFunction(n => Number(document.querySelector("[role=treegrid]").getAttribute("aria-rowcount")) === n, folded);
	await page.keyboard.press("Tab");
	await page.keyboard.press("ArrowRight");
	assert.match(await page.locator(".mesh-here").innerText(), /^Device 1 /);
});

test("folds as the command line does", async () => {
	const id = await answered();
	await visit(`#/strategies/${id}?tab=arguments`);
	await page.getByRole("treegrid").waitFor();
	const shown = await page.evaluate(() => [...document.querySelectorAll(".grid-row")].map(r => ({ name: r.querySelector(".name").textContent, n: Number((r.querySelector(".g-count").textContent || "×1").slice(1)) })));
	// the patterns of the explanation are the tool's own
	const { decisions } = await daemon.json(`/v1/strategies/${id}/explanation`);
	assert.equal(shown.reduce((n, r) => n + r.n, 0), 27);
	assert.ok(shown.length < 27 && shown.some(r => r.name.includes("[*]") && r.n > 1));
	assert.ok(decisions.length);
});

test("what a decision keeps off an axis is part of that decision, as are all actions of one step", async () => {
	const module = await daemon.upload(corpus("mlp"));
	// by a schedule: ZeRO-3 over data keeps what it does not divide off it, in the step that shards the others
	const schedule = { tactics: [{ named: "data_parallel", axis: "data" }, { named: "zero3", axis: "data" }, { named: "replicate", axis: "model" }] };
	const { strategy } = await daemon.search({ module, mesh: "data=4,model=2", schedule });
	const document = await daemon.json(`/v1/strategies/${strategy}`), decisions = new Set(document.actions.map(a => a.step)).size;
	const kept = document.actions.filter(a => a.kind === "replicate");
	assert.ok(kept.length && kept.every(a => a.members.length > 1), JSON.stringify(document.actions));
	await visit(`#/strategies/${strategy}?tab=decisions`);
	await settled();
	assert.equal(await page.locator(".decisions > li").count(), decisions);
	assert.equal(await page.locator(".decision-part").count(), document.actions.length);
	const words = (await page.locator(".decision-part > p").allInnerTexts()).map(w => w.replace(/\s+/g, " ").trim());
	assert.match(words[document.actions.indexOf(kept[0])], new RegExp(`^Keep .+ off ${kept[0].axis}$`));
	assert.ok(words.every((w, i) => (document.actions[i].kind === "replicate") === w.startsWith("Keep")));
	// each argument is counted once: names without a number are one, the rest is "and N more"
	const counted = await page.evaluate(() => [...document.querySelectorAll(".decision-part > p")].map(p =>
		p.querySelectorAll(".strong").length + [...p.innerText.matchAll(/×(\d+)|and (\d+) more/g)].reduce((sum, m) => sum + (m[1] ? Number(m[1]) - 1 : Number(m[2])), 0)));
	assert.deepEqual(counted, document.actions.map(a => a.members.length));
	await page.at(`#/strategies/${strategy}?tab=arguments&arg=${kept[0].members[0]}`);
	await page.locator(".decided").waitFor();
	assert.match(await page.locator(".decided").innerText(), /kept off \w+ \(decision \d+\)/);
});

test("a comparison counts every argument once, of one program and of two", async () => {
	const module = await daemon.upload(corpus("transformer_2_tiny")), id = await answered();
	const [a, b] = await Promise.all(["data=2,model=2", "data=4"].map(mesh => daemon.search({ module, mesh, evaluations: 100 })));
	const cut = x => JSON.stringify((x.sharding?.dims ?? x.sharding) ?? x.propagated);
	for (const [x, y] of [[a.strategy, b.strategy], [a.strategy, id]]) {
		const [p, q] = await Promise.all([x, y].map(s => daemon.json(`/v1/strategies/${s}`))), others = new Map(q.arguments.map(r => [r.name, r]));
		const both = p.arguments.filter(r => others.has(r.name)), differ = both.filter(r => cut(r) !== cut(others.get(r.name)));
		await visit(`#/compare/${x}/${y}`);
		await page.getByRole("heading", { name: "Arguments that differ" }).waitFor();
		const rows = await page.locator('table:has(caption:text-is("Arguments that differ")) tbody tr').evaluateAll(list => list.map(r => Number(/×([\d,]+)$/.exec(r.cells[0].innerText.trim())?.[1] ?? 1)));
		assert.equal(rows.reduce((n, r) => n + r, 0), differ.length);
		assert.match(await view(), new RegExp(`${both.length - differ.length} are cut alike`));
		assert.equal(/They are of different programs/.test(await view()), p.module.fingerprint !== q.module.fingerprint);
	}
});

test("a schedule is put together tactic by tactic, and what is wrong is said at the tactic", async () => {
	await answered();
	await visit(`#/ask?module=${mlp.id}&mesh=data=4,model=2&seconds=0.5`);
	const box = page.getByRole("region", { name: "Schedule" }), alert = box.locator(".tactic").getByRole("alert");
	const schedule = () => JSON.parse(new URLSearchParams(new URL(page.url()).hash.split("?")[1]).get("schedule"));
	const search = () => page.getByRole("button", { name: "Search", exact: true }).click();
	await box.getByRole("button", { name: "+ shard arguments over data" }).click();
	await box.getByRole("textbox", { name: "of arguments tactic 1" }).fill("batch*");
	await box.getByRole("textbox", { name: "of arguments tactic 1" }).blur();
	await box.getByRole("button", { name: "+ zero2 over model" }).click();
	await box.getByRole("button", { name: "+ search over all axes" }).click();
	assert.deepEqual(schedule(), { tactics: [{ manual: { axis: "data", arguments: "batch*" } }, { named: "zero2", axis: "model" }, { auto: {} }] });
	// with the keyboard: the second tactic is of another axis, comes first, and keeps its axis as another kind
	await box.getByRole("combobox", { name: "axis of tactic 2" }).selectOption("data");
	await box.getByRole("button", { name: "move tactic 2 up" }).focus();
	await page.keyboard.press("Enter");
	assert.deepEqual(schedule().tactics[0], { named: "zero2", axis: "data" });
	await box.getByRole("combobox", { name: "kind of tactic 1" }).selectOption("auto");
	assert.deepEqual(schedule().tactics[0], { auto: { axes: ["data"] } });
	await box.getByRole("checkbox", { name: "model" }).first().check();
	assert.deepEqual(schedule().tactics[0], { auto: { axes: ["data", "model"] } });
	await box.getByRole("button", { name: "Remove tactic 1" }).click();
	assert.equal(await page.evaluate(() => document.activeElement.className), "card schedule");
	// the daemon refuses at once what is no schedule for this mesh: by the pointer it stands at its tactic and field
	await box.getByRole("spinbutton", { name: "dimension tactic 1" }).fill("99");
	await box.getByRole("spinbutton", { name: "dimension tactic 1" }).blur();
	page.faults = { push() {} }; // the browser logs the 400
	await search();
	await alert.waitFor();
	assert.match(await box.locator(".tactic").first().innerText(), /dimension: expected an integer from 0 to 63/);
	assert.equal(await box.getByRole("spinbutton", { name: "dimension tactic 1" }).getAttribute("aria-invalid"), "true");
	page.faults = [];
	// what only the worker finds ends the search; its words lead back to the tactic
	await box.getByRole("spinbutton", { name: "dimension tactic 1" }).fill("");
	await box.getByRole("spinbutton", { name: "dimension tactic 1" }).blur();
	await alert.waitFor({ state: "detached" });
	await box.getByRole("textbox", { name: "of arguments tactic 1" }).fill("nothing*");
	await box.getByRole("textbox", { name: "of arguments tactic 1" }).blur();
	await search();
	await page.getByRole("link", { name: "Change the question" }).click({ timeout: 60000 });
	await alert.waitFor();
	assert.match(await box.locator(".tactic").first().innerText(), /'nothing\*' names no argument/);
	assert.deepEqual(schedule(), { tactics: [{ manual: { axis: "data", arguments: "nothing*" } }, { auto: {} }] });
	await box.getByRole("textbox", { name: "of arguments tactic 1" }).fill("batch*");
	await box.getByRole("textbox", { name: "of arguments tactic 1" }).blur();
	await search();
	await page.getByRole("link", { name: "See the strategy" }).click({ timeout: 60000 });
	await settled();
	const { actions } = await daemon.json(`/v1/strategies/${/strategies\/([^?]+)/.exec(page.url())[1]}`);
	assert.deepEqual([actions[0].tactic, actions[0].axis], ["manual", "data"]);
	// a text that is no schedule is said, and nothing of it is lost
	await page.at(`#/ask?module=${mlp.id}&schedule=${encodeURIComponent('{"tactics": [{"auto"]}')}`);
	await box.getByRole("alert").waitFor();
	assert.match(await box.getByRole("alert").innerText(), /It is no JSON: .*position 20/);
	await page.at(`#/ask?module=${mlp.id}&schedule=${encodeURIComponent('{"tactics": [{"manual": 3}, {"magic": {"wand": 1}}]}')}`);
	await box.getByText('{"magic":{"wand":1}}').waitFor();
});

test("an upload has a name, a search has tags, and lists are of those that have them", async () => {
	const hostile = "größe <b>×</b> 4", text = tiny("labeled", 1024);
	await visit("#/ask");
	await page.getByLabel("Name it").fill(hostile);
	await page.getByText("Or paste its text").click();
	await page.getByLabel("Text of the module").fill(text);
	await page.getByRole("button", { name: "Use this text" }).click();
	await page.getByText("Arguments and pins").waitFor();
	assert.match(await view(), /größe <b>×<\/b> 4/);
	await page.getByRole("textbox", { name: "Label" }).fill("second name");
	await page.getByRole("button", { name: "Add a label" }).click();
	await page.getByRole("button", { name: "take the label second name away" }).waitFor();
	await page.getByLabel("Tags").fill("nightly, try 2");
	await page.getByLabel("Tags").blur();
	assert.equal(new URLSearchParams(new URL(page.url()).hash.split("?")[1]).get("tags"), "nightly, try 2");
	await page.getByLabel("Seconds").fill("0.5");
	await page.getByLabel("Seconds").blur();
	await page.getByRole("button", { name: "Search", exact: true }).click();
	await page.getByRole("link", { name: "See the strategy" }).click({ timeout: 60000 });
	await settled();
	await page.getByRole("heading", { level: 1, name: hostile }).waitFor();
	// what it is called leads to the list of what is called so
	await page.getByRole("link", { name: "nightly" }).click();
	await page.getByText("1 strategies").waitFor();
	assert.match(page.url(), /tag=nightly/);
	await page.reload();
	await page.getByText("1 strategies").waitFor();
	await page.getByRole("link", { name: "second name" }).click();
	await page.waitForURL(/label=second\+name$/);
	await page.getByText("1 strategies").waitFor();
	const { strategies } = await daemon.json("/v1/strategies?label=second%20name&tag=try%202");
	assert.deepEqual([strategies.length, [...strategies[0].labels].sort(), [...strategies[0].tags].sort()], [1, [hostile, "second name"], ["nightly", "try 2"]]);
	await page.at(`#/modules/${strategies[0].module}`);
	await page.getByRole("button", { name: "take the label second name away" }).click();
	await page.waitForFunction(() => document.querySelectorAll(".labels .label").length === 1);
	assert.deepEqual((await daemon.json(`/v1/modules/${strategies[0].module}`)).labels, [hostile]);
	// a label that the daemon refuses is said where it was typed
	await page.getByRole("textbox", { name: "Label" }).fill("ß".repeat(60)); // 120 bytes
	page.faults = { push() {} }; // the browser logs the 400
	await page.getByRole("button", { name: "Add a label" }).click();
	await page.locator(".labels").getByRole("alert").waitFor();
	page.faults = [];
});
