/** A real Chromium for the console, by Playwright, which brings no browser of its own here. */

import { join } from "node:path";
import axe from "axe-core";
import { type Browser, type BrowserContext, chromium, type Page } from "playwright-core";
import { findChromium } from "../server/pages/chromium.ts";

export const hasBrowser = findChromium() !== undefined;

export function startBrowser(): Promise<Browser> {
  return chromium.launch({
    executablePath: findChromium() ?? "",
    // Its own sandbox cannot be set up by root. Nothing leaves this machine, whatever a page asks for.
    args: [
      ...(process.getuid?.() === 0 ? ["--no-sandbox"] : []),
      "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost",
    ],
  });
}

export interface Watched {
  page: Page;
  context: BrowserContext;
  /** Everything it said on the console, threw, or was refused. */
  complaints: string[];
  /** Everything that it asked for. */
  requests: string[];
}

/** A browser of its own, with its own cookies, in which the console is open. */
export async function openConsole(
  browser: Browser,
  address: string,
  { width = 1440, height = 900, colours = "light" as "light" | "dark", script = true, zone = "UTC" } = {},
): Promise<Watched> {
  const context = await browser.newContext({
    ...{
      viewport: { width, height },
      colorScheme: colours,
      reducedMotion: "reduce",
      javaScriptEnabled: script,
      timezoneId: zone,
    },
  });
  const page = await context.newPage();
  const complaints: string[] = [];
  const requests: string[] = [];
  page.on("console", (message) => void complaints.push(message.text()));
  page.on("pageerror", (error) => void complaints.push(error.message));
  page.on("dialog", (dialog) => {
    complaints.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  page.on("request", (request) => void requests.push(request.url()));
  await page.goto(address);
  return { page, context, complaints, requests };
}

/** Keeps a picture of what is in the window, in the folder that `PTC_SCREENSHOTS` names, where it does. */
export async function photograph(page: Page, name: string): Promise<void> {
  const folder = process.env.PTC_SCREENSHOTS;
  if (folder !== undefined)
    await page.screenshot({ path: join(folder, `${name}.png`), fullPage: name.endsWith("-whole") });
}

/** What axe finds wrong with a page, a line for each place. */
export async function violations(page: Page): Promise<string[]> {
  // The page's own policy allows no script that is brought along.
  const found = await page.evaluate(`${axe.source}; axe.run(document, { resultTypes: ["violations"] })`);
  const { violations: all } = found as {
    violations: { id: string; nodes: { target: string[]; failureSummary: string }[] }[];
  };
  return all.flatMap(({ id, nodes }) =>
    nodes
      .slice(0, 5)
      .map(
        ({ target, failureSummary }) => `${id}: ${target.join(" ")}: ${failureSummary.replaceAll("\n", " ")}`,
      ),
  );
}
