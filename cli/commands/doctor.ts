import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { whyNotRedacted } from "../../broker/redaction-secrets.ts";
import { BrokerSession } from "../../broker/session.ts";
import type { UpstreamPool } from "../../broker/upstream-pool.ts";
import { DockerEngine } from "../../sandbox/docker-engine.ts";
import { OnDemandSource } from "../../sandbox/on-demand-source.ts";
import { currentProcess, formatIdentity } from "../../sandbox/process-identity.ts";
import type { StateDirectory } from "../../sandbox/state-directory.ts";
import type { DefineCommand } from "../command.ts";
import { composeUpstreams, openState } from "../composition.ts";
import type { Configuration } from "../configuration/configuration.ts";
import { ConfigurationError } from "../configuration/configuration-error.ts";
import { loadConfiguration } from "../configuration/load.ts";
import { EXIT, type ExitCode } from "../exit-code.ts";
import { version } from "../package.ts";
import { exitOnSignals, type Surroundings, write } from "../surroundings.ts";

/** What one part of ptc's surroundings said when it was tried. A failure's detail says what to do. */
interface Finding {
  part: string;
  ok: boolean;
  detail: string;
}

/** `ptc doctor` */
export const doctorCommand: DefineCommand = (program, surroundings, finish) => {
  program
    .command("doctor")
    .description("try every part that ptc needs, and say what to do about what fails")
    .option("--config <file>", "configuration file")
    .option("--json", "print the findings as JSON")
    .addHelpText("after", "\nExample:\n  ptc doctor --config ptc.yaml\n")
    .action(async (flags: { config?: string; json?: boolean }) => {
      finish(await examine(flags, surroundings));
    });
};

async function examine(
  flags: { config?: string; json?: boolean },
  surroundings: Surroundings,
): Promise<ExitCode> {
  const findings: Finding[] = [];
  const tell = async (finding: Finding) => {
    findings.push(finding);
    if (!flags.json)
      await write(surroundings.stdout, renderFinding(finding, surroundings.stdout.isTTY === true));
  };
  await tell({ part: "ptc", ok: true, detail: `${version}, Node.js ${process.versions.node}` });

  let configuration: Configuration | undefined;
  let exitCode: ExitCode = EXIT.done;
  try {
    configuration = await loadConfiguration({
      flag: flags.config,
      env: surroundings.env,
      cwd: surroundings.cwd(),
    });
    const { file, servers } = configuration;
    const detail =
      file === undefined
        ? "none here; `ptc.yaml` names your servers"
        : `${file}, ${count(servers.length, "server")}`;
    await tell({ part: "configuration", ok: true, detail });
    const plain = unredacted(configuration);
    if (plain.length > 0) await tell({ part: "redaction", ok: true, detail: plain.join("; ") });
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error;
    await tell({ part: "configuration", ok: false, detail: error.message });
    exitCode = EXIT.usage;
  }

  const { state } = openState(surroundings.env);
  exitOnSignals(surroundings);
  try {
    if (!(await examineSandbox(configuration, state, tell)) && exitCode === EXIT.done)
      exitCode = EXIT.noSandbox;
    if (configuration !== undefined) {
      const pool = composeUpstreams(configuration, state);
      const healthy = await examineServers(configuration, pool, tell);
      await pool.close();
      if (!healthy && exitCode === EXIT.done) exitCode = EXIT.failed;
    }
  } finally {
    state.remove();
  }
  if (flags.json)
    await write(surroundings.stdout, `${JSON.stringify({ ok: exitCode === EXIT.done, findings })}\n`);
  return exitCode;
}

/** What stands where secrets stand, and is shown all the same. Values are not told. */
function unredacted({ servers, credentials }: Configuration): string[] {
  return servers.flatMap((server) => {
    const values = server.transport === "stdio" ? server.env : server.headers;
    return Object.entries(values).flatMap(([name, value]) => {
      const why = credentials.includes(value) ? whyNotRedacted(value, true) : undefined;
      return why === undefined ? [] : [`${name} of server '${server.name}' ${why}`];
    });
  });
}

/** Docker, gVisor, image, and then a real sandbox, each only where the one before it is there. */
async function examineSandbox(
  configuration: Configuration | undefined,
  state: StateDirectory,
  tell: (finding: Finding) => Promise<void>,
): Promise<boolean> {
  const runtime = configuration?.sandbox.runtime ?? "runsc";
  const image = configuration?.sandbox.image ?? "ptc-runner";
  const engine = new DockerEngine();
  const passes = async (part: string, check: () => Promise<string>): Promise<boolean> => {
    try {
      await tell({ part, ok: true, detail: await check() });
      return true;
    } catch (error) {
      await tell({ part, ok: false, detail: oneLine(error) });
      return false;
    }
  };
  return (
    (await passes("docker", async () => (await engine.describe()).version)) &&
    (await passes("gvisor", async () => {
      const { runtimes } = await engine.describe();
      if (!runtimes.has(runtime)) {
        throw new Error(
          `Docker has no runtime '${runtime}'; install gVisor and register it (see README, "Sandbox")`,
        );
      }
      return `runtime '${runtime}', ${await runtimeVersion(runtimes.get(runtime))}`;
    })) &&
    (await passes("image", async () => {
      const found = await engine.findImage(image);
      if (found === undefined) throw new Error(`there is no image '${image}'; run \`ptc image build\``);
      return `${image}, ${found.digest.slice(0, 19)}`;
    })) &&
    (await passes("sandbox", async () => {
      const limits = configuration?.execution ?? { memoryMb: 512, cpus: 1, pids: 256 };
      const source = new OnDemandSource({
        engine,
        state,
        owner: formatIdentity(currentProcess()),
        image,
        runtime,
        limits,
      });
      const sandbox = await source.acquire({ onStdout() {}, onStderr() {} });
      try {
        const session = new BrokerSession(sandbox.channel, { maxParallelCalls: 1, maxToolCalls: 1 }, () => {
          throw new Error("nothing is called here");
        });
        const { language, runtime: inside } = await session.ready;
        return `starts and answers, ${language} on Node.js ${inside.replace(/^v/, "")}`;
      } finally {
        await sandbox.dispose();
      }
    }))
  );
}

async function examineServers(
  { servers }: Configuration,
  pool: UpstreamPool,
  tell: (finding: Finding) => Promise<void>,
): Promise<boolean> {
  const results = await Promise.all(
    servers.map(async ({ name }): Promise<Finding> => {
      const part = `server ${name}`;
      try {
        const listing = await pool.get(name)?.list();
        if (listing === undefined) return { part, ok: false, detail: "is not configured" };
        const { implementation, protocolVersion, tools } = listing;
        const detail = `${implementation.name} ${implementation.version}, ${count(tools.length, "tool")}, MCP ${protocolVersion}`;
        return { part, ok: true, detail };
      } catch (error) {
        return { part, ok: false, detail: oneLine(error) };
      }
    }),
  );
  for (const finding of results) await tell(finding);
  return results.every(({ ok }) => ok);
}

async function runtimeVersion(path: string | undefined): Promise<string> {
  try {
    const { stdout } = await promisify(execFile)(path || "runsc", ["--version"], { timeout: 5_000 });
    return stdout.split("\n")[0]?.trim() ?? "";
  } catch {
    return "version unknown";
  }
}

function renderFinding({ part, ok, detail }: Finding, colour: boolean): string {
  const mark = ok ? "ok  " : "FAIL";
  const painted = colour ? `\u001b[${ok ? 32 : 31}m${mark}\u001b[0m` : mark;
  return `${painted}  ${part.padEnd(18)} ${printable(detail)}\n`;
}

/** Servers name themselves: no control character of theirs reaches the terminal. */
function printable(text: string): string {
  return text.replaceAll(/\p{C}/gu, "\u{fffd}");
}

function oneLine(error: unknown): string {
  return (error instanceof Error ? error.message : String(error)).replaceAll(/\s+/g, " ");
}

function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? "" : "s"}`;
}
