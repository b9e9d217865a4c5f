// The screenshots of docs/page.md: node tour.mjs. Needs the built programs and Debian's Chromium.
import { join } from "node:path";
import { Daemon, ROOT, corpus, launch, open } from "./test/daemon.mjs";

const shot = (page, name) => page.screenshot({ path: join(ROOT, "docs/pictures", `page-${name}.png`) });
const settled = page => page.waitForFunction(() => document.querySelector("h1") && !document.querySelector(".waiting"));

const daemon = await Daemon.start("--workers", "2"), browser = await launch();
try {
	const id = await daemon.upload(corpus("transformer_4"));
	const first = await daemon.search({ module: id, mesh: "data=4,model=4", device: "tpu-v5e" });
	const second = await daemon.search({ module: id, mesh: "data=2,model=8", device: "tpu-v5e" });
	const page = await open(browser, daemon, { viewport: { width: 1280, height: 860 } });
	await page.at(`#/ask?module=${id}`);
	await page.getByText("Arguments and pins").waitFor();
	await shot(page, "ask");
	await page.at(`#/strategies/${first.strategy}`);
	await settled(page);
	await shot(page, "strategy");
	for (const name of ["Arguments", "Timeline"]) {
		await page.getByRole("tab", { name }).click();
		await page.waitForTimeout(2000);
		await shot(page, name.toLowerCase());
	}
	await page.at(`#/searches/${first.id}`);
	await settled(page);
	await page.waitForTimeout(800);
	await shot(page, "watch");
	await page.at(`#/compare/${first.strategy}/${second.strategy}`);
	await page.waitForTimeout(1500);
	await shot(page, "compare");
	if (page.faults.length) throw new Error(page.faults.join("\n"));
} finally {
	await browser.close();
	await daemon.stop();
}
