/** Runs whose calls, answers and values are the largest and worst that there are, through all that a host does with them. */
import { join } from "node:path";
import { MAX_MEMBERS, MAX_VALUES } from "../../protocol/limits.ts";
import { servedProject } from "../project/served-project.ts";
import { callFrame, claimOf, type Script, ScriptedEngine } from "./scripted-engine.ts";

const MIB = 1024 * 1024;
const SERVER = join(import.meta.dirname, "../fixtures/servers/takes-much.mjs");

/** ptc as it serves, in front of a server that takes and gives anything, for programs that do as they are told. */
async function openRuns(settings: object = {}) {
  const { open } = servedProject({
    servers: [{ name: "much", command: process.execPath, args: ["--no-warnings", SERVER] }],
    execution: { typecheck: "off" },
    sandbox: { warm: 0 },
    ...settings,
  });
  const engine = new ScriptedEngine();
  const opened = await open({ engine, tools: 2, following: undefined, archive: undefined });
  const run = async (script: Partial<Script>) => {
    engine.script = { calls: [], claim: claimOf("null"), ...script };
    return opened.run();
  };
  await run({ calls: [callFrame(0, "mcp__much__take", "{}")] });
  return { ...opened, run };
}

const list = (length: number, item: (index: number) => string) =>
  `[${Array.from({ length }, (_, i) => item(i)).join(",")}]`;
const members = (length: number) => `{${Array.from({ length }, (_, i) => `"k${i}":1`).join(",")}}`;

/** The largest and worst values within the bounds of one message of a sandbox. */
const VALUES: Readonly<Record<string, () => string>> = {
  "many numbers": () => list(MAX_VALUES - 100, () => "12"),
  "many texts": () => list(MAX_VALUES - 100, () => '"ab"'),
  "many rows": () => list(MAX_VALUES / 5 - 100, () => '{"id":1,"name":"ab","mail":"ada@a.test","f":true}'),
  "one object of the most members": () => members(MAX_MEMBERS),
  "objects of many members": () => list(4, () => members(MAX_MEMBERS - 1)),
  "objects of one member with names of their own": () => list(80_000, (i) => `{"k${i}":1}`),
  "one object of too many members": () => members(MAX_VALUES - 100),
  "one long text": () => JSON.stringify("word ".repeat(3 * MIB)),
  "lists in lists": () => `${"[".repeat(120)}${list(200_000, () => "1")}${"]".repeat(120)}`,
};

/** What is sent through a run: as the arguments of a call, and as its result. */
export async function runsOfWorstValues() {
  const { run } = await openRuns();
  return Object.entries(VALUES).flatMap(([what, json]) => {
    const sent: [string, Partial<Script>][] = [
      ["the arguments of a call", { calls: [callFrame(0, "mcp__much__take", `{"value":${json()}}`)] }],
      ["a result", { claim: claimOf(json()) }],
    ];
    return sent.map(([as, script]) => ({ what: `${what} as ${as}`, work: () => run(script) }));
  });
}
