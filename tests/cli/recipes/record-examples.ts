import { countTokens } from "gpt-tokenizer/encoding/o200k_base";
import type { ArchiveStore } from "../../../archive/archive-store.ts";
import { openArchive } from "../../../archive/open-archive.ts";
import { loadConfiguration } from "../../../configuration/load.ts";
import { CONVERSATIONS } from "../../../scripts/docs/savings/conversations.ts";
import type { RecordedExample } from "../../../scripts/docs/savings/recorded.ts";
import { callDirectly } from "./direct-calls.ts";

/** An example that was run with its real servers. */
export interface RanExample {
  runId: string;
  data: Record<string, unknown>;
}

interface Recording {
  /** The ptc.yaml of the examples. */
  file: string;
  env: Record<string, string>;
  /** Variables for servers that are called without ptc, and begin with nothing. */
  directEnv: Record<string, string>;
  /** What stands for texts that are others on each machine. */
  replace: ReadonlyMap<string, string>;
  /** Runs one more program, for the example of this name; returns the id of its run. */
  run(name: string, code: string, data: Record<string, unknown>): Promise<string>;
}

/** What examples did, read from the archive, and what a model reads that makes the same calls itself. */
export async function recordExamples(
  ran: ReadonlyMap<string, RanExample>,
  { file, env, directEnv, replace, run }: Recording,
): Promise<RecordedExample[]> {
  const configuration = await loadConfiguration({ flag: file, env, cwd: process.cwd() });
  const archive = openArchive(configuration.archive);
  const direct = await callDirectly(file, directEnv);
  const anywhere = (text: string) =>
    [...replace].reduce((replaced, [from, to]) => replaced.replaceAll(from, to), text);
  const valueAnywhere = (value: unknown) => JSON.parse(anywhere(JSON.stringify(value)));
  const outputOf = async (runId: string) => {
    const { consoleText, envelope } = await archive.read(runId);
    if (!envelope.result.ok) throw new Error(envelope.result.error.message);
    return { console: anywhere(consoleText), data: valueAnywhere(envelope.result.data) };
  };
  try {
    // In the order in which they ran, because what one of them keeps is there for the next.
    const recorded = new Map<string, RecordedExample>();
    for (const [program, { runId, data }] of ran) {
      const calls: RecordedExample["calls"] = [];
      for (const call of await callsOf(archive, runId)) {
        const text = anywhere(await direct.read(call.tool, call.arguments));
        calls.push({ ...call, arguments: valueAnywhere(call.arguments), result_tokens: countTokens(text) });
      }
      recorded.set(program, { program, calls, data: valueAnywhere(data), output: await outputOf(runId) });
    }
    const looked: RecordedExample[] = [];
    for (const { program, look } of CONVERSATIONS) {
      const example = recorded.get(program);
      if (example === undefined) throw new Error(`${program} was not run`);
      if (look === undefined) looked.push(example);
      else
        looked.push({
          ...example,
          looked: await outputOf(await run(program, look, ran.get(program)?.data ?? {})),
        });
    }
    return looked;
  } finally {
    await direct.close();
    await archive.close();
  }
}

/** The calls of servers that a run made, in their order. That of a saved program is none: its own calls are among them. */
async function callsOf(archive: ArchiveStore, runId: string) {
  const run = await archive.read(runId);
  const calls = run.record.calls.filter(({ tool }) => !tool.startsWith("mcp__programs__"));
  return Promise.all(
    calls.map(async (call) => ({
      tool: call.tool,
      arguments: (await run.argumentsOf(call)) as Record<string, unknown>,
    })),
  );
}
