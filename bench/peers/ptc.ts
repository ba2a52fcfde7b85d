import { spawnSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Served, serveMcp, timeCall } from "./mcp-client.ts";

/** The command under measurement, as `npm run build` made it. */
export const PTC = join(import.meta.dirname, "../../dist/cli/ptc.js");

/** The server that programs and bare clients call. */
export const ECHO_SERVER = join(import.meta.dirname, "../../tests/fixtures/servers/echo-v2.mjs");

export interface BenchServer {
  name: string;
  command: string;
  args: string[];
}

const ECHO: BenchServer = { name: "echo", command: process.execPath, args: [ECHO_SERVER] };

/** Makes a project: its configuration and its generated modules. */
export function makeProject(
  folder: string,
  settings: object = {},
  servers: readonly BenchServer[] = [ECHO],
): string {
  mkdirSync(folder, { recursive: true });
  // JSON is YAML as well.
  writeFileSync(join(folder, "ptc.yaml"), JSON.stringify({ servers, ...settings }));
  const { status, stderr } = spawnSync(process.execPath, [PTC, "generate"], {
    cwd: folder,
    encoding: "utf8",
  });
  if (status !== 0) throw new Error(`ptc generate failed: ${stderr}`);
  return folder;
}

/** `ptc serve` in a project. */
export function servePtc(project: string): Promise<Served> {
  return serveMcp(process.execPath, [PTC, "serve"], { cwd: project });
}

/** Times a program. @param language to be said where more than one is on. */
export function runProgram(ptc: Served, code: string, language?: string): Promise<number> {
  return timeCall(ptc, "execute_program", { code, ...(language !== undefined && { language }) });
}
