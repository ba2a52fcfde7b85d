import { execFile } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, inject, test } from "vitest";
import type { Exited } from "../cli/ptc-process.ts";

const MODULES = join(import.meta.dirname, "../../node_modules");
const LONGEST_RUN_MS = 150_000;

/** A program that npm has installed, as the words that start it. */
export type Command = readonly [file: string, ...args: string[]];

/**
 * `describe` for a client's real program. Where programs cannot be run, or the client is not installed, the tests are
 * skipped and their title says why; in CI, or with PTC_REQUIRE_SANDBOX=1, a client that is missing fails.
 */
export function describeClient(
  title: string,
  find: () => Command | string,
  tests: (client: Command) => void,
): void {
  const found = find();
  const sandboxProblem = inject("sandboxProblem");
  if (typeof found === "string" && isRequired(process.env)) {
    describe(title, () => test("is installed", () => expect.fail(found)));
  } else if (typeof found === "string" || sandboxProblem !== "") {
    describe.skip(`${title} (skipped: ${typeof found === "string" ? found : sandboxProblem})`, () => {
      tests([process.execPath]);
    });
  } else {
    describe(title, () => tests(found));
  }
}

function isRequired({ CI, PTC_REQUIRE_SANDBOX }: NodeJS.ProcessEnv): boolean {
  return PTC_REQUIRE_SANDBOX === "1" || (CI !== undefined && CI !== "" && CI !== "false");
}

/** Finds the program `bin` of a package that runs on Node.js. Returns what to do when it is not there. */
export function findScript(packageName: string, bin: string): Command | string {
  const manifest = join(MODULES, packageName, "package.json");
  if (!existsSync(manifest)) return `${packageName} is not installed; run \`npm install\``;
  const file: string = JSON.parse(readFileSync(manifest, "utf8")).bin[bin];
  return [process.execPath, join(MODULES, packageName, file)];
}

/** Finds Claude Code, whose program comes in an optional package for each platform. */
export function findClaudeCode(): Command | string {
  const packageName = `@anthropic-ai/claude-code-${process.platform}-${process.arch}`;
  const file = join(MODULES, packageName, "claude");
  return existsSync(file) ? [file] : `${packageName} is not installed; run \`npm install\``;
}

/** Gives Claude Code a home of its own, and nothing to talk to but this origin. */
export function claudeVariables(home: string, origin: string): Record<string, string> {
  return {
    HOME: home,
    CLAUDE_CONFIG_DIR: join(home, ".claude"),
    ANTHROPIC_BASE_URL: origin,
    ANTHROPIC_API_KEY: "dummy",
    HTTP_PROXY: origin,
    HTTPS_PROXY: origin,
    NO_PROXY: "127.0.0.1,localhost",
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
    DISABLE_TELEMETRY: "1",
    DISABLE_ERROR_REPORTING: "1",
    DISABLE_AUTOUPDATER: "1",
    // Its first request waits for ptc, however slow the machine.
    MCP_CONNECTION_NONBLOCKING: "0",
  };
}

/** Runs a client to its end. It gets no variables but those given and PATH, and nothing on stdin. */
export function runClient(
  [file, ...before]: Command,
  args: readonly string[],
  { cwd, env = {} }: { cwd: string; env?: Record<string, string> },
): Promise<Exited> {
  return new Promise((resolve) => {
    const child = execFile(
      file,
      [...before, ...args],
      { cwd, env: { PATH: process.env.PATH, ...env }, timeout: LONGEST_RUN_MS, maxBuffer: 16 * 1024 * 1024 },
      (_error, stdout, stderr) => resolve({ code: child.exitCode, stdout, stderr }),
    );
    child.stdin?.end();
  });
}
