/** The demo, once everything is set up: generates modules from three real servers, runs a program that uses them, shows both. */
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Envelope } from "../protocol/envelope.ts";

const root = join(import.meta.dirname, "..");
const program = "examples/dependency-report.ts";
const memory = mkdtempSync(join(tmpdir(), "ptc-demo-"));
const env = { ...process.env, PTC_DEMO_MEMORY: join(memory, "graph.jsonl"), PTC_HOST: "off" };

heading("1. ptc generate: typed modules from what three MCP servers list");
ptc(["generate"], "inherit");

heading(`2. ptc run ${program}: one program instead of dozens of round trips`);
const code = readFileSync(join(root, program), "utf8");
console.log(code.slice(code.indexOf("import {")).split("\n").slice(0, 24).join("\n"));
console.log("   ...\n");
const line = ptc(["run", program], "pipe");
rmSync(memory, { recursive: true, force: true });

const envelope = Envelope.parse(JSON.parse(line));
if (!envelope.result.ok) throw new Error(`the demo's program failed: ${envelope.result.error.message}`);
const { data, metrics } = envelope.result;

heading("3. Its answer, all that a model would see");
console.log(JSON.stringify(data, null, 2));

heading("4. The envelope, one line on stdout");
console.log(line.trim());

const answerBytes = Buffer.byteLength(JSON.stringify(data));
heading("5. What stayed out of the model's context");
console.log(
  `${metrics.tool_calls} tool calls, in parallel where they could be, from a sandbox without a network.\n` +
    `${metrics.tool_result_bytes.toLocaleString("en")} bytes of tool results stayed out of the model's context; ` +
    `the answer is ${answerBytes.toLocaleString("en")} bytes.`,
);

heading(`6. ptc replay ${envelope.input_digest.slice(0, 19)}: the same run again, no server started`);
const replayed = Envelope.parse(JSON.parse(ptc(["replay", envelope.run_id], "pipe")));
console.log(`output digest then ${envelope.output_digest}\noutput digest now  ${replayed.output_digest}`);

function ptc(args: string[], stdout: "inherit" | "pipe"): string {
  const run = spawnSync(process.execPath, [join(root, "dist/cli/ptc.js"), ...args], {
    cwd: root,
    env,
    encoding: "utf8",
    stdio: ["ignore", stdout, "inherit"],
  });
  if (run.status !== 0) {
    process.stdout.write(run.stdout ?? "");
    process.exit(run.status ?? 1);
  }
  return run.stdout ?? "";
}

function heading(text: string): void {
  console.log(`\n\u2014 ${text}\n`);
}
