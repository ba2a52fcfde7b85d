import { join } from "node:path";
import { afterAll, describe, expect, it, onTestFinished } from "vitest";
import { openArchive } from "../../../archive/open-archive.ts";
import type { LearnedTypes } from "../../../catalog/learned/learned-types.ts";
import type { StoredCatalog } from "../../../catalog/store/stored-catalog.ts";
import type { Configuration } from "../../../configuration/configuration.ts";
import type { RunEvent } from "../../../execution/runs/run-events.ts";
import { LearningBetweenRuns } from "../../../generation/learning/learn-between-runs.ts";
import { type SampleOptions, sampleRun, sha256, temporaryFolder } from "../../archive/sample-runs.ts";
import { eventually } from "../../eventually.ts";

const folder = temporaryFolder();
afterAll(() => folder.remove());

const TOOL = { name: "add", identifier: "add", inputSchema: {} };
const LOCKED = { module: "math", implementation: { name: "Math", version: "1" }, protocolVersion: "x" };

/** A catalog of one server with one tool, with the definition that sample runs were made with, or another. */
function storedWith(definition: string): StoredCatalog {
  const tools = new Map([["add", { identifier: "add", sha256: sha256(definition) }]]);
  return {
    catalog: { version: 1, servers: [{ name: "math", module: "math", tools: [TOOL] }] },
    lock: { version: 1, servers: new Map([["math", { ...LOCKED, tools }]]) },
  };
}

function setUp(name: string, stored: StoredCatalog) {
  const directory = join(folder.path, name);
  const configuration = { directory, learn: true, archive: { path: join(directory, "a.db"), keepDays: 30 } };
  const published: LearnedTypes[] = [];
  const warnings: string[] = [];
  const learning = new LearningBetweenRuns({
    configuration: () => configuration as Configuration,
    env: {},
    stored: async () => ({ ...stored, learned: published.at(-1) }),
    publish: async (types) => void published.push(types),
    onWarning: (message) => warnings.push(message),
    idleMs: 1,
  });
  const archive = openArchive(configuration.archive);
  onTestFinished(async () => {
    learning.close();
    await archive.close();
  });
  const keep = async (options: SampleOptions) => {
    const { run, calls } = sampleRun(options);
    const recording = archive.begin(run.facts.run_id);
    for (const call of calls) await recording.addCall(call);
    expect(await recording.finish(run)).toMatchObject({ ok: true });
  };
  const tell = (kind: "started" | "ended", runId: string) =>
    learning.onRun({
      kind,
      runId,
      context: { principal: "local", source: "serve" },
      toolCalls: 2,
    } as RunEvent);
  return { keep, tell, published, warnings };
}

const callsOf = (types: LearnedTypes | undefined) => [...(types?.values() ?? [])].map(({ calls }) => calls);

describe("learning between runs", () => {
  it("waits until no program runs, reads what is new, and publishes what has changed", async () => {
    const { keep, tell, published, warnings } = setUp("news", storedWith("definition"));
    await keep({ calls: 2, answer: () => ({ total: 7 }) });
    await keep({ calls: 1, source: "replay", answer: () => ({ other: 7 }) });
    tell("started", "a");
    tell("started", "b");
    tell("ended", "a");
    expect(published).toEqual([]);
    tell("ended", "b");
    await eventually(() => expect(published.map(callsOf)).toEqual([[2]]));
    expect(JSON.stringify([...(published[0]?.values() ?? [])])).not.toContain("other");
    // One more of the same is no news; a member is.
    await keep({ calls: 1, answer: () => ({ total: 8 }) });
    await keep({ calls: 1, answer: () => ({ more: true }) });
    tell("ended", "c");
    await eventually(() => expect(published.map(callsOf)).toEqual([[2], [4]]));
    expect(warnings).toEqual([]);
  });

  it("learns nothing of calls of another definition", async () => {
    const { keep, tell, published } = setUp("other", storedWith("another definition"));
    await keep({ calls: 2 });
    tell("ended", "a");
    const { keep: keepToo, tell: tellToo, published: publishedToo } = setUp("same", storedWith("definition"));
    await keepToo({ calls: 2 });
    tellToo("ended", "a");
    await eventually(() => expect(publishedToo.length).toBe(1));
    expect(published).toEqual([]);
  });
});
