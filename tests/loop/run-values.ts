/** Runs whose calls, answers and values are the largest and worst that there are, through all that a host does with them. */
import { join } from "node:path";
import { MAX_VALUES } from "../../protocol/limits.ts";
import { servedProject } from "../wiring/served-project.ts";
import { callFrame, claimOf, type Script, ScriptedEngine } from "./scripted-engine.ts";
import { worstJson } from "./worst-inputs.ts";

const MIB = 1024 * 1024;
const SERVER = join(import.meta.dirname, "../fixtures/servers/takes-much.mjs");

/** ptc as it serves, in front of a server that takes and gives anything, for programs that do as they are told. */
export async function openRuns(settings: object = {}) {
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

/** The worst values of arguments within the bounds of one frame. */
export function worstArguments(bytes: number): Record<string, string> {
  const { "one long text": text = "", ...rest } = worstJson(bytes);
  return { text };
}
