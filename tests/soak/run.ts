/** `npm run soak`: prints what was checked, with figures, and exits with 1 when anything does not hold. */
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readCount, readFlags } from "../script-flags.ts";
import { soak } from "./soak.ts";

const HELP = `Usage: npm run soak -- [--runs N] [--in-flight N] [--kills N] [--restart-docker COMMAND]

Runs programs of all kinds, then kills sandboxes, servers and ptc while programs run, and checks what must hold.
  --runs N                  programs of mixed kinds, 1000 without it
  --in-flight N             at the same time, 4 without it
  --kills N                 how often each thing is killed, 5 without it
  --restart-docker COMMAND  a command that ends the Docker daemon and starts it again; without it, the daemon is left alone`;

const values = readFlags("soak", HELP, {
  runs: { type: "string", default: "1000" },
  "in-flight": { type: "string", default: "4" },
  kills: { type: "string", default: "5" },
  "restart-docker": { type: "string" },
  help: { type: "boolean", default: false },
});
if (values.help) {
  console.log(HELP);
  process.exit(0);
}
const { "restart-docker": restart } = values;
const count = (flag: "runs" | "in-flight" | "kills", least = 0) =>
  readCount("soak", HELP, `--${flag}`, values[flag], least);
const counts = { runs: count("runs"), inFlight: count("in-flight", 1), kills: count("kills") };
const directory = mkdtempSync(join(tmpdir(), "ptc-soak-"));
const checks = await soak({
  directory,
  command: [process.execPath, join(import.meta.dirname, "../../dist/cli/ptc.js")],
  ...counts,
  restartDocker:
    restart === undefined
      ? undefined
      : async () => {
          if (spawnSync("sh", ["-c", restart], { stdio: "inherit" }).status !== 0)
            throw new Error(`the daemon did not come back: ${restart}`);
        },
  say: (line) => console.log(line),
});
if (restart === undefined) console.log("skipped: a restart of the Docker daemon (--restart-docker)");
const failed = checks.filter(({ holds }) => !holds).length;
console.log(`${checks.length} checks, ${failed} failed`);
if (failed === 0) rmSync(directory, { recursive: true, force: true });
else console.log(`what it left is in ${directory}`);
process.exit(failed === 0 ? 0 : 1);
