import { statSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import type { Envelope } from "../../../protocol/envelope.ts";
import { Chromium, findChromium } from "../../server/pages/chromium.ts";
import { fixtureServer, type Project, usePtc } from "../ptc-process.ts";

const newProject = usePtc();

const SECRET = "correct-horse-battery-staple";

const FAILS = `const documents = await Promise.all(
  ["c", "a", "b"].map((documentId) => mcp__my_documents__get_document({ documentId })),
);
console.log(documents.length, "documents", ${JSON.stringify(SECRET)});
function publish() {
  throw new Error("\\u001b[2Jnot today");
}
publish();
`;

describe("the archive of real runs", () => {
  let made: Project;
  let fine: Envelope;
  let failed: Envelope;
  beforeAll(async () => {
    const server = { ...fixtureServer("my-documents", "documents.mjs"), env: { API_KEY: SECRET } };
    made = newProject({ "ptc.yaml": { servers: [server] } });
    await made.generate();
    fine = (await made.run("result = 1;")).envelope;
    failed = (await made.run(FAILS)).envelope;
  });

  it("lists, shows and counts them, without secrets and without what steers a terminal", async () => {
    const listed = await made.ptc(["runs", "list", "--json"]);
    expect(JSON.parse(listed.stdout)).toMatchObject([
      { run_id: failed.run_id, status: "ScriptError", calls: 3, source: "run" },
      { run_id: fine.run_id, status: "ok", calls: 0 },
    ]);
    const table = await made.ptc(["runs", "list", "--server", "my-documents", "--status", "failed"]);
    expect(table.stdout).toMatch(/^RUN .*\n[0-9a-f]{8} .* ScriptError .*\n$/);

    const shown = await made.ptc(["runs", "show", failed.input_digest]);
    expect(shown).toMatchObject({ code: 0, stderr: "" });
    expect(shown.stdout).toMatch(/^▶ 6 │ {3}throw new Error/m);
    expect(shown.stdout).toMatch(/^┃ 8 │ publish\(\);$/m);
    expect(shown.stdout.match(/^[123] {2}my_documents\.get_document .*[━╺╸]/gm)).toHaveLength(3);
    expect(shown.stdout).toMatch(/^Console\n3 documents /m);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: that there is none is the point.
    expect(shown.stdout).not.toMatch(/\u001b/);

    const everything = await made.ptc(["runs", "show", failed.run_id.slice(0, 8), "--json"]);
    expect(JSON.parse(everything.stdout).calls).toHaveLength(3);
    for (const { stdout } of [shown, everything, listed]) expect(stdout).not.toContain(SECRET);

    const counted = await made.ptc(["runs", "stats", "--json"]);
    expect(JSON.parse(counted.stdout)).toMatchObject({ runs: 2, total: { calls: 3, failed: 1 } });
    expect(await made.ptc(["runs", "verify"])).toMatchObject({ code: 0 });
  });

  it("gives a page that a browser shows without a complaint or a request", async () => {
    expect(await made.ptc(["runs", "show", failed.run_id, "--html", "run.html"])).toMatchObject({
      code: 0,
    });
    const html = made.read("run.html");
    expect(statSync(join(made.directory, "run.html")).mode & 0o777).toBe(0o600);
    expect(html).toContain("Content-Security-Policy");
    expect(html).not.toContain(SECRET);
    const command = findChromium();
    if (command === undefined)
      return console.warn("SKIPPED: the page in a browser. Chromium is not installed.");
    const browser = await Chromium.start(command);
    try {
      const page = await browser.open(html);
      expect(page.complaints).toEqual([]);
      expect(page.requests).toHaveLength(1);
      expect(await page.evaluate("document.querySelectorAll('.bar').length")).toBe(3);
      expect(await page.evaluate("document.querySelector('.line.failed').id")).toBe("L6");
    } finally {
      await browser.stop();
    }
  });

  it("carries a run that failed to a colleague, who replays it without any of its servers", async () => {
    await made.ptc(["runs", "export", failed.run_id, "--out", "failing.ptc"]);

    const theirs = newProject();
    const imported = await theirs.ptc(["runs", "import", join(made.directory, "failing.ptc")]);
    expect(imported).toMatchObject({ code: 0, stdout: `${failed.run_id}\n` });
    const replayed = await theirs.ptc(["replay", failed.input_digest]);
    expect(replayed.stderr).toContain("same");
    expect(JSON.parse(replayed.stdout)).toMatchObject({ output_digest: failed.output_digest });
  });
});
