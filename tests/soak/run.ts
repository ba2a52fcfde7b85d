/** `npm run soak`: prints what was checked, with figures, and exits with 1 when anything does not hold. */
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readCount, readFlags } from "../script-flags.ts";
import type { SoakCheck } from "./checks.ts";

const HELP = `Usage: npm run soak -- [--runs N] [--in-flight N] [--kills N] [--restart-docker COMMAND]
       npm run soak -- --http [--programs N] [--clients N] [--kills N] [--restarts N]
       npm run soak -- --hostile [--programs N] [--clients N]
       npm run soak -- --kubernetes [--programs N] [--in-flight N] [--kills N]

Runs programs of all kinds, then kills sandboxes, servers and ptc while programs run, and checks what must hold.
  --runs N                  programs of mixed kinds, 1000 without it
  --in-flight N             at the same time, 4 without it
  --kills N                 how often each thing is killed, 5 without it
  --restart-docker COMMAND  a command that ends the Docker daemon and starts it again; without it, the daemon is left alone

With --http, many clients run programs at three replicas of \`ptc serve --http\` with one PostgreSQL.
  --programs N              programs of all clients together, 5000 without it
  --clients N               clients, each with a login of its own, 200 without it
  --kills N                 how often a replica is killed, 10 without it
  --restarts N              how often PostgreSQL ends as in a power failure and starts again, 2 without it

With --hostile, one person sends the worst that there is to one \`ptc serve --http\`, beside honest ones who run programs.
  --programs N              programs of each honest client, 20 without it
  --clients N               honest clients, each with a login of its own, 50 without it

With --kubernetes, programs run at two replicas that are pods of the chart in a cluster of this machine (PTC_TEST_KUBERNETES=1, PTC_TEST_HELM),
and in pods of it, while replicas, kubelet, API server and controller are killed, the pool is drained and another version comes.
  --programs N              programs, 300 without it
  --in-flight N             at the same time, 4 without it
  --kills N                 how often a replica is killed, 2 without it`;

const values = readFlags("soak", HELP, {
  http: { type: "boolean", default: false },
  hostile: { type: "boolean", default: false },
  kubernetes: { type: "boolean", default: false },
  runs: { type: "string", default: "1000" },
  "in-flight": { type: "string", default: "4" },
  kills: { type: "string" },
  programs: { type: "string" },
  clients: { type: "string" },
  restarts: { type: "string", default: "2" },
  "restart-docker": { type: "string" },
  help: { type: "boolean", default: false },
});
if (values.help) {
  console.log(HELP);
  process.exit(0);
}
const count = (flag: string, value: string, least = 0) => readCount("soak", HELP, `--${flag}`, value, least);
const directory = mkdtempSync(join(tmpdir(), "ptc-soak-"));
const common = {
  directory,
  command: [process.execPath, join(import.meta.dirname, "../../dist/cli/ptc.js")],
  say: (line: string) => console.log(line),
};
const checks = await chosen();
const failed = checks.filter(({ holds }) => !holds).length;
console.log(`${checks.length} checks, ${failed} failed`);
if (failed === 0) rmSync(directory, { recursive: true, force: true });
else console.log(`what it left is in ${directory}`);
process.exit(failed === 0 ? 0 : 1);

function chosen(): Promise<SoakCheck[]> {
  if (values.kubernetes) return soakCluster();
  if (values.hostile) return soakHostile();
  return values.http ? soakHttp() : soakAlone();
}

async function soakHostile(): Promise<SoakCheck[]> {
  const { hostileSoak } = await import("./hostile/hostile-soak.ts");
  return hostileSoak({
    ...common,
    measures: true,
    clients: count("clients", values.clients ?? "50", 1),
    programs: count("programs", values.programs ?? "20", 1),
  });
}

async function soakHttp(): Promise<SoakCheck[]> {
  const { httpSoak } = await import("./http/http-soak.ts");
  return httpSoak({
    ...common,
    clients: count("clients", values.clients ?? "200", 1),
    programs: count("programs", values.programs ?? "5000", 1),
    kills: count("kills", values.kills ?? "10"),
    restarts: count("restarts", values.restarts),
  });
}

async function soakCluster(): Promise<SoakCheck[]> {
  const { kubernetesSoak, whyNoKubernetesSoak } = await import("./kubernetes/kubernetes-soak.ts");
  const why = whyNoKubernetesSoak();
  if (why !== "") {
    console.error(`there can be no soak in a cluster here: ${why}`);
    process.exit(2);
  }
  return kubernetesSoak({
    ...common,
    programs: count("programs", values.programs ?? "300", 1),
    inFlight: count("in-flight", values["in-flight"], 1),
    kills: count("kills", values.kills ?? "2"),
  });
}

async function soakAlone(): Promise<SoakCheck[]> {
  const { soak } = await import("./soak.ts");
  const { "restart-docker": restart } = values;
  const checks = await soak({
    ...common,
    runs: count("runs", values.runs),
    inFlight: count("in-flight", values["in-flight"], 1),
    kills: count("kills", values.kills ?? "5"),
    restartDocker:
      restart === undefined
        ? undefined
        : async () => {
            if (spawnSync("sh", ["-c", restart], { stdio: "inherit" }).status !== 0)
              throw new Error(`the daemon did not come back: ${restart}`);
          },
  });
  if (restart === undefined) console.log("skipped: a restart of the Docker daemon (--restart-docker)");
  return checks;
}
