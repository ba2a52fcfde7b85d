/**
 * The public conformance suite, through ptc as a gateway, in front of the server that the suite expects: what passes without ptc
 * passes with it, but for what `DIFFERENCES` names and explains.
 */
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { usePtc } from "../cli/ptc-process.ts";
import { listen } from "../upstream/mcp/upstream-http-servers.ts";
import { serveConforming } from "./conforming-server.ts";
import { bridgeToStdio } from "./http-bridge.ts";
import { serveHttp } from "./http-clients.ts";
import { findScript, runClient } from "./installed-client.ts";
import { type Renaming, renameTo } from "./renaming-proxy.ts";

const newProject = usePtc();

/** How many checks of a scenario fail through ptc, and why they do. */
type Differences = Record<string, { failed: number; why: string }>;

const TOP_LEVEL =
  "its tool's schema has `allOf` and `if` at the top, for which models' APIs refuse all tools of a list: it stays for programs";
const PERSON_FIRST =
  "a person is asked before the client's model is, and the suite's client has nobody or expects no question";
const ROOTS = "a server gets the folders that its entry names, not those of the client";
const KEYS = "a question to the person has ptc's key: keys of the server are between it and ptc";

const OF_SESSIONS: Differences = {
  "json-schema-2020-12": { failed: 1, why: TOP_LEVEL },
  "tools-call-sampling": { failed: 1, why: PERSON_FIRST },
  "elicitation-sep1330-enums": {
    failed: 1,
    why: "titles in the deprecated `enumNames` reach the client as `oneOf`, which replaced them",
  },
};

const OF_REQUESTS: Differences = {
  "json-schema-2020-12": { failed: 1, why: TOP_LEVEL },
  "server-stateless": {
    failed: 2,
    why: "a call whose server asks what nobody can be asked ends with an error that a model reads, and that is in the audit log",
  },
  "input-required-result-basic-elicitation": { failed: 1, why: KEYS },
  "input-required-result-basic-sampling": { failed: 1, why: PERSON_FIRST },
  "input-required-result-basic-list-roots": { failed: 1, why: ROOTS },
  "input-required-result-multiple-input-requests": { failed: 1, why: ROOTS },
  "input-required-result-capability-check": { failed: 1, why: PERSON_FIRST },
};

/** The suite of an era, the reasons for what differs, and how it is called. */
const SUITES = {
  legacy: { packageName: "@modelcontextprotocol/conformance", flags: [], differences: OF_SESSIONS },
  modern: {
    ...{ packageName: "conformance-2026", flags: ["--spec-version", "2026-07-28"] },
    differences: OF_REQUESTS,
  },
};

/** A suite is run twice. */
const LONGEST_MS = 600_000;

/** The suite counts a server that has no tool of this kind as failing. */
const NO_TOOL = "http-custom-header-server-validation";

const TOOL = "mcp__suite__";
const URI = "mcp://suite/";

/** The suite's names, as ptc has them. Answers get the suite's again. */
const RENAMING: Required<Renaming> = {
  there: (message) => {
    const { method, params = {} } = message as { method?: string; params?: Record<string, unknown> };
    const rename = (at: Record<string, unknown>) => {
      if (typeof at.name === "string") at.name = TOOL + at.name;
      if (typeof at.uri === "string") at.uri = URI + at.uri;
    };
    if (/^(?:tools|prompts|resources|skills)\//.test(method ?? "")) rename(params);
    if (method === "completion/complete") rename(params.ref as Record<string, unknown>);
    return message;
  },
  name: (name, method) => (/^(?:resources|skills)\//.test(method) ? URI : TOOL) + name,
  back: (part) => part.replaceAll(TOOL, "").replaceAll(URI, ""),
};

/** How many checks of each scenario fail against the server at a URL. @param chosen all, or one. */
async function failuresOf(era: keyof typeof SUITES, url: string, chosen = ["--suite", "all"]) {
  const { packageName, flags } = SUITES[era];
  const found = findScript(packageName, "conformance");
  if (typeof found === "string") return expect.fail(found);
  const { stdout } = await runClient(found, ["server", "--url", url, ...chosen, ...flags], { cwd: tmpdir() });
  const lines = stdout.matchAll(/^[✓✗] (\S+): \d+ passed, (\d+) failed/gm);
  const failures = new Map([...lines].map(([, scenario = "", failed]) => [scenario, Number(failed)]));
  const [, passed, all] = /^Passed: (\d+)\/(\d+), /m.exec(stdout) ?? [];
  return all === undefined ? failures : new Map([[String(chosen.at(-1)), Number(all) - Number(passed)]]);
}

/** A ptc in front of the suite's server, and that server. */
async function makeGateway(era: keyof typeof SUITES) {
  const url = `${await listen(serveConforming(era))}/mcp`;
  const server = { name: "suite", url, sampling: "allow" };
  const settings = { discovery: "direct", learn: "off", sandbox: { warm: 0 } };
  const project = newProject({ "ptc.yaml": { servers: [server], ...settings } });
  expect(await project.ptc(["generate"])).toMatchObject({ code: 0 });
  return { url, project };
}

/** Scenarios of all kinds but logging: the bridge knows no call that a log message belongs to. Each starts its own ptc. */
const OVER_STDIO = [
  ...["tools-call-mixed-content", "tools-call-with-progress", "tools-call-elicitation", "tools-call-error"],
  ...["completion-complete", "resources-read-binary", "resources-subscribe"],
  ...["prompts-get-with-args", "elicitation-sep1034-defaults"],
];

test.each(["legacy", "modern"] as const)(
  "what passes of the %s suite without ptc passes with it, but for what a table names",
  async (era) => {
    const { url, project } = await makeGateway(era);
    const without = await failuresOf(era, url);
    const { url: served } = await serveHttp(project);
    const through = await failuresOf(era, `${await renameTo(served, RENAMING)}/mcp`);
    expect([...through.keys()]).toEqual([...without.keys()]);
    expect(without.size).toBeGreaterThan(30);
    const { differences } = SUITES[era];
    const want = [...without].map(([name, failed]) => [name, failed + (differences[name]?.failed ?? 0)]);
    expect(Object.fromEntries(through)).toEqual(Object.fromEntries(want));
    const failing = [...without].filter(([, failed]) => failed > 0).map(([name]) => name);
    expect(failing).toEqual(era === "modern" ? [NO_TOOL] : []);
  },
  LONGEST_MS,
);

/** Scenarios of an extension, which are on no revision's list. The third is about an option that ptc does not offer. */
const OF_SKILLS = ["sep-2640-skills-enumeration", "sep-2640-skills-manifest"];

test("the suite's scenarios of skills pass through ptc as without it", async () => {
  const { url, project } = await makeGateway("modern");
  const { url: served } = await serveHttp(project);
  const through = `${await renameTo(served, RENAMING)}/mcp`;
  for (const scenario of OF_SKILLS)
    for (const target of [url, through])
      expect
        .soft(await failuresOf("modern", target, ["--force", "--scenario", scenario]))
        .toEqual(new Map([[scenario, 0]]));
});

test("scenarios of all kinds pass through ptc over stdio", async () => {
  const { project } = await makeGateway("legacy");
  const [command = "", ...args] = project.command(["serve"]);
  const env = { XDG_RUNTIME_DIR: join(project.directory, "run") };
  const bridge = bridgeToStdio({ command, args, cwd: project.directory, env }, RENAMING.there);
  const target = new URL(`${await listen(bridge)}/mcp`);
  const origin = await renameTo(target, { ...RENAMING, there: (message) => message });
  for (const scenario of OVER_STDIO)
    expect
      .soft(await failuresOf("legacy", `${origin}/mcp`, ["--scenario", scenario]))
      .toEqual(new Map([[scenario, 0]]));
});
