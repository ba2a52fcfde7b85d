import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { auditFiles } from "../../archive/audit/reading/audit-source.ts";
import { loadConfiguration } from "../../configuration/load.ts";
import { Console } from "../../console/console.ts";
import { LoopbackServer } from "../../console/serve-console.ts";
import { loadPrinters } from "../../languages/languages.ts";
import { openPasskeyStore, Passkeys } from "../../logins/passkeys.ts";
import type { Host } from "../../project/host.ts";
import { openHost } from "../../project/open-host.ts";
import { Project } from "../../project/open-project.ts";
import { KeyList } from "../../secrets/sealing.ts";
import { type Bench, type Measurement, ratio } from "../measurement.ts";
import { makeProject } from "../peers.ts";

const CONSOLES = 100;
/** Of one person, of which a console lets no more than 20 watch at once. */
const OF_ONE = 10;
/** Long enough for the pool to be full again, and for what was opened or closed to be over. */
const REFILL_MS = 1_500;

/** Calls, each of which every console is told of, and prints. */
const PROGRAM = `
for (let i = 0; i < 40; i++) {
  const { text } = await mcp__echo__echo({ text: String(i) });
  console.log("call", i, text);
}
globalThis.result = "done";`;

/** A run that everybody watches, whose process serves the consoles, against the same run while nobody does. */
export const consoles: Measurement = {
  name: "console",
  about: `a run while ${CONSOLES} consoles are open, against none`,
  async measure(bench: Bench) {
    const folder = makeProject(join(bench.folder, "console"));
    const env = { ...process.env, XDG_STATE_HOME: join(folder, "state") };
    const configuration = await loadConfiguration({ flag: undefined, env, cwd: folder });
    const host = openHost(new Project(configuration, { env, onWarning() {} }), { warm: 4 });
    const server = await LoopbackServer.listen(0);
    const console = consoleOf(host, server.origin, folder);
    server.serve(console);
    // Browsers are on other machines, and here at least in another process.
    const readers = fork(join(import.meta.dirname, "console-readers.ts"), [server.origin], {
      stdio: ["ignore", "inherit", "inherit", "ipc"],
    });
    const times: Record<"watched" | "alone", number[]> = { watched: [], alone: [] };
    try {
      for (let round = -3; round < bench.rounds(60); round++) {
        // Each comes first as often as last.
        const order = round % 2 === 0 ? (["watched", "alone"] as const) : (["alone", "watched"] as const);
        for (const each of order) {
          // What it takes to open and close them comes before both.
          await tell(readers, { open: CONSOLES, ofOne: OF_ONE });
          if (each === "alone") await tell(readers, { open: 0, ofOne: OF_ONE });
          await delay(REFILL_MS);
          const tookMs = await timeRun(host);
          await tell(readers, { open: 0, ofOne: OF_ONE });
          if (round >= 0) times[each].push(tookMs);
        }
      }
    } finally {
      readers.disconnect();
      console.close();
      await server.close();
      await host.close();
    }
    return [
      ratio({
        ...{ name: `a run of 40 calls, with ${CONSOLES} open consoles`, measuredMs: times.watched },
        ...{ against: "with none", baselineMs: times.alone, maxRatio: 1.05 },
      }),
    ];
  },
};

function consoleOf(host: Host, origin: string, folder: string): Console {
  const sealer = async () => new KeyList([Buffer.alloc(32, 1)]);
  return new Console({
    ...{ project: "bench", origin, sealer, now: Date.now },
    configuration: () => host.configuration,
    archive: host.archive,
    pending: () => host.pendingApprovals(),
    audit: auditFiles(join(folder, "audit.jsonl")),
    tools: () => host.currentTools(),
    printers: () => loadPrinters(host.configuration.languages),
    follow: (watcher) => host.runs.watch(watcher),
    passkeys: new Passkeys({
      ...{ store: openPasskeyStore({ XDG_STATE_HOME: folder }), origin, now: Date.now, sealer },
      onChange() {},
    }),
    entrance: {
      async enter(_, request) {
        const name = new URL(request.url).searchParams.get("as") ?? "somebody";
        return { kind: "in", viewer: { principal: name, name }, to: "/console/" };
      },
    },
    rightsOf: async () => ({ runs: "all", audit: "all", approves: true, replays: false, saves: false }),
    nameInAudit: ({ name }) => name,
    onWarning(message) {
      throw new Error(message);
    },
  });
}

/** Has the readers do something, and waits until it is done. */
async function tell(readers: ChildProcess, what: object): Promise<void> {
  const done = once(readers, "message");
  readers.send(what);
  const [answer] = (await done) as [{ why?: string }];
  if (answer.why !== undefined) throw new Error(answer.why);
}

async function timeRun(host: Host): Promise<number> {
  const began = performance.now();
  const { envelope, recorded } = await host.run({
    program: { code: PROGRAM, data: {}, language: "javascript", fileName: "bench.js" },
    context: { principal: "local", source: "run" },
    approver: { ask: async () => ({ decision: "once", by: "bench" }) },
    signal: new AbortController().signal,
  });
  const tookMs = performance.now() - began;
  await recorded;
  if (!envelope.result.ok) throw new Error(envelope.result.error.message);
  return tookMs;
}
