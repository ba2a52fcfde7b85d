import { spawn, spawnSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Bench, type Measurement, percentile, ratio, show } from "../measurement.ts";
import { PTC } from "../peers.ts";

const ROUNDS = 15;
const PROGRAM = "trivial.js";

/** `ptc run` of a trivial program, started from a shell without a background host, against the simplest possible container. */
export const coldRun: Measurement = {
  name: "cold-run",
  about: "`ptc run` alone, against `docker run` of the same image",
  async measure(bench: Bench) {
    const { measuredMs, baselineMs } = await timeColdRuns(bench, "docker");
    const against = "`docker run node -e 0`";
    return [ratio({ name: "ptc run, cold and alone", measuredMs, baselineMs, against, maxRatio: 1.25 })];
  },
};

/** `ptc run` with an engine, and the simplest possible container for comparison. */
export async function timeColdRuns(
  bench: Bench,
  engine: "docker" | "runsc" | "wasm",
): Promise<{ measuredMs: number[]; baselineMs: number[] }> {
  const project = trivialProject(join(bench.folder, `cold-${engine}`), engine);
  const alone = [PTC, "run", PROGRAM, ...(hasHost() ? ["--no-host"] : [])];
  const container = ["run", "--rm", "--runtime", "runsc", "--network", "none"];
  const runPtc = () => timeProcess(process.execPath, alone, project);
  const runDocker = () => timeProcess("docker", [...container, bench.image, "node", "-e", "0"], project);
  const measuredMs: number[] = [];
  const baselineMs: number[] = [];
  for (let round = -1; round < bench.rounds(ROUNDS); round++) {
    const dockerMs = await runDocker();
    const ptcMs = await runPtc();
    if (round < 0) continue;
    baselineMs.push(dockerMs);
    measuredMs.push(ptcMs);
  }
  return { measuredMs, baselineMs };
}

/** `ptc run`, started from a shell while the project's background host is running. */
export const sharedHost: Measurement = {
  name: "shared-host",
  about: "`ptc run` against a warm background host",
  async measure(bench: Bench) {
    if (!hasHost()) {
      bench.skip("`ptc run` against a warm host", "this ptc has no background host");
      return [];
    }
    const project = trivialProject(join(bench.folder, "host"));
    const times: number[] = [];
    try {
      for (let round = -5; round < bench.rounds(ROUNDS * 2); round++) {
        const tookMs = await timeProcess(process.execPath, [PTC, "run", PROGRAM], project);
        if (round >= 0) times.push(tookMs);
        await new Promise((resolve) => setTimeout(resolve, 700));
      }
    } finally {
      spawnSync(process.execPath, [PTC, "host", "stop"], { cwd: project });
    }
    const name = "ptc run against a warm host, p50";
    return [{ name, value: percentile(times, 0.5), unit: "ms", bound: { atMost: 150 }, detail: show(times) }];
  },
};

function hasHost(): boolean {
  const { stdout } = spawnSync(process.execPath, [PTC, "run", "--help"], { encoding: "utf8" });
  return stdout.includes("--no-host");
}

function trivialProject(folder: string, engine = "auto"): string {
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "ptc.yaml"), `servers: []\nsandbox: { engine: ${engine} }\n`);
  writeFileSync(join(folder, PROGRAM), "globalThis.result = 0;\n");
  return folder;
}

async function timeProcess(command: string, args: readonly string[], cwd: string): Promise<number> {
  const startedAt = performance.now();
  const child = spawn(command, args, { cwd, stdio: ["ignore", "ignore", "pipe"] });
  let stderr = "";
  child.stderr.on("data", (chunk: Buffer) => {
    stderr += chunk.toString();
  });
  const code = await new Promise((resolve, reject) => {
    child.on("error", reject);
    child.on("exit", resolve);
  });
  const tookMs = performance.now() - startedAt;
  if (code !== 0) throw new Error(`${command} ${args.join(" ")} ended with ${code}: ${stderr}`);
  return tookMs;
}
